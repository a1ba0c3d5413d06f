#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "dp/structure.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::dp {
namespace {

struct Kind {
  std::string_view bases, name, colour;
};
constexpr Kind kKinds[] = {{"GCG", "G-C", "#1f3a5f"}, {"AUA", "A-U", "#c0504d"}, {"GUG", "G-U", "#946200"}};

}  // namespace

std::string arcs_svg(const BasePairs& structure) {
  constexpr double kWidth = 1000, kMargin = 40;
  constexpr std::int64_t kMostLetters = 100;
  check(structure);
  const std::int64_t n = std::ssize(structure.partner);
  const double step = kWidth / static_cast<double>(n);
  const auto x = [&](std::int64_t base) { return kMargin + step * (static_cast<double>(base) + 0.5); };

  std::int64_t widest = 0;
  for (std::int64_t i = 0; i < n; ++i) widest = std::max(widest, structure.partner[i] - i);
  const double line = kMargin + step * static_cast<double>(widest) / 2;
  const double ticks = n <= kMostLetters ? line + 20 : line, numbers = ticks + 18;
  const double legend = numbers + 30;
  std::string svg =
      fmt::format("<path stroke=\"#888\" d=\"M{} {:.2f}H{}\"/>\n", kMargin, line, kMargin + kWidth);
  const auto out = std::back_inserter(svg);

  std::vector<std::string> counts;
  double legend_x = kMargin;
  for (const auto& [bases, name, colour] : kKinds) {
    std::string arcs;
    int count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t j = structure.partner[i];
      const char pair[] = {structure.sequence[i], j > i ? structure.sequence[j] : '-'};
      if (bases.find(std::string_view(pair, 2)) == bases.npos) continue;
      const double radius = (x(j) - x(i)) / 2;
      fmt::format_to(std::back_inserter(arcs), "M{0:.2f} {1:.2f}a{2:.2f} {2:.2f} 0 0 1 {3:.2f} 0", x(i), line,
                     radius, 2 * radius);
      ++count;
    }
    fmt::format_to(out, "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2f}\" d=\"{}\"/>\n", colour,
                   std::clamp(step / 3, 0.5, 2.0), arcs);
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"start\" fill=\"{}\">{}: {}</text>\n",
                   legend_x, legend, colour, name, count);
    counts.push_back(fmt::format("{} {}", count, name));
    legend_x += 100;
  }
  if (n <= kMostLetters)
    for (std::int64_t i = 0; i < n; ++i)
      fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x(i), line + 16,
                     structure.sequence[i]);
  const auto between = static_cast<std::int64_t>(page::least_step(static_cast<double>(n), 20));
  for (std::int64_t number = between; number <= n; number += between)
    fmt::format_to(
        out,
        "<path stroke=\"#888\" d=\"M{0:.2f} {1:.2f}v4\"/><text x=\"{0:.2f}\" y=\"{2:.2f}\" fill=\"#666\">{3}</text>\n",
        x(number - 1), ticks, numbers, number);
  return page::svg_document(
      kWidth + 2 * kMargin, legend + 20,
      fmt::format("Base pairs of a sequence of {} letters, as arcs: {}", n, fmt::join(counts, ", ")),
      " font-family=\"sans-serif\" font-size=\"14\" text-anchor=\"middle\"", svg);
}

}  // namespace warploom::dp
