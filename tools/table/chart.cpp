#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace warploom::tool {
namespace {

constexpr double kWidth = 560, kHeight = 330;  // of a panel's plotted area
constexpr double kLeft = 84, kTop = 96, kBottom = 64, kLine = 18;
// Okabe and Ito's colours, which the colour-blind tell apart, without yellow.
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#56b4e9", "#e69f00", "#444444"};

std::string label_of(double value, bool binary) {
  const double thousand = binary ? 1024 : 1000;
  const std::string_view prefixes = " kMGT";
  std::size_t prefix = 0;
  while (prefix + 1 < prefixes.size() && value >= thousand) {
    value /= thousand;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.4g}", value);
  return fmt::format("{:.4g} {}{}", value, binary && prefixes[prefix] == 'k' ? 'K' : prefixes[prefix],
                     binary ? "i" : "");
}

/// From values to the length of an axis.
class Ruler {
 public:
  Ruler(const Axis& axis, bool tight) : axis_(axis), tight_(tight) {}

  bool shows(double value) const { return std::isfinite(value) && (axis_.base == 0 || value > 0); }
  void add(double value) {
    low_ = std::min(low_, scaled(value));
    high_ = std::max(high_, scaled(value));
  }
  /// Rounds the ends to ticks, but those of a tight axis.
  void close() {
    if (low_ > high_) low_ = high_ = 0;
    if (axis_.base == 0 && low_ > 0 && !tight_) low_ = 0;
    if (axis_.base == 0 && low_ == high_) {
      step_ = low_ == 0 ? 1 : std::abs(low_);
    } else if (axis_.base == 0) {
      // Steps that are too small to be counted from zero would never come to an end.
      const double span = std::max(high_ - low_, 1e-9 * std::max(std::abs(low_), std::abs(high_)));
      const double raw = span / 5, power = std::pow(10, std::floor(std::log10(raw)));
      const double share = raw / power;
      step_ = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
    } else {
      step_ = std::max(1.0, std::ceil((high_ - low_) / 9));
    }
    if (!tight_ || low_ == high_) {
      low_ = std::floor(low_ / step_ + 1e-9) * step_;
      high_ = std::max(std::ceil(high_ / step_ - 1e-9), low_ / step_ + 1) * step_;
    }
  }
  /// In [0, 1]
  double at(double value) const { return (scaled(value) - low_) / (high_ - low_); }
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (double k = std::ceil(low_ / step_ - 1e-9); k * step_ <= high_ + 1e-9 * step_; ++k)
      out.push_back(axis_.base == 0 ? k * step_ + 0.0 : std::pow(axis_.base, k * step_));
    return out;
  }

 private:
  double scaled(double value) const {
    return axis_.base == 0 ? value : std::log(value) / std::log(axis_.base);
  }
  const Axis& axis_;
  bool tight_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_, step_ = 1;
};

struct Label {
  double y;
  std::string text, colour;
};

/// Labels keep a line's distance, and their order.
void spread(std::vector<Label>& labels) {
  std::ranges::stable_sort(labels, {}, &Label::y);
  for (std::size_t k = 1; k < labels.size(); ++k)
    labels[k].y = std::max(labels[k].y, labels[k - 1].y + kLine);
  const double over = labels.empty() ? 0 : labels.back().y - (kTop + kHeight);
  if (over > 0)
    for (std::size_t k = labels.size(); k-- > 0;)
      labels[k].y = std::min(labels[k].y, k + 1 == labels.size() ? kTop + kHeight : labels[k + 1].y - kLine);
}

double label_width(const Panel& panel) {
  std::size_t longest = 0;
  for (const Series& series : panel.series) longest = std::max(longest, series.label.size());
  return longest == 0 ? 24 : 24 + 7.2 * static_cast<double>(longest);
}

std::string draw(const Panel& panel, double left) {
  Ruler x(panel.x, true), y(panel.y, false);
  for (const Series& series : panel.series)
    for (const auto& [px, py] : series.points)
      if (x.shows(px) && y.shows(py)) {
        x.add(px);
        y.add(py);
      }
  x.close();
  y.close();
  const auto to_x = [&](double value) { return left + kWidth * x.at(value); };
  const auto to_y = [&](double value) { return kTop + kHeight * (1 - y.at(value)); };

  std::string out;
  const auto write = std::back_inserter(out);
  fmt::format_to(write, "<text x=\"{}\" y=\"{}\" class=\"panel\">{}</text>\n", left, kTop - 14,
                 escaped(panel.title));
  for (const double tick : y.ticks())
    fmt::format_to(write,
                   "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}h{2}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
                   "text-anchor=\"end\">{5}</text>\n",
                   left, to_y(tick), kWidth, left - 8, to_y(tick) + 5, label_of(tick, panel.y.binary));
  for (const double tick : x.ticks())
    fmt::format_to(write,
                   "<path class=\"axis\" d=\"M{0:.1f} {1}v5\"/><text x=\"{0:.1f}\" y=\"{2}\" "
                   "text-anchor=\"middle\">{3}</text>\n",
                   to_x(tick), kTop + kHeight, kTop + kHeight + 22, label_of(tick, panel.x.binary));
  fmt::format_to(write, "<path class=\"axis\" d=\"M{} {}h{}\"/>\n", left, kTop + kHeight, kWidth);
  fmt::format_to(write, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" class=\"title\">{}</text>\n",
                 left + kWidth / 2, kTop + kHeight + 46, escaped(panel.x.title));
  fmt::format_to(write,
                 "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" "
                 "class=\"title\">{}</text>\n",
                 left - 62, kTop + kHeight / 2, escaped(panel.y.title));

  std::vector<Label> labels;
  for (std::size_t k = 0; k < panel.series.size(); ++k) {
    const Series& series = panel.series[k];
    const std::string_view colour = kColours[k % std::size(kColours)];
    const bool dashed = k / std::size(kColours) % 2 == 1;
    std::string path, marks;
    double first = 0, last_x = 0, last_y = 0;
    for (const auto& [px, py] : series.points) {
      if (!x.shows(px) || !y.shows(py)) continue;
      last_x = to_x(px);
      last_y = to_y(py);
      if (path.empty()) first = last_x;
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", last_x, last_y);
      fmt::format_to(std::back_inserter(marks), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", last_x,
                     last_y);
    }
    if (path.empty()) continue;
    if (series.filled)
      fmt::format_to(write, "<path fill=\"{0}\" fill-opacity=\".22\" d=\"{1}V{2}H{3:.1f}Z\"/>", colour, path,
                     kTop + kHeight, first);
    fmt::format_to(write, "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} d=\"{}\"/>", colour,
                   series.filled ? 1.2 : 2.2, dashed ? " stroke-dasharray=\"6 4\"" : "", path);
    if (!series.filled) fmt::format_to(write, "<g fill=\"{}\">{}</g>", colour, marks);
    out += '\n';
    if (!series.label.empty()) labels.push_back({last_y, series.label, std::string(colour)});
  }
  spread(labels);
  for (const Label& label : labels)
    fmt::format_to(write, "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" class=\"label\">{}</text>\n",
                   left + kWidth + 10, label.y + 5, label.colour, escaped(label.text));
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels) {
  std::string drawn;
  double left = 0;
  for (const Panel& panel : panels) {
    drawn += draw(panel, left + kLeft);
    left += kLeft + kWidth + label_width(panel);
  }
  const double height = kTop + kHeight + kBottom;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"14\" fill=\"#333\">\n"
             "<style>.grid{{stroke:#ddd}} .axis{{stroke:#555;fill:none}} "
             ".title,.subtitle{{fill:#555}} .head{{font-size:18px;font-weight:600}} "
             ".panel{{font-weight:600}}</style>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
             "<text x=\"24\" y=\"32\" class=\"head\">{2}</text>\n"
             "<text x=\"24\" y=\"54\" class=\"subtitle\">{3}</text>\n",
             left, height, escaped(title), escaped(subtitle)) +
         drawn + "</svg>\n";
}

}  // namespace warploom::tool
