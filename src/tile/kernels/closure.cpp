// Paths through one place more: k outside, and all of A[i][j] from A[i][k] and A[k][j] within.
//
// Iterations of one k depend on each other through row k and column k alone, which they read as they were
// before or as they have become: A[i][k] has become what it will be where j > k, A[k][j] where i > k. What an
// element of row k or column k becomes follows from what it and A[k][k] were. So with copies of row k and
// column k as they were, every (i, j) is alone: a kernel for each k passes over the array once, and keeps row
// and column k + 1 for the next, in the other half of the copies.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/pointwise.hpp"
#include "tile/kernels/split_tree.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

// A thread's rows: what it needs of row k it has then once for all of them.
constexpr int kClosureWidth = 256, kClosureRows = 8;

struct Closure {
  Node k, i, j;  ///< without children
  Node statement;
  Expression first, end;  ///< of each of the loops
  std::string array() const { return statement.target.text; }
  Expression at(const Expression& row, const Expression& column) const {
    return Expression::element(array(), {row, column});
  }
};

Expression name_of(const Node& loop) { return Expression::name(loop.iterator); }

const Node* only_one_child(const Node& node) {
  const Node* child = node.children.size() == 1 ? &node.children.front() : nullptr;
  while (child && child->kind == Node::Kind::block)
    child = child->children.size() == 1 ? &child->children.front() : nullptr;
  return child;
}

Expression end_of_loop(const Node& loop) { return loop.comparison == "<" ? loop.limit : plus(loop.limit, 1); }

/// Every mention of the array is one of these.
bool names_only(const Expression& e, const std::string& array, const std::vector<Expression>& elements) {
  if ((e.kind == Kind::element || e.kind == Kind::name) && e.text == array)
    return std::ranges::find(elements, e) != elements.end();
  return std::ranges::all_of(e.operands, [&](const Expression& o) { return names_only(o, array, elements); });
}

std::optional<Closure> match_closure(const Nest& nest) {
  if (nest.statements().size() != 1) return std::nullopt;
  Closure found;
  const Node* node = &nest.region().body;
  for (Node* loop : {&found.k, &found.i, &found.j}) {
    node = node->kind == Node::Kind::block ? only_one_child(*node) : node;
    if (!node || !counts_up(*node)) return std::nullopt;
    *loop = *node;
    loop->children.clear();
    node = only_one_child(*node);
    if (!node) return std::nullopt;
  }
  if (node->kind != Node::Kind::assignment || node->target.operands.size() != 2) return std::nullopt;
  found.statement = *node;
  found.first = simplified(found.k.first);
  found.end = simplified(end_of_loop(found.k));
  for (const Node* loop : {&found.i, &found.j})
    if (simplified(loop->first) != found.first || simplified(end_of_loop(*loop)) != found.end)
      return std::nullopt;
  const Expression i = name_of(found.i), j = name_of(found.j), k = name_of(found.k);
  if (node->target != found.at(i, j)) return std::nullopt;
  const bool through_k = names_only(node->value, found.array(),
                                    {found.at(i, j), found.at(i, k), found.at(k, j), found.at(k, k)}) &&
                         !names_only(node->value, found.array(), {found.at(i, j)});
  return through_k ? std::optional(found) : std::nullopt;
}

/// What the kernels of one closure share.
struct ClosureText {
  const KernelRequest& request;
  Closure found;
  CudaNames names;
  std::string rows, columns;  ///< the copies, of two rows and of two columns

  ClosureText(const KernelRequest& of, Closure closure)
      : request(of), found(std::move(closure)), names{of.nest, of.parallel, {}, nullptr} {
    rows = free_name(names, found.array() + "_rows");
    columns = free_name(names, found.array() + "_columns");
    const ArrayShape shape = shape_of(names, found.array());
    const Expression two = Expression::integer(2);
    names.temporaries = {{rows, shape.type, {two, shape.extents[1]}, {}},
                         {columns, shape.type, {two, shape.extents[0]}, {}}};
  }

  std::string type() const { return std::string(c_name(shape_of(names, found.array()).type)); }
  std::string of_row(const Expression& half, const Expression& column) const {
    return cuda_text(names, Expression::element(rows, {half, column}));
  }
  std::string of_column(const Expression& half, const Expression& row) const {
    return cuda_text(names, Expression::element(columns, {half, row}));
  }
  /// @param tree  what of the source the kernel runs
  Kernel kernel(const std::string& name, const Node& tree, const std::vector<std::string>& host_loops) const {
    Kernel kernel;
    kernel.name = name;
    kernel.pattern = "closure";
    kernel.statements = {found.statement.statement};
    kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
    kernel.block[0] = Expression::integer(kClosureWidth);
    KernelRequest inside = request;
    inside.host_loops = host_loops;
    KernelParameters parameters = kernel_parameters(inside, names, {tree}, {found.first, found.end}, {});
    kernel.parameters = parameters.all;
    kernel.parameters.insert(kernel.parameters.end(), {rows, columns});
    return kernel;
  }
  std::string signature(const Kernel& kernel, const std::vector<std::string>& written) const {
    return kernel_signature({names, kernel.name, kernel.parameters, written, kClosureWidth, 0});
  }
};

/// The first row and column, before the first k.
Kernel copies_kernel(const ClosureText& text, const std::string& name) {
  const Closure& found = text.found;
  const Expression zero = Expression::integer(0);
  const std::string place = free_name(text.names, "place");
  const Expression at = Expression::name(place);
  Node copy = found.statement;  // of what it reads only the array
  copy.value = found.at(at, found.first);
  copy.target = found.at(found.first, at);
  Kernel kernel = text.kernel(name, copy, {});
  kernel.grid[0] = ceil_quotient(difference(found.end, found.first), kClosureWidth);
  TextWriter writer;
  writer.open(text.signature(kernel, {text.rows, text.columns}));
  writer.line(
      "const int {} = {};", place,
      value_from(text.names, found.first, 1, fmt::format("blockIdx.x * {} + threadIdx.x", kClosureWidth)));
  writer.line("if ({}) return;", cuda_text(text.names, Expression::binary(">=", at, found.end)));
  const Expression half = Expression::binary("%", found.first, Expression::integer(2));
  writer.line("{} = {};", text.of_row(half, at), cuda_text(text.names, found.at(found.first, at)));
  writer.line("{} = {};", text.of_column(half, at), cuda_text(text.names, found.at(at, found.first)));
  writer.close();
  kernel.text = writer.text();
  kernel.reasons = {fmt::format("copies the first row and column of {}", found.array())};
  return kernel;
}

/// One k.
Kernel pass_kernel(const ClosureText& text, const std::string& name, const Node& tree) {
  const Closure& found = text.found;
  const std::string &i = found.i.iterator, &j = found.j.iterator, &k = found.k.iterator, type = text.type();
  const Expression at_k = name_of(found.k), at_i = name_of(found.i), at_j = name_of(found.j);
  const std::vector<std::string> written = {found.array(), text.rows, text.columns};
  Kernel kernel = text.kernel(name, tree, {k});
  kernel.tree = tree;
  const Expression count = difference(found.end, found.first);
  kernel.grid[0] = ceil_quotient(count, kClosureWidth);
  kernel.grid[1] = Expression::call("min", {ceil_quotient(count, kClosureRows), Expression::integer(65535)});

  FreshNames fresh(text.names);
  const std::string becomes = fresh("becomes"), here = fresh("here"), column = fresh("column"),
                    row = fresh("row"), corner = fresh("corner"), i0 = fresh(i + "0"),
                    new_corner = fresh("new_corner"), new_row = fresh("new_row"),
                    new_column = fresh("new_column"), value = fresh("value"), half = fresh("half"),
                    other = fresh("other_half");
  CudaNames inside = text.names;
  inside.instead = [&](const Expression& e) -> std::string {
    if (e == found.statement.target) return here;
    if (e == found.at(at_i, at_k)) return column;
    if (e == found.at(at_k, at_j)) return row;
    return e == found.at(at_k, at_k) ? corner : "";
  };
  const Node& s = found.statement;
  const Expression result = s.op == "=" ? s.value : Expression::binary(s.op.substr(0, 1), s.target, s.value);
  TextWriter writer;
  writer.open(text.signature(kernel, written));
  writer.line("// What an iteration makes of its element and of those of column {0}, of row {0} and of both.",
              k);
  writer.line("const auto {} = [&](int {}, int {}, {} {}, {} {}, {} {}, {} {}) -> {} {{", becomes, i, j, type,
              here, type, column, type, row, type, corner, type);
  writer.line("  (void){}, (void){}, (void){}, (void){}, (void){}, (void){};", i, j, here, column, row,
              corner);
  writer.line("  return {};", cuda_text(inside, result));
  writer.line("};");
  writer.line("const int {} = {} % 2, {} = 1 - {};", half, k, other, half);
  const Expression now = Expression::name(half), next = Expression::name(other);
  writer.line(
      "const int {} = {};", j,
      value_from(text.names, found.first, 1, fmt::format("blockIdx.x * {} + threadIdx.x", kClosureWidth)));
  writer.line("if ({}) return;", cuda_text(text.names, Expression::binary(">=", at_j, found.end)));
  writer.line("const {} {} = {}, {} = {};", type, corner, text.of_row(now, at_k), row,
              text.of_row(now, at_j));
  writer.line("const {0} {1} = {2}({3}, {3}, {4}, {4}, {4}, {4});", type, new_corner, becomes, k, corner);
  writer.line("const {0} {1} = {2}({3}, {4}, {5}, {4} > {3} ? {6} : {7}, {5}, {4} > {3} ? {6} : {7});", type,
              new_row, becomes, k, j, row, new_corner, corner);
  writer.open("for (int {0} = {1}; {2}; {0} += {3} * gridDim.y)", i0,
              value_from(text.names, found.first, kClosureRows, "blockIdx.y"),
              cuda_text(text.names, Expression::binary("<", Expression::name(i0), found.end)), kClosureRows);
  writer.line("#pragma unroll");
  writer.open("for (int {0} = {1}; {0} < {1} + {2}; ++{0})", i, i0, kClosureRows);
  writer.line("if ({}) break;", cuda_text(text.names, Expression::binary(">=", at_i, found.end)));
  writer.line("const {} {} = {};", type, column, text.of_column(now, at_i));
  writer.line("const {0} {1} = {2}({3}, {4}, {5}, {5}, {3} > {4} ? {6} : {7}, {3} > {4} ? {6} : {7});", type,
              new_column, becomes, i, k, column, new_corner, corner);
  // Of iteration (i, j): column k is new where j > k, row k where i > k, their corner where (i, j) comes
  // after it.
  writer.line(
      "const {0} {1} = {2}({3}, {4}, {5}, {4} > {6} ? {7} : {8}, {3} > {6} ? {9} : {10}, "
      "{3} > {6} || ({3} == {6} && {4} > {6}) ? {11} : {12});",
      type, value, becomes, i, j, cuda_text(text.names, found.statement.target), k, new_column, column,
      new_row, row, new_corner, corner);
  writer.line("{} = {};", cuda_text(text.names, found.statement.target), value);
  writer.line("if ({} == {} + 1) {} = {};", i, k, text.of_row(next, at_j), value);
  writer.line("if ({} == {} + 1) {} = {};", j, k, text.of_column(next, at_i), value);
  writer.close_to(0);
  kernel.text = writer.text();

  kernel.reasons = {
      fmt::format("a launch for each {}, which passes over {} once", k, found.array()),
      fmt::format(
          "iterations of one {0} meet in row {0} and column {0} only: what these were is in {1} and {2}, what "
          "they become each thread computes for itself; a pass leaves the next row and column there",
          k, text.rows, text.columns),
      fmt::format("{} along x, {} rows a thread", j, kClosureRows)};
  kernel.placements = memory_placements(text.names, {found.statement}, j, i, {kClosureWidth, 1, 1}, {});
  for (Placement& placement : kernel.placements)
    if (placement.array == found.array())
      placement.reason = fmt::format("{}: each element is read and written once for each {}",
                                     "neighbouring threads use neighbouring elements", k);
  return kernel;
}

}  // namespace

std::optional<GpuProgram> closure(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options) {
  if (parallel.by_steps || options.memory_cap > 0) return std::nullopt;
  std::optional<Closure> found = match_closure(nest);
  if (!found) return std::nullopt;
  Node tree = found->i, columns = found->j;
  columns.children = {found->statement};
  columns.parallel = tree.parallel = true;
  tree.children = {columns};
  const KernelRequest request{nest, parallel, tree, {}, nest.region().function + "_0", options};
  const ClosureText text(request, *std::move(found));
  GpuProgram program;
  program.temporaries = text.names.temporaries;
  program.kernels = {copies_kernel(text, request.name),
                     pass_kernel(text, nest.region().function + "_1", tree)};
  Node loop = text.found.k;
  loop.children = {launch_of(1)};
  program.host.children = {launch_of(0), loop};
  return program;
}

}  // namespace warploom::tile
