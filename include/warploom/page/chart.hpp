#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::page {

struct Axis {
  std::string title = {};
  double base = 0;        ///< logarithmic, with a tick at powers of it (2 or 10); 0: linear
  bool binary = false;    ///< tick labels 4 Ki, 1 Mi in place of 4 k, 1 M
  bool from_zero = true;  ///< a linear y axis without values below it begins at 0
};

struct Series {
  std::string label = {};                              ///< text
  std::vector<std::pair<double, double>> points = {};  ///< by ascending x
  bool filled = false;                                 ///< down to the axis, without marks
  std::string style{};                                 ///< in a page: a class of its style sheet
};

struct Panel {
  std::string title = {};
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::optional<double> rule = std::nullopt;  ///< y of a horizontal line
  std::string rule_label{};
};

/// Panels side by side, as an SVG document: colours are chosen, labels stand beside the ends of the curves.
/// What a logarithmic axis cannot show is left out. Titles and labels are text. @throws BadInput (Axis::base)
std::string svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels);

/// One panel without its title as a part of a page, which styles .chart, with a list of the curves' labels
/// (.key); empty where there is nothing to be seen. @throws BadInput (Axis::base)
std::string figure(const Panel& panel);

/// An SVG document of this size [px] on a white ground.
/// @param label       what it shows, for those who hear it; text
/// @param attributes  of the root: " font-size=\"14\""
/// @param digits      after the point, of the size
/// @throws BadInput (digits outside [0, 17])
std::string svg_document(double width, double height, std::string_view label, std::string_view attributes,
                         std::string_view content, int digits = 0);

/// Heights [share of the values] of `bins` equal bins from `low` to `high`, as the corners of their outline.
/// @throws BadInput (bins outside [1, 2^20])
std::vector<std::pair<double, double>> histogram(const std::vector<float>& values, double low, double high,
                                                 int bins);

}  // namespace warploom::page
