#pragma once

#include <algorithm>
#include <cstdint>

#include "registration/loops.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {

/// How the rows of a grid are shared out: blocks of rows along y, over a few planes each, so that the planes
/// that the next strip reads again are still in the second cache. The same for any number of threads.
class Strips {
 public:
  explicit Strips(const GridSize& grid)
      : grid_(grid),
        rows_(std::min(grid.ny, std::clamp<std::int64_t>(kRowVoxels / grid.nx, 16, 64))),
        across_((grid.ny + rows_ - 1) / rows_),
        planes_(std::clamp<std::int64_t>(grid.voxels() / kVoxels, 1, 16)),
        along_((grid.nz + planes_ - 1) / planes_) {}
  std::int64_t count() const { return across_ * grid_.nz; }
  std::int64_t blocks() const { return across_ * along_; }
  /// body(strip, k) for the strips of a block, k their number in [0, count()).
  template <class Body>
  void of_block(std::int64_t block, Body&& body) const {
    const std::int64_t across = block % across_, first = block / across_ * planes_, from = across * rows_;
    for (std::int64_t z = first; z < std::min(grid_.nz, first + planes_); ++z)
      body(Strip{z, from, std::min(grid_.ny, from + rows_)}, z * across_ + across);
  }

 private:
  // A small image is in the second cache anyway: fewer planes make blocks for more threads, 32 of a cube.
  static constexpr std::int64_t kRowVoxels = 5000, kVoxels = 1 << 17;
  GridSize grid_;
  std::int64_t rows_, across_, planes_, along_;
};

/// body(strip, k) for each, on several threads.
template <class Body>
void for_strips(const GridSize& grid, Body&& body) {
  check_interrupt();
  const Strips strips(grid);
  parallel_for(strips.blocks(), [&](std::int64_t block) { strips.of_block(block, body); });
}

}  // namespace warploom::registration
