#include "warploom/fold/picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/ticks.hpp"

namespace warploom::fold {
namespace {

/// A loop that waits to be drawn: its closing pair, counted from 0, which stands, and the direction from the
/// second base of it to the first.
struct Open {
  std::int64_t i, j;
  double direction;
};

/// Bases of the loop within (i, j), from i to j; i = -1 and j = n for that outside of all pairs.
std::vector<std::int64_t> around(const std::vector<std::int64_t>& partner, std::int64_t i, std::int64_t j) {
  std::vector<std::int64_t> bases;
  if (i >= 0) bases.push_back(i);
  for (std::int64_t k = i + 1; k < j; ++k) {
    bases.push_back(k);
    if (partner[k] > k) bases.push_back(k = partner[k]);
  }
  if (i >= 0) bases.push_back(j);
  return bases;
}

/// Counterclockwise where y points downwards: from one side of a polygon to the next.
double turn_of(std::size_t sides) {
  return -2 * std::numbers::pi / static_cast<double>(std::max<std::size_t>(sides, 1));
}

/// The direction of the outermost loop's open side, from its last base to its first: leftwards, but a single
/// stem hangs down.
double outermost(const std::vector<std::int64_t>& partner) {
  const std::vector<std::int64_t> bases = around(partner, -1, std::ssize(partner));
  const auto is_stem = [&](std::int64_t k) { return partner[k] > k; };
  if (std::ranges::count_if(bases, is_stem) != 1) return std::numbers::pi;
  const auto sides = std::ranges::find_if(bases, is_stem) - bases.begin() + 1;
  return -static_cast<double>(sides) * turn_of(bases.size());
}

struct Kind {
  std::string_view name, colour;
};
constexpr Kind kPairKinds[] = {{"G-C", "#1f3a5f"}, {"A-U", "#c0504d"}, {"G-U", "#946200"}, {"other", "#888"}};
constexpr Kind kLoopKinds[] = {{"stem", "#d3e3d0"},
                               {"hairpin", "#bcd4ee"},
                               {"interior", "#f6e3a1"},
                               {"multiloop", "#f2c1b9"},
                               {"exterior", "#e4e4e4"}};

/// Of each base, the index of its kind in kLoopKinds.
std::vector<std::size_t> loop_kinds(const std::vector<std::int64_t>& partner) {
  std::vector<std::size_t> kinds(partner.size(), 0);
  const auto mark = [&](std::int64_t i, std::int64_t j) {
    const std::vector<std::int64_t> bases = around(partner, i, j);
    const auto stems = std::ranges::count_if(bases, [&](std::int64_t k) { return k != i && partner[k] > k; });
    for (const std::int64_t k : bases)
      if (partner[k] < 0)
        kinds[k] = i < 0 ? 4 : static_cast<std::size_t>(1 + std::min<std::int64_t>(stems, 2));
  };
  const std::int64_t n = std::ssize(partner);
  mark(-1, n);
  for (std::int64_t k = 0; k < n; ++k)
    if (partner[k] > k) mark(k, partner[k]);
  return kinds;
}

std::string of_reactivity(double reactivity) {
  if (reactivity < 0) return "#bbb";
  const double share = std::min(reactivity, 1.);
  const auto mixed = [&](int most) { return static_cast<int>(std::lround(255 + (most - 255) * share)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(214), mixed(39), mixed(40));
}

std::size_t pair_kind(char a, char b) {
  const auto is = [&](char x, char y) { return (a == x && b == y) || (a == y && b == x); };
  return is('G', 'C') ? 0 : is('A', 'U') || is('A', 'T') ? 1 : is('G', 'U') || is('G', 'T') ? 2 : 3;
}

}  // namespace

std::vector<Place> radial_layout(std::string_view structure) {
  const std::vector<std::int64_t> partner = partners(structure);
  const std::int64_t n = std::ssize(partner);
  std::vector<Place> places(structure.size());
  std::vector<Open> open{{-1, n, outermost(partner)}};
  while (!open.empty()) {
    const Open loop = open.back();
    open.pop_back();
    const std::vector<std::int64_t> bases = around(partner, loop.i, loop.j);
    const double turn = turn_of(bases.size());
    double direction = loop.direction;
    for (std::size_t k = 1; k < bases.size(); ++k) {
      direction += turn;
      const Place& from = places[bases[k - 1]];
      const bool stands = bases[k] == loop.j;
      if (!stands) places[bases[k]] = {from.x + std::cos(direction), from.y + std::sin(direction)};
      const bool crosses = partner[bases[k - 1]] == bases[k] && bases[k - 1] != loop.i;
      if (crosses) open.push_back({bases[k - 1], bases[k], direction + std::numbers::pi});
    }
  }
  return places;
}

std::string radial_svg(std::string_view sequence, std::string_view structure,
                       std::span<const double> reactivities) {
  constexpr double kLargest = 1'000, kMargin = 40;  // [px]
  const std::vector<std::int64_t> partner = partners(structure);
  const std::int64_t n = std::ssize(partner);
  if (n == 0) throw BadInput("a picture of a structure without bases");
  if (std::ssize(sequence) != n || (!reactivities.empty() && std::ssize(reactivities) != n))
    throw BadInput(fmt::format("the structure has {} letters, the sequence {}; {} reactivities", n,
                               sequence.size(), reactivities.size()));
  const auto no_letter = [](char c) { return !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')); };
  if (std::ranges::any_of(sequence, no_letter))
    throw BadInput("a picture of a sequence that has other characters than letters");
  if (std::ranges::any_of(reactivities, [](double r) { return !std::isfinite(r); }))
    throw BadInput("a reactivity that is no number");

  std::vector<Place> places = radial_layout(structure);
  const auto [left, right] = std::ranges::minmax(places, {}, &Place::x);
  const auto [top, bottom] = std::ranges::minmax(places, {}, &Place::y);
  const double x0 = left.x, y0 = top.y, width = right.x - left.x, height = bottom.y - top.y;
  const double unit = std::clamp(kLargest / std::max({width, height, 1.}), 0.5, 22.);
  for (Place& p : places) p = {kMargin + (p.x - x0) * unit, kMargin + (p.y - y0) * unit};
  const bool letters = unit >= 9;

  std::string svg;
  const auto out = std::back_inserter(svg);
  svg += "<path fill=\"none\" stroke=\"#999\" d=\"";
  for (std::int64_t k = 0; k < n; ++k)
    fmt::format_to(out, "{}{:.2f} {:.2f}", k == 0 ? "M" : "L", places[k].x, places[k].y);
  svg += "\"/>\n";
  int counts[std::size(kPairKinds)] = {};
  for (std::size_t kind = 0; kind < std::size(kPairKinds); ++kind) {
    std::string lines;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t j = partner[i];
      if (j < i || pair_kind(sequence[i], sequence[j]) != kind) continue;
      fmt::format_to(std::back_inserter(lines), "M{:.2f} {:.2f}L{:.2f} {:.2f}", places[i].x, places[i].y,
                     places[j].x, places[j].y);
      ++counts[kind];
    }
    if (!lines.empty())
      fmt::format_to(out, "<path stroke=\"{}\" stroke-width=\"{:.2f}\" d=\"{}\"/>\n", kPairKinds[kind].colour,
                     std::clamp(unit / 7, 0.6, 2.5), lines);
  }

  const std::vector<std::size_t> kinds = loop_kinds(partner);
  for (std::int64_t k = 0; k < n; ++k)
    fmt::format_to(
        out, "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" fill=\"{}\"{}/>\n", places[k].x, places[k].y,
        0.42 * unit,
        reactivities.empty() ? std::string(kLoopKinds[kinds[k]].colour) : of_reactivity(reactivities[k]),
        letters ? " stroke=\"#999\" stroke-width=\"0.5\"" : "");
  if (letters)
    for (std::int64_t k = 0; k < n; ++k)
      fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", places[k].x,
                     places[k].y + 0.2 * unit, sequence[k]);
  // Numbers and ends lie outside of the loop, to the right as one walks from 5' to 3'.
  const auto beside = [&](std::int64_t k, double distance) {
    const Place &from = places[std::max<std::int64_t>(k - 1, 0)], &to = places[std::min(k + 1, n - 1)];
    const double x = to.x - from.x, y = to.y - from.y, length = std::max(std::hypot(x, y), 1e-9);
    return Place{places[k].x - y / length * distance, places[k].y + x / length * distance};
  };
  const auto write = [&](std::int64_t k, double distance, std::string_view text) {
    const Place at = beside(k, distance);
    fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"11\" fill=\"#555\">{}</text>\n", at.x,
                   at.y + 4, text);
  };
  const double away = std::max(unit, 14.);
  const auto between =
      static_cast<std::int64_t>(page::least_step(static_cast<double>(std::max<std::int64_t>(n, 100)), 20));
  for (std::int64_t number = between; number <= n; number += between)
    if (number > 1 && number < n) write(number - 1, away, fmt::format("{}", number));
  write(0, away, "5'");
  if (n > 1) write(n - 1, away, "3'");

  double legend_x = kMargin, legend_y = 2 * kMargin + height * unit;
  std::vector<std::string> said;
  for (std::size_t kind = 0; kind < std::size(kPairKinds); ++kind) {
    if (kind == 3 && counts[kind] == 0) continue;
    said.push_back(fmt::format("{} {}", counts[kind], kPairKinds[kind].name));
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.2f}\" text-anchor=\"start\" fill=\"{}\">{}: {}</text>\n",
                   legend_x, legend_y, kPairKinds[kind].colour, kPairKinds[kind].name, counts[kind]);
    legend_x += 80;
  }
  legend_x = kMargin, legend_y += 22;
  const auto key = [&](std::string_view colour, std::string_view name) {
    fmt::format_to(out,
                   "<circle cx=\"{}\" cy=\"{:.2f}\" r=\"6\" fill=\"{}\" stroke=\"#999\"/><text x=\"{}\" "
                   "y=\"{:.2f}\" text-anchor=\"start\">{}</text>\n",
                   legend_x + 6, legend_y - 5, colour, legend_x + 18, legend_y, name);
    legend_x += 95;
  };
  if (reactivities.empty())
    for (const Kind& kind : kLoopKinds) key(kind.colour, kind.name);
  else
    for (const auto& [value, name] : {std::pair{0., "0"}, {0.5, "0.5"}, {1., "1, more"}, {-1., "none"}})
      key(of_reactivity(value), name);
  return page::svg_document(std::max(width * unit, 480.) + 2 * kMargin, legend_y + 20,
                            fmt::format("A secondary structure of {} bases: {}", n, fmt::join(said, ", ")),
                            " font-family=\"sans-serif\" font-size=\"14\" text-anchor=\"middle\"", svg);
}

}  // namespace warploom::fold
