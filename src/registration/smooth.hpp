#pragma once

#include <array>
#include <vector>

#include "core/instruction_sets.hpp"
#include "registration/strips.hpp"

namespace warploom::registration {

/// Taps of a Gaussian, three standard deviations far; their sum is 1. A standard deviation of 0: one tap.
std::vector<float> gaussian(double sigma);

/// Gaussian smoothing of fields on one grid; none along axes of one voxel. A standard deviation of 0: none.
class Smoothing {
 public:
  Smoothing(const GridSize& grid, double sigma);
  /// out = kernel * (a + scale b) of `components` planar components; b may be null. `out` is none of the
  /// others.
  void apply(const float* a, const float* b, float scale, int components, float* out) const;

 private:
  GridSize grid_;
  std::array<std::vector<float>, 3> taps_;
  void (*smooth_)(const SmoothStrip&) = WARPLOOM_PICK(smooth_strip);
};

}  // namespace warploom::registration
