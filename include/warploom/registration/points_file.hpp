#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/table.hpp"
#include "warploom/registration/affine.hpp"

namespace warploom::registration {

/// In which axes a file of points is; millimetres in both.
enum class PointAxes {
  ras,  ///< NIfTI's: +x right, +y front, +z head
  lps,  ///< ITK's, ANTs' and DICOM's: x and y the other way
};
/// @throws BadInput naming the text and the two
PointAxes parse_point_axes(std::string_view text);

/// A table whose first three columns are points; two columns are points with z = 0.
struct PointTable {
  std::vector<Point> points = {};  ///< of the world (RAS) [mm]
  io::Table<double> table = {};    ///< as it was read: header, further columns
};
/// Numbers with commas, semicolons or blanks between, with or without a line of names.
/// @throws BadInput (as parse_table; one column, coordinates that are not finite); `name` is for messages
PointTable parse_points(std::string_view text, const std::string& name, PointAxes axes = PointAxes::ras);
/// The same table, commas between, with the coordinates of `points`.
/// @throws BadInput (another number of points than of rows; a table of another size than it says)
std::string points_text(const PointTable& points, PointAxes axes = PointAxes::ras);

}  // namespace warploom::registration
