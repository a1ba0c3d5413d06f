#include "dp/visibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "dp/orientation.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::dp {
namespace {

bool before(const Point& a, const Point& b) { return std::pair(a.x, a.y) < std::pair(b.x, b.y); }

/// Whether c, which lies on the line through a and b, lies between them, ends included.
bool between(const Point& a, const Point& b, const Point& c) {
  return before(c, a) == before(b, c) || c == a || c == b;
}

/// Whether two closed segments have a point in common.
bool meet(const Point& a, const Point& b, const Point& c, const Point& d) {
  const int abc = orientation(a, b, c), abd = orientation(a, b, d);
  const int cda = orientation(c, d, a), cdb = orientation(c, d, b);
  if (abc * abd < 0 && cda * cdb < 0) return true;
  return (abc == 0 && between(a, b, c)) || (abd == 0 && between(a, b, d)) || (cda == 0 && between(c, d, a)) ||
         (cdb == 0 && between(c, d, b));
}

/// Whether sides (a, b) and (b, c) have more in common than b.
bool folds_back(const Point& a, const Point& b, const Point& c) {
  return orientation(a, b, c) == 0 && before(a, b) == before(c, b);
}

struct Side {
  std::int64_t number;  // from this vertex to the next
  double x_low, x_high, y_low, y_high;
};

void check_distinct(std::span<const Point> polygon) {
  std::vector<std::int64_t> order(polygon.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    return std::tuple(polygon[a].x, polygon[a].y, a) < std::tuple(polygon[b].x, polygon[b].y, b);
  });
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Point& p = polygon[order[k]];
    if (p != polygon[order[k - 1]]) continue;
    const bool closed = order[k - 1] == 0 && order[k] == std::ssize(polygon) - 1;
    throw BadInput(fmt::format("polygon: vertices {} and {} are both ({}, {}){}", order[k - 1], order[k], p.x,
                               p.y,
                               closed ? "; leave the last one out, the polygon is closed by itself" : ""));
  }
}

}  // namespace

bool strictly_convex(std::span<const Point> polygon) {
  const std::size_t n = polygon.size();
  const auto at = [&](std::size_t k) -> const Point& { return polygon[k % n]; };
  const int turn = orientation(at(0), at(1), at(2));
  int changes = 0;  // between going towards larger and towards smaller points: 2 in one turn
  for (std::size_t k = 0; k < n; ++k) {
    if (turn == 0 || orientation(at(k), at(k + 1), at(k + 2)) != turn) return false;
    changes += before(at(k), at(k + 1)) != before(at(k + 1), at(k + 2)) ? 1 : 0;
  }
  return changes == 2;
}

void check_simple(std::span<const Point> polygon) {
  check_distinct(polygon);
  const std::int64_t n = std::ssize(polygon);
  const auto at = [&](std::int64_t k) -> const Point& { return polygon[k % n]; };
  std::vector<Side> sides;
  for (std::int64_t k = 0; k < n; ++k)
    sides.push_back({k, std::min(at(k).x, at(k + 1).x), std::max(at(k).x, at(k + 1).x),
                     std::min(at(k).y, at(k + 1).y), std::max(at(k).y, at(k + 1).y)});
  std::ranges::sort(sides, {}, [](const Side& side) { return std::pair(side.x_low, side.number); });

  const auto collide = [&](std::int64_t a, std::int64_t b) {
    if ((a + 1) % n == b) return folds_back(at(a), at(b), at(b + 1));
    if ((b + 1) % n == a) return folds_back(at(b), at(a), at(a + 1));
    return meet(at(a), at(a + 1), at(b), at(b + 1));
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::optional<Pair>> found(sides.size());  // the least pair of a side and one after it in order
  constexpr std::int64_t kChunk = 64;
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t chunk) {
    check_interrupt();
    for (std::int64_t s = chunk * kChunk; s < std::min(n, (chunk + 1) * kChunk); ++s) {
      const Side& side = sides[s];
      for (std::int64_t t = s + 1; t < n && sides[t].x_low <= side.x_high; ++t) {
        const Side& other = sides[t];
        if (other.y_low > side.y_high || other.y_high < side.y_low || !collide(side.number, other.number))
          continue;
        const Pair pair = std::minmax(side.number, other.number);
        if (!found[s] || pair < *found[s]) found[s] = pair;
      }
    }
  });
  std::optional<Pair> least;
  for (const std::optional<Pair>& pair : found)
    if (pair && (!least || *pair < *least)) least = pair;
  if (least)
    throw BadInput(fmt::format(
        "polygon: its sides {}-{} and {}-{} meet; only polygons that do not touch or cross themselves are triangulated",
        least->first, (least->first + 1) % n, least->second, (least->second + 1) % n));
}

Visibility::Visibility(std::span<const Point> polygon) : points_(polygon.begin(), polygon.end()) {
  const std::size_t n = points_.size();
  // At its least point a polygon is convex.
  const auto least = static_cast<std::size_t>(std::ranges::min_element(points_, before) - points_.begin());
  if (orientation(points_[(least + n - 1) % n], points_[least], points_[(least + 1) % n]) < 0)
    for (Point& p : points_) p.y = -p.y;
  clip_ears();
  link();
}

// An ear is a vertex whose two neighbours are joined by a diagonal. Cutting one off changes which vertices
// are ears at its neighbours alone: what is left has no diagonal that the whole had not, and loses those that
// end in the ear. A triangle of neighbours holds a vertex only if it holds one that is not convex.
void Visibility::clip_ears() {
  const auto n = static_cast<std::int32_t>(points_.size());
  std::vector<std::int32_t> previous(n), next(n), blunt, ears;
  for (std::int32_t v = 0; v < n; ++v) {
    previous[v] = (v + n - 1) % n;
    next[v] = (v + 1) % n;
  }
  const auto convex = [&](std::int32_t v) {
    return orientation(points_[previous[v]], points_[v], points_[next[v]]) > 0;
  };
  const auto is_ear = [&](std::int32_t v) {
    if (!convex(v)) return false;
    const Point &a = points_[previous[v]], &b = points_[v], &c = points_[next[v]];
    const auto [x_low, x_high] = std::minmax({a.x, b.x, c.x});
    const auto [y_low, y_high] = std::minmax({a.y, b.y, c.y});
    return std::ranges::none_of(
        blunt, [&, x_low = x_low, x_high = x_high, y_low = y_low, y_high = y_high](std::int32_t w) {
          const Point& p = points_[w];
          return x_low <= p.x && p.x <= x_high && y_low <= p.y && p.y <= y_high && w != previous[v] &&
                 w != next[v] && orientation(a, b, p) >= 0 && orientation(b, c, p) >= 0 &&
                 orientation(c, a, p) >= 0;
        });
  };
  for (std::int32_t v = 0; v < n; ++v)
    if (!convex(v)) blunt.push_back(v);
  std::vector<std::uint8_t> ear(static_cast<std::size_t>(n));
  for (std::int32_t v = n - 1; v >= 0; --v) {
    if (v % 256 == 0) check_interrupt();
    if ((ear[v] = is_ear(v) ? 1 : 0) != 0) ears.push_back(v);
  }

  triangles_.reserve(static_cast<std::size_t>(n - 2));
  for (std::int32_t left = n; left >= 3; --left) {
    if (left % 256 == 0) check_interrupt();
    while (!ears.empty() && ear[ears.back()] == 0) ears.pop_back();  // cut, or none any more
    if (ears.empty()) throw Internal("a simple polygon without an ear");
    const std::int32_t v = ears.back(), a = previous[v], c = next[v];
    ears.pop_back();
    triangles_.push_back({{a, v, c}, {-1, -1, -1}});
    ear[v] = 0;
    next[a] = c;
    previous[c] = a;
    for (const std::int32_t w : {c, a})
      if (convex(w)) std::erase(blunt, w);
    for (const std::int32_t w : {c, a})
      if ((ear[w] = is_ear(w) ? 1 : 0) != 0) ears.push_back(w);
  }
}

void Visibility::link() {
  struct Edge {
    std::int32_t low, high, triangle, corner;
  };
  std::vector<Edge> edges;
  first_of_.assign(points_.size() + 1, 0);
  for (std::int32_t t = 0; t < std::ssize(triangles_); ++t)
    for (std::int32_t corner = 0; corner < 3; ++corner) {
      const auto& corners = triangles_[t].corners;
      const auto [low, high] = std::minmax(corners[(corner + 1) % 3], corners[(corner + 2) % 3]);
      edges.push_back({low, high, t, corner});
      ++first_of_[corners[corner] + 1];
    }
  std::ranges::sort(edges, {}, [](const Edge& e) { return std::tuple(e.low, e.high, e.triangle); });
  for (std::size_t k = 1; k < edges.size(); ++k) {
    const Edge &a = edges[k - 1], &b = edges[k];
    if (a.low != b.low || a.high != b.high) continue;
    triangles_[a.triangle].across[a.corner] = b.triangle;
    triangles_[b.triangle].across[b.corner] = a.triangle;
  }
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  triangles_of_.resize(edges.size());
  std::vector<std::int64_t> place(first_of_.begin(), first_of_.end() - 1);
  for (std::int32_t t = 0; t < std::ssize(triangles_); ++t)
    for (const std::int32_t corner : triangles_[t].corners) triangles_of_[place[corner]++] = t;
}

// What a vertex sees of a triangle beyond an edge lies in a cone between two vertices, open: a ray along its
// border touches one of them. The triangles of a simple polygon hang together as a tree, so each is entered
// once.
std::vector<std::int32_t> Visibility::from(std::int32_t vertex) const {
  const auto n = static_cast<std::int32_t>(points_.size());
  const Point& eye = points_[vertex];
  std::vector<std::int32_t> seen;
  struct Window {
    std::int32_t triangle, behind;  // to enter, from this one
    std::int32_t right, left;       // the cone's borders
  };
  std::vector<Window> windows;
  for (std::int64_t k = first_of_[vertex]; k < first_of_[vertex + 1]; ++k) {
    const std::int32_t t = triangles_of_[k];
    const Triangle& around = triangles_[t];
    const auto corner =
        static_cast<std::size_t>(std::ranges::find(around.corners, vertex) - around.corners.begin());
    const std::int32_t right = around.corners[(corner + 1) % 3], left = around.corners[(corner + 2) % 3];
    if (right != (vertex + 1) % n)
      seen.push_back(right);  // the last one's left is the side to the vertex before
    windows.push_back({around.across[corner], t, right, left});
  }
  while (!windows.empty()) {
    const Window window = windows.back();
    windows.pop_back();
    if (window.triangle < 0) continue;  // looks at a side of the polygon
    const Triangle& entered = triangles_[window.triangle];
    const auto corner =
        static_cast<std::size_t>(std::ranges::find(entered.across, window.behind) - entered.across.begin());
    const std::int32_t apex = entered.corners[corner];
    // Counter-clockwise: apex, left end of the edge that it was entered by, right end.
    const std::int32_t beyond_right = entered.across[(corner + 1) % 3];
    const std::int32_t beyond_left = entered.across[(corner + 2) % 3];
    const bool left_of_right = orientation(eye, points_[window.right], points_[apex]) > 0;
    const bool right_of_left = orientation(eye, points_[apex], points_[window.left]) > 0;
    const bool visible = left_of_right && right_of_left;
    if (visible) seen.push_back(apex);
    if (left_of_right)
      windows.push_back({beyond_right, window.triangle, window.right, visible ? apex : window.left});
    if (right_of_left)
      windows.push_back({beyond_left, window.triangle, visible ? apex : window.right, window.left});
  }
  return seen;
}

}  // namespace warploom::dp
