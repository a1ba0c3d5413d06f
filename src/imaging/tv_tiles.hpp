#pragma once

#include <cstdint>

/// How tv_pass.cuh divides its work. Each line was compiled; gpu_bench_imaging_denoise times all of them.

namespace warploom::imaging {

/// The part of a plane that a block works on, and the threads it has: each takes `rows` voxels one below the
/// other.
template <int width, int height, int rows, int blocks>
struct TvTile {
  static_assert(width % 32 == 0 && height % rows == 0);
  static constexpr int kWidth = width, kHeight = height, kRows = rows;
  static constexpr int kThreads = width * height / rows;
  static constexpr int kBlocks = blocks;  ///< that a multiprocessor is to hold: bounds the registers
};

/// body(tile...): the candidates for six channels of a tensor. On an H200 those whose registers suffice win,
/// 168 for two rows a thread and 12 warps, 128 for one row and 16: where ptxas spills, it spills values that
/// wait for memory, which is to wait on the spot. Two rows a thread are faster (576 us a pass at 256^3, 617
/// with one), but not where the image is so small that the block that ends last counts most (64^3: 22.2
/// and 17.6 us).
template <class Body>
constexpr auto with_tensor_tiles(const Body& body) {
  return body(TvTile<32, 12, 2, 2>{}, TvTile<64, 8, 1, 1>{});
}
inline constexpr int kTensorTiles = 2;
constexpr int best_tensor_tile(std::int64_t voxels) { return voxels < (1 << 20) ? 1 : 0; }

/// Values that a device works on at least, where several share an image: below, what they wait for each other
/// in every pass takes longer than what it saves.
inline constexpr std::int64_t kSplitFrom = std::int64_t{1} << 25;

using TvChannelTile = TvTile<32, 16, 2, 4>;
using TvDescentTile = TvTile<32, 8, 2, 3>;

}  // namespace warploom::imaging
