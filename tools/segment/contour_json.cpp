#include "contour_json.hpp"

#include <cmath>

#include "warploom/json/json.hpp"

namespace warploom::tool {

std::string contour_json(const imaging::SliceContours& contours, const imaging::Grid& grid) {
  const auto rounded = [](double pixels) { return std::round(pixels * 1e4) / 1e4; };
  Json slices = Json::array();
  for (std::size_t z = 0; z < contours.size(); ++z) {
    if (contours[z].empty()) continue;
    Json lines = Json::array();
    for (const imaging::Contour& contour : contours[z]) {
      Json points = Json::array();
      for (const auto& [x, y] : contour.points) points.push_back({rounded(x), rounded(y)});
      lines.push_back({{"closed", contour.closed}, {"points", std::move(points)}});
    }
    slices.push_back({{"z", z}, {"contours", std::move(lines)}});
  }
  return Json{{"size", {grid.nx, grid.ny, grid.nz}},
              {"spacing_mm", grid.spacing},
              {"slices", std::move(slices)}}
             .dump() +
         "\n";
}

}  // namespace warploom::tool
