#include "warploom/dp/polygon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "dp/visibility.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/dp/bad_value.hpp"
#include "warploom/page/chart.hpp"

namespace warploom::dp {
namespace {

constexpr double kLeast = 1e-100, kMost = 1e100;  // what orientation() is exact for

void check_points(std::span<const Point> polygon) {
  if (polygon.size() < 3)
    throw BadValue("polygon", {}, fmt::format("a polygon has at least 3 vertices; {} given", polygon.size()));
  if (polygon.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw BadInput(fmt::format("a polygon of {} vertices; at most 2^31 - 1 can be numbered", polygon.size()));
  for (std::size_t k = 0; k < polygon.size(); ++k)
    for (const double c : {polygon[k].x, polygon[k].y})
      if (c != 0 && !(std::abs(c) >= kLeast && std::abs(c) <= kMost))
        throw BadValue(
            "polygon", k,
            fmt::format("polygon: vertex {} is ({}, {}); a coordinate is 0 or of magnitude {} to {}", k,
                        polygon[k].x, polygon[k].y, kLeast, kMost));
}

double distance(const Point& a, const Point& b) {
  const double x = a.x - b.x, y = a.y - b.y;
  return std::sqrt(x * x + y * y);
}

double perimeter(std::span<const Point> polygon) {
  double sum = distance(polygon.back(), polygon.front());
  for (std::size_t k = 1; k < polygon.size(); ++k) sum += distance(polygon[k - 1], polygon[k]);
  return sum;
}

/// A chord's length where it is a diagonal, 0 for side (0, n-1).
template <class T>
Triangle<T> chord_weights(std::span<const Point> polygon, bool convex) {
  const std::int64_t n = std::ssize(polygon);
  // The table of the solution comes on top, as large again.
  require_memory(Triangle<T>::bytes(n), fmt::format("the lengths of {} vertices' diagonals", n));
  Triangle<T> weights(n, kUnreachable<T>);
  const auto length = [&](std::int64_t i, std::int64_t j) {
    return static_cast<T>(distance(polygon[i], polygon[j]));
  };
  if (convex) {
    parallel_for(n, [&](std::int64_t i) {
      check_interrupt();
      for (std::int64_t j = i + 2; j < n; ++j) weights(i, j) = length(i, j);
    });
  } else {
    const Visibility visibility(polygon);
    parallel_for(n, [&](std::int64_t i) {
      check_interrupt();
      for (const std::int32_t j : visibility.from(static_cast<std::int32_t>(i)))
        if (j > i) weights(i, j) = length(i, j);
    });
  }
  weights(0, n - 1) = 0;
  return weights;
}

template <class T>
Triangulation solve_polygon(std::span<const Point> polygon, bool convex, const Options& options) {
  const std::int64_t n = std::ssize(polygon);
  Problem<T> problem;
  problem.leaves.assign(static_cast<std::size_t>(n - 1), T(0));
  problem.cell_weight = chord_weights<T>(polygon, convex);
  const Solution<T> solution = solve(problem, options);
  problem.cell_weight = {};
  if (solution.optimum() == kUnreachable<T>) throw Internal("a simple polygon without a triangulation");

  Triangulation result;
  result.weight = static_cast<double>(solution.optimum());
  for (const Split& split : solution.trace()) {
    result.triangles.push_back({split.i, split.k, split.j});
    if (split.i != 0 || split.j != n - 1) result.diagonals.push_back({split.i, split.j});
  }
  result.report = solution.report();
  return result;
}

}  // namespace

Triangulation triangulate(std::span<const Point> polygon, const PolygonOptions& options) {
  const RunScope scope(options.solve.run);
  const ValueType type = options.type == ValueType::best ? ValueType::float64 : options.type;
  if (type != ValueType::float64 && type != ValueType::float32)
    throw BadInput(fmt::format(
        "lengths are no whole numbers: type {} is not for polygons; use float64 or float32", name(type)));
  check_points(polygon);
  const double sides = perimeter(polygon);
  // No diagonal is longer than half the perimeter, and there are fewer than there are vertices.
  if (const double bound = sides * static_cast<double>(polygon.size());
      type == ValueType::float32 && bound > static_cast<double>(std::numeric_limits<float>::max()))
    throw BadInput(fmt::format(
        "lengths of this polygon may sum to {:.3g}, more than float32 holds; use float64", bound));
  const bool convex = strictly_convex(polygon);
  if (!convex) check_simple(polygon);
  Triangulation result = type == ValueType::float64 ? solve_polygon<double>(polygon, convex, options.solve)
                                                    : solve_polygon<float>(polygon, convex, options.solve);
  result.perimeter = sides;
  result.convex = convex;
  result.type = type;
  return result;
}

std::string triangulation_svg(std::span<const Point> polygon, const Triangulation& triangulation) {
  check_points(polygon);
  for (const auto& [i, j] : triangulation.diagonals)
    if (i < 0 || j < 0 || i >= std::ssize(polygon) || j >= std::ssize(polygon))
      throw BadInput(
          fmt::format("a diagonal joins vertices {} and {}; the polygon has {}", i, j, polygon.size()));
  const auto [left, right] = std::ranges::minmax_element(polygon, {}, &Point::x);
  const auto [bottom, top] = std::ranges::minmax_element(polygon, {}, &Point::y);
  const double width = right->x - left->x, height = top->y - bottom->y, size = std::max(width, height);
  // The picture's longer side is 1000, whatever the polygon's unit.
  constexpr double kSize = 1000, kMargin = 40;
  const auto x = [&](std::int64_t v) { return kMargin + kSize * ((polygon[v].x - left->x) / size); };
  const auto y = [&](std::int64_t v) { return kMargin + kSize * ((top->y - polygon[v].y) / size); };
  std::string svg =
      "<polygon fill=\"#eef3f8\" stroke=\"#1f3a5f\" stroke-width=\"2\" stroke-linejoin=\"round\" points=\"";
  const auto out = std::back_inserter(svg);
  for (std::int64_t v = 0; v < std::ssize(polygon); ++v) fmt::format_to(out, "{:.2f},{:.2f} ", x(v), y(v));
  svg += "\"/>\n<path fill=\"none\" stroke=\"#c0504d\" stroke-width=\"1\" d=\"";
  for (const auto& [i, j] : triangulation.diagonals)
    fmt::format_to(out, "M{:.2f} {:.2f}L{:.2f} {:.2f}", x(i), y(i), x(j), y(j));
  svg += "\"/>\n";
  if (constexpr std::size_t kNumbered = 60; polygon.size() <= kNumbered) {
    svg += "<g font-family=\"sans-serif\" font-size=\"16\" text-anchor=\"middle\" fill=\"#1f3a5f\">\n";
    for (std::int64_t v = 0; v < std::ssize(polygon); ++v)
      fmt::format_to(
          out,
          "<circle cx=\"{0:.2f}\" cy=\"{1:.2f}\" r=\"3\"/><text x=\"{0:.2f}\" y=\"{2:.2f}\">{3}</text>\n",
          x(v), y(v), y(v) - 8, v);
    svg += "</g>\n";
  }
  return page::svg_document(kSize * (width / size) + 2 * kMargin, kSize * (height / size) + 2 * kMargin,
                            fmt::format("A polygon of {} vertices with the {} diagonals of its triangulation",
                                        polygon.size(), triangulation.diagonals.size()),
                            "", svg, 2);
}

}  // namespace warploom::dp
