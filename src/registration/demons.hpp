#pragma once

#include <vector>

#include "registration/pyramid.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// One resolution of estimate_deformation() by DeformMethod::demons: improves `u` [3, nz, ny, nx], in voxels
/// of `fixed`.
/// @param map  of voxels of `fixed` to those of `moving`
void improve_by_demons_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                           const DeformOptions& options, int iterations, std::vector<float>& u,
                           DeformReport& report);

}  // namespace warploom::registration
