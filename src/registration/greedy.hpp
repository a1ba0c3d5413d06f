#pragma once

#include <vector>

#include "registration/pyramid.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// One resolution of estimate_deformation(): improves `h` [3, nz, ny, nx], in voxels of `fixed`.
/// @param map  of voxels of `fixed` to those of `moving`
void improve_greedily_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                          const DeformOptions& options, int iterations, std::vector<float>& h,
                          DeformReport& report);

}  // namespace warploom::registration
