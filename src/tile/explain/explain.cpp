#include "warploom/tile/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/c/wellformed.hpp"
#include "tile/order/loop_paths.hpp"
#include "tile/sets/polyhedra.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostPermuted = 4;  // loops: 24 orders
constexpr std::int64_t kDefaultExtent = 32;

/// Tiles of 32, but of half the loop where it is known to be short: a tile that holds a whole loop says
/// nothing.
std::map<std::string, std::int64_t> default_tile(const Nest& nest) {
  std::map<std::string, std::int64_t> tile;
  const Polyhedra& polyhedra = nest.polyhedra();
  for (const Statement& statement : nest.statements())
    for (int l = 0; l < static_cast<int>(statement.loops.size()); ++l) {
      const isl::set& domain = polyhedra.sets[statement.number].domain;
      const isl::val most = domain.dim_max_val(l), least = domain.dim_min_val(l);
      std::int64_t extent = kDefaultExtent;
      if (most.is_int() && least.is_int())  // a long loop's length may need more than 64 bits
        extent = std::clamp<std::int64_t>(
            (most.sub(least).min(isl::val(polyhedra.context(), 2 * kDefaultExtent)).num_si() + 2) / 2, 1,
            kDefaultExtent);
      std::int64_t& known = tile[statement.loops[l]];
      known = std::max(known, extent);
    }
  return tile;
}

Schedule apply(Schedule schedule, const std::vector<Skew>& skews, const std::vector<Step>& steps) {
  for (const Skew& skew : skews) schedule = schedule.then(skew);
  for (const Step& step : steps) schedule = schedule.then(step);
  return schedule;
}

class Judge {
 public:
  explicit Judge(const Nest& nest) : nest_(nest), source_(Schedule::of_source(nest)) {}

  /// @param chain  whose skews may help
  Judged operator()(std::vector<Step> steps, const Band& chain) {
    Judged judged{std::move(steps), {}, {}};
    judged.verdict = apply(source_, {}, judged.steps).verdict();
    if (judged.verdict.legal || chain.loops.size() < 2) return judged;
    // One skew serves all orders of a chain.
    const auto known = skews_.find(chain.statements);
    const std::optional<std::vector<Skew>> skews =
        known != skews_.end() ? known->second : skews_[chain.statements] = skew_for_tiling(nest_, chain);
    if (skews && !skews->empty() && apply(source_, *skews, judged.steps).verdict().legal)
      judged.cure = *skews;
    return judged;
  }

 private:
  const Nest& nest_;
  Schedule source_;
  std::map<std::vector<int>, std::optional<std::vector<Skew>>> skews_;
};

void judge_permutations(const Band& chain, Judge& judge, std::vector<Judged>& judged) {
  if (chain.loops.size() < 2 || chain.loops.size() > kMostPermuted) return;
  std::vector<std::size_t> places(chain.loops.size());
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = k;
  while (std::next_permutation(places.begin(), places.end())) {
    // Loops that stay outside are not named: they need not be distributed.
    std::size_t first = 0;
    while (places[first] == first) ++first;
    Permute step{{}, chain.statements};
    for (std::size_t k = first; k < places.size(); ++k) step.order.push_back(chain.loops[places[k]]);
    judged.push_back(judge({step}, chain));
  }
}

}  // namespace

void check(const Nest& nest, const Explanation& explanation) {
  const auto check_reference = [&](int statement, int reference) {
    check(nest, std::vector{statement});
    if (reference < 0 ||
        static_cast<std::size_t>(reference) >= nest.statements()[statement].references.size())
      throw BadInput(fmt::format("statement {} has no reference {}", statement, reference));
  };
  for (const Reuse& reuse : explanation.reuse) {
    name(reuse.kind);
    check_reference(reuse.statement, reuse.reference);
    if (reuse.other_statement >= 0) check_reference(reuse.other_statement, reuse.other_reference);
  }
  for (const Dependence& dependence : explanation.dependences) check(nest, dependence);
  for (const Band& band : explanation.bands) check(nest, band.statements);
  for (const auto* all : {&explanation.permutations, &explanation.tilings, &explanation.asked})
    for (const Judged& judged : *all)
      for (const Step& step : judged.steps)
        std::visit([&](const auto& one) { check(nest, one.statements); }, step);
}

Explanation explain(const Nest& nest, const ExplainOptions& options) {
  Explanation out;
  out.tile = with_isl(nest.polyhedra(), [&] { return default_tile(nest); });
  for (const auto& [loop, extent] : options.tile) out.tile[loop] = extent;
  out.reuse = reuse(nest, options.line_bytes);
  out.footprint = footprint(nest, out.tile);
  out.dependences = dependences(nest);
  out.bands = permutable_bands(nest);
  out.remarks = nest.remarks();
  Judge judge(nest);
  for (const Band& chain : loop_chains(nest)) {
    judge_permutations(chain, judge, out.permutations);
    if (chain.loops.empty()) continue;
    Tile tile{{}, chain.statements};
    for (const std::string& loop : chain.loops) tile.sizes.emplace_back(loop, out.tile.at(loop));
    out.tilings.push_back(judge({tile}, chain));
  }
  for (const Band& band : out.bands) {
    const bool is_chain = band.loops == nest.statements()[band.statements.front()].loops;
    if (band.loops.size() < 2 || is_chain) continue;
    Tile tile{{}, band.statements};
    for (const std::string& loop : band.loops) tile.sizes.emplace_back(loop, out.tile.at(loop));
    out.tilings.push_back(judge({tile}, band));
  }
  if (!options.steps.empty()) {
    const std::vector<Band> all = loop_chains(nest);
    out.asked.push_back(judge(options.steps, all.size() == 1 ? all.front() : Band{}));
  }
  return out;
}

}  // namespace warploom::tile
