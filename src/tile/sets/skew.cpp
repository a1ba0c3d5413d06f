// Skews that make a band tilable.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tile/order/schedule.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

constexpr std::int64_t kLargestFactor = 4;

/// Sums of distances along the band's loops: what a skewed loop's distance is made of.
using Weights = std::vector<std::int64_t>;

class SkewSearch {
 public:
  SkewSearch(const Polyhedra& polyhedra, const Band& band) : polyhedra_(polyhedra), band_(band) {
    const Statement& statement = polyhedra.statements[band.statements.front()];
    for (const std::string& loop : band.loops)
      depths_.push_back(
          static_cast<std::size_t>(std::ranges::find(statement.loops, loop) - statement.loops.begin()));
    const auto inside = [&](int s) { return std::ranges::find(band.statements, s) != band.statements.end(); };
    for (const DependenceRelation& relation : polyhedra.dependences)
      if (inside(relation.summary.source) && inside(relation.summary.sink) &&
          relation.summary.level >= static_cast<int>(depths_.front()))
        dependences_.push_back(&relation);
  }

  /// Outermost first: a loop that has been skewed has no negative distance left, so that others may be skewed
  /// by it.
  std::optional<std::vector<Skew>> run() {
    std::vector<Skew> skews;
    std::vector<Weights> skewed;
    for (std::size_t loop = 0; loop < band_.loops.size(); ++loop) {
      const auto factors = smallest_factors(skewed, loop);
      if (!factors) return std::nullopt;
      skewed.push_back(combine(skewed, *factors, loop));
      for (std::size_t by = 0; by < loop; ++by)
        if ((*factors)[by] > 0) skews.push_back({band_.loops[loop], (*factors)[by], band_.loops[by]});
    }
    return skews;
  }

 private:
  Weights combine(const std::vector<Weights>& skewed, const std::vector<std::int64_t>& factors,
                  std::size_t loop) const {
    Weights weights(band_.loops.size(), 0);
    weights[loop] = 1;
    for (std::size_t by = 0; by < factors.size(); ++by)
      for (std::size_t l = 0; l < weights.size(); ++l) weights[l] += factors[by] * skewed[by][l];
    return weights;
  }

  /// The factors with the smallest sum that leave no negative distance.
  std::optional<std::vector<std::int64_t>> smallest_factors(const std::vector<Weights>& skewed,
                                                            std::size_t loop) const {
    std::optional<std::vector<std::int64_t>> best;
    std::vector<std::int64_t> factors(loop, 0);
    const auto sum = [](const std::vector<std::int64_t>& list) {
      return std::accumulate(list.begin(), list.end(), std::int64_t{0});
    };
    for (bool more = true; more;) {
      if ((!best || sum(factors) < sum(*best)) && never_negative(combine(skewed, factors, loop)))
        best = factors;
      more = false;
      for (std::int64_t& factor : factors) {  // count up
        more = ++factor <= kLargestFactor;
        if (more) break;
        factor = 0;
      }
    }
    return best;
  }

  bool never_negative(const Weights& weights) const {
    return std::ranges::all_of(dependences_,
                               [&](const DependenceRelation* d) { return never_negative(weights, *d); });
  }

  bool never_negative(const Weights& weights, const DependenceRelation& relation) const {
    std::int64_t least = 0;
    bool exact = true;  // one distance for all pairs, where the weights are not 0
    for (std::size_t l = 0; l < weights.size(); ++l) {
      if (weights[l] == 0) continue;
      const Component& component = relation.summary.distance[depths_[l]];
      if (!component.least) return weights_keep(weights, relation);
      least += weights[l] * *component.least;
      exact = exact && component.most == component.least;
    }
    return least >= 0 || (!exact && weights_keep(weights, relation));
  }

  /// By integer sets: the ranges of the components together say too little.
  bool weights_keep(const Weights& weights, const DependenceRelation& relation) const {
    const StatementSets& source = polyhedra_.sets[relation.summary.source];
    const isl::set pairs = relation.pairs.wrap();
    isl::aff sum = isl::aff::zero_on_domain(pairs.space());
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const auto depth = static_cast<int>(depths_[l]);
      const isl::aff distance =
          iterator_aff(pairs, static_cast<int>(source.loops.size()) + depth).sub(iterator_aff(pairs, depth));
      sum = sum.add(
          distance.scale(isl::val(polyhedra_.context(), weights[l] * source.loops[depths_[l]].direction)));
    }
    const isl::val least = pairs.min_val(sum);
    return least.is_int() && least.is_nonneg();
  }

  const Polyhedra& polyhedra_;
  const Band& band_;
  std::vector<std::size_t> depths_;  ///< of the band's loops in their statements
  std::vector<const DependenceRelation*> dependences_;
};

}  // namespace

std::optional<std::vector<Skew>> skew_for_tiling(const Nest& nest, const Band& band) {
  const std::vector<Statement>& statements = nest.statements();
  if (band.loops.empty() || band.statements.empty()) return std::nullopt;
  for (const int number : band.statements) {
    if (number < 0 || number >= std::ssize(statements))
      throw BadInput(
          fmt::format("a band names statement {}, but the nest has {}", number, statements.size()));
    const std::vector<std::string>& around = statements[static_cast<std::size_t>(number)].loops;
    for (const std::string& loop : band.loops)
      if (std::ranges::find(around, loop) == around.end())
        throw BadInput(fmt::format("a band names loop '{}', which is not around statement {}", loop, number));
  }
  // Loops of one name in different places have no distance between them.
  for (const int number : band.statements)
    if (!share_loops(nest.polyhedra(), band.statements.front(), number, band.loops)) return std::nullopt;
  return with_isl(nest.polyhedra(), [&] { return SkewSearch(nest.polyhedra(), band).run(); });
}

}  // namespace warploom::tile
