#pragma once

#include <vector>

#include "registration/pyramid.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// One resolution of curvature registration: improves the displacement `u` [3, nz, ny, nx] of the fixed
/// image's voxels, in voxels of `fixed`.
///
/// The least of 1/2 mean of (T(x + u) - R)^2 + alpha / 2 mean of |L u|^2, L the Laplacian (Fischer and
/// Modersitzki, JMIV 18, 2003), by Gauss and Newton's steps (Modersitzki, FAIR, 2009): conjugate gradients
/// whose preconditioner is the exact solution for a constant gradient of T; a step that does not lower the
/// sum is halved. Or by the papers' semi-implicit ones: u' = (I + tau alpha L^2)^-1 (u - tau (T(x + u) - R)
/// grad T(x + u)), where one that does not lower the sum is taken back and tried with half of tau, and one
/// that does lets tau grow.
/// @param map  of voxels of `fixed` to those of `moving`
void improve_by_curvature_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                              const DeformOptions& options, int iterations, std::vector<float>& u,
                              DeformReport& report);

}  // namespace warploom::registration
