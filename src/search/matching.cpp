#include "warploom/search/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>
#include <type_traits>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::search {
namespace {

/// Ends that are numbers of vertices, and worths whose sums hold.
void check(std::span<const Edge> edges) {
  constexpr std::int32_t kMostVertices = 1 << 20;
  constexpr std::int64_t kMostCoverage = std::int64_t{1} << 40;
  for (const auto& [left, right, worth] : edges) {
    if (left < 0 || right < 0 || left >= kMostVertices || right >= kMostVertices)
      throw BadInput(fmt::format("an edge joins vertices {} and {}: they are numbered from 0 to {}", left,
                                 right, kMostVertices - 1));
    if (worth.coverage < 0 || worth.coverage > kMostCoverage ||
        !(worth.distance >= 0 && std::isfinite(worth.distance)))
      throw BadInput(fmt::format(
          "an edge covers {} samples at a distance of {}: give 0 to 2^40, and a finite distance not "
          "below 0",
          worth.coverage, worth.distance));
  }
}

/// Whether a matching that is looked for holds an edge.
enum class Rule : std::uint8_t { free, required, forbidden };

class Graph {
 public:
  explicit Graph(std::span<const Edge> edges) : edges_(edges.begin(), edges.end()) {
    check(edges);
    double largest = 0;
    for (const Edge& edge : edges_) {
      lefts_ = std::max(lefts_, edge.left + 1);
      rights_ = std::max(rights_, edge.right + 1);
      largest = std::max(largest, edge.worth.distance);
    }
    first_.assign(lefts_ + 1, 0);
    // A path's length, and so every number below, is a sum of at most 2 (lefts + rights) distances.
    const int sums = std::bit_width(static_cast<std::uint32_t>(lefts_ + rights_)) + 1;
    const int unit = largest > 0 ? std::ilogb(largest) + 1 + sums - 53 : 0;
    constexpr int kScalable = 1000;  // whose powers of two, and their inverses, are normal numbers
    const bool scalable = std::abs(unit) < kScalable;
    const double to_units = std::ldexp(1.0, scalable ? -unit : 0), of_units = 1 / to_units;
    std::int64_t most_covered = 0;
    for (Edge& edge : edges_) {
      double& distance = edge.worth.distance;
      const double units = std::nearbyint(scalable ? distance * to_units : std::ldexp(distance, -unit));
      distance = scalable ? units * of_units : std::ldexp(units, unit);
      numbers_.push_back(static_cast<std::uint64_t>(units));
      most_covered = std::max(most_covered, edge.worth.coverage);
      ++first_[edge.left + 1];
    }
    // Sums of coverages, beside those of units, which are less than 2^53.
    if (most_covered < kMostCovered && 2 * most_covered * (lefts_ + rights_) < kMostCovered)
      for (std::size_t e = 0; e < edges_.size(); ++e)
        numbers_[e] = (static_cast<std::uint64_t>(edges_[e].worth.coverage) << kUnits) - numbers_[e];
    else
      numbers_.clear();
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    by_left_.resize(edges_.size());
    std::vector<std::int32_t> next = first_;
    for (std::int32_t e = 0; e < this->edges(); ++e) by_left_[next[edge(e).left]++] = e;
  }

  std::int32_t edges() const { return static_cast<std::int32_t>(edges_.size()); }
  const Edge& edge(std::int32_t e) const { return edges_[e]; }
  static bool adjacent(const Edge& a, const Edge& b) { return a.left == b.left || a.right == b.right; }
  Worth worth(const Matching& matching) const {
    Worth sum;
    for (std::int32_t e : matching) sum += edge(e).worth;
    return sum;
  }

  /// The best matching with all edges that are required and none that is forbidden.
  /// @param prices  if not null: the potentials of right vertices
  Matching best(std::span<const Rule> rules, std::vector<Worth>* prices = nullptr) const {
    if (prices == nullptr && !numbers_.empty()) return best_by<Number>(rules, nullptr);
    return best_by<Worth>(rules, prices);
  }

 private:
  static constexpr int kUnits = 54;                     // bits of a distance
  static constexpr std::int64_t kMostCovered = 1 << 9;  // all that is left
  /// A worth as one number, which compares as it does. On the way to a sum that fits it may not: so unsigned.
  struct Number {
    std::uint64_t value = 0;
    Number& operator+=(const Number& other) {
      value += other.value;
      return *this;
    }
    friend Number operator+(Number a, const Number& b) { return a += b; }
    friend Number operator-(const Number& a, const Number& b) { return {a.value - b.value}; }
    friend bool better(const Number& a, const Number& b) {
      return static_cast<std::int64_t>(a.value) > static_cast<std::int64_t>(b.value);
    }
  };
  static constexpr std::int32_t kNone = -1;
  template <class Value>
  struct Column {
    std::int32_t mate = kNone;      ///< left vertex
    std::int32_t edge = kNone;      ///< to it; none in a column of staying alone
    std::int32_t previous = kNone;  ///< left vertex it was reached from
    std::int32_t via = kNone;       ///< by this edge
    Value potential, slack;         ///< slack: of the path to it
    bool reached = false, settled = false, taken = false;
  };
  template <class Value>
  struct Left {
    Value potential;
    std::int32_t column = kNone;
    bool taken = false;
  };
  template <class Value>
  Value value(std::int32_t e) const {
    if constexpr (std::is_same_v<Value, Worth>)
      return edge(e).worth;
    else
      return {numbers_[e]};
  }
  template <class Value>
  Matching best_by(std::span<const Rule> rules, std::vector<Worth>* prices) const;

  std::vector<Edge> edges_;
  std::vector<std::uint64_t> numbers_;  // [edges] if their sums fit into one
  std::int32_t lefts_ = 0, rights_ = 0;
  std::vector<std::int32_t> by_left_,
      first_;  // edges of left vertex l: by_left_[first_[l]] and on to first_[l + 1]
  std::span<const std::int32_t> at_left(std::int32_t left) const {
    return std::span(by_left_).subspan(first_[left], first_[left + 1] - first_[left]);
  }
};

/// Adds left vertices one by one by a best augmenting path. Column rights_ + l stands for "l stays alone",
/// worth nothing. Potentials keep slack(l, r) = left[l] + right[r] - worth(l, r) no less than zero, and zero
/// on the matching; "less" is "the other is better", as Worth is an ordered group.
template <class Value>
Matching Graph::best_by(std::span<const Rule> rules, std::vector<Worth>* prices) const {
  std::vector<Column<Value>> column(rights_ + lefts_);
  std::vector<Left<Value>> left(lefts_);
  Matching matching;
  for (std::int32_t e = 0; e < edges(); ++e)
    if (rules[e] == Rule::required) {
      left[edge(e).left].taken = column[edge(e).right].taken = true;
      matching.push_back(e);
    }

  std::vector<std::int32_t> reached;  // columns, on the way from one start
  for (std::int32_t start = 0; start < lefts_; ++start) {
    if (left[start].taken) continue;
    for (std::int32_t c : reached) column[c].reached = column[c].settled = false;
    reached.clear();
    // The least potential that leaves no slack below zero.
    for (std::int32_t e : at_left(start)) {
      const Value least = value<Value>(e) - column[edge(e).right].potential;
      if (rules[e] == Rule::free && !column[edge(e).right].taken && better(least, left[start].potential))
        left[start].potential = least;
    }
    std::int32_t here = start, end = kNone;
    Value so_far;  // slack of the path to `here`
    while (true) {
      const auto reach = [&](std::int32_t to, const Value& worth, std::int32_t via) {
        Column<Value>& c = column[to];
        const Value slack = so_far + left[here].potential + c.potential - worth;
        if (c.settled || (c.reached && !better(c.slack, slack))) return;
        if (!c.reached) reached.push_back(to);
        c.slack = slack, c.previous = here, c.via = via, c.reached = true;
      };
      for (std::int32_t e : at_left(here))
        if (rules[e] == Rule::free && !column[edge(e).right].taken) reach(edge(e).right, value<Value>(e), e);
      reach(rights_ + here, {}, kNone);
      end = kNone;
      for (std::int32_t c : reached)
        if (!column[c].settled && (end == kNone || better(column[end].slack, column[c].slack))) end = c;
      column[end].settled = true;
      so_far = column[end].slack;
      if (column[end].mate == kNone) break;
      here = column[end].mate;
    }
    left[start].potential = left[start].potential - so_far;
    for (std::int32_t c : reached) {
      if (!column[c].settled) continue;
      const Value change = so_far - column[c].slack;
      column[c].potential += change;
      if (c != end) left[column[c].mate].potential = left[column[c].mate].potential - change;
    }
    for (std::int32_t c = end; c != kNone;) {
      column[c].mate = column[c].previous, column[c].edge = column[c].via;
      c = std::exchange(left[column[c].mate].column, c);
    }
  }
  for (const Column<Value>& c : column)
    if (c.edge != kNone) matching.push_back(c.edge);
  std::sort(matching.begin(), matching.end());
  if constexpr (std::is_same_v<Value, Worth>)
    if (prices != nullptr) {
      prices->clear();
      for (std::int32_t right = 0; right < rights_; ++right) prices->push_back(column[right].potential);
    }
  return matching;
}

/// A forbidden edge that could be added to a matching.
std::optional<Edge> addable(const Graph& graph, std::span<const Rule> rules, const Matching& matching) {
  for (std::int32_t e = 0; e < graph.edges(); ++e)
    if (rules[e] == Rule::forbidden &&
        std::none_of(matching.begin(), matching.end(),
                     [&](std::int32_t other) { return Graph::adjacent(graph.edge(e), graph.edge(other)); }))
      return graph.edge(e);
  return std::nullopt;
}

}  // namespace

Matching best_matching(std::span<const Edge> edges, std::vector<Worth>* prices) {
  return Graph(edges).best(std::vector<Rule>(edges.size(), Rule::free), prices);
}

Payments pay(std::span<const Edge> edges, std::span<const Worth> prices) {
  check(edges);
  Payments paid;
  for (const Edge& edge : edges) {
    paid.left.resize(std::max<std::size_t>(paid.left.size(), edge.left + 1));
    paid.right.resize(std::max<std::size_t>(paid.right.size(), edge.right + 1));
  }
  const auto at_least = [](Worth& paid_here, const Worth& worth) {
    if (better(worth, paid_here)) paid_here = worth;
  };
  for (const Edge& edge : edges)
    at_least(paid.left[edge.left],
             edge.right < std::ssize(prices) ? edge.worth - prices[edge.right] : edge.worth);
  // The least of the right ones that these allow.
  for (const Edge& edge : edges) at_least(paid.right[edge.right], edge.worth - paid.left[edge.left]);
  return paid;
}

std::vector<Matching> best_matchings(std::span<const Edge> edges, std::int64_t count) {
  struct Case {
    std::vector<Rule> rules;
    Matching best;
    Worth worth;
    std::int64_t number;  // of equal ones the earlier first
  };
  const auto later = [](const Case& a, const Case& b) {
    return better(b.worth, a.worth) || (!better(a.worth, b.worth) && b.number < a.number);
  };
  const Graph graph(edges);
  std::priority_queue<Case, std::vector<Case>, decltype(later)> cases(later);
  std::int64_t made = 0;
  const auto add = [&](const std::vector<Rule>& rules) {
    Matching best = graph.best(rules);
    const Worth worth = graph.worth(best);
    cases.push({rules, std::move(best), worth, made++});
  };
  std::vector<Matching> results;
  if (count > 0) add(std::vector<Rule>(edges.size(), Rule::free));
  while (!cases.empty() && std::ssize(results) < count) {
    check_interrupt();
    Case best = cases.top();
    cases.pop();
    const std::optional<Edge> missing = addable(graph, best.rules, best.best);
    // Either the matchings that lack one of these edges (all but the best), or those that hold one of these.
    const Rule here = missing ? Rule::required : Rule::forbidden,
               after = missing ? Rule::forbidden : Rule::required;
    for (std::int32_t e = 0; e < graph.edges(); ++e) {
      Rule& rule = best.rules[e];
      if (rule != Rule::free) continue;
      if (missing ? !Graph::adjacent(graph.edge(e), *missing)
                  : !std::binary_search(best.best.begin(), best.best.end(), e))
        continue;
      const auto in_the_way = [&](std::int32_t other) {
        return best.rules[other] == Rule::required && Graph::adjacent(graph.edge(e), graph.edge(other));
      };
      if (missing && std::any_of(best.best.begin(), best.best.end(), in_the_way)) continue;
      rule = here;
      add(best.rules);
      rule = after;
    }
    if (!missing) results.push_back(std::move(best.best));
  }
  return results;
}

namespace {

/// Decides edge after edge whether it belongs to the matching, "yes" first, which is the lexicographic order.
class Enumeration {
 public:
  Enumeration(std::span<const Edge> edges, std::int64_t cap) : edges_(edges), cap_(cap) {
    constexpr std::size_t kMostEdges = 10'000;  // each is a level of the recursion
    check(edges);
    if (edges.size() > kMostEdges)
      throw BadInput(fmt::format("all maximal matchings of a graph of {} edges: {} are the limit",
                                 edges.size(), kMostEdges));
    if (cap < 0) throw BadInput(fmt::format("at most {} matchings: at least 0", cap));
    for (const Edge& edge : edges) {
      left_.resize(std::max<std::size_t>(left_.size(), edge.left + 1));
      right_.resize(std::max<std::size_t>(right_.size(), edge.right + 1));
    }
  }

  void decide(std::size_t e) {
    if (!can_be_maximal(e)) return;
    while (e < edges_.size() && taken(edges_[e])) ++e;
    if (e == edges_.size()) {
      check_interrupt();
      if (std::ssize(found_) == cap_)
        throw BadInput(fmt::format(
            "a graph of {} edges has more than {} maximal matchings, the cap: raise it, or ask for the best ones only",
            edges_.size(), cap_));
      found_.push_back(matching_);
      return;
    }
    set(edges_[e], 1);
    matching_.push_back(static_cast<std::int32_t>(e));
    decide(e + 1);
    matching_.pop_back();
    set(edges_[e], 0);
    left_out_.push_back(e);
    decide(e + 1);
    left_out_.pop_back();
  }

  std::vector<Matching> found_;

 private:
  bool taken(const Edge& edge) const { return left_[edge.left] || right_[edge.right]; }
  void set(const Edge& edge, char value) { left_[edge.left] = right_[edge.right] = value; }
  /// Whether each edge left out has an end that is taken or can still be.
  bool can_be_maximal(std::size_t next) const {
    return std::all_of(left_out_.begin(), left_out_.end(), [&](std::size_t out) {
      const Edge& edge = edges_[out];
      return taken(edge) ||
             std::any_of(edges_.begin() + static_cast<std::ptrdiff_t>(next), edges_.end(),
                         [&](const Edge& other) { return Graph::adjacent(edge, other) && !taken(other); });
    });
  }

  std::span<const Edge> edges_;
  std::int64_t cap_;
  std::vector<char> left_, right_;  // whether a vertex is taken
  Matching matching_;
  std::vector<std::size_t> left_out_;
};

}  // namespace

std::vector<Matching> maximal_matchings(std::span<const Edge> edges, std::int64_t cap) {
  Enumeration enumeration(edges, cap);
  enumeration.decide(0);
  return std::move(enumeration.found_);
}

}  // namespace warploom::search
