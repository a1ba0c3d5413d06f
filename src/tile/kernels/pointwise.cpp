// One iteration of the parallel loops a thread.
#include "tile/kernels/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/predicate.hpp"
#include "tile/kernels/access_cost.hpp"
#include "tile/kernels/sequential_code.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

constexpr std::int64_t kMostBlocks = 65535;  // of a grid along y and z
// H200, GB/s, 16384 x 16384 fp32: five-point stencil with 256 x 1 threads a block and 4 rows each 3524, 32 x
// 8 threads 2746, 1 row 2277; a copy 3740 (8 rows 3984), 3648, 2645.
constexpr int kRowsPerThread = 4;

bool holds_loop(const Node& node) {
  return node.kind == Node::Kind::loop || std::ranges::any_of(node.children, holds_loop);
}

/// How well a loop suits neighbouring threads: contiguous accesses for it, scattered ones against it, each as
/// often as it happens, a write for two.
double suits_neighbours(const CudaNames& names, const std::vector<Mention>& mentions,
                        const std::string& loop) {
  double score = 0;
  for (const Mention& mention : mentions) {
    if (mention.element.kind != Kind::element || !depends_on(mention.element, loop)) continue;
    const auto step = stride(mention.element, shape_of(names, mention.element.text).extents, loop);
    double weight = mention.is_write ? 2 : 1;
    for (std::size_t depth = 0; depth < mention.loops.size(); ++depth)
      weight *= 16;  // a loop runs many times
    score += step == 1 || step == -1 ? weight : step == 0 ? 0 : -weight;
  }
  return score;
}

/// Rows `first` to `first` + rows_per_thread - 1, all of which there are: no condition keeps their loads from
/// being under way together. Where a statement reads what it writes all its values come before the first is
/// stored: a compiler cannot know that rows differ.
void write_rows(TextWriter& writer, const CudaNames& names, const std::vector<Node>& body,
                const std::string& row, const std::string& first) {
  const std::vector<Mention> all = mentions(body);
  const bool reads_own = std::ranges::any_of(all, [&](const Mention& read) {
    return !read.is_write && std::ranges::any_of(all, [&](const Mention& write) {
      return write.is_write && write.element.text == read.element.text;
    });
  });
  const std::string header =
      fmt::format("for (int {0} = {1}; {0} < {1} + {2}; ++{0})", row, first, kRowsPerThread);
  const auto over_rows = [&](const std::vector<std::string>& lines) {
    writer.line("#pragma unroll");
    writer.open(header);
    for (const std::string& line : lines) writer.line(line);
    writer.close();
  };
  const auto assign = [&](const Node& node) {
    return fmt::format("{} {} {};", cuda_text(names, node.target), node.op, cuda_text(names, node.value));
  };
  if (!reads_own) {
    std::vector<std::string> lines;
    for (const Node& node : body) lines.push_back(assign(node));
    over_rows(lines);
    return;
  }
  FreshNames fresh(names);
  for (const Node& node : body) {
    const std::string& values = fresh(node.target.text + "_rows");
    const Expression value =
        node.op == "=" ? node.value : Expression::binary(node.op.substr(0, 1), node.target, node.value);
    writer.line("{} {}[{}];", c_name(type_of(names, node.target)), values, kRowsPerThread);
    over_rows({fmt::format("{}[{} - {}] = {};", values, row, first, cuda_text(names, value))});
    over_rows({fmt::format("{} = {}[{} - {}];", cuda_text(names, node.target), values, row, first)});
  }
}

Expression at_most(const Expression& value, std::int64_t limit) {
  if (value.kind == Kind::integer) return Expression::integer(std::min(value.value, limit));
  return Expression::call("min", {value, Expression::integer(limit)});
}

}  // namespace

bool only_assignments(const std::vector<Node>& nodes) {
  return std::ranges::all_of(nodes, [](const Node& n) { return n.kind == Node::Kind::assignment; });
}

ThreadMapping map_threads(const CudaNames& names, const ParallelChain& chain) {
  const std::vector<Mention> all = mentions(chain.body);
  ThreadMapping mapping;
  std::vector<const ThreadLoop*> left;
  for (auto loop = chain.loops.rbegin(); loop != chain.loops.rend(); ++loop)
    left.push_back(&*loop);  // innermost first
  const auto best = std::ranges::max_element(left, [&](const ThreadLoop* a, const ThreadLoop* b) {
    return suits_neighbours(names, all, a->loop.iterator) < suits_neighbours(names, all, b->loop.iterator);
  });
  mapping.x = *best;
  left.erase(best);
  if (!left.empty()) mapping.y = left[0];
  if (left.size() > 1) mapping.z = left[1];
  for (std::size_t i = 2; i < left.size(); ++i) mapping.within.insert(mapping.within.begin(), left[i]);
  return mapping;
}

std::string first_value(const CudaNames& names, const ThreadLoop& loop, const std::string& index) {
  const std::string steps = loop.step == 1 ? index : fmt::format("{} * ({})", loop.step, index);
  return loop.least == Expression::integer(0) ? steps
                                              : fmt::format("{} + {}", cuda_text(names, loop.least), steps);
}

Kernel described(const KernelRequest& request, const ParallelChain& chain, const std::string& pattern) {
  Kernel kernel;
  kernel.name = request.name;
  kernel.pattern = pattern;
  kernel.statements = statements_of(chain.body);
  kernel.grid = kernel.block = {Expression::integer(1), Expression::integer(1), Expression::integer(1)};
  return kernel;
}

std::optional<KernelGroup> pointwise(const KernelRequest& request) {
  const ParallelChain chain = parallel_chain(request.tree);
  if (chain.loops.empty()) return std::nullopt;
  const CudaNames names{request.parallel.nest, request.parallel};
  const ThreadMapping mapping = map_threads(names, chain);
  if (auto group = transposing(request, chain, mapping)) return group;
  if (!last_values_can_be_stored(private_copies(request, names, chain), chain)) return std::nullopt;
  if (auto group = in_constant_strips(request, chain, mapping)) return group;
  KernelGroup group;
  group.kernels.push_back(pointwise_kernel(request, constant_copies(request, chain, mapping)));
  return group;
}

Kernel pointwise_kernel(const KernelRequest& request, const std::vector<PlacedConstant>& constants) {
  const ParallelChain chain = parallel_chain(request.tree);
  CudaNames names{request.parallel.nest, request.parallel};
  const ThreadMapping mapping = map_threads(names, chain);
  const PrivateCopies copies = private_copies(request, names, chain);
  KernelParameters parameters = kernel_parameters(request, names, {request.tree}, chain.bounds(), copies);

  Kernel kernel = described(request, chain, "pointwise");
  const bool sequential = std::ranges::any_of(chain.body, holds_loop);
  // One dimension: few threads a block where each runs long, so that all multiprocessors get some.
  // Two: several rows a thread, whose loads are under way together.
  const bool rows = mapping.y && !sequential;
  const int width = rows         ? 256
                    : mapping.y  ? 32
                    : sequential ? 64
                                 : 256,
            height = mapping.y && sequential ? 8 : 1;
  kernel.block = {Expression::integer(width), Expression::integer(height), Expression::integer(1)};
  kernel.grid[0] = ceil_quotient(mapping.x->count(), width);
  if (mapping.y)
    kernel.grid[1] = at_most(ceil_quotient(mapping.y->count(), rows ? kRowsPerThread : height), kMostBlocks);
  if (mapping.z) kernel.grid[2] = at_most(mapping.z->count(), kMostBlocks);

  TextWriter writer;
  for (const PlacedConstant& constant : constants) {
    std::erase(parameters.all, constant.copy.array);
    kernel.constants.push_back(constant.copy);
  }
  kernel.parameters = parameters.all;
  CudaNames memory = names;  // where private variables and constants are not replaced
  names.instead = [&](const Expression& e) -> std::string {
    for (const auto& [copy, reason] : constants)
      if (e.kind == Kind::element && e.text == copy.array)
        return fmt::format("{}[{}{}]", copy.symbol, flat_index(names, e),
                           copy.first.empty() ? "" : " - " + copy.first);
    return copies.instead(e);
  };
  writer.open(
      kernel_signature({names, kernel.name, kernel.parameters, parameters.written, width * height, 0}));
  const std::string& x = mapping.x->loop.iterator;
  writer.line("const int {} = {};", x,
              first_value(names, *mapping.x, fmt::format("blockIdx.x * {} + threadIdx.x", width)));
  writer.line("if ({}) return;",
              cuda_text(names, Expression::binary(">=", Expression::name(x), mapping.x->end)));
  std::vector<Expression> guards = mapping.x->guards;
  const auto stride_over = [&](const ThreadLoop* loop, const std::string& first, const std::string& step) {
    if (!loop) return;
    const std::string& name = loop->loop.iterator;
    writer.open("for (int {0} = {1}; {2}; {0} += {3})", name, first_value(names, *loop, first),
                cuda_text(names, Expression::binary("<", Expression::name(name), loop->end)),
                loop->step == 1 ? step : fmt::format("{} * {}", loop->step, step));
    guards.insert(guards.end(), loop->guards.begin(), loop->guards.end());
  };
  stride_over(mapping.z, "blockIdx.z", "gridDim.z");
  if (!rows) {
    stride_over(mapping.y, fmt::format("blockIdx.y * {} + threadIdx.y", height),
                fmt::format("{} * gridDim.y", height));
  } else {
    const ThreadLoop& y = *mapping.y;
    const std::string &name = y.loop.iterator, first = free_name(names, name + "0");
    const auto inside = [&](const std::string& value) {
      return Expression::binary("<", Expression::name(value), y.end);
    };
    const std::string end = fmt::format("{} + {}", first, kRowsPerThread * y.step);
    const std::string next = y.step == 1 ? "++" + name : fmt::format("{} += {}", name, y.step);
    writer.open("for (int {0} = {1}; {2}; {0} += {3} * gridDim.y)", first,
                first_value(names, y, fmt::format("{} * blockIdx.y", kRowsPerThread)),
                cuda_text(names, inside(first)), kRowsPerThread * y.step);
    guards.insert(guards.end(), y.guards.begin(), y.guards.end());
    if (y.step == 1 && guards.empty() && copies.copies.empty() && mapping.within.empty() &&
        only_assignments(chain.body) && !depends_on_data(names.nest.region(), request.tree)) {
      writer.open("if ({} <= {})", end, cuda_text(names, y.end));
      write_rows(writer, names, chain.body, name, first);
      writer.close();
      writer.open("else");
      writer.open("for (int {} = {}; {}; {})", name, first, cuda_text(names, inside(name)), next);
    } else {
      writer.line("#pragma unroll");
      writer.open("for (int {} = {}; {} < {}; {})", name, first, name, end, next);
      guards.insert(guards.begin(), inside(name));
    }
  }
  for (const ThreadLoop* loop : mapping.within) stride_over(loop, "0", "1");
  if (!guards.empty()) writer.open("if ({})", cuda_text(names, all_of(guards)));
  declare(writer, copies);
  write_statements(writer, names, chain.body);
  store_last_values(writer, memory, copies, chain, request.tree);
  writer.close_to(0);
  kernel.text = writer.text();

  kernel.placements = memory_placements(names, chain.body, x, mapping.y ? mapping.y->loop.iterator : "",
                                        {width, height, 1}, copies);
  for (const auto& [copy, reason] : constants)
    for (Placement& placement : kernel.placements)
      if (placement.array == copy.array)
        placement = {copy.array, Space::constant, reason,
                     static_cast<std::uint64_t>(copy.elements) * size_of(copy.type)};
  kernel.reasons.push_back(fmt::format(
      "{} along x: most accesses of neighbouring threads are neighbours in memory; {} threads a block", x,
      width * height));
  if (rows)
    kernel.reasons.push_back(
        fmt::format("{} along y, {} iterations a thread: loads of several are under way at once",
                    mapping.y->loop.iterator, kRowsPerThread));
  else if (mapping.y)
    kernel.reasons.push_back(fmt::format("{} along y", mapping.y->loop.iterator));
  if (mapping.z) kernel.reasons.push_back(fmt::format("{} along z", mapping.z->loop.iterator));
  if (!chain.guards().empty())
    kernel.reasons.push_back(
        "the grid covers the box around the loops' ranges, threads outside of them do nothing");
  return kernel;
}

}  // namespace warploom::tile
