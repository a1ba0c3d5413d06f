#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::tool {

struct Axis {
  std::string title;
  double base = 0;      ///< logarithmic, with a tick at powers of it (2 or 10); 0: linear, from 0 on
  bool binary = false;  ///< tick labels 4 Ki, 1 Mi in place of 4 k, 1 M
};

struct Series {
  std::string label;                              ///< written beside its end; may be empty
  std::vector<std::pair<double, double>> points;  ///< by ascending x
  bool filled = false;                            ///< down to the axis, without marks
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
};

/// Panels side by side, as an SVG document. What a logarithmic axis cannot show is left out.
std::string svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels);

/// A text within an SVG document
std::string escaped(std::string_view text);

}  // namespace warploom::tool
