#pragma once

#include <span>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// Foreground of a scalar image: median filter (5 voxels along each axis that has more than one, mirrored at
/// the border, twice), Otsu's threshold, largest connected component (over faces), holes filled. For a
/// diffusion series give the mean of its b = 0 volumes, for a tensor image its trace. What is not finite is
/// background.
/// @throws BadInput (several channels; the image is constant)
/// @note The image is taken in 4096 grey levels from its least to its largest value: a voxel that is brighter
///       than all others by orders of magnitude leaves few for the rest. Differs from dipy's median_otsu in
///       the last two steps and in that one's 256 bins.
Mask automatic_mask(const Image& scalar, const Run& run = {});

/// Standard deviation of white Gaussian noise in every channel: the median absolute deviation of the
/// differences of the differences along all axes with more than one voxel (the finest diagonal Haar
/// wavelet band), over 0.6745, from voxels whose whole 2x2x2 block is inside; Donoho & Johnstone 1994.
/// Biased upwards where the image itself changes from voxel to voxel in all directions at once, downwards
/// where there is a background without noise: mask it out. Blocks with values that are not finite are passed
/// over.
/// @return one value a channel, in its unit. @throws BadInput (fewer than 32 such blocks)
std::vector<double> noise_level(const Image& image, const Mask& mask, const Run& run = {});

}  // namespace warploom::imaging
