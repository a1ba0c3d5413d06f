// Which nests are rows or columns of sums, and which of both.
#include "tile/kernels/matrix_vector.hpp"

#include <algorithm>

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

bool mentions_name(const Expression& e, std::string_view name) {
  return ((e.kind == Kind::element || e.kind == Kind::name) && e.text == name) ||
         std::ranges::any_of(e.operands, [&](const Expression& o) { return mentions_name(o, name); });
}

/// value - target, if the target is a term of the value: the leftmost one, or the last.
std::optional<Expression> without_term(const Expression& value, const Expression& target) {
  if (value.kind != Kind::binary || (value.text != "+" && value.text != "-")) return std::nullopt;
  const Expression& left = value.operands[0];
  const Expression& right = value.operands[1];
  if (left == target) return value.text == "+" ? right : Expression::unary("-", right);
  if (value.text == "+" && right == target) return left;
  if (const std::optional<Expression> rest = without_term(left, target))
    return Expression::binary(value.text, *rest, right);
  return std::nullopt;
}

std::optional<Sum> as_sum(const CudaNames& names, const Node& node) {
  if (node.kind != Node::Kind::assignment) return std::nullopt;
  Sum sum{node.target, node.value, ScalarType::float32, node.statement};
  if (node.op == "-=") {
    sum.value = Expression::unary("-", node.value);
  } else if (node.op == "=") {
    const std::optional<Expression> rest = without_term(node.value, node.target);
    if (!rest) return std::nullopt;
    sum.value = *rest;
  } else if (node.op != "+=") {
    return std::nullopt;
  }
  sum.type = node.target.kind == Kind::element ? shape_of(names, node.target.text).type
                                               : type_of(names, node.target);
  return sum;
}

std::optional<SumLoop> as_sum_loop(const CudaNames& names, const Node& tree) {
  SumLoop result;
  const Node* node = &tree;
  std::vector<const Node*> loops;
  while (node->kind == Node::Kind::loop || (node->kind == Node::Kind::block && node->children.size() == 1)) {
    if (node->kind == Node::Kind::loop) {
      loops.push_back(node);
      result.loops.push_back(*node);
      result.loops.back().children.clear();
    }
    if (node->children.size() != 1 || node->children[0].kind == Node::Kind::assignment) break;
    node = &node->children[0];
  }
  for (const Node& child : node->children) {
    std::optional<Sum> sum = as_sum(names, child);
    if (!sum) return std::nullopt;
    for (const Node* loop : loops)
      if (depends_on(sum->target, loop->iterator)) return std::nullopt;
    result.sums.push_back(std::move(*sum));
  }
  if (loops.empty() || result.sums.empty()) return std::nullopt;
  for (const Sum& sum : result.sums) {
    // Each sum's target is its own, and no value reads a target while it grows.
    for (const Sum& other : result.sums) {
      if (&other != &sum && other.target.text == sum.target.text) return std::nullopt;
      const auto meets = [&](const auto& self, const Expression& e) -> bool {
        if ((e.kind == Kind::element || e.kind == Kind::name) && e.text == sum.target.text &&
            (e.operands.size() != sum.target.operands.size() || !never_meet(sum.target, e, loops)))
          return true;
        return std::ranges::any_of(e.operands, [&](const Expression& o) { return self(self, o); });
      };
      if (meets(meets, other.value)) return std::nullopt;
    }
  }
  return result;
}

/// Whether some reference is another element for each iteration of the chain and of the sum: a stream that
/// nothing reuses.
bool streams(const ParallelChain& chain, const SumLoop& loop) {
  bool found = false;
  const auto visit = [&](const auto& self, const Expression& e) -> void {
    if (e.kind == Kind::element) {
      bool all = true;
      for (const ThreadLoop& l : chain.loops) all = all && depends_on(e, l.loop.iterator);
      for (const Node& l : loop.loops) all = all && depends_on(e, l.iterator);
      found = found || all;
    }
    for (const Expression& operand : e.operands) self(self, operand);
  };
  for (const Sum& sum : loop.sums) visit(visit, sum.value);
  return found;
}

std::optional<KernelGroup> part_kernels(const SumRequest& sum) {
  const SumLoop& loop = sum.part.loop;
  if (sum.chain.loops.size() > 1 && !streams(sum.chain, loop)) return std::nullopt;
  std::size_t lane = loop.loops.size() - 1;
  for (std::size_t l = loop.loops.size(); l-- > 0;)
    if (suits(sum.names, loop, loop.loops[l].iterator) > suits(sum.names, loop, loop.loops[lane].iterator))
      lane = l;
  int columns = 0;
  for (const ThreadLoop& l : sum.chain.loops)
    columns = std::max(columns, suits(sum.names, loop, l.loop.iterator));
  if (sum.chain.loops.empty() || suits(sum.names, loop, loop.loops[lane].iterator) >= columns)
    return row_sums(sum, lane);
  return sum.chain.loops.size() == 1 ? column_sums(sum) : std::nullopt;
}

}  // namespace

std::optional<std::vector<SumPart>> sum_parts(const CudaNames& names, const std::vector<Node>& body,
                                              const PrivateCopies& copies) {
  std::vector<SumPart> parts;
  SumPart part;
  bool has_loop = false;
  const auto add = [&](const auto& self, const Node& node) -> bool {
    if (node.kind == Node::Kind::block)
      return std::ranges::all_of(node.children, [&](const Node& n) { return self(self, n); });
    if (node.kind == Node::Kind::assignment) {
      (has_loop ? part.after : part.before).push_back(node);
      return true;
    }
    std::optional<SumLoop> loop = as_sum_loop(names, node);
    if (!loop) return false;
    if (has_loop) {
      parts.push_back(std::move(part));
      part = {};
    }
    part.loop = std::move(*loop);
    has_loop = true;
    return true;
  };
  for (const Node& node : body)
    if (!add(add, node)) return std::nullopt;
  if (!has_loop) return std::nullopt;
  parts.push_back(std::move(part));
  if (parts.size() > 1 && !copies.copies.empty()) return std::nullopt;  // registers do not outlive a kernel
  for (const SumPart& p : parts)
    for (const Sum& sum : p.loop.sums)
      for (const Node& before : p.before)
        if (mentions_name(sum.value, before.target.text)) return std::nullopt;
  return parts;
}

std::optional<std::vector<Expression>> runs(const ParallelChain& chain, const SumPart& part) {
  const auto touched = [&](const Sum& sum) {
    const auto same = [&](const Node& node) { return node.target == sum.target; };
    return std::ranges::any_of(part.before, same) || std::ranges::any_of(part.after, same);
  };
  if (std::ranges::all_of(part.loop.sums, touched)) return std::vector<Expression>{};
  std::vector<Expression> conditions;
  for (const Node& loop : part.loop.loops) {
    for (const Node& outer : part.loop.loops)
      if (depends_on(loop.first, outer.iterator) || depends_on(loop.limit, outer.iterator))
        return std::nullopt;
    // A thread loop over the same range has at least this iteration.
    const bool implied = loop.comparison == "<" && std::ranges::any_of(chain.loops, [&](const auto& l) {
                           return l.least == loop.first && l.end == loop.limit;
                         });
    if (!implied) conditions.push_back(Expression::binary(loop.comparison, loop.first, loop.limit));
  }
  return conditions;
}

int suits(const CudaNames& names, const SumLoop& loop, const std::string& iterator) {
  int score = 0;
  const auto visit = [&](const auto& self, const Expression& e) -> void {
    if (e.kind == Kind::element && e.operands.size() > 1 && depends_on(e, iterator)) {
      const auto step = stride(e, shape_of(names, e.text).extents, iterator);
      score += step == 1 || step == -1 ? 1 : -1;
    }
    for (const Expression& operand : e.operands) self(self, operand);
  };
  for (const Sum& sum : loop.sums) visit(visit, sum.value);
  return score;
}

int unroll(const SumLoop& loop) { return loop.sums.size() == 1 ? 8 : loop.sums.size() == 2 ? 4 : 2; }

Node add_to(const Sum& sum, Expression value) {
  Node node;
  node.kind = Node::Kind::assignment;
  node.statement = sum.statement;
  node.target = sum.target;
  node.op = "+=";
  node.value = std::move(value);
  return node;
}

Node under(const std::vector<Node>& loops, Node tree) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    Node outer = *loop;
    outer.children = {std::move(tree)};
    tree = std::move(outer);
  }
  return tree;
}

std::vector<Node> with_loop(const SumPart& part, const std::vector<Node>& loop) {
  std::vector<Node> result = part.before;
  result.insert(result.end(), loop.begin(), loop.end());
  result.insert(result.end(), part.after.begin(), part.after.end());
  return result;
}

std::vector<Node> with_totals(const SumPart& part, const std::vector<std::string>& totals,
                              const std::vector<Expression>& conditions) {
  Node added;
  for (std::size_t s = 0; s < totals.size(); ++s)
    added.children.push_back(add_to(part.loop.sums[s], Expression::name(totals[s])));
  if (conditions.empty()) return with_loop(part, added.children);
  Node branch;
  branch.kind = Node::Kind::branch;
  branch.condition = all_of(conditions);
  branch.children = {added};
  return with_loop(part, {branch});
}

std::optional<KernelGroup> matrix_vector(const KernelRequest& request) {
  if (!request.options.reorder_reductions) return std::nullopt;
  const CudaNames names{request.parallel.nest, request.parallel};
  const ParallelChain chain = parallel_chain(request.tree);
  if (chain.loops.size() > 3) return std::nullopt;
  const PrivateCopies copies = private_copies(request, names, chain);
  if (copies.hold_arrays() ||
      std::ranges::any_of(copies.copies, [](const auto& copy) { return copy.privatised->last_value; }))
    return std::nullopt;
  const auto parts = sum_parts(names, chain.body, copies);
  if (!parts) return std::nullopt;
  KernelGroup group;
  for (const SumPart& part : *parts) {
    const std::string suffix = group.kernels.empty() ? "" : "_" + std::to_string(group.kernels.size());
    std::optional<KernelGroup> kernels =
        part_kernels({request, names, chain, copies, part, request.name + suffix});
    if (!kernels) return std::nullopt;
    std::move(kernels->kernels.begin(), kernels->kernels.end(), std::back_inserter(group.kernels));
    std::move(kernels->temporaries.begin(), kernels->temporaries.end(),
              std::back_inserter(group.temporaries));
  }
  return group;
}

}  // namespace warploom::tile
