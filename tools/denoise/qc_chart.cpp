#include "qc_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace warploom::tool {
namespace {

constexpr double kWidth = 560, kHeight = 300, kLeft = 78, kRight = 14, kTop = 14, kBottom = 46;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// About five round numbers of a range.
std::vector<double> ticks(const Range& range) {
  const double raw = (range.high - range.low) / 4.5, power = std::pow(10, std::floor(std::log10(raw)));
  const double share = raw / power, step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> out;
  for (double t = std::ceil(range.low / step - 1e-9) * step; t <= range.high + 1e-9 * step; t += step)
    out.push_back(std::abs(t) < 1e-9 * step ? 0 : t);
  return out;
}

/// Whole powers of ten of a range of logarithms, at most seven.
std::vector<double> decades(const Range& range) {
  const double stride = std::max(1.0, std::ceil((range.high - range.low) / 6));
  std::vector<double> out;
  for (double t = std::ceil(range.low - 1e-9); t <= range.high + 1e-9; t += stride) out.push_back(t);
  return out;
}

std::string power_text(double exponent) {
  return fmt::format("10<tspan dy=\"-5\" font-size=\"9\">{}{:.0f}</tspan>", exponent < 0 ? "&#8722;" : "",
                     std::abs(exponent));
}

}  // namespace

std::string svg(const Chart& chart) {
  const auto height_of = [&](double y) { return chart.logarithmic ? std::log10(y) : y; };
  const auto shown = [&](double y) { return std::isfinite(y) && (!chart.logarithmic || y > 0); };
  Range x, y;
  for (const Curve& curve : chart.curves)
    for (const auto& [px, py] : curve.points)
      if (shown(py)) {
        x.add(px);
        y.add(height_of(py));
      }
  if (x.low > x.high) return "";
  if (chart.rule && shown(*chart.rule)) y.add(height_of(*chart.rule));
  if (chart.y_from_zero) y.low = 0;
  if (x.low == x.high) x.high = x.low + 1;
  const double margin = y.high > y.low ? 0.04 * (y.high - y.low) : std::max(1e-9, 0.05 * std::abs(y.low));
  y.high += margin;
  if (!chart.y_from_zero) y.low -= margin;

  const auto to_x = [&](double v) {
    return kLeft + (v - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  };
  const auto to_y = [&](double v) {
    return kHeight - kBottom - (v - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  };
  std::string out = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\">", kWidth, kHeight);
  for (const double t : chart.logarithmic ? decades(y) : ticks(y))
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"axis\" "
        "x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        kLeft, kWidth - kRight, to_y(t), kLeft - 8, to_y(t) + 4,
        chart.logarithmic ? power_text(t) : fmt::format("{:.6g}", t));
  for (const double t : ticks(x))
    out += fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.6g}</text>",
                       to_x(t), kHeight - kBottom + 18, t);
  out += fmt::format("<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kWidth - kRight,
                     kHeight - 8, chart.x_title);
  out += fmt::format(
      "<text class=\"axis\" transform=\"translate(13 {}) rotate(-90)\" text-anchor=\"end\">{}</text>", kTop,
      chart.y_title);
  if (chart.rule && shown(*chart.rule)) {
    const double at = to_y(height_of(*chart.rule));
    out += fmt::format(
        "<line class=\"rule\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"axis\" "
        "x=\"{1}\" "
        "y=\"{3:.1f}\" text-anchor=\"end\">{4}</text>",
        kLeft, kWidth - kRight, at, at - 5, chart.rule_label);
  }
  for (const Curve& curve : chart.curves) {
    std::string points;
    double first = 0, last = 0;
    for (const auto& [px, py] : curve.points) {
      if (!shown(py)) continue;
      if (points.empty()) first = to_x(px);
      last = to_x(px);
      points += fmt::format("{:.1f},{:.1f} ", last, to_y(height_of(py)));
    }
    if (curve.filled)
      out += fmt::format("<polygon class=\"{}\" points=\"{:.1f},{:.1f} {}{:.1f},{:.1f}\"/>", curve.style,
                         first, to_y(y.low), points, last, to_y(y.low));
    else
      out += fmt::format("<polyline class=\"{}\" points=\"{}\"/>", curve.style, points);
  }
  out += "</svg><ul class=\"key\">";
  for (const Curve& curve : chart.curves)
    out += fmt::format("<li><span class=\"line {}\"></span>{}</li>", curve.style, curve.label);
  return out + "</ul>";
}

std::vector<std::pair<double, double>> histogram(const std::vector<float>& values, double low, double high,
                                                 int bins) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins));
  for (const float value : values)
    if (const double at = (value - low) / (high - low); at >= 0 && at <= 1)
      ++counts[static_cast<std::size_t>(std::min(bins - 1, static_cast<int>(at * bins)))];
  std::vector<std::pair<double, double>> outline;
  const double width = (high - low) / bins, total = std::max(1.0, static_cast<double>(values.size()));
  for (int bin = 0; bin < bins; ++bin) {
    const double share = static_cast<double>(counts[static_cast<std::size_t>(bin)]) / total;
    outline.emplace_back(low + bin * width, share);
    outline.emplace_back(low + (bin + 1) * width, share);
  }
  return outline;
}

}  // namespace warploom::tool
