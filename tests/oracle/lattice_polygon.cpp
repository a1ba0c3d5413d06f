#include "oracle/lattice_polygon.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>

namespace warploom::oracle {
namespace {

std::int64_t turn(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

bool on_segment(const LatticePoint& a, const LatticePoint& b, const LatticePoint& p) {
  return turn(a, b, p) == 0 && std::min(a.x, b.x) <= p.x && p.x <= std::max(a.x, b.x) &&
         std::min(a.y, b.y) <= p.y && p.y <= std::max(a.y, b.y);
}

bool differ(std::int64_t a, std::int64_t b) { return (a > 0 && b < 0) || (a < 0 && b > 0); }

bool cross(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d) {
  return differ(turn(a, b, c), turn(a, b, d)) && differ(turn(c, d, a), turn(c, d, b));
}

bool touch(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d) {
  return cross(a, b, c, d) || on_segment(a, b, c) || on_segment(a, b, d) || on_segment(c, d, a) ||
         on_segment(c, d, b);
}

/// Whether the middle of a and b, which is on no side, is inside: sides above it, counted.
bool middle_inside(const LatticePolygon& polygon, const LatticePoint& a, const LatticePoint& b) {
  const LatticePoint middle{a.x + b.x, a.y + b.y};  // everything doubled
  bool inside = false;
  for (std::size_t k = 0; k < polygon.size(); ++k) {
    const LatticePoint p{2 * polygon[k].x, 2 * polygon[k].y};
    const LatticePoint& next = polygon[(k + 1) % polygon.size()];
    const LatticePoint q{2 * next.x, 2 * next.y};
    if ((p.x > middle.x) == (q.x > middle.x)) continue;
    const std::int64_t side = turn(p, q, middle);
    if ((q.x > p.x) == (side < 0)) inside = !inside;
  }
  return inside;
}

}  // namespace

std::vector<dp::Point> points_of(const LatticePolygon& polygon) {
  std::vector<dp::Point> points;
  for (const LatticePoint& p : polygon)
    points.push_back({static_cast<double>(p.x), static_cast<double>(p.y)});
  return points;
}

bool is_simple(const LatticePolygon& p) {
  const std::size_t n = p.size();
  if (n < 3 || std::set(p.begin(), p.end()).size() != n) return false;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const std::size_t a_next = (a + 1) % n, b_next = (b + 1) % n;
      if (a_next == b) {
        if (on_segment(p[a], p[b], p[b_next]) || on_segment(p[b], p[b_next], p[a])) return false;
      } else if (b_next == a) {
        if (on_segment(p[b], p[a], p[a_next]) || on_segment(p[a], p[a_next], p[b])) return false;
      } else if (touch(p[a], p[a_next], p[b], p[b_next])) {
        return false;
      }
    }
  return true;
}

std::int64_t doubled_area(std::span<const LatticePoint> polygon) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < polygon.size(); ++k) {
    const LatticePoint &a = polygon[k], &b = polygon[(k + 1) % polygon.size()];
    sum += a.x * b.y - a.y * b.x;
  }
  return sum;
}

bool is_diagonal(const LatticePolygon& polygon, std::int64_t i, std::int64_t j) {
  const std::int64_t n = std::ssize(polygon);
  if (i == j || (i + 1) % n == j || (j + 1) % n == i) return false;
  const LatticePoint &a = polygon[i], &b = polygon[j];
  for (std::int64_t k = 0; k < n; ++k) {
    if (k != i && k != j && on_segment(a, b, polygon[k])) return false;
    if (cross(a, b, polygon[k], polygon[(k + 1) % n])) return false;
  }
  return middle_inside(polygon, a, b);
}

double least_weight(const LatticePolygon& polygon) {
  const std::int64_t n = std::ssize(polygon);
  std::vector<std::pair<std::int64_t, std::int64_t>> diagonals, chosen;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j)
      if (is_diagonal(polygon, i, j)) diagonals.emplace_back(i, j);
  double best = std::numeric_limits<double>::infinity();
  const auto choose = [&](const auto& self, std::size_t from, double weight) -> void {
    if (std::ssize(chosen) == n - 3) best = std::min(best, weight);
    for (std::size_t k = from; k < diagonals.size(); ++k) {
      const auto [i, j] = diagonals[k];
      const bool crosses = std::ranges::any_of(chosen, [&, i = i, j = j](const auto& other) {
        return cross(polygon[i], polygon[j], polygon[other.first], polygon[other.second]);
      });
      if (crosses) continue;
      chosen.push_back(diagonals[k]);
      self(self, k + 1,
           weight + std::hypot(static_cast<double>(polygon[i].x - polygon[j].x),
                               static_cast<double>(polygon[i].y - polygon[j].y)));
      chosen.pop_back();
    }
  };
  choose(choose, 0, 0);
  return best;
}

LatticePolygon random_polygon(int vertices, std::int64_t extent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto coordinate = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
  };
  for (;;) {
    std::set<LatticePoint> distinct;
    while (std::ssize(distinct) < vertices) distinct.insert({coordinate(), coordinate()});
    LatticePolygon p(distinct.begin(), distinct.end());
    std::ranges::shuffle(p, random);
    // Each swap shortens the polygon, so that this ends.
    for (bool again = true; again;) {
      again = false;
      for (std::size_t a = 0; a + 2 < p.size() && !again; ++a)
        for (std::size_t b = a + 2; b < p.size() && !again; ++b)
          if (cross(p[a], p[a + 1], p[b], p[(b + 1) % p.size()])) {
            std::reverse(p.begin() + static_cast<std::ptrdiff_t>(a) + 1,
                         p.begin() + static_cast<std::ptrdiff_t>(b) + 1);
            again = true;
          }
    }
    if (is_simple(p)) return p;  // else sides touch, and other points are taken
  }
}

LatticePolygon random_convex_polygon(int points, std::int64_t extent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto coordinate = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
  };
  LatticePolygon all;
  for (int k = 0; k < points; ++k) all.push_back({coordinate(), coordinate()});
  std::ranges::sort(all);
  LatticePolygon hull;  // Andrew's monotone chain
  for (int half = 0; half < 2; ++half) {
    const std::size_t begin = hull.size();
    for (const LatticePoint& p : all) {
      while (hull.size() >= begin + 2 && turn(hull[hull.size() - 2], hull.back(), p) <= 0) hull.pop_back();
      hull.push_back(p);
    }
    hull.pop_back();
    std::ranges::reverse(all);
  }
  return hull;
}

}  // namespace warploom::oracle
