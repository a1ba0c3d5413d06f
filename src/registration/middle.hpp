#pragma once

#include <vector>

#include "registration/pyramid.hpp"

namespace warploom::registration {

/// The grid half way between two images that an affine map joins: with images exchanged and the map inverted
/// it has the same voxels, numbered as the other image's axes are.
struct Middle {
  Space space;  ///< in a world of its own, along the axes of its voxels [mm]
  Affine to_fixed,
      to_moving;  ///< from there to the images' worlds: the affine map is to_moving after to_fixed^-1
};

/// With K the affine map between voxels, and the moving image's axes numbered and directed as the fixed one's
/// are: the middle's voxels are the fixed image's by K^-1/2 and the moving one's by K^1/2, so that along each
/// axis the spacing is the geometric mean of both images'. It extends as far as they do in the mean, but at
/// most 8 voxels beyond where both are.
/// @param affine  of points of the fixed image's world to the moving one's; positive determinant
Middle middle_of(const Space& fixed, const Space& moving, const Affine& affine);

/// A displacement of a coarser grid on a finer one, both in voxels of their own.
std::vector<float> refine(const std::vector<float>& h, const Space& from, const Space& to);

/// h [3, nz, ny, nx] on the middle's grid moves the fixed image by -h and the moving one by h. @returns u
/// [voxels of `fixed`], on its grid, for which affine(x + u(x)) is that map of the fixed image's points.
std::vector<float> through_the_middle(const std::vector<float>& h, const Middle& middle, const Space& fixed);

}  // namespace warploom::registration
