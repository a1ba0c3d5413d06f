#pragma once

#include <memory>
#include <vector>

#include "core/instruction_sets.hpp"
#include "registration/measure.hpp"
#include "registration/pyramid.hpp"

namespace warploom::registration {

/// The voxel of `moving` that lies where `affine` takes the world's point of a voxel of `fixed`.
VoxelMap voxel_map(const Affine& affine, const Space& fixed, const Space& moving);

/// The measure of two images as a function of the affine map between their worlds.
class AffineObjective {
 public:
  AffineObjective(const Level& fixed, const Level& moving, Measure measure, int radius);

  AffineObjective(Level&&, const Level&, Measure, int) = delete;  // what is given must outlive this
  AffineObjective(const Level&, Level&&, Measure, int) = delete;
  AffineObjective(Level&&, Level&&, Measure, int) = delete;

  /// @param derivative  of the value by the twelve numbers of the map; may be null
  double value(const Affine& affine, Affine* derivative = nullptr);
  /// Voxels that counted for the last value.
  std::int64_t overlap() const;

 private:
  const Level &fixed_, &moving_;
  GridSize grid_;
  std::unique_ptr<ImageMeasure> measure_;
  std::vector<float> warped_, gradient_;
  std::vector<std::uint8_t> counts_;
  void (*sample_)(const SampleStrip&) = WARPLOOM_PICK(sample_strip);
  void (*moments_)(const MomentRow&, double*) = WARPLOOM_PICK(moment_row);
};

/// The mean of what is found on either image's grid, the other drawn there: exchanged images have the same
/// value at the inverse map.
class TwoSidedObjective {
 public:
  TwoSidedObjective(const Level& fixed, const Level& moving, Measure measure, int radius)
      : there_(fixed, moving, measure, radius), back_(moving, fixed, measure, radius) {}

  /// @param derivative  of the value by the twelve numbers of the map
  double value(const Affine& affine, Affine* derivative);

 private:
  AffineObjective there_, back_;
};

}  // namespace warploom::registration
