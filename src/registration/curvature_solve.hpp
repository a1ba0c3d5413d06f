#pragma once

/// The linear system of curvature registration (Fischer and Modersitzki, JMIV 18, 2003), solved exactly.

#include <array>
#include <span>
#include <vector>

#include "registration/dct_lines.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::registration {

/// u = (I + weight L^2)^-1 f on a grid, L the Laplacian of second differences between voxel centres with
/// Neumann's boundary (the voxel beyond a face equals the one at it). L is diagonal in the DCT-II: its
/// eigenvalues are sums over axes of (2 cos(pi k / n) - 2) / h^2. A constant stays as it is: only constants
/// are free.
class CurvatureSolver {
 public:
  /// @param spacing  h along each axis, in any unit; an axis of one voxel counts for nothing
  CurvatureSolver(const imaging::Grid& grid, const std::array<double, 3>& spacing);

  /// One component [nz, ny, nx], in place. @param weight >= 0, in the fourth power of the spacing's unit
  /// @note All threads; to 1e-5 of the largest value. Each axis but the last is passed twice
  void solve(std::span<float> values, double weight) const;

 private:
  enum class Pass { forward, inverse, divide };
  void along(std::size_t axis, std::span<float> values, Pass pass, double weight) const;

  std::array<std::int64_t, 3> size_, stride_;
  std::array<std::vector<double>, 3> eigenvalues_;  ///< of -L along each axis
  std::vector<std::size_t> axes_;                   ///< those of more than one voxel
  std::array<DctPlan, 3> plans_;
};

}  // namespace warploom::registration
