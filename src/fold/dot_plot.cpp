#include "warploom/fold/dot_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fold/accuracy.hpp"
#include "warploom/core/error.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::fold {

std::string dot_plot_svg(std::string_view sequence, std::string_view structure, const Ensemble& ensemble) {
  const std::vector<std::int64_t> partner = partners(structure);
  const std::int64_t n = std::ssize(sequence);
  if (n == 0) throw BadInput("an empty sequence has no picture");
  if (std::ssize(partner) != n || std::ssize(ensemble.unpaired) != n)
    throw BadInput(fmt::format("a sequence of {} bases, a structure of {} and an ensemble of {}", n,
                               partner.size(), ensemble.unpaired.size()));
  if (!std::ranges::all_of(sequence, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }))
    throw BadInput("the sequence has a character that is no letter");
  constexpr double kSide = 640, kMargin = 46;
  constexpr std::int64_t kFewLetters = 110;
  const double cell = kSide / static_cast<double>(n);
  const auto place = [&](std::int64_t base) { return kMargin + cell * static_cast<double>(base - 1); };
  const double size = kSide + kMargin + 12;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui,sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Dot plot: probabilities of base pairs\">\n"
      "<title>Base pairs of {2} bases: probabilities above the diagonal, the structure of least energy below</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      size, size + 22, n);
  std::string lines, letters;
  page::Scale scale(0, page::Scale::Ends::values, 8);
  scale.add(1), scale.add(static_cast<double>(n));
  scale.close(false);
  for (const double tick : scale.ticks()) {
    const auto base = static_cast<std::int64_t>(tick);
    if (base < 1 || base > n) continue;
    const double at = place(base) + cell / 2;
    lines += fmt::format("M{0:.2f} {1}V{2}M{1} {0:.2f}H{2}", at, kMargin, kMargin + kSide);
    letters += fmt::format(
        "<text x=\"{0:.1f}\" y=\"14\" text-anchor=\"middle\">{2}</text><text x=\"{1}\" y=\"{3:.1f}\" text-anchor=\"end\">{2}</text>",
        at, kMargin - 22, base, at + 4.);
  }
  svg += fmt::format("<path d=\"{}\" stroke=\"#e4e4e4\" fill=\"none\"/>\n", lines);
  svg += fmt::format(
      "<path d=\"M{0} {0}H{1}V{1}H{0}ZL{1} {1}\" stroke=\"#888\" fill=\"none\"/>\n<g fill=\"#555\">{2}",
      kMargin, kMargin + kSide, letters);
  if (n <= kFewLetters)
    for (std::int64_t base = 1; base <= n; ++base)
      svg += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1}\" text-anchor=\"middle\" font-size=\"{3:.1f}\">{2}</text><text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"middle\" font-size=\"{3:.1f}\">{2}</text>",
          place(base) + cell / 2, kMargin - 6, sequence[static_cast<std::size_t>(base - 1)],
          std::min(11., cell * 1.1), kMargin - 10, place(base) + cell / 2 + 3);
  svg += "</g>\n<path fill=\"#1f3a5f\" d=\"";
  for (const PairProbability& pair : ensemble.pairs) {
    check_pair(pair, n);
    const double side = cell * std::sqrt(pair.probability), free = (cell - side) / 2;
    if (side < .02) continue;
    svg += fmt::format("M{:.2f} {:.2f}h{:.2f}v{:.2f}h-{:.2f}z", place(pair.j) + free, place(pair.i) + free,
                       side, side, side);
  }
  svg += "\"/>\n<path fill=\"#c0504d\" d=\"";
  for (std::int64_t i = 0; i < n; ++i)
    if (partner[static_cast<std::size_t>(i)] > i)
      svg += fmt::format("M{:.2f} {:.2f}h{:.2f}v{:.2f}h-{:.2f}z", place(i + 1),
                         place(partner[static_cast<std::size_t>(i)] + 1), cell, cell, cell);
  svg += fmt::format(
      "\"/>\n<g fill=\"#333\"><rect x=\"{0}\" y=\"{1:.1f}\" width=\"9\" height=\"9\" fill=\"#1f3a5f\"/><text x=\"{2}\" y=\"{3:.1f}\">probability (area)</text>"
      "<rect x=\"{4}\" y=\"{1:.1f}\" width=\"9\" height=\"9\" fill=\"#c0504d\"/><text x=\"{5}\" y=\"{3:.1f}\">structure of least energy</text></g>\n</svg>\n",
      kMargin, kMargin + kSide + 14, kMargin + 14, kMargin + kSide + 23, kMargin + 150, kMargin + 164);
  return svg;
}

}  // namespace warploom::fold
