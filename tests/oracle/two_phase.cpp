#include "two_phase.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>

namespace warploom::oracle {
namespace {

struct Neighbour {
  int dx, dy;
  double weight;
};

/// A plane has four kinds of edges: along x, up a diagonal, along y, down a diagonal, by angle. Each stands
/// for the directions that are nearer to it than to the others.
std::array<Neighbour, 4> neighbours(double hx, double hy) {
  const double up = std::atan2(hy, hx), half_turn = std::numbers::pi;
  const double first = up / 2, second = (up + half_turn / 2) / 2, third = half_turn - second,
               fourth = half_turn - first;
  const double diagonal = std::hypot(hx, hy);
  // Width of the sector, over 2 times the edge's length.
  return {{{1, 0, (first + half_turn - fourth) / (2 * hx)},
           {1, 1, (second - first) / (2 * diagonal)},
           {0, 1, (third - second) / (2 * hy)},
           {-1, 1, (fourth - third) / (2 * diagonal)}}};
}

template <class Visit>
void for_edges(const TwoPhase& p, const Visit& visit) {
  const auto part = [&](std::int64_t v) {
    return p.counts.empty() || p.counts[static_cast<std::size_t>(v)] != 0;
  };
  for (const auto& [dx, dy, weight] : neighbours(p.hx, p.hy))
    for (std::int64_t y = 0; y + dy < p.ny; ++y)
      for (std::int64_t x = 0; x < p.nx; ++x) {
        if (x + dx < 0 || x + dx >= p.nx) continue;
        const std::int64_t a = y * p.nx + x, b = (y + dy) * p.nx + x + dx;
        if (part(a) && part(b)) visit(a, b, weight);
      }
}

/// Shortest augmenting paths (Edmonds & Karp).
class Flow {
 public:
  explicit Flow(std::size_t nodes) : from_(nodes) {}
  void add(std::size_t a, std::size_t b, double there, double back) {
    from_[a].push_back(arcs_.size());
    arcs_.push_back({b, there});
    from_[b].push_back(arcs_.size());
    arcs_.push_back({a, back});
  }
  double most(std::size_t source, std::size_t sink) {
    double total = 0;
    while (true) {
      std::vector<std::size_t> by(from_.size(), kNone);
      std::queue<std::size_t> open;
      open.push(source);
      while (!open.empty() && by[sink] == kNone) {
        const std::size_t node = open.front();
        open.pop();
        for (const std::size_t arc : from_[node])
          if (arcs_[arc].room > 1e-12 && by[arcs_[arc].to] == kNone && arcs_[arc].to != source) {
            by[arcs_[arc].to] = arc;
            open.push(arcs_[arc].to);
          }
      }
      if (by[sink] == kNone) return total;
      double room = std::numeric_limits<double>::infinity();
      for (std::size_t node = sink; node != source; node = arcs_[by[node] ^ 1].to)
        room = std::min(room, arcs_[by[node]].room);
      for (std::size_t node = sink; node != source; node = arcs_[by[node] ^ 1].to)
        arcs_[by[node]].room -= room, arcs_[by[node] ^ 1].room += room;
      total += room;
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Arc {
    std::size_t to;
    double room;
  };
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> from_;
};

}  // namespace

double TwoPhase::length(const std::vector<std::uint8_t>& set) const {
  double sum = 0;
  for_edges(*this, [&](std::int64_t a, std::int64_t b, double weight) {
    if ((set[static_cast<std::size_t>(a)] != 0) != (set[static_cast<std::size_t>(b)] != 0)) sum += weight;
  });
  return sum;
}

double TwoPhase::energy(const std::vector<std::uint8_t>& set) const {
  double sum = mu * length(set);
  for (std::size_t v = 0; v < set.size(); ++v)
    if (counts.empty() || counts[v] != 0) sum += set[v] != 0 ? in[v] : out[v];
  return sum;
}

double TwoPhase::least_energy() const {
  const std::size_t pixels = in.size(), source = pixels, sink = pixels + 1;
  Flow flow(pixels + 2);
  for (std::size_t v = 0; v < pixels; ++v)
    if (counts.empty() || counts[v] != 0) flow.add(source, v, out[v], 0), flow.add(v, sink, in[v], 0);
  for_edges(*this, [&](std::int64_t a, std::int64_t b, double weight) {
    flow.add(static_cast<std::size_t>(a), static_cast<std::size_t>(b), mu * weight, mu * weight);
  });
  return flow.most(source, sink);
}

}  // namespace warploom::oracle
