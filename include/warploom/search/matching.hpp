#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warploom::search {

/// What an edge or a set of edges is worth: more coverage first, then less distance.
struct Worth {
  std::int64_t coverage = 0;  ///< [samples of the query]
  double distance = 0;        ///< weighted

  Worth& operator+=(const Worth& other) {
    coverage += other.coverage;
    distance += other.distance;
    return *this;
  }
  friend Worth operator+(Worth a, const Worth& b) { return a += b; }
  friend Worth operator-(const Worth& a, const Worth& b) {
    return {a.coverage - b.coverage, a.distance - b.distance};
  }
  friend bool operator==(const Worth&, const Worth&) = default;
  /// "Is better than": the order in which results are ranked.
  friend bool better(const Worth& a, const Worth& b) {
    return a.coverage != b.coverage ? a.coverage > b.coverage : a.distance < b.distance;
  }
};

/// An edge between a channel of the query (left) and a channel of the recording (right). No two edges of a
/// graph join the same two.
struct Edge {
  std::int32_t left = 0, right = 0;
  Worth worth = {};  ///< coverage >= 1, distance >= 0
};

/// Indices of edges, ascending, of which no two share an end: a matching.
using Matching = std::vector<std::int32_t>;

// Distances are rounded to a multiple of a power of two so small (2^-40 of the largest where there are up to
// a thousand vertices) that sums of them are exact: which matching is best does not depend on the order of
// summing.

/// The best of all matchings by better(); of equal ones any, but always the same. It is maximal: no edge can
/// be added. The Hungarian method (H. W. Kuhn, Naval Research Logistics Quarterly 2, 1955), in which each
/// left vertex may stay alone. Cost: l^2 (l + r) for l left and r right vertices.
/// @param prices  if not null: [right vertices] what each adds at most to the best matching, for pay()
/// Time and memory grow with the largest of the ends.
/// @throws BadInput (ends outside [0, 2^20), a coverage outside [0, 2^40], a distance below 0 or not finite)
Matching best_matching(std::span<const Edge> edges, std::vector<Worth>* prices = nullptr);

/// What vertices are paid, none less than nothing.
struct Payments {
  std::vector<Worth> left = {}, right = {};  ///< up to the last that has an edge
};

/// Payments of which the two of each edge are together no worse than the edge, so that no matching is worth
/// more than all of them (weak duality): that, and little more, with the prices of the best matching of a
/// graph that differs little. Cost: the edges, twice.
/// @param prices  of right vertices, none less than nothing; those after the last: nothing. None becomes more
/// @throws as best_matching()
Payments pay(std::span<const Edge> edges, std::span<const Worth> prices);

/// The `count` best maximal matchings, best first, of equal ones always in the same order: fewer if there are
/// no more. Divides what is left into cases as K. G. Murty does (Operations Research 16(3), 1968); where the
/// best matching of a case is not maximal, because an edge that the case forbids could be added, it is
/// divided by the edges that could stand in that one's way.
/// @throws as best_matching(), Interrupted
std::vector<Matching> best_matchings(std::span<const Edge> edges, std::int64_t count);

/// All maximal matchings, which are the dissertation's maximal sets of independent relationships (7.4.2), in
/// lexicographic order.
/// @param cap  at most this many; a graph can have exponentially many
/// @throws BadInput where there are more, saying so; as best_matching(); more than 10,000 edges, a cap below
/// 0; Interrupted
std::vector<Matching> maximal_matchings(std::span<const Edge> edges, std::int64_t cap = 1'000'000);

}  // namespace warploom::search
