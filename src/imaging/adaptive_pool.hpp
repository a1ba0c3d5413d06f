#pragma once

/// What adaptive_fit.cpp hands from the fits of single voxels to the sums over neighbours. Tensors are D
/// times the largest b-value, without unit; symmetric 6 x 6 matrices are stored as 21 elements of their lower
/// triangle, row by row.

#include <cstdint>
#include <vector>

#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

inline constexpr int kTriangle = 21;
constexpr int triangle(int row, int column) { return row * (row + 1) / 2 + column; }

/// Planar: [elements, nz, ny, nx].
struct AdaptiveTerms {
  Grid grid = {};
  Mask fitted = {};                ///< all else is not looked at
  std::vector<float> information;  ///< [21]
  std::vector<float> measured;     ///< [6] N D + s of the measured series
  std::vector<float> denoised;     ///< [6] N D + s' of the denoised series
  std::vector<float> guide;        ///< [6]
  std::vector<float> metric;       ///< [21] information with which guides are compared
};

/// The sums of one voxel.
struct AdaptiveSums {
  float information[kTriangle] = {}, measured[6] = {}, denoised[6] = {};
  float weights = 0;
};

/// exp(-distance / bandwidth) is taken for 0 from here on.
inline constexpr float kLeastWeight = 1e-3F;
/// Of the distances between face neighbours, beside that of two voxels themselves.
inline constexpr float kFaceWeight = 0.25F;

/// Of one brick of voxels: first and last (beyond) voxel along each axis.
struct AdaptiveBrick {
  std::int64_t begin[3] = {}, end[3] = {};
};
/// The sums of all voxels of a brick, x fastest.
std::vector<AdaptiveSums> pool_brick(const AdaptiveTerms& terms, double bandwidth, int radius,
                                     const AdaptiveBrick& brick);

}  // namespace warploom::imaging
