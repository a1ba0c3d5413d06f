#pragma once

/// What of an image a pass of total variation on the CPU works on, and how it lies in memory meanwhile.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "imaging/tv_backend.hpp"

namespace warploom::imaging {

/// Voxels [begin, end) of a row.
struct RowRange {
  std::int32_t begin = 0, end = 0;

  bool empty() const { return begin == end; }
  std::int64_t size() const { return end - begin; }
  /// The smallest range that holds both.
  RowRange with(RowRange other) const {
    if (empty()) return other;
    if (other.empty()) return *this;
    return {std::min(begin, other.begin), std::max(end, other.end)};
  }
};

/// Where a row's range lies: channel c of a group of channels at `at + c * stride`.
struct RowPlace {
  std::int64_t at = 0, stride = 0;
};

/// What of each row is worked on: from the first voxel inside the mask to the last, in whole vectors. What is
/// left out would add zeros to each of a vector's lanes, so that no sum changes.
///
/// Packed, an image is these ranges alone, row after row, of each row all channels that are worked on
/// together: [groups, nz, ny, channels of a group, range]. A pass over a planar image [channels, nz, ny, nx]
/// reads from six places at once of each of three images, more than a processor foresees and, if all cores
/// do so, more than the memory holds open.
class InsideRows {
 public:
  explicit InsideRows(const TvProblem& problem, bool whole = false);

  /// Channels that are worked on together: a tensor's, or one.
  int group() const { return group_; }
  /// Empty outside the grid, too.
  RowRange at(std::int64_t y, std::int64_t z) const { return row(y, z).range; }
  /// Where the row is looked at: by itself, and by those below for their differences to it.
  RowRange looked_at(std::int64_t y, std::int64_t z) const {
    return at(y, z).with(at(y - 1, z)).with(at(y, z - 1));
  }

  /// @param first  channel of the group
  RowPlace planar(int first, std::int64_t y, std::int64_t z) const {
    return {((first * nz_ + z) * ny_ + y) * nx_ + at(y, z).begin, nx_ * ny_ * nz_};
  }
  RowPlace packed(int first, std::int64_t y, std::int64_t z) const {
    const Row& here = row(y, z);
    return {first * packed_voxels_ + here.packed * group_, padded(here.range.size())};
  }
  std::int64_t packed_values() const { return packed_voxels_ * channels_; }
  void pack(const float* image, float* packed) const;
  /// What lies outside the ranges stays.
  void unpack(const float* packed, float* image) const;

 private:
  struct Row {
    RowRange range;
    std::int64_t packed = 0;  // voxels before it
  };
  static std::int64_t padded(std::int64_t size);
  const Row& row(std::int64_t y, std::int64_t z) const {
    return rows_[static_cast<std::size_t>((z + 1) * (ny_ + 1) + y + 1)];
  }
  template <class Body>
  void for_rows(const Body& body) const;

  std::int64_t nx_, ny_, nz_;
  int channels_, group_;
  std::vector<Row> rows_;  // [nz + 1, ny + 1]: those at -1 are empty
  std::int64_t packed_voxels_ = 0;
};

}  // namespace warploom::imaging
