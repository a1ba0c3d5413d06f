// Two loops, some references contiguous along one and some along the other: through a shared tile.
#include <fmt/format.h>

#include <algorithm>

#include "pointwise.hpp"
#include "simplify.hpp"

namespace warploom::loops {
namespace {

using Kind = Expression::Kind;

// H200, transpose of 16384 x 16384 fp32, GB/s where a copy has 4206: tile of 64, 32 x 16 threads 3958; of 32,
// 32 x 8 threads 3168. What matters is that a thread's loads are all under way before the first one is used:
// with a condition around each it is 2514.
constexpr int kLanes = 32, kWarps = 16;
constexpr std::uint64_t kSharedBytes = 48 * 1024;

/// A reference that neighbouring threads would scatter.
struct Staged {
  Expression element;
  std::string tile;
  ScalarType type = ScalarType::float32;
  bool read = false, written = false;
};

bool is_far(const std::optional<std::int64_t>& step) {
  return !step || (*step != 0 && *step != 1 && *step != -1);
}
bool is_near(const std::optional<std::int64_t>& step) { return step && (*step == 1 || *step == -1); }

}  // namespace

std::optional<KernelGroup> transposing(const KernelRequest& request, const ParallelChain& chain,
                                       const ThreadMapping& mapping) {
  CudaNames names{request.parallel.nest, request.parallel};
  if (chain.loops.size() < 2 || chain.loops.size() > 3) return std::nullopt;
  if (!private_copies(request, names, chain).copies.empty()) return std::nullopt;
  for (const Node& node : chain.body)
    if (node.kind != Node::Kind::assignment) return std::nullopt;
  const ThreadLoop& x = *mapping.x;
  const std::string& j = x.loop.iterator;
  const std::vector<Mention> all = mentions(chain.body);

  std::vector<Staged> staged;
  const ThreadLoop* y = nullptr;
  for (const Mention& mention : all) {
    if (mention.element.kind != Kind::element) continue;
    const ArrayShape shape = shape_of(names, mention.element.text);
    if (!is_far(stride(mention.element, shape.extents, j)) || !depends_on(mention.element, j)) continue;
    const auto across = std::find_if(chain.loops.begin(), chain.loops.end(), [&](const ThreadLoop& l) {
      return l.loop.iterator != j && is_near(stride(mention.element, shape.extents, l.loop.iterator));
    });
    if (across == chain.loops.end()) continue;  // scattered along every loop: nothing to gain
    if (y && y != &*across) return std::nullopt;
    y = &*across;
    auto same = std::find_if(staged.begin(), staged.end(),
                             [&](const Staged& s) { return s.element == mention.element; });
    if (same == staged.end()) same = staged.insert(staged.end(), {mention.element, "", shape.type});
    (mention.is_write ? same->written : same->read) = true;
  }
  if (!y || x.step != 1 || y->step != 1) return std::nullopt;
  for (const ThreadLoop* loop : {&x, y})
    if (const Expression count = loop->count(); count.kind == Kind::integer && count.value < kLanes)
      return std::nullopt;
  const auto written = [&](const std::string& array) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Mention& m) { return m.is_write && m.element.text == array; });
  };
  std::set<std::string> taken;
  const auto fresh = [&](const std::string& base) {
    const std::string name = free_name(names, base, taken);
    taken.insert(name);
    return name;
  };
  std::uint64_t element_bytes = 0;
  for (Staged& s : staged) {
    s.tile = fresh(s.element.text + "_tile");
    element_bytes += static_cast<std::uint64_t>(size_of(s.type));
    // Another reference to an array that changes could be the same element in one iteration.
    for (const Mention& mention : all)
      if (chain.body.size() > 1 && mention.element.text == s.element.text && mention.element != s.element &&
          written(s.element.text))
        return std::nullopt;
  }
  const int tile = element_bytes * 64 * 65 <= kSharedBytes ? 64 : 32;
  if (element_bytes * static_cast<std::uint64_t>(tile * (tile + 1)) > kSharedBytes) return std::nullopt;
  const ThreadLoop* z = nullptr;
  for (const ThreadLoop& loop : chain.loops)
    if (&loop != &x && &loop != y) z = &loop;

  const std::string& i = y->loop.iterator;
  const std::string tx = fresh("tx"), ty = fresh("ty"), i0 = fresh(i + "0"), j0 = fresh(j + "0"),
                    k = fresh("step");
  const int across = tile / kLanes, steps = across * tile / kWarps;
  const std::string along_lanes = across == 1 ? tx : fmt::format("{} + {} % {} * {}", tx, k, across, kLanes);
  const std::string along_warps = across == 1 ? fmt::format("{} + {} * {}", ty, k, kWarps)
                                              : fmt::format("{} + {} / {} * {}", ty, k, across, kWarps);

  Kernel kernel = described(request, chain, "transposing");
  std::vector<Expression> bounds;
  std::vector<Expression> inside;
  for (const ThreadLoop* loop : {y, &x, z}) {
    if (!loop) continue;
    bounds.insert(bounds.end(), {loop->least, loop->end});
    if (loop != z)
      inside.push_back(Expression::binary("<", Expression::name(loop->loop.iterator), loop->end));
  }
  bool guarded = false;
  for (const ThreadLoop& loop : chain.loops) {
    inside.insert(inside.end(), loop.guards.begin(), loop.guards.end());
    guarded = guarded || !loop.guards.empty();
  }
  const KernelParameters parameters = kernel_parameters(request, names, {request.tree}, bounds, {});
  kernel.parameters = parameters.all;
  const Expression one = Expression::integer(1), blocks_x = ceil_quotient(x.count(), tile),
                   blocks_y = ceil_quotient(y->count(), tile);
  // Both along x: only there may a grid have more than 65535 blocks.
  kernel.grid = {simplified(Expression::binary("*", blocks_x, blocks_y)),
                 z ? Expression::call("min", {z->count(), Expression::integer(65535)}) : one, one};
  kernel.block = {Expression::integer(kLanes), Expression::integer(kWarps), one};

  TextWriter writer;
  writer.open(
      kernel_signature({names, kernel.name, kernel.parameters, parameters.written, kLanes * kWarps, 0}));
  for (const Staged& s : staged)
    writer.line(fmt::format("__shared__ {} {}[{}][{}];  // [{}][{}], a column more against bank conflicts",
                            c_name(s.type), s.tile, tile, tile + 1, j, i));
  const auto times_tile = [&](const ThreadLoop& loop, const std::string& index) {
    const std::string first = fmt::format("{} * static_cast<int>({})", tile, index);
    return loop.least == Expression::integer(0) ? first
                                                : fmt::format("{} + {}", cuda_text(names, loop.least), first);
  };
  writer.line(fmt::format("const int {} = threadIdx.x, {} = threadIdx.y;", tx, ty));
  const std::string columns =
      to_text(Expression::binary("%", Expression::name("blockIdx.x"), cuda_expression(names, blocks_x)));
  const std::string lines =
      to_text(Expression::binary("/", Expression::name("blockIdx.x"), cuda_expression(names, blocks_x)));
  writer.line(fmt::format("const int {} = {};", j0, times_tile(x, columns)));
  writer.line(fmt::format("const int {} = {};", i0, times_tile(*y, lines)));
  if (z)
    writer.open(
        fmt::format("for (int {0} = {1}; {2}; {0} += {3}gridDim.y)", z->loop.iterator,
                    first_value(names, *z, "blockIdx.y"),
                    cuda_text(names, Expression::binary("<", Expression::name(z->loop.iterator), z->end)),
                    z->step == 1 ? "" : fmt::format("{} * ", z->step)));
  const std::string condition = cuda_text(names, all_of(inside));
  const auto open_steps = [&] {
    writer.line("#pragma unroll");
    writer.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, steps));
  };
  const auto last = [&](const ThreadLoop& loop) {
    return cuda_text(names, simplified(Expression::binary("-", loop.end, one)));
  };
  for (const Staged& s : staged) {
    if (!s.read) continue;
    const bool plain = !guarded && !written(s.element.text);  // beyond the edge the last element will do
    const std::string values = fresh(s.element.text + "_values");
    writer.line(fmt::format("{} {}[{}];  // neighbouring threads along {}, as memory has it", c_name(s.type),
                            values, steps, i));
    open_steps();
    const std::string at_i = fmt::format("{} + {}", i0, along_lanes),
                      at_j = fmt::format("{} + {}", j0, along_warps);
    if (plain) {
      writer.line(fmt::format("const int {} = min({}, {});", i, at_i, last(*y)));
      writer.line(fmt::format("const int {} = min({}, {});", j, at_j, last(x)));
      writer.line(fmt::format("{}[{}] = {};", values, k, cuda_text(names, s.element)));
    } else {
      writer.line(fmt::format("const int {} = {}, {} = {};", i, at_i, j, at_j));
      writer.line(fmt::format("if ({}) {}[{}] = {};", condition, values, k, cuda_text(names, s.element)));
    }
    writer.close();
    open_steps();
    writer.line(fmt::format("{}[{}][{}] = {}[{}];", s.tile, along_warps, along_lanes, values, k));
    writer.close();
  }
  const auto any = [&](bool Staged::*what) {
    return std::any_of(staged.begin(), staged.end(), [&](const Staged& s) { return s.*what; });
  };
  if (any(&Staged::read)) writer.line("__syncthreads();");
  open_steps();
  writer.line(fmt::format("const int {} = {} + {}, {} = {} + {};", i, i0, along_warps, j, j0, along_lanes));
  CudaNames tiled = names;
  tiled.instead = [&](const Expression& e) -> std::string {
    for (const Staged& s : staged)
      if (s.element == e) return fmt::format("{}[{}][{}]", s.tile, along_lanes, along_warps);
    return "";
  };
  writer.open(fmt::format("if ({})", condition));
  for (const Node& node : chain.body) writer.tree(cuda_tree(tiled, node));
  writer.close();
  writer.close();
  if (any(&Staged::written)) {
    writer.line("__syncthreads();");
    open_steps();
    writer.line(fmt::format("const int {} = {} + {}, {} = {} + {};", i, i0, along_lanes, j, j0, along_warps));
    writer.open(fmt::format("if ({})", condition));
    for (const Staged& s : staged)
      if (s.written)
        writer.line(
            fmt::format("{} = {}[{}][{}];", cuda_text(names, s.element), s.tile, along_warps, along_lanes));
    writer.close();
    writer.close();
  }
  if (z) {
    writer.line("__syncthreads();  // before the tiles are used again");
    writer.close();
  }
  writer.close();
  kernel.text = writer.text();

  kernel.placements = memory_placements(names, chain.body, j, i, {kLanes, kWarps, 1}, {});
  for (const Staged& s : staged)
    for (Placement& placement : kernel.placements)
      if (placement.array == s.element.text)
        placement = {
            s.element.text,
            Space::shared,
            fmt::format(
                "{} runs along {} in memory: neighbours along {} would take {} sectors a warp in place of "
                "{}; "
                "a tile of {} x {} turns it, a column more puts a column's elements into different banks",
                to_text(s.element), i, j, placement.sectors, placement.ideal_sectors, tile, tile),
            static_cast<std::uint64_t>(tile * (tile + 1) * size_of(s.type)),
            placement.ideal_sectors,
            placement.ideal_sectors,
            1};
  kernel.reasons = {
      fmt::format(
          "{} and {} in tiles of {} x {}: each side of the tile meets memory along its contiguous loop", i, j,
          tile, tile),
      fmt::format("{} threads a block, {} elements each, all loads under way before the first is used",
                  kLanes * kWarps, steps)};
  KernelGroup group;
  group.kernels.push_back(std::move(kernel));
  return group;
}

}  // namespace warploom::loops
