// One iteration of the parallel loops a thread.
#include "pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "access_cost.hpp"
#include "sequential_code.hpp"
#include "simplify.hpp"

namespace warploom::loops {
namespace {

using Kind = Expression::Kind;

constexpr std::int64_t most_blocks = 65535;          // of a grid along y and z
constexpr std::uint64_t constant_bytes = 64 * 1024;  // of a module
// H200, GB/s, 16384 x 16384 fp32: five-point stencil with 256 x 1 threads a block and 4 rows each 3524, 32 x
// 8 threads 2746, 1 row 2277; a copy 3740 (8 rows 3984), 3648, 2645.
constexpr int rows_per_thread = 4;

bool holds_loop(const Node& node) {
  return node.kind == Node::Kind::loop || std::any_of(node.children.begin(), node.children.end(), holds_loop);
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

std::optional<std::int64_t> known_value(const Nest& nest, const Expression& expression) {
  std::map<std::string, Expression> known;
  for (const SizeRange& size : nest.sizes())
    if (size.least && size.most && *size.least == *size.most)
      known[size.name] = Expression::integer(*size.least);
  const Expression value = simplified(substitute(expression, known));
  return value.kind == Kind::integer ? std::optional(value.value) : std::nullopt;
}

bool only_assignments(const std::vector<Node>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const Node& n) { return n.kind == Node::Kind::assignment; });
}

/// Rows `first` to `first` + rows_per_thread - 1, all of which there are: no condition keeps their loads from
/// being under way together. Where a statement reads what it writes all its values come before the first is
/// stored: a compiler cannot know that rows differ.
void write_rows(TextWriter& writer, const CudaNames& names, const std::vector<Node>& body,
                const std::string& row, const std::string& first) {
  const std::vector<Mention> all = mentions(body);
  const bool reads_own = std::any_of(all.begin(), all.end(), [&](const Mention& read) {
    return !read.is_write && std::any_of(all.begin(), all.end(), [&](const Mention& write) {
      return write.is_write && write.element.text == read.element.text;
    });
  });
  const std::string header =
      fmt::format("for (int {0} = {1}; {0} < {1} + {2}; ++{0})", row, first, rows_per_thread);
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
  std::set<std::string> taken;
  for (const Node& node : body) {
    const std::string values = free_name(names, node.target.text + "_rows", taken);
    taken.insert(values);
    const Expression value =
        node.op == "=" ? node.value : Expression::binary(node.op.substr(0, 1), node.target, node.value);
    writer.line(fmt::format("{} {}[{}];", c_name(type_of(names, node.target)), values, rows_per_thread));
    over_rows({fmt::format("{}[{} - {}] = {};", values, row, first, cuda_text(names, value))});
    over_rows({fmt::format("{} = {}[{} - {}];", cuda_text(names, node.target), values, row, first)});
  }
}

Expression at_most(const Expression& value, std::int64_t limit) {
  if (value.kind == Kind::integer) return Expression::integer(std::min(value.value, limit));
  return Expression::call("min", {value, Expression::integer(limit)});
}

}  // namespace

ThreadMapping map_threads(const CudaNames& names, const ParallelChain& chain) {
  const std::vector<Mention> all = mentions(chain.body);
  ThreadMapping mapping;
  std::vector<const ThreadLoop*> left;
  for (auto loop = chain.loops.rbegin(); loop != chain.loops.rend(); ++loop)
    left.push_back(&*loop);  // innermost first
  const auto best = std::max_element(left.begin(), left.end(), [&](const ThreadLoop* a, const ThreadLoop* b) {
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

std::vector<ConstantCopy> constant_copies(const KernelRequest& request, const CudaNames& names,
                                          const ParallelChain& chain, const ThreadMapping& mapping) {
  std::vector<ConstantCopy> result;
  std::uint64_t used = 0;
  const std::vector<Mention> here = mentions(chain.body), everywhere = mentions({names.nest.region().body});
  const auto times = [&](const Expression& count) {
    return static_cast<double>(known_value(names.nest, count).value_or(1));
  };
  double warps = 1.0 / 32;
  for (const ThreadLoop& loop : chain.loops) warps *= times(loop.count());
  for (const Variable& variable : names.nest.region().variables) {
    const std::string symbol = variable.name + "_constant";
    const bool written = std::any_of(everywhere.begin(), everywhere.end(), [&](const Mention& m) {
      return m.is_write && m.element.text == variable.name;
    });
    if (variable.extents.empty() || written || free_name(names, symbol) != symbol) continue;
    std::uint64_t bytes = static_cast<std::uint64_t>(size_of(variable.type));
    for (const Expression& extent : variable.extents) {
      const std::int64_t value = known_value(names.nest, extent).value_or(0);
      bytes = value > 0 && bytes <= constant_bytes ? bytes * static_cast<std::uint64_t>(value)
                                                   : 2 * constant_bytes;
    }
    // Kernels of one file share the space: arrays get theirs in the order of the text, whoever uses them.
    if (used + bytes > constant_bytes) continue;
    used += bytes;
    double loads = 0;  // a thread
    bool same = true;
    for (const Mention& mention : here) {
      if (mention.element.text != variable.name) continue;
      same = same && !depends_on(mention.element, mapping.x->loop.iterator);
      double count = mention.loops.empty() ? 0 : 1;  // one read a thread is not worth a copy
      for (const Node* loop : mention.loops) count *= times(trip_count(*loop));
      loads += count;
    }
    const DeviceRates& rates = device_rates(request.options.architecture);
    const double gain_us =
        loads * warps * 128 / (rates.shared_gb_s * 1e3);  // a load takes L1's 128 bytes a clock once
    const double copy_us = rates.launch_us + 2 * static_cast<double>(bytes) / (rates.global_gb_s * 1e3);
    if (!same || gain_us <= copy_us) continue;
    result.push_back(
        {variable.name, symbol, bytes,
         fmt::format("all threads of a warp read the same element; {} bytes of 65536; {:.3g} loads a thread, "
                     "which take L1 {:.3g} us against {:.3g} us for the copy",
                     bytes, loads, gain_us, copy_us)});
  }
  return result;
}

std::optional<KernelGroup> pointwise(const KernelRequest& request) {
  const ParallelChain chain = parallel_chain(request.tree);
  if (chain.loops.empty()) return std::nullopt;
  CudaNames names{request.parallel.nest, request.parallel};
  const ThreadMapping mapping = map_threads(names, chain);
  if (auto group = transposing(request, chain, mapping)) return group;

  const PrivateCopies copies = private_copies(request, names, chain);
  if (!last_values_can_be_stored(copies, chain)) return std::nullopt;
  std::vector<Expression> bounds;
  for (const ThreadLoop& loop : chain.loops) bounds.insert(bounds.end(), {loop.least, loop.end});
  KernelParameters parameters = kernel_parameters(request, names, {request.tree}, bounds, copies);
  const std::vector<ConstantCopy> constants = constant_copies(request, names, chain, mapping);

  Kernel kernel = described(request, chain, "pointwise");
  const bool sequential = std::any_of(chain.body.begin(), chain.body.end(), holds_loop);
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
    kernel.grid[1] = at_most(ceil_quotient(mapping.y->count(), rows ? rows_per_thread : height), most_blocks);
  if (mapping.z) kernel.grid[2] = at_most(mapping.z->count(), most_blocks);

  TextWriter writer;
  for (const ConstantCopy& constant : constants) std::erase(parameters.all, constant.array);
  kernel.parameters = parameters.all;
  CudaNames memory = names;  // where private variables and constants are not replaced
  names.instead = [&](const Expression& e) -> std::string {
    for (const ConstantCopy& constant : constants)
      if (e.kind == Kind::element && e.text == constant.array)
        return fmt::format("{}[{}]", constant.symbol, flat_index(names, e));
    return copies.instead(e);
  };
  writer.open(
      kernel_signature({names, kernel.name, kernel.parameters, parameters.written, width * height, 0}));
  const std::string& x = mapping.x->loop.iterator;
  writer.line(
      fmt::format("const int {} = {};", x,
                  first_value(names, *mapping.x, fmt::format("blockIdx.x * {} + threadIdx.x", width))));
  writer.line(fmt::format("if ({}) return;",
                          cuda_text(names, Expression::binary(">=", Expression::name(x), mapping.x->end))));
  int open = 0;
  std::vector<Expression> guards = mapping.x->guards;
  const auto stride_over = [&](const ThreadLoop* loop, const std::string& first, const std::string& step) {
    if (!loop) return;
    const std::string& name = loop->loop.iterator;
    writer.open(fmt::format("for (int {0} = {1}; {2}; {0} += {3})", name, first_value(names, *loop, first),
                            cuda_text(names, Expression::binary("<", Expression::name(name), loop->end)),
                            loop->step == 1 ? step : fmt::format("{} * {}", loop->step, step)));
    guards.insert(guards.end(), loop->guards.begin(), loop->guards.end());
    ++open;
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
    const std::string end = fmt::format("{} + {}", first, rows_per_thread * y.step);
    const std::string next = y.step == 1 ? "++" + name : fmt::format("{} += {}", name, y.step);
    writer.open(fmt::format("for (int {0} = {1}; {2}; {0} += {3} * gridDim.y)", first,
                            first_value(names, y, fmt::format("{} * blockIdx.y", rows_per_thread)),
                            cuda_text(names, inside(first)), rows_per_thread * y.step));
    ++open;
    guards.insert(guards.end(), y.guards.begin(), y.guards.end());
    if (y.step == 1 && guards.empty() && copies.copies.empty() && mapping.within.empty() &&
        only_assignments(chain.body)) {
      writer.open(fmt::format("if ({} <= {})", end, cuda_text(names, y.end)));
      write_rows(writer, names, chain.body, name, first);
      writer.close();
      writer.open("else");
      writer.open(
          fmt::format("for (int {} = {}; {}; {})", name, first, cuda_text(names, inside(name)), next));
      open += 2;
    } else {
      writer.line("#pragma unroll");
      writer.open(fmt::format("for (int {} = {}; {} < {}; {})", name, first, name, end, next));
      guards.insert(guards.begin(), inside(name));
      ++open;
    }
  }
  for (const ThreadLoop* loop : mapping.within) stride_over(loop, "0", "1");
  if (!guards.empty()) {
    writer.open(fmt::format("if ({})", cuda_text(names, all_of(guards))));
    ++open;
  }
  declare(writer, copies);
  write_statements(writer, names, chain.body);
  store_last_values(writer, memory, copies, chain, request.tree);
  while (open-- > 0) writer.close();
  writer.close();
  kernel.text = writer.text();

  kernel.placements = memory_placements(names, chain.body, x, mapping.y ? mapping.y->loop.iterator : "",
                                        {width, height, 1}, copies);
  for (const ConstantCopy& constant : constants)
    for (Placement& placement : kernel.placements)
      if (placement.array == constant.array)
        placement = {constant.array, Space::constant, constant.reason, constant.bytes, 0, 0, 1};
  kernel.reasons.push_back(fmt::format(
      "{} along x: most accesses of neighbouring threads are neighbours in memory; {} threads a block", x,
      width * height));
  if (rows)
    kernel.reasons.push_back(
        fmt::format("{} along y, {} iterations a thread: loads of several are under way at once",
                    mapping.y->loop.iterator, rows_per_thread));
  else if (mapping.y)
    kernel.reasons.push_back(fmt::format("{} along y", mapping.y->loop.iterator));
  if (mapping.z) kernel.reasons.push_back(fmt::format("{} along z", mapping.z->loop.iterator));
  if (!mapping.x->guards.empty() || std::any_of(chain.loops.begin(), chain.loops.end(),
                                                [](const ThreadLoop& l) { return !l.guards.empty(); }))
    kernel.reasons.push_back(
        "the grid covers the box around the loops' ranges, threads outside of them do nothing");
  KernelGroup group;
  group.kernels.push_back(std::move(kernel));
  return group;
}

}  // namespace warploom::loops
