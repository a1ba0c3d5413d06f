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
class AffineMeasure {
 public:
  virtual ~AffineMeasure() = default;
  /// @param derivative  of the value by the twelve numbers of the map; may be null
  virtual double value(const Affine& affine, Affine* derivative = nullptr) = 0;
  /// Of each map.
  virtual std::vector<double> values(const std::vector<Affine>& maps) = 0;
  /// Voxels that counted for the last value.
  virtual std::int64_t overlap() = 0;
};

/// Two images at one resolution after the other: where coarsen() was called last.
class AffineImages {
 public:
  virtual ~AffineImages() = default;
  /// To voxels of about so many mm, as coarser() has it.
  virtual void coarsen(double spacing) = 0;
  virtual const Level& fixed() = 0;
  virtual const Level& moving() = 0;
  /// On the fixed image's grid, of maps to the moving one; on the moving image's, of maps to the fixed one.
  virtual AffineMeasure& there() = 0;
  virtual AffineMeasure& back() = 0;
};

/// Both have to live as long.
std::unique_ptr<AffineImages> images_on_the_cpu(const Level& fixed, const Level& moving, Measure measure,
                                                int radius);

/// On a CPU.
class AffineObjective final : public AffineMeasure {
 public:
  AffineObjective(const Level& fixed, const Level& moving, Measure measure, int radius);

  AffineObjective(Level&&, const Level&, Measure, int) = delete;  // what is given must outlive this
  AffineObjective(const Level&, Level&&, Measure, int) = delete;
  AffineObjective(Level&&, Level&&, Measure, int) = delete;

  double value(const Affine& affine, Affine* derivative = nullptr) override;
  std::vector<double> values(const std::vector<Affine>& maps) override;
  std::int64_t overlap() override;

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
  TwoSidedObjective(AffineMeasure& there, AffineMeasure& back) : there_(there), back_(back) {}

  /// @param derivative  of the value by the twelve numbers of the map
  double value(const Affine& affine, Affine* derivative);

 private:
  AffineMeasure &there_, &back_;
};

/// Of `moments`, sums over voxels of d g_i times x, y, z and 1 ([3, 4]; d is the derivative by the drawn
/// value, g the moving image's slope along its axes), the derivative by the map between worlds.
Affine by_the_map(const std::array<double, 12>& moments, const Space& fixed, const Space& moving);

/// Voxels that count.
std::int64_t counted(const Level& level);

}  // namespace warploom::registration
