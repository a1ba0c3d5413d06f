// --auto for a CPU: orders of loops that touch few cache lines, tiles, and what the innermost loop holds.
#include <algorithm>
#include <numeric>
#include <set>

#include "tile/order/expanded_scalars.hpp"
#include "tile/order/loop_paths.hpp"
#include "tile/order/schedule.hpp"
#include "tile/order/split_loops.hpp"
#include "tile/order/transposed_copies.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

constexpr double kLineElements = 16;  // 64 bytes of floats
constexpr double kIterations = 1024;  // of a loop whose length is not known
constexpr std::int64_t kStrip = 64;   // loops outside of the innermost: tiles of two operands stay in L2
constexpr std::int64_t kInnermostStrip = 512;
constexpr std::int64_t kThreadStrip = 128;   // of an innermost loop whose strips are shared among threads
constexpr std::int64_t kFewBytes = 1 << 18;  // that a core keeps near it, whatever the order
constexpr std::int64_t kJam = 4;             // 4 x 4 sums of a vector each
constexpr std::int64_t kChains = 8;  // of sums that wait for themselves: two additions of four cycles at once

/// The innermost contiguous run in one loop costs iterations / line lines, an invariant reference one.
double lines(const Reference& reference, std::size_t loop, std::size_t loops) {
  if (!reference.is_linear(loops)) return kIterations;  // i / 2 and the like
  bool varies = false, contiguous = true;
  for (std::size_t d = 0; d < reference.coefficients.size(); ++d) {
    const std::int64_t c = reference.coefficients[d][loop];
    if (c == 0) continue;
    varies = true;
    contiguous &= d + 1 == reference.coefficients.size() && (c == 1 || c == -1);
  }
  if (!varies) return 1;
  return contiguous ? kIterations / kLineElements : kIterations;
}

/// All orders, the wanted one first and those that differ late before those that differ early.
std::vector<std::vector<std::size_t>> orders_near(const std::vector<std::size_t>& wanted) {
  std::vector<std::size_t> places(wanted.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<std::vector<std::size_t>> all;
  do {
    std::vector<std::size_t> order;
    for (const std::size_t place : places) order.push_back(wanted[place]);
    all.push_back(order);
  } while (std::next_permutation(places.begin(), places.end()));
  return all;
}

class Choice {
 public:
  explicit Choice(const Nest& nest) : nest_(nest), schedule_(Schedule::of_source(nest)) {}

  std::vector<Step> run() {
    std::vector<Band> chains = loop_chains(nest_);
    for (const Band& chain : chains)
      if (!chain.loops.empty()) tile_in_time(chain);
    // Columns leave the loops that they share with others before these are jammed.
    std::ranges::stable_partition(chains, [&](const Band& chain) {
      if (chain.loops.size() != 2 || is_tiled_in_time(chain)) return false;
      const std::vector<std::size_t> order = preferred(chain).order;
      return !separates(chain.statements, order.front()) && separates(chain.statements, order.back());
    });
    for (const Band& chain : chains)
      if (chain.loops.size() >= 2 && chain.loops.size() <= 5 && !is_tiled_in_time(chain)) arrange(chain);
    return std::move(steps_);
  }

 private:
  bool take(const Step& step) { return take_all({step}); }
  /// All of them, if the last is legal.
  bool take_all(const std::vector<Step>& steps) {
    Schedule next = schedule_;
    try {
      for (const Step& step : steps) next = next.then(step);
    } catch (const BadInput&) {
      return false;  // of a shape that the step has no meaning for
    }
    if (!next.verdict().legal) return false;
    schedule_ = next;
    steps_.insert(steps_.end(), steps.begin(), steps.end());
    return true;
  }

  bool is_tiled_in_time(const Band& chain) const {
    return std::ranges::find(in_time_, chain.statements.front()) != in_time_.end();
  }

  /// A loop around sweeps over whole arrays, each of which reads what the one before wrote nearby.
  void tile_in_time(const Band& chain) {
    if (is_tiled_in_time(chain)) return;
    const std::string& time = chain.loops.front();
    const std::vector<std::vector<const Node*>> paths = loop_paths(nest_);
    const Node* loop = paths[chain.statements.front()].front();
    std::vector<int> inside;
    std::size_t rank = 0, depth = 0;
    for (const Statement& statement : nest_.statements()) {
      if (paths[statement.number].empty() || paths[statement.number].front() != loop) continue;
      inside.push_back(statement.number);
      rank = std::max(rank, statement.references.back().coefficients.size());
      depth = std::max(depth, statement.loops.size());
    }
    // Time is no place in what is written, and what was written is read.
    for (const int s : inside)
      for (const Reference& reference : nest_.statements()[s].references) {
        const bool written = std::ranges::any_of(inside, [&](int other) {
          return nest_.statements()[other].references.back().element.text == reference.element.text;
        });
        if (!written) continue;
        if (!reference.is_linear(nest_.statements()[s].loops.size())) return;
        for (const auto& subscript : reference.coefficients)
          if (subscript[0] != 0) return;
      }
    if (!carries(inside, time) || is_small(inside)) return;
    // Elements that nobody else needs (sums down columns) wait for no time step of another.
    if (inside.size() == 1 && depth > 1 && separates(inside, 1)) return;
    if (rank < 1 || rank > 3 || depth != rank + 1) return;
    // Tiles of three dimensions have more border than they save: planes in the source's order are for
    // threads.
    static const std::vector<std::vector<std::int64_t>> sizes{{32, 2048}, {16, 64, 256}};
    if (rank <= sizes.size() && !take(TimeTile{time, sizes[rank - 1], {chain.statements.front()}})) return;
    in_time_.insert(in_time_.end(), inside.begin(), inside.end());
    // Where every loop within waits for itself, rows are run at a time, each two columns behind the one
    // before.
    const Statement& first = nest_.statements()[inside.front()];
    if (inside.size() == 1 && rank == 2 && carries(inside, first.loops.back()))
      take_all({Skew{first.loops[2], 2, first.loops[1], inside}, Jam{{{first.loops[1], kJam}}, inside}});
  }

  /// Whether all arrays of these statements are known to stay in a core's cache.
  bool is_small(const std::vector<int>& statements) const {
    std::set<std::string> arrays;
    for (const int s : statements)
      for (const Reference& reference : nest_.statements()[s].references)
        arrays.insert(reference.element.text);
    std::int64_t bytes = 0;
    for (const std::string& array : arrays) {
      const Variable& variable = *find_variable(nest_.region(), array);
      std::int64_t one = size_of(variable.type);
      for (const Expression& extent : variable.extents) {
        if (extent.kind != Expression::Kind::integer || extent.value > kFewBytes) return false;
        one *= extent.value;
        if (one > kFewBytes) return false;
      }
      bytes += one;
    }
    return bytes <= kFewBytes;
  }

  /// Whether iterations of one loop depend on each other where all others are the same.
  bool carries(const std::vector<int>& statements, const std::string& loop) const {
    const Polyhedra& polyhedra = nest_.polyhedra();
    return with_isl(polyhedra, [&] {
      for (const DependenceRelation& relation : polyhedra.dependences) {
        const Dependence& d = relation.summary;
        if (std::ranges::find(statements, d.source) == statements.end() ||
            std::ranges::find(statements, d.sink) == statements.end())
          continue;
        isl::map same = relation.pairs;
        const std::vector<std::string>& around = nest_.statements()[d.source].loops;
        const std::size_t shared = common_loops(polyhedra.sets[d.source], polyhedra.sets[d.sink]);
        for (std::size_t l = 0; l < shared; ++l)
          if (around[l] != loop)
            same = isl::manage(isl_map_equate(same.release(), isl_dim_in, static_cast<int>(l), isl_dim_out,
                                              static_cast<int>(l)));
          else
            same = isl::manage(
                isl_map_subtract(same.copy(), isl_map_equate(same.copy(), isl_dim_in, static_cast<int>(l),
                                                             isl_dim_out, static_cast<int>(l))));
        if (!same.is_empty()) return true;
      }
      return false;
    });
  }

  /// Loops from those that touch the most lines to those that touch the fewest, and which use data again.
  struct Preferred {
    std::vector<std::size_t> order;
    std::vector<bool> reused;
  };
  Preferred preferred(const Band& chain) const {
    const std::size_t loops = chain.loops.size();
    std::vector<double> cost(loops, 0);
    Preferred result{std::vector<std::size_t>(loops), std::vector<bool>(loops, false)};
    for (const int s : chain.statements)
      for (const Reference& reference : nest_.statements()[s].references)
        for (std::size_t l = 0; l < loops; ++l) {
          const double taken = lines(reference, l, loops);
          cost[l] += taken;
          result.reused[l] = result.reused[l] || (taken == 1 && !reference.coefficients.empty());
        }
    std::iota(result.order.begin(), result.order.end(), 0);
    std::ranges::stable_sort(result.order, [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
    return result;
  }

  void arrange(const Band& chain) {
    const std::vector<std::string>& loops = chain.loops;
    auto [order, reused] = preferred(chain);
    for (const std::vector<std::size_t>& candidate : orders_near(order))
      if (permute(chain, candidate)) {
        order = candidate;
        break;
      }
    // Only a loop outside that uses data again gains from tiles.
    const auto is_reused = [&reused = reused](std::size_t l) { return bool(reused[l]); };
    const bool reuse_outside = std::any_of(order.begin(), order.end() - 1, is_reused);
    if (loops.size() >= 3 && reuse_outside) tile(chain, order);
    // Sums down columns: threads take columns, each row after row.
    if (loops.size() == 2 && reused[order.front()]) strips_for_threads(chain, order);
    jam(chain, order, reused);
  }

  /// Only the loops that move are named: what is around them stays whole.
  bool permute(const Band& chain, const std::vector<std::size_t>& order) {
    std::size_t first = 0;
    while (first < order.size() && order[first] == first) ++first;
    if (first == order.size()) return true;
    Permute step{{}, chain.statements};
    for (std::size_t k = first; k < order.size(); ++k) step.order.push_back(chain.loops[order[k]]);
    return take(step);
  }

  /// Whether iterations that depend on each other have the same value of the loop, so that it may be shared
  /// among threads outside of all others.
  bool separates(const std::vector<int>& statements, std::size_t loop) const {
    const Polyhedra& polyhedra = nest_.polyhedra();
    return with_isl(polyhedra, [&] {
      return std::ranges::all_of(polyhedra.dependences, [&](const DependenceRelation& relation) {
        const Dependence& d = relation.summary;
        if (std::ranges::find(statements, d.source) == statements.end() ||
            std::ranges::find(statements, d.sink) == statements.end())
          return true;
        const isl::map same = isl::manage(isl_map_equate(
            relation.pairs.copy(), isl_dim_in, static_cast<int>(loop), isl_dim_out, static_cast<int>(loop)));
        return relation.pairs.is_subset(same);
      });
    });
  }

  /// Tiles whose outermost loop threads can share, where the order that memory likes has another there: it is
  /// entered once then.
  bool tile_for_threads(const Band& chain, const std::vector<std::size_t>& order) {
    if (separates(chain.statements, order.front())) return false;
    const auto shared =
        std::ranges::find_if(order, [&](std::size_t l) { return separates(chain.statements, l); });
    if (shared == order.end()) return false;
    Tile step{{}, chain.statements};
    step.sizes.emplace_back(chain.loops[*shared], *shared == order.back() ? kThreadStrip : kStrip);
    for (const std::size_t l : order)
      if (l != *shared) step.sizes.emplace_back(chain.loops[l], l == order.back() ? kInnermostStrip : kStrip);
    return take(step);
  }

  bool strips_for_threads(const Band& chain, const std::vector<std::size_t>& order) {
    if (separates(chain.statements, order.front()) || !separates(chain.statements, order.back()))
      return false;
    const std::string &inner = chain.loops[order.back()], &outer = chain.loops[order.front()];
    const std::string strip = inner.size() == 1 ? inner + inner : inner + "_strip";
    return take_all(
        {StripMine{inner, kThreadStrip, chain.statements}, Permute{{strip, outer}, chain.statements}});
  }

  bool tile(const Band& chain, const std::vector<std::size_t>& order) {
    if (tile_for_threads(chain, order)) return true;
    for (std::size_t first = 0; order.size() - first >= 3; ++first) {
      Tile step{{}, chain.statements};
      for (std::size_t k = first; k < order.size(); ++k)
        step.sizes.emplace_back(chain.loops[order[k]], k + 1 == order.size() ? kInnermostStrip : kStrip);
      if (take(step)) return true;
    }
    return false;
  }

  /// Several iterations of loops outside of the innermost run in it: what they share is loaded once, and sums
  /// that wait for themselves wait together.
  void jam(const Band& chain, const std::vector<std::size_t>& order, const std::vector<bool>& reused) {
    const std::vector<std::string>& loops = chain.loops;
    const bool waits = carries(chain.statements, loops[order.back()]);
    std::vector<std::size_t> wanted;  // from the inside
    for (std::size_t k = order.size() - 1; k-- > 0 && wanted.size() < 2;)
      if ((reused[order[k]] || waits) && !is_jammed(chain, loops[order[k]])) wanted.push_back(order[k]);
    if (wanted.empty()) return;
    // The loop that sums one element up runs fastest: the sums join.
    std::ranges::stable_sort(wanted, {}, [&](std::size_t l) { return sums_along(chain, l); });
    if (wanted.size() == 2) {
      const bool both = !waits && loops.size() >= 3;
      if (both && take(Jam{{{loops[wanted[0]], kJam}, {loops[wanted[1]], kJam}}, chain.statements})) return;
    }
    for (const std::size_t l : wanted)
      if (take(Jam{{{loops[l], waits ? kChains : kJam}}, chain.statements})) return;
  }

  bool is_jammed(const Band& chain, const std::string& loop) const {
    return std::ranges::any_of(schedule_.impl().times[chain.statements.front()], [&](const TimeDimension& d) {
      return d.kind == TimeDimension::Kind::loop && d.name == loop && d.jammed > 0;
    });
  }

  /// Whether each statement writes one element all along the loop.
  bool sums_along(const Band& chain, std::size_t loop) const {
    return std::ranges::all_of(chain.statements, [&](int s) {
      return lines(nest_.statements()[s].references.back(), loop, chain.loops.size()) == 1;
    });
  }

  const Nest& nest_;
  Schedule schedule_;
  std::vector<Step> steps_;
  std::vector<int> in_time_;  ///< statements
};

}  // namespace

std::vector<Step> steps_for_cpu(const Nest& nest) { return Choice(nest).run(); }

CpuPlan plan_for_cpu(const Nest& nest) {
  const auto plan_of = [](const Nest& source) {
    CpuPlan plan;
    const std::optional<Nest> split = with_split_loops(source);
    plan.nest = split ? *split : with_transposed_copies(source).value_or(source);
    plan.steps = steps_for_cpu(plan.nest);
    return plan;
  };
  CpuPlan plan = plan_of(nest);
  // Values of their own in memory cost more than a scalar: they have to make steps legal.
  if (const std::optional<Nest> expanded = with_expanded_scalars(nest)) {
    CpuPlan more = plan_of(*expanded);
    if (more.steps.size() > plan.steps.size()) return more;
  }
  return plan;
}

}  // namespace warploom::tile
