#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "warploom/imaging/image.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::tool {

/// The voxels to work on.
struct ChosenMask {
  imaging::Mask voxels;         ///< empty: all
  std::string origin;           ///< "auto", "nonzero", "none" or the file's name
  std::int64_t inside = 0;      ///< voxels in it
  std::int64_t not_finite = 0;  ///< voxels of the image with a NaN or an infinity, which are left out
};

/// `wanted`: auto (automatic_mask of what `scalar` returns), nonzero (a channel is not 0), none, or a NIfTI
/// file on the grid of `image`. @param geometry  of the image, `path` its name for messages
/// @throws BadInput (nothing inside, nothing finite, a mask of another size), as read_nifti and
/// automatic_mask
ChosenMask choose_mask(const imaging::Image& image, const std::string& wanted, const io::Nifti& geometry,
                       const std::string& path, const std::function<imaging::Image()>& scalar);

/// Takes out the voxels where every channel is 0: nothing could be fitted there.
void leave_out_zeros(ChosenMask& mask, const imaging::Image& image);

}  // namespace warploom::tool
