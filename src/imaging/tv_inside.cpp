#include "imaging/tv_inside.hpp"

#include <cmath>

#include "imaging/host_floats.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

/// Floats of the longest vector, and of a cache line.
constexpr std::int32_t kVector = 16;

RowRange inside_of(const float* row, std::int64_t n) {
  std::int64_t begin = 0, end = n;
  while (begin < n && std::isnan(row[begin])) ++begin;
  if (begin == n) return {};
  while (std::isnan(row[end - 1])) --end;
  // What is behind the last whole vector is done in smaller steps: never without a whole one before, so that
  // compiled code takes the same way.
  const std::int64_t last_whole = std::max<std::int64_t>(0, n / kVector - 1) * kVector;
  begin = std::min(begin / kVector * kVector, last_whole);
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(std::min(n, round_up(end, kVector)))};
}

}  // namespace

/// Long rows begin with a cache line; of short ones the rest of a line would be much of the whole.
std::int64_t InsideRows::padded(std::int64_t size) {
  return size < 4 * kVector ? size : round_up(size, kVector);
}

InsideRows::InsideRows(const TvProblem& problem, bool whole)
    : nx_(problem.grid.nx),
      ny_(problem.grid.ny),
      nz_(problem.grid.nz),
      channels_(problem.constants.channels),
      group_(problem.tensor ? kTensorChannels : 1),
      rows_(static_cast<std::size_t>((nz_ + 1) * (ny_ + 1))) {
  parallel_for(nz_, [&](std::int64_t z) {
    for (std::int64_t y = 0; y < ny_; ++y)
      rows_[static_cast<std::size_t>((z + 1) * (ny_ + 1) + y + 1)].range =
          problem.outside && !whole ? inside_of(problem.noisy + (z * ny_ + y) * nx_, nx_)
                                    : RowRange{0, static_cast<std::int32_t>(nx_)};
  });
  for (Row& row : rows_) {
    row.packed = packed_voxels_;
    packed_voxels_ += padded(row.range.size());
  }
}

/// body(place in a planar image, in a packed one, voxels)
template <class Body>
void InsideRows::for_rows(const Body& body) const {
  parallel_for(nz_, [&](std::int64_t z) {
    for (int first = 0; first < channels_; first += group_)
      for (std::int64_t y = 0; y < ny_; ++y) {
        const RowPlace from = planar(first, y, z), to = packed(first, y, z);
        for (int c = 0; c < group_; ++c)
          body(from.at + c * from.stride, to.at + c * to.stride, at(y, z).size());
      }
  });
}

void InsideRows::pack(const float* image, float* packed) const {
  for_rows(
      [&](std::int64_t from, std::int64_t to, std::int64_t n) { std::copy_n(image + from, n, packed + to); });
}

void InsideRows::unpack(const float* packed, float* image) const {
  for_rows(
      [&](std::int64_t to, std::int64_t from, std::int64_t n) { std::copy_n(packed + from, n, image + to); });
}

}  // namespace warploom::imaging
