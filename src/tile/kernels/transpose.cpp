// The kernel that turns tiles: its launch, and what is told of it.
#include "tile/kernels/transpose.hpp"

#include <fmt/format.h>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

Expression host_blocks(const Transpose& found, const ThreadLoop& loop) {
  const Expression least = Expression::integer(found.edge - found.cut.sector),
                   piece = found.cut.always()
                               ? least
                               : Expression::conditional(found.cut.rows_fit, Expression::integer(found.edge),
                                                         least),
                   blocks = found.blocks(loop, piece), count = loop.count(), zero = Expression::integer(0);
  if (&loop != found.cut.along || count.kind == Expression::Kind::integer) return blocks;
  return Expression::conditional(Expression::binary(">", count, zero), blocks, zero);
}

/// All along x: only there may a grid have more than 65535 blocks.
Expression all_blocks(const Transpose& found) {
  Expression blocks = Expression::binary("*", host_blocks(found, *found.x), host_blocks(found, *found.y));
  if (found.z) blocks = Expression::binary("*", blocks, found.z->count());
  return simplified(blocks);
}

std::vector<Placement> placements(const CudaNames& names, const ParallelChain& chain,
                                  const Transpose& found) {
  const std::string &i = found.y->loop.iterator, &j = found.x->loop.iterator;
  std::vector<Placement> all =
      memory_placements(names, chain.body, j, i, {kTransposeLanes, kTransposeWarps, 1}, {});
  for (const Staged& s : found.staged)
    for (Placement& placement : all)
      if (placement.array == s.element.text)
        placement = {
            s.element.text,
            Space::shared,
            fmt::format(
                "{} runs along {} in memory: neighbours along {} would take {} sectors a warp in place of {}; "
                "a tile of {} x {} turns it, a column more puts a column's elements into different banks",
                to_text(s.element), i, j, placement.sectors, placement.ideal_sectors, found.edge, found.edge),
            static_cast<std::uint64_t>(found.edge * (found.edge + 1) * size_of(s.type)),
            placement.ideal_sectors,
            placement.ideal_sectors,
            1};
  return all;
}

std::string reason_of(const Cut& cut, int edge) {
  if (!cut.along) return cut.reason;
  return fmt::format(
      "rows of {} may have any length: each is written in pieces of {} that begin where a sector of {} bytes "
      "does, so that none is written in parts; {} of a tile's {} along {} are read by two blocks{}",
      cut.element.text, edge - cut.sector, kSectorBytes, cut.sector, edge, cut.along->loop.iterator,
      cut.always() ? "" : fmt::format("; not if {}", to_text(cut.rows_fit)));
}

std::vector<std::string> reasons(const Transpose& found) {
  std::vector<std::string> all = {
      fmt::format(
          "{} and {} in tiles of {} x {}: each side of the tile meets memory along its contiguous loop",
          found.y->loop.iterator, found.x->loop.iterator, found.edge, found.edge),
      fmt::format("{} threads a block, {} elements each, all loads under way before the first is used",
                  kTransposeLanes * kTransposeWarps, found.steps())};
  const std::string of_cut = reason_of(found.cut, found.edge);
  if (!of_cut.empty()) all.push_back(of_cut);
  return all;
}

}  // namespace

std::optional<KernelGroup> transposing(const KernelRequest& request, const ParallelChain& chain,
                                       const ThreadMapping& mapping) {
  const CudaNames names{request.parallel.nest, request.parallel};
  const std::optional<Transpose> found = match_transpose(request, names, chain, mapping);
  if (!found) return std::nullopt;
  Kernel kernel = described(request, chain, "transposing");
  const KernelParameters parameters = kernel_parameters(request, names, {request.tree}, chain.bounds(), {});
  const Expression one = Expression::integer(1);
  kernel.parameters = parameters.all;
  kernel.grid = {all_blocks(*found), one, one};
  kernel.block = {Expression::integer(kTransposeLanes), Expression::integer(kTransposeWarps), one};
  kernel.text = transpose_text(
      {names, kernel.name, parameters.all, parameters.written, kTransposeLanes * kTransposeWarps, 0}, chain,
      *found);
  kernel.placements = placements(names, chain, *found);
  kernel.reasons = reasons(*found);
  return KernelGroup{{std::move(kernel)}};
}

}  // namespace warploom::tile
