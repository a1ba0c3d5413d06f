#include "warploom/page/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "warploom/core/error.hpp"
#include "warploom/page/text.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::page {
namespace {

constexpr double kLine = 18;     // from one label to the next [px]
constexpr double kLetter = 7.2;  // of text of 14 px, on average
// Okabe and Ito's colours, which the colour-blind tell apart, without yellow.
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#56b4e9", "#e69f00", "#444444"};

/// Where the parts of a chart lie [px].
struct Look {
  double left, top, width, height;  // the plotted area
  double below_y, below_x;          // baselines of the ticks' labels: below the tick, below the area
  double x_title, y_title;          // titles: below the area, left of it
  double along;  // titles' anchors, as a share of the axes: 0.5 is their middle, 1 their end
};
constexpr Look kDocument{84, 96, 560, 330, 5, 22, 46, 62, 0.5};
constexpr Look kFigure{78, 14, 468, 240, 4, 18, 38, 65, 1};

/// A panel's scales and the frame that they are drawn into.
class Plot {
 public:
  Plot(const Panel& panel, const Look& look, bool in_page)
      : panel_(panel),
        look_(look),
        in_page_(in_page),
        x_(panel.x.base, Scale::Ends::values, parts(panel.x)),
        y_(panel.y.base, in_page ? Scale::Ends::beyond : Scale::Ends::ticks, parts(panel.y)) {
    for (const Series& series : panel.series)
      for (const auto& [px, py] : series.points)
        if (shows(px, py)) {
          x_.add(px);
          y_.add(py);
          empty_ = false;
        }
    if (rule()) y_.add(*panel.rule);
    x_.close(false);
    y_.close(panel.y.from_zero);
  }

  bool empty() const { return empty_; }
  double floor() const { return look_.top + look_.height; }

  /// "M1.0 2.0L3.0 4.0" of what can be shown, and its ends.
  struct Line {
    std::string path;
    std::vector<std::pair<double, double>> points;
    /// Down to the axis.
    std::string closed(double floor) const {
      return fmt::format("{}V{}H{:.1f}Z", path, floor, points.front().first);
    }
  };
  Line line(const Series& series) const {
    Line out;
    for (const auto& [px, py] : series.points) {
      if (!shows(px, py)) continue;
      out.path += fmt::format("{}{:.1f} {:.1f}", out.path.empty() ? "M" : "L", to_x(px), to_y(py));
      out.points.emplace_back(to_x(px), to_y(py));
    }
    return out;
  }

  /// Grid, ticks, titles and the rule.
  std::string frame() const {
    const auto& [left, top, width, height, below_y, below_x, x_title, y_title, along] = look_;
    const std::string_view anchor = along == 1 ? "end" : "middle";
    std::string out;
    const auto write = std::back_inserter(out);
    for (const double tick : y_.ticks())
      fmt::format_to(
          write,
          "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}h{2}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          left, to_y(tick), width, left - 8, to_y(tick) + below_y, label(tick, panel_.y));
    for (const double tick : x_.ticks()) {
      if (!in_page_) fmt::format_to(write, "<path class=\"axis\" d=\"M{:.1f} {}v5\"/>", to_x(tick), floor());
      fmt::format_to(write, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", to_x(tick),
                     floor() + below_x, label(tick, panel_.x));
    }
    if (!in_page_) fmt::format_to(write, "<path class=\"axis\" d=\"M{} {}h{}\"/>\n", left, floor(), width);
    fmt::format_to(write, "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"title\">{}</text>\n",
                   left + along * width, floor() + x_title, anchor, escaped(panel_.x.title));
    fmt::format_to(
        write,
        "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"{}\" class=\"title\">{}</text>\n",
        left - y_title, top + (1 - along) * height, anchor, escaped(panel_.y.title));
    if (rule())
      fmt::format_to(
          write,
          "<path class=\"rule\" d=\"M{0:.1f} {1:.1f}h{2}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          left, to_y(*panel_.rule), width, left + width, to_y(*panel_.rule) - 5, escaped(panel_.rule_label));
    return out;
  }

 private:
  double parts(const Axis& axis) const { return axis.base == 0 ? (in_page_ ? 4.5 : 5) : in_page_ ? 6 : 9; }
  bool shows(double x, double y) const { return x_.shows(x) && y_.shows(y); }
  bool rule() const { return panel_.rule && y_.shows(*panel_.rule); }
  double to_x(double value) const { return look_.left + look_.width * x_.at(value); }
  double to_y(double value) const { return look_.top + look_.height * (1 - y_.at(value)); }

  std::string label(double tick, const Axis& axis) const {
    if (!in_page_) return prefixed(tick, axis.binary);
    if (axis.base != 10) return fmt::format("{:.6g}", tick);
    const double exponent = std::round(std::log10(tick));
    return fmt::format("10<tspan dy=\"-5\" font-size=\"9\">{}{:.0f}</tspan>", exponent < 0 ? "&#8722;" : "",
                       std::abs(exponent));
  }

  const Panel& panel_;
  Look look_;
  bool in_page_, empty_ = true;
  Scale x_, y_;
};

struct Label {
  double y;
  std::string text, colour;
};

/// Labels keep a line's distance, and their order, above `floor`.
void spread(std::vector<Label>& labels, double floor) {
  std::ranges::stable_sort(labels, {}, &Label::y);
  for (std::size_t k = 1; k < labels.size(); ++k)
    labels[k].y = std::max(labels[k].y, labels[k - 1].y + kLine);
  if (labels.empty() || labels.back().y <= floor) return;
  for (std::size_t k = labels.size(); k-- > 0;)
    labels[k].y = std::min(labels[k].y, k + 1 == labels.size() ? floor : labels[k + 1].y - kLine);
}

double label_width(const Panel& panel) {
  std::size_t longest = 0;
  for (const Series& series : panel.series) longest = std::max(longest, series.label.size());
  return longest == 0 ? 24 : 24 + kLetter * static_cast<double>(longest);
}

/// "objective by iteration: objective from 2653 to 2651".
std::string in_words(const Panel& panel) {
  std::string text = fmt::format("{} by {}", panel.y.title, panel.x.title);
  for (std::size_t k = 0; k < panel.series.size(); ++k) {
    const Series& series = panel.series[k];
    text += (k == 0 ? ": " : "; ") + series.label;
    if (!series.filled && !series.points.empty())
      text +=
          fmt::format(" from {:.4g} to {:.4g}", series.points.front().second, series.points.back().second);
  }
  if (panel.rule) text += fmt::format("; {} at {:.4g}", panel.rule_label, *panel.rule);
  return text;
}

std::string draw(const Panel& panel, const Look& look) {
  const Plot plot(panel, look, false);
  std::string out = fmt::format("<text x=\"{}\" y=\"{}\" class=\"panel\">{}</text>\n", look.left,
                                look.top - 14, escaped(panel.title)) +
                    plot.frame();
  const auto write = std::back_inserter(out);
  std::vector<Label> labels;
  for (std::size_t k = 0; k < panel.series.size(); ++k) {
    const Series& series = panel.series[k];
    const std::string_view colour = kColours[k % std::size(kColours)];
    const bool dashed = k / std::size(kColours) % 2 == 1;
    const Plot::Line line = plot.line(series);
    if (line.points.empty()) continue;
    if (series.filled)
      fmt::format_to(write, "<path fill=\"{}\" fill-opacity=\".22\" d=\"{}\"/>", colour,
                     line.closed(plot.floor()));
    fmt::format_to(write, "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} d=\"{}\"/>", colour,
                   series.filled ? 1.2 : 2.2, dashed ? " stroke-dasharray=\"6 4\"" : "", line.path);
    if (!series.filled) {
      fmt::format_to(write, "<g fill=\"{}\">", colour);
      for (const auto& [x, y] : line.points)
        fmt::format_to(write, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", x, y);
      out += "</g>";
    }
    out += '\n';
    if (!series.label.empty())
      labels.push_back({line.points.back().second, series.label, std::string(colour)});
  }
  spread(labels, plot.floor());
  for (const Label& label : labels)
    fmt::format_to(write, "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" class=\"label\">{}</text>\n",
                   look.left + look.width + 10, label.y + 5, label.colour, escaped(label.text));
  return out;
}

}  // namespace

std::string svg_document(double width, double height, std::string_view label, std::string_view attributes,
                         std::string_view content, int digits) {
  if (digits < 0 || digits > 17)
    throw BadInput(fmt::format("{} digits after the point; from 0 to 17", digits));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.{2}f} {1:.{2}f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{5}\"{3}>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{4}</svg>\n",
      width, height, digits, attributes, content, escaped(label));
}

std::string svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels) {
  constexpr double kBelow = 64;
  std::string content = fmt::format(
      "<style>.grid{{stroke:#ddd}} .axis{{stroke:#555;fill:none}} .title,.subtitle{{fill:#555}} "
      ".head{{font-size:18px;font-weight:600}} .panel{{font-weight:600}}</style>\n"
      "<text x=\"24\" y=\"32\" class=\"head\">{}</text>\n<text x=\"24\" y=\"54\" class=\"subtitle\">{}</text>\n",
      escaped(title), escaped(subtitle));
  double width = 0;
  for (const Panel& panel : panels) {
    Look look = kDocument;
    look.left += width;
    content += draw(panel, look);
    width += kDocument.left + look.width + label_width(panel);
  }
  width = std::max({width, 48 + 1.4 * kLetter * static_cast<double>(title.size()),
                    48 + kLetter * static_cast<double>(subtitle.size())});
  return svg_document(width, kDocument.top + kDocument.height + kBelow,
                      title + (subtitle.empty() ? "" : ": " + subtitle),
                      " font-family=\"sans-serif\" font-size=\"14\" fill=\"#333\"", content);
}

std::string figure(const Panel& panel) {
  const Plot plot(panel, kFigure, true);
  if (plot.empty()) return "";
  std::string out =
                  fmt::format("<svg class=\"chart\" viewBox=\"0 0 560 300\" role=\"img\" aria-label=\"{}\">",
                              escaped(in_words(panel))) +
                  plot.frame(),
              key = "</svg><ul class=\"key\">";
  for (const Series& series : panel.series) {
    const Plot::Line line = plot.line(series);
    if (!line.points.empty())
      out += fmt::format("<path class=\"{} {}\" d=\"{}\"/>", series.filled ? "area" : "curve", series.style,
                         series.filled ? line.closed(plot.floor()) : line.path);
    key += fmt::format("<li><span class=\"line {}\"></span>{}</li>", series.style, escaped(series.label));
  }
  return out + key + "</ul>";
}

std::vector<std::pair<double, double>> histogram(const std::vector<float>& values, double low, double high,
                                                 int bins) {
  constexpr int kMostBins = 1 << 20;
  if (bins < 1 || bins > kMostBins)
    throw BadInput(fmt::format("a histogram of {} bins; from 1 to {}", bins, kMostBins));
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

}  // namespace warploom::page
