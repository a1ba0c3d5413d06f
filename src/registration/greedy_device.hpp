#pragma once

#include "registration/device_image.hpp"
#include "registration/device_pair.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// All resolutions of estimate_deformation() by DeformMethod::greedy, with Measure::lncc or ssd. What comes
/// back does not fold unless it may, and is certified.
/// @note 53 bytes of the device's memory a voxel of the middle's grid (of the fixed image's, if it has more,
/// 28)
/// @param options  with `iterations`
FoundField deform_greedily(GreedyQueue& queue, const DeviceImage& fixed, const DeviceImage& moving,
                           const Affine& affine, const DeformOptions& options, DeformReport& report);

}  // namespace warploom::registration
