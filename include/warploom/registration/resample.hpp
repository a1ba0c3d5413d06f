#pragma once

#include <string>
#include <string_view>

#include "warploom/registration/transform.hpp"

/// Images in another image's space. A voxel of the result has the value that the moving image has where the
/// chain leads; what leads beyond the outermost voxels' faces has the value `outside`.
namespace warploom::registration {

enum class Interpolation {
  linear,   ///< trilinear
  cubic,    ///< cubic B-spline through the voxels, mirrored at the faces, as SciPy's and ITK's of order 3
  nearest,  ///< of two that are equally near the one of the larger index, as ITK has it
  labels,   ///< of the labels around, that of the greatest trilinear weight; of two equal ones the smaller
            ///< number
};
/// @throws BadInput naming the text and the four
Interpolation parse_interpolation(std::string_view text);
std::string_view name(Interpolation interpolation);

/// All channels at once. `labels` is all labels of an image in one pass: equal to warping each label's own
/// indicator linearly and taking the greatest.
/// @throws BadInput (as PlacedImage::check(), Space::check(), map_points(); no enumerator), OutOfMemory
/// @note All threads; the same for any number. Coordinates in double precision
PlacedImage resample(const PlacedView& moving, const Space& fixed, const TransformChain& chain,
                     Interpolation interpolation = Interpolation::linear, float outside = 0);

enum class Turning {
  preserve_direction,  ///< Alexander et al., IEEE TMI 20(11), 2001: the main direction goes along, the second
                       ///< stays in the plane of both
  finite_strain,       ///< (F F^T)^-1/2 F of the same paper: the rotation nearest to the deformation F
  none,                ///< values only, which is wrong but for translations
};
/// @throws BadInput naming the text and the three
Turning parse_turning(std::string_view text);
std::string_view name(Turning turning);

/// Tensors (channels xx, xy, xz, yy, yz, zz along the world's axes, RAS) in another space, and turned as the
/// deformation turns what they are of: F is the inverse of the chain's derivative at each voxel (central
/// differences over voxels). Elements are interpolated linearly, so that tensors stay positive; eigenvalues
/// are those that interpolation gives. A derivative that is singular or not finite turns nothing.
/// @throws BadInput (not six channels; as resample())
PlacedImage resample_tensors(const PlacedImage& tensors, const Space& fixed, const TransformChain& chain,
                             Turning turning = Turning::preserve_direction);

}  // namespace warploom::registration
