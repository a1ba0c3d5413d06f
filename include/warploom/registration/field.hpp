#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/registration/space.hpp"

namespace warploom::registration {

/// d(x) on the voxels of the fixed image: its point x meets the point x + d(x) of the moving one. Between
/// voxels it is linear along each axis (trilinear); outside of the outermost voxels' faces it is 0, as ITK
/// has it.
struct DisplacementField {
  Space space = {};
  std::vector<float> mm = {};  ///< planar [3, nz, ny, nx], along the world's axes (RAS) [mm]

  /// @throws BadInput (as Space::check(); `mm` has not three values a voxel)
  void check(std::string_view what = "the displacement field") const;
};

/// No displacement anywhere. @throws BadInput as Space::check(), OutOfMemory
DisplacementField zero_field(const Space& space);

/// A(x) - x at every voxel. @throws BadInput (as Space::check(), check_affine()), OutOfMemory
DisplacementField field_of(const Affine& affine, const Space& space);

}  // namespace warploom::registration
