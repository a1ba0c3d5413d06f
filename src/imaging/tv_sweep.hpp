#pragma once

/// One pass of total variation over the image on the CPU, of Solver::accelerated or Solver::descent.

#include <cstdint>
#include <memory>
#include <vector>

#include "imaging/host_floats.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_inside.hpp"
#include "imaging/tv_rows.hpp"

namespace warploom::imaging {

/// Of the fastest instruction set that the processor at hand can run.
const TvRows& rows_of_this_processor();

/// Packed images, as InsideRows says.
struct TvPass {
  const float* x = nullptr;  // of descent: L
  /// Read by accelerated only, and not where it is x itself: then y is x.
  const float* before = nullptr;
  float* next = nullptr;          // null: only the sums are wanted
  bool planar = false;            // x and before are [channels, nz, ny, nx]
  double step = 0, momentum = 0;  // step along the gradient in D
  const double* alpha = nullptr;
  bool descent = false;
  double factor = 0;  // of descent: L's step over D's
};

class TvSweep {
 public:
  /// @param noisy  packed; null: the problem's
  TvSweep(const TvProblem& problem, const InsideRows& inside, const float* noisy);
  /// The sums do not depend on the number of threads.
  TvSums run(const TvPass& pass);

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
  const InsideRows& inside_;
  const float* noisy_;  // packed, or null
  std::int64_t ny_, nz_;
  int group_;
  std::int64_t stride_;       // of a row in scratch memory
  std::int64_t tile_, slab_;  // a piece's rows and planes
  std::int64_t tiles_, slabs_;
  std::int64_t sums_a_row_;
  std::vector<float> row_sums_;  // tv and fidelity of each channel of the group, mapping, turn
  std::vector<Sums> sums_;       // of a piece
  std::vector<Scratch> scratch_;
};

}  // namespace warploom::imaging
