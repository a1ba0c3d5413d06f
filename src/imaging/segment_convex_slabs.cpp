#include <algorithm>

#include "imaging/seconds_spent.hpp"
#include "imaging/segment_convex.hpp"
#include "warploom/core/progress.hpp"

// Several devices share a volume in slabs along z. In every iteration each updates the edges of its own
// planes and of the plane below, so that only one plane each way has to go to and fro: the extrapolated v.
// Sums are whole numbers, or are added plane by plane: they do not depend on the cut.

namespace warploom::imaging {

namespace {}  // namespace

ConvexBackend::ConvexBackend(std::vector<std::unique_ptr<ConvexSlab>> slabs) : slabs_(std::move(slabs)) {
  for (std::size_t k = 0; k < slabs_.size(); ++k)
    slabs_[k]->connect(k > 0 ? slabs_[k - 1].get() : nullptr,
                       k + 1 < slabs_.size() ? slabs_[k + 1].get() : nullptr);
}

void ConvexBackend::begin(float lambda) {
  for (const auto& slab : slabs_) slab->begin(lambda);
}

void ConvexBackend::iterate(int count) {
  const SecondsSpent timer(seconds_);
  if (alone()) return slabs_[0]->iterate(count);
  for (int k = 0; k < count; ++k) {
    for (const auto& slab : slabs_) slab->iterate(1);
    for (const auto& slab : slabs_) slab->take_extrapolated();
  }
  for (const auto& slab : slabs_) slab->wait();
  check_interrupt();
}

LevelSums ConvexBackend::levels() {
  const SecondsSpent timer(seconds_);
  for (const auto& slab : slabs_) slab->ask_levels();
  LevelSums all;
  for (const auto& slab : slabs_) {
    const LevelSums own = slab->levels();
    for (std::size_t level = 0; level < std::size_t{kLevels}; ++level) {
      all.count[level] += own.count[level];
      all.sum[level] += own.sum[level];
      all.square[level] += own.square[level];
    }
  }
  return all;
}

SetSums ConvexBackend::sides(float threshold) {
  const SecondsSpent timer(seconds_);
  for (const auto& slab : slabs_) slab->ask_sides(threshold);
  SetSums all;
  for (const auto& slab : slabs_) {
    const SetSums own = slab->sides();
    all.inside += own.inside, all.sum += own.sum;
  }
  return all;
}

SetSums ConvexBackend::measure(float threshold) {
  const SecondsSpent timer(seconds_);
  if (!alone())
    for (const auto& slab : slabs_) slab->take_v();
  for (const auto& slab : slabs_) slab->ask_measure(threshold);
  SetSums all;
  for (const auto& slab : slabs_)
    for (const SetSums& plane : slab->measure()) {
      all.inside += plane.inside, all.sum += plane.sum;
      all.length += plane.length, all.excess += plane.excess;
    }
  return all;
}

std::uint64_t ConvexBackend::device_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& slab : slabs_) sum += slab->device_bytes();
  return sum;
}

std::vector<std::pair<std::int64_t, std::int64_t>> convex_cuts(const Grid& grid, std::size_t devices) {
  // The edges of lines and planes are others, and they are small.
  const bool space = grid.nx > 1 && grid.ny > 1 && grid.nz > 1;
  const std::int64_t count =
      space ? std::clamp<std::int64_t>(static_cast<std::int64_t>(devices), 1, grid.nz) : 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> cuts;
  for (std::int64_t k = 0; k < count; ++k) cuts.emplace_back(grid.nz * k / count, grid.nz * (k + 1) / count);
  return cuts;
}

ConvexProblem slab_of(const ConvexProblem& whole, std::int64_t first, std::int64_t end) {
  const std::int64_t from = std::max<std::int64_t>(first - 1, 0), to = std::min(end + 1, whole.grid.nz);
  ConvexProblem slab = whole;
  slab.grid.nz = to - from;
  const std::int64_t voxels = from * whole.grid.nx * whole.grid.ny;
  slab.image += voxels;
  if (slab.mask != nullptr) slab.mask += voxels;
  slab.first = first - from;
  slab.planes = end - first;
  return slab;
}

}  // namespace warploom::imaging
