#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warploom::tool {

struct Curve {
  std::string label, style;  ///< style: before, after, model; a class of the page's style sheet
  std::vector<std::pair<double, double>> points;
  bool filled = false;  ///< down to the axis
};

/// Curves over a common axis, as an SVG picture.
struct Chart {
  std::string x_title, y_title;
  std::vector<Curve> curves;
  bool logarithmic = false;  ///< y; values of 0 and below are left out
  bool y_from_zero = false;
  std::optional<double> rule = std::nullopt;  ///< a horizontal line
  std::string rule_label{};
};
std::string svg(const Chart& chart);

/// Heights [share of the values] of `bins` equal bins from `low` to `high`, as the corners of their outline.
std::vector<std::pair<double, double>> histogram(const std::vector<float>& values, double low, double high,
                                                 int bins);

}  // namespace warploom::tool
