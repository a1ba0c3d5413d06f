#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// Foreground of a scalar image: median filter (5 voxels along each axis that has more than one, mirrored at
/// the border, twice), Otsu's threshold, largest connected component (over faces), holes filled. For a
/// diffusion series give the mean of its b = 0 volumes, for a tensor image its trace. What is not finite is
/// background.
/// @throws BadInput (several channels; data of another length than the grid needs; the image is constant)
/// @note The image is taken in 4096 grey levels from its least to its largest value: a voxel that is brighter
///       than all others by orders of magnitude leaves few for the rest. Differs from dipy's median_otsu in
///       the last two steps and in that one's 256 bins.
Mask automatic_mask(const Image& scalar, const Run& run = {});

/// The voxels to work on.
struct ChosenMask {
  Mask voxels = {};             ///< empty: all
  std::string origin = {};      ///< "auto", "nonzero", "none" or the file's name
  std::int64_t inside = 0;      ///< voxels in it
  std::int64_t not_finite = 0;  ///< voxels of the image with a NaN or an infinity, which are left out
};

/// The voxels where every channel is finite, if `origin` is "nonzero" some channel is not 0, and the mask
/// that `candidates` returns is not 0; an empty one: everywhere. `name` is the image's, for messages.
/// @throws BadInput (nothing inside, nothing finite, a mask of another size, data of another length than the
/// grid needs, no function), as `candidates`, which is not
///         called where nothing is finite
ChosenMask choose_mask(const ImageView& image, const std::string& origin,
                       const std::function<Mask()>& candidates, const std::string& name);

/// Takes out the voxels where every channel is 0: nothing could be fitted there.
/// @throws BadInput (data or a mask of another length than the grid needs)
void leave_out_zeros(ChosenMask& mask, const Image& image);

/// Standard deviation of white Gaussian noise in every channel: the median absolute deviation of the
/// differences of the differences along all axes with more than one voxel (the finest diagonal Haar
/// wavelet band), over 0.6745, from voxels whose whole 2x2x2 block is inside; Donoho & Johnstone 1994.
/// Biased upwards where the image itself changes from voxel to voxel in all directions at once, downwards
/// where there is a background without noise: mask it out. Blocks with values that are not finite are passed
/// over.
/// @return one value a channel, in its unit. @throws BadInput (fewer than 32 such blocks, data or a mask of
/// another length than the grid needs)
std::vector<double> noise_level(const Image& image, const Mask& mask, const Run& run = {});

}  // namespace warploom::imaging
