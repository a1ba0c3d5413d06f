#include "warploom/count/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "warploom/core/error.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/text.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::table {

using page::escaped;

std::string svg(const Timeline& timeline) {
  constexpr double kTop = 110, kRow = 24, kBars = 300, kNames = 150, kGap = 90, kTime = 560, kMargin = 24;
  const double bars = kMargin + kNames, names = bars + kBars + kGap, time = names + 80;
  const double bar_height = kRow * static_cast<double>(timeline.shares.size());
  const double row_height = 2 * kRow * static_cast<double>(timeline.rows.size());
  std::string out = fmt::format(
      "<g font-weight=\"600\"><text x=\"{0}\" y=\"32\" font-size=\"18\">{1}</text>"
      "<text x=\"{0}\" y=\"{2}\">Statuses</text><text x=\"{3}\" y=\"{2}\">When {4}</text></g>\n"
      "<text x=\"{0}\" y=\"54\" fill=\"#555\">{5}</text>\n",
      kMargin, escaped(timeline.title), kTop - 16, names, escaped(timeline.asked),
      escaped(timeline.subtitle));
  const auto write = std::back_inserter(out);

  double y = kTop;
  for (const auto& [name, share] : timeline.shares) {
    const double length = kBars * share / timeline.shares.front().second;
    fmt::format_to(
        write,
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text><path fill=\"#0072b2\" d=\"M{:.1f} {:.1f}h{:.1f}v{}h-{:.1f}Z\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#555\">{:.1f} %</text>\n",
        bars - 8, y + 15, escaped(name), bars, y + 3, length, kRow - 6, length, bars + length + 6, y + 15,
        share);
    y += kRow;
  }

  double longest = 0;
  for (const Timeline::Row& row : timeline.rows) {
    if (!(row.seconds >= 0 && std::isfinite(row.seconds)))
      throw BadInput(fmt::format("a recording of {} s in a timeline; its length is finite and not below 0",
                                 row.seconds));
    longest = std::max(longest, row.seconds);
  }
  const double scale = longest > 0 ? kTime / longest : 0;
  y = kTop;
  for (const Timeline::Row& row : timeline.rows) {
    fmt::format_to(
        write,
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><path fill=\"#e8ebef\" d=\"M{:.1f} {:.1f}h{:.2f}v{}h-{:.2f}Z\"/><path fill=\"#d55e00\" d=\"",
        names, y + 19, escaped(row.name), time, y, scale * row.seconds, kRow + 4, scale * row.seconds);
    for (const auto& [from, to] : row.periods) {
      const double seen = std::max(scale * (to - from), 0.6);  // a moment stays visible
      fmt::format_to(write, "M{:.2f} {:.1f}h{:.2f}v{}h-{:.2f}Z", time + scale * from, y, seen, kRow + 4,
                     seen);
    }
    out += "\"/>\n";
    y += 2 * kRow;
  }
  const double step = 60 * page::least_step(longest / 60, 10);
  for (double tick = 0; tick <= longest; tick += step)
    fmt::format_to(
        write,
        "<path stroke=\"#555\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3:.0f}</text>\n",
        time + scale * tick, y - 12, y + 10, tick / 60);
  fmt::format_to(write,
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">minutes</text>\n",
                 time + kTime / 2, y + 30);
  return page::svg_document(time + kTime + kMargin, kTop + std::max(bar_height, row_height + 50) + 20,
                            "Bars and rows of time",
                            " font-family=\"sans-serif\" font-size=\"14\" fill=\"#333\"", out);
}

}  // namespace warploom::table
