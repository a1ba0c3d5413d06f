#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"

/// Slices of images for pages.
namespace warploom::imaging {

/// Which image axis runs along which of the body's axes.
struct Anatomy {
  std::array<int, 3> axis{};       ///< image axis closest to left-right, back-front, feet-head
  std::array<bool, 3> positive{};  ///< it runs to the right, to the front, to the head
};
/// @throws BadInput (an affine with a number that is not finite)
Anatomy anatomy(const io::Affine& affine);

/// One slice as one looks at it: from the feet, the front or the right (radiological: the right side of the
/// body is on the left), front or head up.
struct SlicePlane {
  std::string name = {};                                     ///< axial, coronal, sagittal
  std::string left = {}, right = {}, top = {}, bottom = {};  ///< R L A P S I
  int across = 0, down = 0, through = 0;                     ///< image axes of columns, rows and depth
  bool across_reversed = false, down_reversed = false;
  std::int64_t slice = 0;              ///< index along `through`
  std::int64_t width = 0, height = 0;  ///< [voxels]
  double column_mm = 1, row_mm = 1;    ///< spacing
  Grid grid = {};

  /// The voxel that is seen at a column and row, as an index into a channel. For inner loops: unchecked.
  std::size_t voxel(std::int64_t column, std::int64_t row) const;
};

/// Axial, coronal and sagittal slices through the middle of the mask, of the grid where it is empty; those
/// with one row or column are left out. @throws BadInput (a grid without voxels, a mask of another size, as
/// anatomy())
std::vector<SlicePlane> middle_slices(const Grid& grid, const io::Affine& affine, const Mask& mask);

/// A part of a slice.
struct SliceWindow {
  std::int64_t column = 0, row = 0, width = 0, height = 0;
};
/// What holds the mask, and two voxels around it; all of the slice where the mask is empty.
/// @throws BadInput (a plane that middle_slices() would not give, a mask of another size)
SliceWindow around_mask(const SlicePlane& plane, const Mask& mask);

/// `colour` gives red, green and blue from 0 to 1 of a voxel; what is outside is cut.
/// @throws BadInput (a plane that middle_slices() would not give, a window that is not in it, no function)
io::Picture picture(const SlicePlane& plane, const SliceWindow& window,
                    const std::function<std::array<double, 3>(std::size_t)>& colour);

/// "data:image/png;base64,...". @throws BadInput as io::format_png()
std::string data_address(const io::Picture& picture);

/// A part of a slice as a <figure>, with the body's sides written on it.
/// @param title  text; @param key  HTML below it; @param over  HTML over the picture, in per cent of its box;
/// @param kind a CSS class or nothing @throws BadInput (a window or spacing of no extent, as data_address())
std::string slice_figure(const SlicePlane& plane, const SliceWindow& window, const io::Picture& picture,
                         const std::string& title, const std::string& key, const std::string& over = "",
                         std::string_view kind = "");
/// The style sheet of such figures, for Page::styles.
std::string_view slice_styles();

}  // namespace warploom::imaging
