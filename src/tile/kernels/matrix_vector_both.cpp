// Which trees one kernel can run.
#include "tile/kernels/matrix_vector_both.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/access_cost.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostRowSums = 2;

/// A tree that is sums along one loop for each iteration of another.
struct Sums {
  ParallelChain chain;
  PrivateCopies copies;
  SumPart part;

  const ThreadLoop& outer() const { return chain.loops.front(); }
  const Node& inner() const { return part.loop.loops.front(); }
};

bool names_one_of(const Expression& e, const std::set<std::string>& variables) {
  return variables.contains(e.text) ||
         std::ranges::any_of(e.operands, [&](const Expression& o) { return names_one_of(o, variables); });
}

/// Nothing where the tree is another, or where its loops are no rectangle that is the same for all launches.
std::optional<Sums> sums_of(const KernelRequest& request, const Node& tree, const CudaNames& names) {
  Sums sums{parallel_chain(tree), {}, {}};
  if (sums.chain.loops.size() != 1) return std::nullopt;
  sums.copies = private_copies(request, names, sums.chain);
  if (sums.copies.hold_arrays()) return std::nullopt;
  const auto parts = sum_parts(names, sums.chain.body, sums.copies);
  if (!parts || parts->size() != 1 || parts->front().loop.loops.size() != 1) return std::nullopt;
  sums.part = parts->front();
  if (sums.outer().step != 1 || sums.inner().step != 1) return std::nullopt;
  std::vector<std::string> loops = request.host_loops;
  loops.push_back(sums.outer().loop.iterator);
  for (const std::string& loop : loops)
    for (const Expression* bound :
         {&sums.outer().least, &sums.outer().end, &sums.inner().first, &sums.inner().limit})
      if (depends_on(*bound, loop)) return std::nullopt;
  for (const Sum& sum : sums.part.loop.sums)  // private values are not there while parts are summed
    for (const PrivateCopies::Copy& copy : sums.copies.copies)
      if (copy.privatised->last_value || names_one_of(sum.value, {copy.variable})) return std::nullopt;
  return sums;
}

bool is_along_rows(const CudaNames& names, const Sums& sums) {
  return suits(names, sums.part.loop, sums.inner().iterator) >=
         suits(names, sums.part.loop, sums.outer().loop.iterator);
}

Node renamed(Node node, const std::map<std::string, Expression>& names) {
  if (const auto found = names.find(node.iterator); found != names.end()) node.iterator = found->second.text;
  for (Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
    *e = substitute(std::move(*e), names);
  for (Node& child : node.children) child = renamed(std::move(child), names);
  return node;
}

/// The tree of sums along columns with its loops called as those of the sums along rows.
Node as_rows_name_it(const Node& tree, const Sums& columns, const Sums& rows) {
  return renamed(tree, {{columns.inner().iterator, Expression::name(rows.outer().loop.iterator)},
                        {columns.outer().loop.iterator, Expression::name(rows.inner().iterator)}});
}

bool same_range(const ThreadLoop& threads, const Node& loop) {
  const Bounds box = bounds_of(loop, {});
  return simplified(*box.least) == threads.least && plus(*box.most, 1) == threads.end;
}

/// The one element that is another for each iteration of both loops, if both sums read it and no other such.
std::optional<Expression> shared_stream(const Sums& rows, const Sums& columns) {
  std::optional<Expression> found;
  bool others = false;
  const auto visit = [&](const auto& self, const Expression& e) -> bool {
    bool mentioned = false;
    if (e.kind == Expression::Kind::element && depends_on(e, rows.outer().loop.iterator) &&
        depends_on(e, rows.inner().iterator)) {
      if (!found) found = e;
      others = others || !(*found == e);
      mentioned = true;
    }
    for (const Expression& operand : e.operands) mentioned = self(self, operand) || mentioned;
    return mentioned;
  };
  for (const Sums* sums : {&rows, &columns}) {
    bool mentioned = false;
    for (const Sum& sum : sums->part.loop.sums) mentioned = visit(visit, sum.value) || mentioned;
    if (!mentioned) return std::nullopt;
  }
  return others ? std::nullopt : found;
}

std::set<std::string> written_by(const Node& tree, const PrivateCopies& copies) {
  std::set<std::string> written;
  for (const Mention& mention : mentions({tree}))
    if (mention.is_write && copies.instead(mention.element).empty()) written.insert(mention.element.text);
  return written;
}

/// A row is complete, what stands before and after its sum included, before its elements are added to the
/// columns' sums; the columns are complete, and what stands before and after their sums runs, when all rows
/// are. Whether that keeps every dependence between the trees. If so, what the columns' sums read of their
/// row's results; nothing else of them may they read, and if the columns stand first, neither may name what
/// the other writes.
std::optional<std::vector<Expression>> row_results(const Node& row_tree, const Sums& rows,
                                                   const Node& column_tree, const Sums& columns,
                                                   bool rows_first) {
  const std::set<std::string> by_rows = written_by(row_tree, rows.copies);
  std::vector<Expression> results;
  if (!rows_first) {
    const std::set<std::string> by_columns = written_by(column_tree, columns.copies);
    const auto names_any = [](const Node& tree, const std::set<std::string>& variables) {
      const std::vector<Mention> all = mentions({tree});
      return std::ranges::any_of(
          all, [&](const Mention& mention) { return variables.contains(mention.element.text); });
    };
    if (names_any(column_tree, by_rows) || names_any(row_tree, by_columns)) return std::nullopt;
    return results;
  }
  // The rows' loop is parallel: an element that this iteration writes no other one touches.
  std::vector<Expression> of_this_row;
  for (const Mention& mention : mentions({row_tree}))
    if (mention.is_write) of_this_row.push_back(mention.element);
  const auto visit = [&](const auto& self, const Expression& e) -> bool {
    if ((e.kind == Expression::Kind::element || e.kind == Expression::Kind::name) &&
        by_rows.contains(e.text)) {
      if (std::ranges::find(of_this_row, e) == of_this_row.end()) return false;
      if (std::ranges::find(results, e) == results.end()) results.push_back(e);
      return true;
    }
    return std::ranges::all_of(e.operands, [&](const Expression& o) { return self(self, o); });
  };
  for (const Sum& sum : columns.part.loop.sums)
    if (!visit(visit, sum.value)) return std::nullopt;
  return results;
}

/// The kernels of a tree by itself, behind those that are there.
bool add_alone(KernelRequest request, std::string name, KernelGroup& group, Node& host) {
  request.name = std::move(name);
  std::optional<KernelGroup> alone = matrix_vector(request);
  if (!alone) return false;
  alone->kernels.front().tree = request.tree;
  for (Kernel& kernel : alone->kernels) {
    host.children.push_back(launch_of(group.kernels.size()));
    group.kernels.push_back(std::move(kernel));
  }
  std::move(alone->temporaries.begin(), alone->temporaries.end(), std::back_inserter(group.temporaries));
  return true;
}

}  // namespace

bool names_outside(const Expression& e, const Expression& stream, const std::string& iterator) {
  if (e == stream) return false;
  return (e.kind == Expression::Kind::name && e.text == iterator) ||
         std::ranges::any_of(e.operands,
                             [&](const Expression& o) { return names_outside(o, stream, iterator); });
}

std::optional<KernelGroup> both_sums(const KernelRequest& first, const KernelRequest& second) {
  if (!first.options.reorder_reductions) return std::nullopt;
  const CudaNames names{first.parallel.nest, first.parallel};
  const std::optional<Sums> a = sums_of(first, first.tree, names), b = sums_of(second, second.tree, names);
  if (!a || !b || is_along_rows(names, *a) == is_along_rows(names, *b)) return std::nullopt;
  const bool rows_first = is_along_rows(names, *a);
  const Node &row_tree = rows_first ? first.tree : second.tree,
             &other = rows_first ? second.tree : first.tree;
  const Sums& rows = rows_first ? *a : *b;
  Sums columns = rows_first ? *b : *a;  // its private copies are found by its loops' own names
  const Node column_tree = as_rows_name_it(other, columns, rows);
  columns.chain = parallel_chain(column_tree);
  columns.part = sum_parts(names, columns.chain.body, columns.copies)->front();
  if (!same_range(rows.outer(), columns.inner()) || !same_range(columns.outer(), rows.inner()) ||
      rows.part.loop.sums.size() > kMostRowSums || columns.part.loop.sums.size() != 1)
    return std::nullopt;
  const Sum& column_sum = columns.part.loop.sums.front();
  const auto stream = shared_stream(rows, columns);
  if (!stream || names_outside(column_sum.value, *stream, rows.inner().iterator)) return std::nullopt;
  const auto results = row_results(row_tree, rows, column_tree, columns, rows_first);
  const auto row_conditions = runs(rows.chain, rows.part),
             column_conditions = runs(columns.chain, columns.part);
  if (!results || !row_conditions || !column_conditions) return std::nullopt;
  const Expression column_count = columns.outer().count();
  const int most = most_columns(std::max(size_of(column_sum.type), size_of(type_of(names, *stream))));
  const std::optional<std::int64_t> known_count = known_value(first.nest, column_count);
  if (known_count && *known_count > most) return std::nullopt;

  const Expression blocks = Expression::call(
      "max",
      {number(1), Expression::call("min", {number(device_rates(first.options.architecture).multiprocessors),
                                           rows.outer().count()})});
  const SumRequest row{first, names, rows.chain, rows.copies, rows.part, first.name},
      column{first, names, columns.chain, columns.copies, columns.part, first.name};
  const OnePass pass{row,
                     *row_conditions,
                     {column, memory_of_parts(column, blocks, column_count), blocks, *column_conditions},
                     *stream,
                     *results};
  KernelGroup group;
  group.kernels = {one_pass_kernel(pass), add_parts(pass.columns)};
  group.kernels.front().tree.children = {first.tree, second.tree};
  group.temporaries = pass.columns.memory;
  group.host.children = {launch_of(0), launch_of(1)};
  if (known_count) return group;

  // Longer rows: each sum by itself.
  Node branch, alone;
  if (!add_alone(first, first.name + "_long_0", group, alone) ||
      !add_alone(second, first.name + "_long_1", group, alone))
    return std::nullopt;
  branch.kind = Node::Kind::branch;
  branch.condition = Expression::binary("<=", column_count, number(most));
  branch.children = {group.host, alone};
  group.host.children = {branch};
  return group;
}

}  // namespace warploom::tile
