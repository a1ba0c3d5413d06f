#pragma once

#include <array>
#include <string_view>

#include "warploom/io/nifti.hpp"

/// Maps of points of the world by a matrix and a shift. The world is NIfTI's: millimetres, +x to the
/// patient's right, +y to the front, +z to the head (RAS). A transform of a registration takes points of the
/// fixed image's world to the moving one's, which is how an image is pulled back.
namespace warploom::registration {

using io::Affine;
using Point = std::array<double, 3>;  ///< of the world [mm], or an index into voxels

Affine identity_affine();

/// A p. For inner loops: nothing is checked.
inline Point map_point(const Affine& affine, const Point& p) {
  Point out{};
  for (std::size_t r = 0; r < 3; ++r)
    out[r] = affine[r][0] * p[0] + affine[r][1] * p[1] + affine[r][2] * p[2] + affine[r][3];
  return out;
}

/// x -> then(first(x)).
Affine compose(const Affine& first, const Affine& then);

/// @param what  for the message: "the affine of fixed.nii"
/// @throws BadInput (a number that is not finite; columns that are linearly dependent to 1e-12)
void check_affine(const Affine& affine, std::string_view what = "the affine");
/// @throws BadInput as check_affine()
Affine inverse(const Affine& affine);

/// The same map in a world whose x and y run the other way: from RAS to LPS (ITK, DICOM) and back.
Affine flip_world(const Affine& affine);

}  // namespace warploom::registration
