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

struct BlockShape {
  int width = 0, height = 0;
  int rows = 1;            ///< iterations of y a thread
  std::string asked = {};  ///< what became of the tile that a person asked for
};

/// The tile that a person asked for, if a block can have so many threads. Otherwise: one dimension: few
/// threads a block where each runs long, so that all multiprocessors get some. Two: several rows a thread,
/// whose loads are under way together.
BlockShape block_shape(const KernelRequest& request, const ThreadMapping& mapping, bool sequential) {
  BlockShape shape;
  shape.rows = mapping.y && !sequential ? kRowsPerThread : 1;
  shape.width = shape.rows > 1 ? 256 : mapping.y ? 32 : sequential ? 64 : 256;
  shape.height = mapping.y && sequential ? 8 : 1;
  const auto tile = [&](const ThreadLoop* loop) -> std::int64_t {
    if (!loop) return 0;
    const auto found = request.parallel.tiles.find(loop->loop.iterator);
    return found == request.parallel.tiles.end() ? 0 : found->second;
  };
  const std::int64_t across = tile(mapping.x), down = tile(mapping.y);
  if (across == 0 && down == 0) return shape;
  constexpr std::int64_t kLeast = 32, kMost = 1024;  // threads
  const std::int64_t width = across > 0 ? std::min(across, kMost + 1) : shape.width,
                     lines =
                         down > 0 ? std::min(down, kRowsPerThread * kMost + 1) : shape.rows * shape.height;
  const std::int64_t rows =
      shape.rows > 1 && lines % shape.rows == 0 && width * lines / shape.rows >= kLeast ? shape.rows : 1;
  const std::int64_t height = lines / rows;
  const std::string text =
      fmt::format("{}{}", mapping.y ? fmt::format("{} {} x ", lines, mapping.y->loop.iterator) : "",
                  fmt::format("{} {}", width, mapping.x->loop.iterator));
  if (width * height < kLeast || width * height > kMost) {
    shape.asked =
        fmt::format("a block of {} would have {} threads; {} to {} fit, so blocks have their own size", text,
                    width * height, kLeast, kMost);
    return shape;
  }
  return {static_cast<int>(width), static_cast<int>(height), static_cast<int>(rows),
          fmt::format("a block computes {}, the tile that was asked for", text)};
}

/// The loops of threads as C++, from the block's and the thread's number on.
class KernelLoops {
 public:
  KernelLoops(TextWriter& writer, const CudaNames& names, const ThreadMapping& mapping,
              const BlockShape& shape)
      : writer_(writer), names_(names), mapping_(mapping), shape_(shape) {}

  /// Opens them all, each after those that its range depends on, and a branch for what must hold besides.
  /// @param whole_rows  statements to write for threads all of whose rows are there; none: no such branch
  void open(const ParallelChain& chain, const std::vector<Node>* whole_rows) {
    const ThreadLoop& x = *mapping_.x;
    if (!x.own) open_x();
    for (const ThreadLoop& loop : chain.loops) {
      if (&loop == &x) {
        if (x.own) open_x();
      } else if (&loop == mapping_.y && shape_.rows > 1) {
        open_rows(loop, whole_rows);
      } else if (&loop == mapping_.y && shape_.height > 1) {
        stride_over(loop, fmt::format("blockIdx.y * {} + threadIdx.y", shape_.height),
                    fmt::format("{} * gridDim.y", shape_.height));
      } else if (&loop == mapping_.y) {
        stride_over(loop, "blockIdx.y", "gridDim.y");
      } else if (&loop == mapping_.z) {
        stride_over(loop, "blockIdx.z", "gridDim.z");
      } else {
        stride_over(loop, "0", "1");
      }
    }
    if (!guards_.empty()) writer_.open("if ({})", cuda_text(names_, all_of(guards_)));
  }

 private:
  static Expression name_of(const ThreadLoop& loop) { return Expression::name(loop.loop.iterator); }
  static const Expression& end(const ThreadLoop& loop) { return loop.own ? loop.own->end : loop.end; }
  std::string value(const ThreadLoop& loop, const std::string& index) const {
    return loop.own ? value_from(names_, loop.own->first, loop.own->step, index)
                    : first_value(names_, loop, index);
  }
  std::int64_t step(const ThreadLoop& loop) const { return loop.own ? loop.own->step : loop.step; }
  /// Its own range is exact.
  void guard(const ThreadLoop& loop) {
    if (!loop.own) guards_.insert(guards_.end(), loop.guards.begin(), loop.guards.end());
  }

  void open_x() {
    const ThreadLoop& x = *mapping_.x;
    writer_.line("const int {} = {};", x.loop.iterator,
                 value(x, fmt::format("blockIdx.x * {} + threadIdx.x", shape_.width)));
    const Expression inside = Expression::binary("<", name_of(x), end(x));
    if (x.own)
      guards_.push_back(inside);
    else
      writer_.line("if ({}) return;", cuda_text(names_, Expression::binary(">=", name_of(x), x.end)));
    guard(x);
  }

  void stride_over(const ThreadLoop& loop, const std::string& first, const std::string& by) {
    const std::string& name = loop.loop.iterator;
    writer_.open("for (int {0} = {1}; {2}; {0} += {3})", name, value(loop, first),
                 cuda_text(names_, Expression::binary("<", name_of(loop), end(loop))),
                 step(loop) == 1 ? by : fmt::format("{} * {}", step(loop), by));
    guard(loop);
  }

  void open_rows(const ThreadLoop& y, const std::vector<Node>* whole_rows) {
    const std::string &name = y.loop.iterator, first = free_name(names_, name + "0");
    const std::int64_t rows = shape_.rows, by = rows * step(y);
    const auto inside = [&](const std::string& value) {
      return Expression::binary("<", Expression::name(value), end(y));
    };
    const std::string after = fmt::format("{} + {}", first, by);
    const std::string next = step(y) == 1 ? "++" + name : fmt::format("{} += {}", name, step(y));
    const bool high = shape_.height > 1;
    writer_.open("for (int {0} = {1}; {2}; {0} += {3} * gridDim.y)", first,
                 value(y, high ? fmt::format("{} * (blockIdx.y * {} + threadIdx.y)", rows, shape_.height)
                               : fmt::format("{} * blockIdx.y", rows)),
                 cuda_text(names_, inside(first)), by * shape_.height);
    guard(y);
    if (whole_rows && guards_.empty()) {
      writer_.open("if ({} <= {})", after, cuda_text(names_, end(y)));
      write_rows(writer_, names_, *whole_rows, name, first);
      writer_.close();
      writer_.open("else");
      writer_.open("for (int {} = {}; {}; {})", name, first, cuda_text(names_, inside(name)), next);
    } else {
      writer_.line("#pragma unroll");
      writer_.open("for (int {} = {}; {} < {}; {})", name, first, name, after, next);
      guards_.insert(guards_.begin(), inside(name));
    }
  }

  TextWriter& writer_;
  const CudaNames& names_;
  const ThreadMapping& mapping_;
  const BlockShape& shape_;
  std::vector<Expression> guards_;
};

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
  // The box around three loops of a pyramid has six times its iterations: two are threads then.
  const auto is_apart = [&](const ThreadLoop& z) {
    return std::ranges::none_of(chain.loops,
                                [&](const ThreadLoop& l) { return l.depends_on(z) || z.depends_on(l); });
  };
  for (std::size_t i = 1; i < left.size(); ++i) {
    if (!mapping.z && is_apart(*left[i]))
      mapping.z = left[i];
    else
      mapping.within.insert(mapping.within.begin(), left[i]);
  }
  return mapping;
}

std::string value_from(const CudaNames& names, const Expression& first, std::int64_t step,
                       const std::string& index) {
  const std::string steps = step == 1 ? index : fmt::format("{} * ({})", step, index);
  return first == Expression::integer(0) ? steps : fmt::format("{} + {}", cuda_text(names, first), steps);
}

std::string first_value(const CudaNames& names, const ThreadLoop& loop, const std::string& index) {
  return value_from(names, loop.least, loop.step, index);
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
  const BlockShape shape = block_shape(request, mapping, sequential);
  const auto [width, height, rows, asked] = shape;
  kernel.block = {Expression::integer(width), Expression::integer(height), Expression::integer(1)};
  kernel.grid[0] = ceil_quotient(mapping.x->own_count(), width);
  if (mapping.y) kernel.grid[1] = at_most(ceil_quotient(mapping.y->own_count(), rows * height), kMostBlocks);
  if (mapping.z) kernel.grid[2] = at_most(mapping.z->own_count(), kMostBlocks);

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
  KernelLoops loops{writer, names, mapping, shape};
  // Every row there is, and nothing else to ask: no condition keeps the rows' loads from being under way
  // together.
  const bool whole_rows = rows > 1 && mapping.y->step == 1 && chain.guards().empty() &&
                          copies.copies.empty() && mapping.within.empty() && only_assignments(chain.body) &&
                          !depends_on_data(names.nest.region(), request.tree);
  loops.open(chain, whole_rows ? &chain.body : nullptr);
  declare(writer, copies);
  write_statements(writer, names, chain.body);
  store_last_values(writer, memory, copies, chain, request.tree);
  writer.close_to(0);
  kernel.text = writer.text();

  kernel.placements = memory_placements(names, chain.body, x, mapping.y ? mapping.y->loop.iterator : "",
                                        {width, height, 1}, copies, chain);
  for (const auto& [copy, reason] : constants)
    for (Placement& placement : kernel.placements)
      if (placement.array == copy.array)
        placement = {copy.array, Space::constant, reason,
                     static_cast<std::uint64_t>(copy.elements) * size_of(copy.type)};
  kernel.reasons.push_back(fmt::format(
      "{} along x: most accesses of neighbouring threads are neighbours in memory; {} threads a block", x,
      width * height));
  if (rows > 1)
    kernel.reasons.push_back(
        fmt::format("{} along y, {} iterations a thread: loads of several are under way at once",
                    mapping.y->loop.iterator, rows));
  else if (mapping.y)
    kernel.reasons.push_back(fmt::format("{} along y", mapping.y->loop.iterator));
  if (mapping.z) kernel.reasons.push_back(fmt::format("{} along z", mapping.z->loop.iterator));
  for (const ThreadLoop* loop : mapping.within)
    if (loop->own || !loop->guards.empty())
      kernel.reasons.push_back(fmt::format("each thread runs all of {}", loop->loop.iterator));
  if (!asked.empty()) kernel.reasons.push_back(asked);
  if (std::ranges::any_of(chain.loops, [](const ThreadLoop& l) { return l.own.has_value(); }))
    kernel.reasons.push_back("threads are numbered from the first iteration that there is");
  else if (!chain.guards().empty())
    kernel.reasons.push_back(
        "the grid covers the box around the loops' ranges, threads outside of them do nothing");
  return kernel;
}

}  // namespace warploom::tile
