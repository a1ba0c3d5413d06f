#pragma once

#include <cmath>
#include <vector>

#include "registration/loops.hpp"
#include "warploom/registration/space.hpp"

namespace warploom::registration {

/// One resolution of an image.
struct Level {
  Space space;
  std::vector<float> data;           ///< [nz, ny, nx]
  std::vector<std::uint8_t> counts;  ///< empty: all voxels count
  GridSize extents() const { return {space.grid.nx, space.grid.ny, space.grid.nz}; }
};

/// What brings the values of an image that count to mean 0 and standard deviation 1.
struct Brightness {
  double mean = 0, deviation = 1;
  bool all_count = true;
  float of(float value) const {
    return std::isfinite(value) ? static_cast<float>((double(value) - mean) / deviation) : 0.0F;
  }
};
/// @throws as finest_level(), which says what counts
Brightness brightness_of(const PlacedView& image, const imaging::Mask& mask, const char* what);

/// Voxels that count: a byte each; empty where all do.
std::vector<std::uint8_t> counts_of(const PlacedView& image, const imaging::Mask& mask,
                                    const Brightness& brightness);

/// The image as a level: finite values brought to mean 0 and standard deviation 1, of the voxels that count;
/// others (NaN, infinities, outside of the mask) do not count. @throws BadInput (several channels; a slice
/// along x or y; nothing finite or nothing in the mask; a constant image; a mask of another size); `what` is
/// for messages
Level finest_level(const PlacedView& image, const imaging::Mask& mask, const char* what);

/// The level with voxels of about `spacing` [mm]: along each axis halved while twice the spacing is at most
/// sqrt(2) times that, and 8 voxels and more are left. A halved axis keeps its middle, and so flipped images
/// give flipped levels: an even number of voxels is averaged as (1 3 3 1)/8, an odd one as (1 8 14 8 1)/32,
/// which has the same variance.
Level coarser(const Level& level, double spacing);

/// Its grid alone.
Space coarser(Space space, double spacing);

/// The axis that coarser() halves next, or -1.
int axis_to_halve(const Space& space, double spacing);
/// The level with half the voxels along an axis.
Level halve(const Level& from, int axis);
/// The grid of a level with half the voxels along an axis.
Space halved(const Space& space, int axis);

/// mm along each axis of voxels.
std::array<double, 3> spacing_of(const Affine& to_world);
/// Of the axes that have more than one voxel.
double smallest_spacing(const Space& space);

}  // namespace warploom::registration
