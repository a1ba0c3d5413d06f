// Which references a tile turns, and whether rows are cut.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/predicate.hpp"
#include "tile/c/simplify.hpp"
#include "tile/kernels/transpose.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

bool is_far(const std::optional<std::int64_t>& step) {
  return !step || (*step != 0 && *step != 1 && *step != -1);
}
bool is_near(const std::optional<std::int64_t>& step) { return step && (*step == 1 || *step == -1); }

bool is_staged(const Transpose& found, const Expression& element) {
  return std::ranges::any_of(found.staged, [&](const Staged& s) { return s.element == element; });
}

/// Finds what is scattered along x and contiguous along another loop, which is y. @return false where there
/// is nothing, or several such loops
bool find_staged(const CudaNames& names, const ParallelChain& chain, const std::vector<Mention>& all,
                 Transpose& found) {
  const std::string& j = found.x->loop.iterator;
  for (const Mention& mention : all) {
    if (mention.element.kind != Kind::element) continue;
    const ArrayShape shape = shape_of(names, mention.element.text);
    if (!is_far(stride(mention.element, shape.extents, j)) || !depends_on(mention.element, j)) continue;
    const auto across = std::ranges::find_if(chain.loops, [&](const ThreadLoop& l) {
      return l.loop.iterator != j && is_near(stride(mention.element, shape.extents, l.loop.iterator));
    });
    if (across == chain.loops.end()) continue;  // scattered along every loop: nothing to gain
    if (found.y && found.y != &*across) return false;
    found.y = &*across;
    auto same =
        std::ranges::find_if(found.staged, [&](const Staged& s) { return s.element == mention.element; });
    if (same == found.staged.end()) same = found.staged.insert(same, Staged{mention.element, shape.type});
    (mention.is_write ? same->written : same->read) = true;
  }
  return found.y != nullptr;
}

bool fills_lanes(const ThreadLoop& loop) {
  const Expression count = loop.count();
  return loop.step == 1 && (count.kind != Kind::integer || count.value >= kTransposeLanes);
}

bool is_written(const std::vector<Mention>& all, const std::string& array) {
  return std::ranges::any_of(all, [&](const Mention& m) { return m.is_write && m.element.text == array; });
}

/// Whether another reference to an array that changes could be the same element in one iteration.
bool may_meet(const std::vector<Mention>& all, const Staged& staged) {
  const std::string& array = staged.element.text;
  return is_written(all, array) && std::ranges::any_of(all, [&](const Mention& m) {
           return m.element.text == array && m.element != staged.element;
         });
}

/// 0 where not even the smallest tiles fit.
int edge_of_tiles(const std::vector<Staged>& staged) {
  std::uint64_t bytes = 0;
  for (const Staged& s : staged) bytes += static_cast<std::uint64_t>(size_of(s.type));
  return bytes * 64 * 65 <= kSharedBytes ? 64 : bytes * 32 * 33 <= kSharedBytes ? 32 : 0;
}

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
Cut cut_at_sectors(const CudaNames& names, const std::vector<Mention>& all, const Transpose& found) {
  const bool last_part_is_tiles = found.writes_tiles();
  const ThreadLoop& along = found.near();
  Cut cut;
  for (const Mention& write : all) {
    if (!write.is_write) continue;
    const std::string& array = write.element.text;
    // Iterations of an overlap run in two blocks if tiles are what is written: nothing else may be.
    const bool read = std::ranges::any_of(all, [&](const Mention& m) {
      return !m.is_write && m.element.text == array && (last_part_is_tiles || is_staged(found, m.element));
    });
    if (read || last_part_is_tiles != is_staged(found, write.element))
      return {
          .reason = fmt::format(
              "tiles do not overlap, since {} {}: parts of sectors are written at their borders where rows are not whole sectors",
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

bool Transpose::any(bool Staged::*what) const {
  return std::ranges::any_of(staged, [&](const Staged& s) { return s.*what; });
}

Expression Transpose::blocks(const ThreadLoop& loop, const Expression& piece) const {
  if (&loop != cut.along) return ceil_quotient(loop.count(), edge);
  // The first piece may begin sector - 1 elements before the loop.
  const Expression most = plus(loop.count(), edge - 1);
  return Expression::binary("/", most, piece);
}

std::optional<Transpose> match_transpose(const KernelRequest& request, const CudaNames& names,
                                         const ParallelChain& chain, const ThreadMapping& mapping) {
  if (chain.loops.size() < 2 || chain.loops.size() > 3 || !only_assignments(chain.body) ||
      !moves_in_blocks(request.nest.region(), request.tree) ||
      !private_copies(request, names, chain).copies.empty())
    return std::nullopt;
  Transpose found{.x = mapping.x};
  const std::vector<Mention> all = mentions(chain.body);
  if (!find_staged(names, chain, all, found) || !fills_lanes(*found.x) || !fills_lanes(*found.y) ||
      (chain.body.size() > 1 &&
       std::ranges::any_of(found.staged, [&](const Staged& s) { return may_meet(all, s); })))
    return std::nullopt;
  for (const ThreadLoop& loop : chain.loops)
    if (&loop != found.x && &loop != found.y) found.z = &loop;
  found.edge = edge_of_tiles(found.staged);
  if (found.edge == 0) return std::nullopt;
  found.cut = cut_at_sectors(names, all, found);
  return found;
}

}  // namespace warploom::tile
