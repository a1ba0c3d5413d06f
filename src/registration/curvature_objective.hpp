#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "registration/curvature_solve.hpp"
#include "registration/pyramid.hpp"

namespace warploom::registration {

/// The sum that curvature registration makes small, at one resolution, and what its steps need of it. Lengths
/// are in the smallest spacing of a voxel where nothing else is said, so that displacements along the axes
/// compare; images have a standard deviation of 1.
class CurvatureObjective {
 public:
  /// @param map  of voxels of `fixed` to those of `moving`
  CurvatureObjective(const Level& fixed, const Level& moving, const VoxelMap& map, double alpha);

  struct Value {
    double sum = 0;          ///< 1/2 mean of (T - R)^2 + alpha / 2 mean of |L u|^2
    double differences = 0;  ///< the mean of (T - R)^2
  };
  /// Draws the moving image to x + u, with its gradient.
  Value look(const std::vector<float>& u);

  /// -(T - R) grad T of the last look, along u's axes; slopes() are grad T then. Once a look.
  /// @return the longest
  double force(std::vector<float>& out);

  /// u' = (I + tau alpha L^2)^-1 (u + tau force), in voxels: the papers' semi-implicit step.
  void semi_implicit(const std::vector<float>& u, const std::vector<float>& force, double tau,
                     std::vector<float>& out) const;

  /// Gauss and Newton's step d [voxels]: (g g^T + alpha L^2) d = force - alpha L^2 u, g the slopes, by
  /// conjugate gradients whose preconditioner is (mu I + alpha L^2)^-1, mu the mean of |g|^2 along an axis.
  /// @note Memory: 64 bytes a voxel. The result does not depend on the number of threads
  void gauss_newton(const std::vector<float>& u, const std::vector<float>& force,
                    std::vector<float>& out) const;

 private:
  /// L f of one component.
  void laplacian(std::span<const float> f, std::span<float> out) const;
  /// (g g^T + alpha L^2) p.
  void hessian(const std::vector<float>& p, std::vector<float>& scratch, std::vector<float>& out) const;
  double dot(const std::vector<float>& a, const std::vector<float>& b) const;
  /// body(first, last) for the voxels of each plane.
  template <class Body>
  void for_planes(Body&& body) const;

  const Level &fixed_, &moving_;
  VoxelMap map_;
  double alpha_;
  GridSize grid_;
  std::size_t voxels_;
  std::array<double, 3> spacing_;
  CurvatureSolver solver_;
  std::vector<float> warped_, slopes_;
  /// Of the moving image, by central differences: what is interpolated has two slopes at a voxel, and the one
  /// taken would depend on the way in which axes are numbered.
  std::vector<float> moving_slopes_;
  std::vector<std::uint8_t> counts_;
  void (*sample_)(const SampleStrip&);
};

}  // namespace warploom::registration
