#pragma once

#include <vector>

#include "registration/greedy_queue.hpp"
#include "registration/pyramid.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// All resolutions of estimate_deformation() by DeformMethod::greedy, with Measure::lncc or ssd: images go to
/// the device once, and what comes back is u [3, nz, ny, nx] in voxels of `fixed`, the map being affine(x +
/// u(x)).
/// @note 53 bytes of the device's memory a voxel of the middle's grid and 9 of either image, with masks 3
/// more of either
/// @param options  with `iterations`
std::vector<float> deform_greedily(GreedyQueue& queue, const Level& fixed, const Level& moving,
                                   const Affine& affine, const DeformOptions& options, DeformReport& report);

}  // namespace warploom::registration
