#include "warploom/registration/points_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

double sign(PointAxes axes, std::size_t c) {
  if (axes != PointAxes::ras && axes != PointAxes::lps) refuse_enumerator(axes, "the axes of points");
  return axes == PointAxes::lps && c < 2 ? -1 : 1;
}

std::size_t coordinates(const io::Table<double>& table) { return table.columns < 3 ? 2 : 3; }

}  // namespace

PointAxes parse_point_axes(std::string_view text) {
  if (text == "ras") return PointAxes::ras;
  if (text == "lps") return PointAxes::lps;
  throw BadInput(fmt::format("axes '{}': there are ras and lps", text));
}

PointTable parse_points(std::string_view text, const std::string& name, PointAxes axes) {
  PointTable out{{}, io::parse_table<double>(text, name)};
  if (out.table.columns < 2)
    throw BadInput(fmt::format("{}: one column; points have three, x, y and z [mm], or two", name));
  for (std::int64_t row = 0; row < out.table.rows; ++row) {
    Point p{};
    for (std::size_t c = 0; c < coordinates(out.table); ++c) {
      p[c] = sign(axes, c) * out.table(row, static_cast<std::int64_t>(c));
      if (!std::isfinite(p[c]))
        throw ParseError({name, out.table.lines[static_cast<std::size_t>(row)], 1},
                         "a coordinate that is not finite");
    }
    out.points.push_back(p);
  }
  return out;
}

std::string points_text(const PointTable& points, PointAxes axes) {
  const io::Table<double>& table = points.table;
  if (table.rows < 0 || table.columns < 2 || points.points.size() != static_cast<std::size_t>(table.rows) ||
      table.values.size() / static_cast<std::size_t>(table.columns) != points.points.size() ||
      table.values.size() % static_cast<std::size_t>(table.columns) != 0)
    throw BadInput(fmt::format("{} points for a table of {} rows and {} columns", points.points.size(),
                               table.rows, table.columns));
  std::string text;
  if (!table.header.empty()) text += fmt::format("{}\n", fmt::join(table.header, ","));
  for (std::int64_t row = 0; row < table.rows; ++row)
    for (std::int64_t column = 0; column < table.columns; ++column) {
      const auto c = static_cast<std::size_t>(column);
      const double value = c < coordinates(table)
                               ? sign(axes, c) * points.points[static_cast<std::size_t>(row)][c]
                               : table(row, column);
      // 1e-7 mm of a metre; 0 has no sign.
      text += fmt::format("{:.10g}{}", value == 0 ? 0.0 : value, column + 1 < table.columns ? "," : "\n");
    }
  return text;
}

}  // namespace warploom::registration
