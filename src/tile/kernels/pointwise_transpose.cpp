// Two loops, some references contiguous along one and some along the other: through a shared tile.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/kernels/pointwise.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

// H200, transpose of fp32, of a copy's bandwidth (4,240 GB/s): 16384 x 16384, then 16381 x 16003.
//   tile of 64, 16 warps                    0.967  0.738
//   stores begin at sectors, tiles overlap  0.957  0.913
//   and loads bring whole lines             0.958  0.935
//   and overlap only if rows need it        0.965  0.924
//   no overlap, one store more a row        0.967  0.770
//   a block marches along the rows          0.939  0.862
// The second with stores at 64 bytes 0.949, 0.898; tiles of 64 x 128 0.956, 0.913; of 32 x 64 0.933, 0.879.
// What matters besides: a thread's loads are all under way before the first one is used; few integer
// operations (indices are a thread's part plus a constant of the step: else 0.798, 0.735); 32 registers, so
// that a multiprocessor has 2048 threads (a loop over a third dimension takes 58: 0.844, without it 0.993).
constexpr int kLanes = 32, kWarps = 16, kSectorBytes = 32;
constexpr std::uint64_t kSharedBytes = 48 * 1024;

/// A reference that neighbouring threads would scatter.
struct Staged {
  Expression element;
  std::string tile;
  ScalarType type = ScalarType::float32;
  bool read = false, written = false;
};

/// A sector written in parts costs as much as several whole ones, and rows of an array whose length is no
/// multiple of a sector begin anywhere in one. So each row is cut where its own sectors begin: up to `sector`
/// elements after the first that the tile holds.
struct Cut {
  const ThreadLoop* along = nullptr;  ///< the loop along which the array is contiguous; none: not cut
  Expression element = {};
  int sector = 0;  ///< elements
  Expression rows_fit =
      {};  ///< whether rows are whole sectors, so that it need not be cut: "n % 8 == 0", or 0
  std::string reason = {};  ///< why not
};

Expression conditional(Expression condition, Expression yes, Expression no) {
  Expression result;
  result.kind = Kind::conditional;
  result.operands = {std::move(condition), std::move(yes), std::move(no)};
  return result;
}

bool is_far(const std::optional<std::int64_t>& step) {
  return !step || (*step != 0 && *step != 1 && *step != -1);
}
bool is_near(const std::optional<std::int64_t>& step) { return step && (*step == 1 || *step == -1); }

/// Whether rows of this array are whole sectors and the loop's first element begins one: 0, 1, or a
/// condition.
Expression rows_fit(const Nest& nest, const Expression& element, const ArrayShape& shape,
                    const ThreadLoop& along, int sector) {
  std::map<std::string, Expression> known{{along.loop.iterator, along.least}};
  for (const auto& [size, number] : known_sizes(nest)) known[size] = Expression::integer(number);
  const auto value = [&](const Expression& e) { return simplified(substitute(substitute(e, known), known)); };
  const Expression &length = shape.extents.back(), number = value(length),
                   offset = value(element.operands.back());
  if (offset.kind != Kind::integer || offset.value % sector != 0) return Expression::integer(0);
  if (number.kind == Kind::integer) return Expression::integer(number.value % sector == 0);
  return Expression::binary("==", Expression::binary("%", length, Expression::integer(sector)),
                            Expression::integer(0));
}

/// Of the first array that is written along the lanes of the kernel's last part. Tiles overlap then: what the
/// kernel writes must not be read in any of them, for another block may be writing it.
Cut cut_at_sectors(const CudaNames& names, const std::vector<Mention>& all, const std::vector<Staged>& staged,
                   const ThreadLoop& x, const ThreadLoop& y) {
  const auto is_staged = [&](const Expression& element) {
    return std::any_of(staged.begin(), staged.end(), [&](const Staged& s) { return s.element == element; });
  };
  const bool last_part_is_tiles =
      std::any_of(staged.begin(), staged.end(), [](const Staged& s) { return s.written; });
  const ThreadLoop& along = last_part_is_tiles ? y : x;
  Cut cut;
  for (const Mention& write : all) {
    if (!write.is_write) continue;
    const std::string& array = write.element.text;
    // Iterations of an overlap run in two blocks if tiles are what is written: nothing else may be.
    const bool read = std::any_of(all.begin(), all.end(), [&](const Mention& m) {
      return !m.is_write && m.element.text == array && (last_part_is_tiles || is_staged(m.element));
    });
    if (read || last_part_is_tiles != is_staged(write.element))
      return {.reason =
                  fmt::format("tiles do not overlap, since {} {}: parts of sectors are written at their "
                              "borders where rows are not whole sectors",
                              array, read ? "is read, too" : "is written besides")};
    const ArrayShape shape = shape_of(names, array);
    if (cut.along || stride(write.element, shape.extents, along.loop.iterator) != 1) continue;
    const int sector = kSectorBytes / size_of(shape.type);
    const Expression fit = rows_fit(names.nest, write.element, shape, along, sector);
    if (fit == Expression::integer(1))
      cut.reason = fmt::format("rows of {} are whole sectors of {} bytes", array, kSectorBytes);
    else
      cut = {&along, write.element, sector, fit, ""};
  }
  return cut;
}

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
                    k = fresh("step"), first = fresh("first"), skipped = fresh("skipped"),
                    overlap = fresh("overlap");
  const Cut cut = cut_at_sectors(names, all, staged, x, *y);
  const bool always_cut = cut.rows_fit == Expression::integer(0);
  // Elements of a tile along the loop that no other tile has, here and for the host.
  const std::string piece =
      always_cut ? std::to_string(tile - cut.sector) : fmt::format("({} - {})", tile, overlap);
  const Expression least_piece = Expression::integer(tile - cut.sector),
                   host_piece = always_cut
                                    ? least_piece
                                    : conditional(cut.rows_fit, Expression::integer(tile), least_piece);
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
    if (loop == cut.along)
      inside.push_back(Expression::binary(">=", Expression::name(loop->loop.iterator), loop->least));
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
  const Expression one = Expression::integer(1);
  // The first piece may begin sector - 1 elements before the loop.
  const auto blocks = [&](const ThreadLoop& loop, const Expression& cut_piece) {
    if (&loop != cut.along) return ceil_quotient(loop.count(), tile);
    const Expression most = simplified(Expression::binary("+", loop.count(), Expression::integer(tile - 1)));
    return Expression::binary("/", most, cut_piece);
  };
  const auto host_blocks = [&](const ThreadLoop& loop) {
    const Expression count = loop.count(), number = blocks(loop, host_piece), zero = Expression::integer(0);
    return &loop != cut.along || count.kind == Kind::integer
               ? number
               : conditional(Expression::binary(">", count, zero), number, zero);
  };
  // All along x: only there may a grid have more than 65535 blocks.
  Expression all_blocks = Expression::binary("*", host_blocks(x), host_blocks(*y));
  if (z) all_blocks = Expression::binary("*", all_blocks, z->count());
  kernel.grid = {simplified(all_blocks), one, one};
  kernel.block = {Expression::integer(kLanes), Expression::integer(kWarps), one};

  TextWriter writer;
  writer.open(
      kernel_signature({names, kernel.name, kernel.parameters, parameters.written, kLanes * kWarps, 0}));
  for (const Staged& s : staged)
    writer.line(fmt::format("__shared__ {} {}[{}][{}];  // [{}][{}], a column more against bank conflicts",
                            c_name(s.type), s.tile, tile, tile + 1, j, i));
  const auto any = [&](bool Staged::*what) {
    return std::any_of(staged.begin(), staged.end(), [&](const Staged& s) { return s.*what; });
  };
  const auto times_tile = [&](const ThreadLoop& loop, const std::string& index) {
    const std::string start = &loop == cut.along
                                  ? fmt::format("{} * static_cast<int>({}) - {}", piece, index,
                                                always_cut ? std::to_string(cut.sector) : overlap)
                                  : fmt::format("{} * static_cast<int>({})", tile, index);
    return loop.least == Expression::integer(0) ? start
                                                : fmt::format("{} + {}", cuda_text(names, loop.least), start);
  };
  writer.line(fmt::format("const int {} = threadIdx.x, {} = threadIdx.y;", tx, ty));
  if (cut.along && !always_cut)
    writer.line(fmt::format(
        "const int {} = {} ? 0 : {};  // of tiles along {}: none if rows of {} are whole sectors", overlap,
        cuda_text(names, cut.rows_fit), cut.sector, cut.along->loop.iterator, cut.element.text));
  // Neighbouring blocks write neighbouring pieces of rows.
  const ThreadLoop &near = any(&Staged::written) ? *y : x, &far = &near == &x ? *y : x;
  const Expression block = Expression::name("blockIdx.x"),
                   near_blocks = cuda_expression(names, blocks(near, Expression::name(piece))),
                   far_blocks = cuda_expression(names, blocks(far, Expression::name(piece))),
                   quotient = Expression::binary("/", block, near_blocks);
  const auto first_of_tile = [&](const ThreadLoop& loop, const Expression& index) {
    writer.line(fmt::format("const int {} = {};", &loop == &x ? j0 : i0, times_tile(loop, to_text(index))));
  };
  first_of_tile(near, Expression::binary("%", block, near_blocks));
  first_of_tile(far, z ? Expression::binary("%", quotient, far_blocks) : quotient);
  if (z)
    writer.line(fmt::format("const int {} = {};", z->loop.iterator,
                            first_value(names, *z, to_text(Expression::binary("/", quotient, far_blocks)))));
  const std::string condition = cuda_text(names, all_of(inside));
  const auto open_steps = [&] {
    writer.line("#pragma unroll");
    writer.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", k, steps));
  };
  const auto nearest = [&](const ThreadLoop& loop, const std::string& index) {
    const std::string from =
        &loop == cut.along ? fmt::format("max({}, {})", index, cuda_text(names, loop.least)) : index;
    return fmt::format("min({}, {})", from,
                       cuda_text(names, simplified(Expression::binary("-", loop.end, one))));
  };
  // The kernel's last part: lanes along the loop that is cut.
  std::string last_lanes = along_lanes, last_condition = condition;
  const auto begin_last_part = [&] {
    if (!cut.along) return;
    const bool along_x = cut.along == &x;
    const std::map<std::string, Expression> first_of_row{
        {j, Expression::name(along_x ? j0 : fmt::format("({} + {})", j0, ty))},
        {i, Expression::name(along_x ? fmt::format("({} + {})", i0, ty) : i0)}};
    writer.line(
        fmt::format("// Each row of {} is cut where a sector of {} bytes begins; a thread's rows, {} apart, "
                    "in the same place.",
                    cut.element.text, kSectorBytes, kWarps));
    writer.line(fmt::format("const auto {} = reinterpret_cast<std::uintptr_t>({}) / sizeof(*{}) + {};", first,
                            cut.element.text, cut.element.text,
                            flat_index(names, substitute(cut.element, first_of_row))));
    writer.line(fmt::format("const int {} = {}{} - static_cast<int>({} % {});", skipped,
                            always_cut ? "" : overlap + " == 0 ? 0 : ", cut.sector, first, cut.sector));
    last_lanes = fmt::format("{} + {}", skipped, along_lanes);
    last_condition +=
        fmt::format(" && {} < {}", along_lanes, always_cut ? piece : fmt::format("{} - {}", tile, overlap));
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
      writer.line(fmt::format("const int {} = {};", i, nearest(*y, at_i)));
      writer.line(fmt::format("const int {} = {};", j, nearest(x, at_j)));
      writer.line(fmt::format("{}[{}] = load_with_line(&{});", values, k, cuda_text(names, s.element)));
    } else {
      writer.line(fmt::format("const int {} = {}, {} = {};", i, at_i, j, at_j));
      writer.line(fmt::format("if ({}) {}[{}] = {};", condition, values, k, cuda_text(names, s.element)));
    }
    writer.close();
    open_steps();
    writer.line(fmt::format("{}[{}][{}] = {}[{}];", s.tile, along_warps, along_lanes, values, k));
    writer.close();
  }
  if (any(&Staged::read)) writer.line("__syncthreads();");
  const bool tiles_written = any(&Staged::written);
  if (!tiles_written) begin_last_part();
  open_steps();
  writer.line(fmt::format("const int {} = {} + {}, {} = {} + {};", i, i0, along_warps, j, j0, last_lanes));
  CudaNames tiled = names;
  tiled.instead = [&, lanes = last_lanes](const Expression& e) -> std::string {
    for (const Staged& s : staged)
      if (s.element == e) return fmt::format("{}[{}][{}]", s.tile, lanes, along_warps);
    return "";
  };
  writer.open(fmt::format("if ({})", last_condition));
  for (const Node& node : chain.body) writer.tree(cuda_tree(tiled, node));
  writer.close();
  writer.close();
  if (tiles_written) {
    writer.line("__syncthreads();");
    begin_last_part();
    open_steps();
    writer.line(fmt::format("const int {} = {} + {}, {} = {} + {};", i, i0, last_lanes, j, j0, along_warps));
    writer.open(fmt::format("if ({})", last_condition));
    for (const Staged& s : staged)
      if (s.written)
        writer.line(
            fmt::format("{} = {}[{}][{}];", cuda_text(names, s.element), s.tile, along_warps, last_lanes));
    writer.close();
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
  const std::string reason =
      cut.along
          ? fmt::format(
                "rows of {} may have any length: each is written in pieces of {} that begin where a "
                "sector of {} bytes does, so that none is written in parts; {} of a tile's {} along {} "
                "are read by two blocks{}",
                cut.element.text, tile - cut.sector, kSectorBytes, cut.sector, tile, cut.along->loop.iterator,
                always_cut ? "" : fmt::format("; not if {}", to_text(cut.rows_fit)))
          : cut.reason;
  if (!reason.empty()) kernel.reasons.push_back(reason);
  KernelGroup group;
  group.kernels.push_back(std::move(kernel));
  return group;
}

}  // namespace warploom::tile
