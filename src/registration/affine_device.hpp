#pragma once

#include <memory>

#include "registration/affine_objective.hpp"
#include "registration/device_image.hpp"

namespace warploom::registration {

/// Local correlation of two images that are on a device, for maps between their worlds: images_on_the_cpu(),
/// but for rounding, and the same bits each time.
/// @param finest  the smallest spacing that coarsen() will be asked for [mm]
/// @note 38 bytes of the device's memory a voxel of the larger image at that spacing
std::unique_ptr<AffineImages> images_on_a_device(GreedyQueue& queue, const DeviceImage& fixed,
                                                 const DeviceImage& moving, int radius, double finest);

}  // namespace warploom::registration
