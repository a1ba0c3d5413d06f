#pragma once

#include <array>
#include <vector>

#include "imaging/sync/problem.hpp"

namespace warploom::bench::sync {

/// GlobalSync's iteration on one thread in single precision, array by array as the MATLAB listing has it:
/// what the designs' times are compared with. Straightforward code, vectorised as far as the compiler sees to
/// it.
class CpuReference {
 public:
  CpuReference(const Problem& problem, Stencil stencil);

  void iterate();
  const std::vector<float>& factor() const { return problem_.factor; }

 private:
  /// Voxels from `begin` to before `end`; the image's own are from 0 to its extents.
  struct Box {
    std::array<int, 3> begin, end;
  };
  template <class Use>
  void each(const Box& box, Use use) const;
  std::size_t index(int x, int y, int z) const;

  void fill(const float* channel);
  void component(int axis);
  double tv_norm() const;
  void divergence(float* out) const;

  Problem problem_;
  Stencil stencil_;
  std::array<std::ptrdiff_t, 3> stride_;
  std::vector<float> tensor_, p_;  // [6, nz, ny, nx]
  // One channel, with two more voxels below and one above along each axis.
  std::vector<float> u_, mean_a_, mean_b_;
  std::array<std::vector<float>, 3> gradient_, norm_;
};

}  // namespace warploom::bench::sync
