#pragma once

/// One pass of total variation over the image on the CPU, of Solver::accelerated or Solver::descent.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "imaging/host_floats.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_rows.hpp"

namespace warploom::imaging {

/// Of the fastest instruction set that the processor at hand can run.
const TvRows& rows_of_this_processor();

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

/// What of each row is worked on: from the first voxel inside the mask to the last, in whole vectors. What is
/// left out would add zeros to each of a vector's lanes, so that no sum changes.
class InsideRows {
 public:
  explicit InsideRows(const TvProblem& problem, bool whole = false);

  /// Empty outside the grid, too.
  RowRange at(std::int64_t y, std::int64_t z) const {
    return rows_[static_cast<std::size_t>((z + 1) * (ny_ + 1) + y + 1)];
  }
  /// Where the row is looked at: by itself, and by those below for their differences to it.
  RowRange looked_at(std::int64_t y, std::int64_t z) const {
    return at(y, z).with(at(y - 1, z)).with(at(y, z - 1));
  }

 private:
  std::int64_t ny_;
  std::vector<RowRange> rows_;  // [nz + 1, ny + 1]: those at -1 are empty
};

/// Outside the rows of InsideRows neither x nor before is read, nor next written.
struct TvPass {
  const float* x = nullptr;       // of descent: L
  const float* before = nullptr;  // read by accelerated only
  float* next = nullptr;
  double step = 0, momentum = 0;  // step along the gradient in D
  const double* alpha = nullptr;
  bool descent = false;
  double factor = 0;  // of descent: L's step over D's
};

class TvSweep {
 public:
  /// @param whole_rows  also of what lies outside, for comparison: the result is the same
  explicit TvSweep(const TvProblem& problem, bool whole_rows = false);
  /// The sums do not depend on the number of threads.
  TvSums run(const TvPass& pass);
  /// Copies the rows inside.
  void copy(const float* from, float* to) const;
  /// NaN in all other rows, and what of a row lies outside.
  void clear_outside(float* image) const;

 private:
  struct Sums {
    double tv[kTensorChannels] = {};
    double fidelity = 0, mapping = 0, turn = 0;
  };
  // Scratch of one thread: rows of `stride_` floats, those of a voxel's channels one after the other.
  struct Scratch {
    std::unique_ptr<HostFloats> memory;
    float* planes[2];             // [tile + 2 rows, channels]
    float* flux_z;                // [tile rows, channels], of the plane below
    float *flux_y, *move, *next;  // [channels]
    float *flux_x, *spare;        // a row
  };
  // A slab along z times a tile along y, of a group of channels; a column is all slabs of a tile.
  struct Piece {
    std::int64_t y_begin, y_end, z_begin, z_end;
    int first;  // channel
  };

  Piece piece(std::int64_t index) const;
  void sweep(const TvPass& pass, const Piece& piece, Scratch& scratch);
  Sums added(const Piece& piece) const;
  Scratch make_scratch() const;
  std::size_t sums_of_row(int first, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>(((first / group_ * nz_ + z) * ny_ + y) * sums_a_row_);
  }

  const TvProblem& problem_;
  const TvRows& rows_ = rows_of_this_processor();
  InsideRows inside_;
  std::int64_t nx_, ny_, nz_, voxels_;
  int group_;                 // channels that are worked on together: a tensor's, or one
  std::int64_t stride_;       // of a row in scratch memory
  std::int64_t tile_, slab_;  // a piece's rows and planes
  std::int64_t tiles_, slabs_;
  std::int64_t sums_a_row_;
  std::vector<float> row_sums_;  // tv and fidelity of each channel of the group, mapping, turn
  std::vector<Sums> sums_;       // of a piece
  std::vector<Scratch> scratch_;
};

}  // namespace warploom::imaging
