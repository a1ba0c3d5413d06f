#pragma once

/// What the adaptive fit hands from the fits of single voxels to the sums over neighbours, and those sums,
/// for CPU and CUDA alike. Tensors are D times the largest b-value, without unit; symmetric 6 x 6 matrices
/// are stored as 21 elements of their lower triangle, row by row.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "warploom/core/host_device.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

inline constexpr int kTriangle = 21;
WARPLOOM_HOST_DEVICE constexpr int triangle(int row, int column) { return row * (row + 1) / 2 + column; }

/// Planar: [elements, nz, ny, nx].
struct AdaptiveView {
  std::int64_t nx = 0, ny = 0, nz = 0;
  std::uint8_t* fitted = nullptr;  ///< all else is not looked at
  float* information = nullptr;    ///< [21]
  float* measured = nullptr;       ///< [6] N D + s of the measured series
  float* denoised = nullptr;       ///< [6] N D + s' of the denoised series
  float* score = nullptr;          ///< [6] s
  float* guide = nullptr;          ///< [6]
  float* metric = nullptr;         ///< [21] information with which guides are compared
  WARPLOOM_HOST_DEVICE std::int64_t voxels() const { return nx * ny * nz; }
};
/// Floats a voxel of all of them.
inline constexpr int kAdaptiveFloats = 2 * kTriangle + 4 * 6;

/// The same with its memory.
struct AdaptiveTerms {
  Grid grid = {};
  Mask fitted = {};
  std::vector<float> information, measured, denoised, score, guide, metric;

  AdaptiveView view() {
    return {grid.nx,         grid.ny,         grid.nz,      fitted.data(), information.data(),
            measured.data(), denoised.data(), score.data(), guide.data(),  metric.data()};
  }
};

/// What noise alone makes of the distance of two guides, about: only what is beyond costs weight.
inline constexpr float kTolerance = 4;
/// exp(-(distance - tolerance) / bandwidth) is taken for 0 from here on.
inline constexpr float kLeastWeight = 1e-3F;
inline constexpr float kFarthest = 6.9077553F;  // -log of it
/// Of the distances between face neighbours, beside that of two voxels themselves.
inline constexpr float kFaceWeight = 0.25F;

/// The sums of one voxel.
struct AdaptiveSums {
  float information[kTriangle] = {}, measured[6] = {}, denoised[6] = {};
  float weights = 0;

  /// w times what there is of a voxel.
  WARPLOOM_HOST_DEVICE void add(const AdaptiveView& terms, std::int64_t from, float w) {
    const std::int64_t voxels = terms.voxels();
    WARPLOOM_UNROLL
    for (int k = 0; k < kTriangle; ++k) information[k] += w * terms.information[k * voxels + from];
    WARPLOOM_UNROLL
    for (int k = 0; k < 6; ++k) {
      measured[k] += w * terms.measured[k * voxels + from];
      denoised[k] += w * terms.denoised[k * voxels + from];
    }
    weights += w;
  }
};

/// Squared distance of the guides at x and x + away, in units of their mean information.
/// @param guide, metric  of a row of voxels
WARPLOOM_HOST_DEVICE inline float pair_distance(const float* guide, const float* metric, std::int64_t voxels,
                                                std::int64_t x, std::int64_t away) {
  float difference[6];
  WARPLOOM_UNROLL
  for (int i = 0; i < 6; ++i) difference[i] = guide[i * voxels + x] - guide[i * voxels + x + away];
  float sum = 0;
  WARPLOOM_UNROLL
  for (int i = 0; i < 6; ++i) {
    float product = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j <= i; ++j) {
      const std::int64_t element = triangle(i, j) * voxels + x;
      const float mean = metric[element] + metric[element + away];
      product += (j < i ? mean : 0.5F * mean) * difference[j];
    }
    sum += product * difference[i];
  }
  return sum;
}

/// The distances of a pair of voxels and of the pairs beside their faces.
struct PairDistances {
  float sum, count = 1;
  WARPLOOM_HOST_DEVICE explicit PairDistances(float own) : sum(own) {}
  WARPLOOM_HOST_DEVICE void add_face(float distance) {
    sum += kFaceWeight * distance;
    count += kFaceWeight;
  }
  /// @param scale  1 / bandwidth, or 0
  WARPLOOM_HOST_DEVICE float weight(float scale) const {
    const float beyond = sum / count - kTolerance, exponent = beyond > 0 ? scale * beyond : 0.0F;
    return exponent > kFarthest ? 0.0F : std::exp(-exponent);
  }
};

/// Of one brick of voxels: first and last (beyond) voxel along each axis.
struct AdaptiveBrick {
  std::int64_t begin[3] = {}, end[3] = {};
};
/// The sums of all voxels of a brick, x fastest, of one bandwidth after the other. @param bandwidths  all
/// above 0, or all 0
std::vector<std::vector<AdaptiveSums>> pool_brick(const AdaptiveView& terms,
                                                  std::span<const double> bandwidths, int radius,
                                                  const AdaptiveBrick& brick);

}  // namespace warploom::imaging
