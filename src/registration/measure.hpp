#pragma once

#include <array>
#include <functional>
#include <memory>

#include "registration/strips.hpp"
#include "warploom/registration/measure.hpp"

namespace warploom::registration {

/// How alike two images on one grid are, and which way each of their values makes them more alike.
class ImageMeasure {
 public:
  /// Rows of the derivative of value() by the values of either image.
  using Row = std::function<void(std::int64_t y, const float* d_fixed, const float* d_moving)>;

  virtual ~ImageMeasure() = default;
  /// The larger, the more alike. What is added up over voxels is divided by the number that count in `fixed`
  /// alone, so that a map that takes voxels away from the moving image does not gain by it. The arrays live
  /// until the derivative is asked for. @param counts  a byte a voxel, or null
  virtual double value(const float* fixed, const float* moving, const std::uint8_t* counts) = 0;
  /// Of the last value(), times the number of voxels; from several threads at once.
  virtual void derivative(const Strip& strip, const Row& row) const = 0;
};

/// Of local correlation, added to covariance and variances: a standard deviation of a thirtieth of the
/// image's is noise rather than structure.
inline constexpr float kLnccFloor = 1e-3F;

/// @param spacing  of voxels along each axis, in any unit
/// @param voxels   that count in the fixed image
std::unique_ptr<ImageMeasure> make_measure(Measure measure, int radius, const GridSize& grid,
                                           const std::array<double, 3>& spacing, std::int64_t voxels);

std::unique_ptr<ImageMeasure> make_lncc(int radius, const GridSize& grid, std::int64_t voxels);
std::unique_ptr<ImageMeasure> make_ngf(const GridSize& grid, const std::array<double, 3>& spacing,
                                       std::int64_t voxels);
std::unique_ptr<ImageMeasure> make_nmi(const GridSize& grid, std::int64_t voxels);
std::unique_ptr<ImageMeasure> make_ssd(const GridSize& grid, std::int64_t voxels);

}  // namespace warploom::registration
