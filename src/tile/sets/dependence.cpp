#include "warploom/tile/dependence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>

#include "core/doors.hpp"
#include "tile/c/wellformed.hpp"
#include "tile/sets/lifetimes.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tile {
namespace {

class Search {
 public:
  explicit Search(Polyhedra& polyhedra) : polyhedra_(polyhedra) {
    const int statements = static_cast<int>(polyhedra.statements.size());
    for (int s = 0; s < statements; ++s) {
      int body = 0;
      while (!run_together(body, s)) ++body;
      bodies_.push_back(body);
      writers_[polyhedra.statements[s].assignment.target.text].push_back(s);
    }
  }

  void run() {
    const int statements = static_cast<int>(polyhedra_.statements.size());
    for (int source = 0; source < statements; ++source)
      for (int sink = 0; sink < statements; ++sink) between(source, sink);
  }

 private:
  /// Statements of the same iterations.
  bool run_together(int a, int b) const {
    if (a == b) return true;
    const StatementSets &one = polyhedra_.sets[a], &other = polyhedra_.sets[b];
    const std::size_t loops = one.loops.size();
    if (other.loops.size() != loops || common_loops(one, other) != loops) return false;
    const isl::set renamed =
        isl::manage(isl_set_reset_space(other.domain.copy(), isl_set_get_space(one.domain.get())));
    return renamed.is_equal(one.domain);
  }

  /// What stands between already follows the source and goes before the sink, for it writes the element in
  /// the same iterations, or in loops of its own all elements that both touch. With many statements all pairs
  /// would be too many to tell, or to look at.
  bool is_implied(int source, int sink, bool carried, const Reference& from, const Reference& to) const {
    if (!from.is_exact || !to.is_exact) return false;
    const bool apart = !carried && loops_apart(source, sink);
    if (from.element != to.element && !apart) return false;
    if (bodies_[source] != bodies_[sink] && !apart) return false;
    const auto repeats = [&](int s, const Reference& reference) {
      return std::ranges::any_of(polyhedra_.statements[s].references, [&](const Reference& r) {
        return r.number < reference.number && !r.is_write && !reference.is_write &&
               r.element == reference.element;
      });
    };
    if (repeats(source, from) || repeats(sink, to)) return true;
    // Runs of a sum may go elsewhere, where that is allowed: they hold only what may go with them.
    const bool is_sum = sums(source, sink, from.element);
    const std::vector<int>& writers = writers_.at(from.element.text);
    const auto implies = [&](int m) {
      const Statement& between = polyhedra_.statements[m];
      if (!between.conditions.empty()) return false;
      if (!is_sum && (sums(source, m, from.element) || sums(m, sink, from.element))) return false;
      if (apart && writes_between(source, from, m, sink, to)) return true;
      return between.assignment.target == from.element && from.element == to.element &&
             bodies_[m] == bodies_[source] && bodies_[m] == bodies_[sink];
    };
    const auto after = std::ranges::upper_bound(writers, source),
               before = std::ranges::lower_bound(writers, sink);
    if (carried)
      return std::any_of(after, writers.end(), implies) || std::any_of(writers.begin(), before, implies);
    return source < sink && std::any_of(after, before, implies);
  }

  bool loops_apart(int a, int b) const { return common_loops(polyhedra_.sets[a], polyhedra_.sets[b]) == 0; }

  /// All of a run of `m` follows the source and goes before the sink, and it writes what both touch.
  bool writes_between(int source, const Reference& from, int m, int sink, const Reference& to) const {
    const std::vector<Reference>& all = polyhedra_.statements[m].references;
    const auto write = std::ranges::find_if(all, &Reference::is_write);
    if (write == all.end() || !write->is_exact || !loops_apart(source, m) || !loops_apart(m, sink))
      return false;
    const auto [known, fresh] =
        covered_.try_emplace({touched(source, from), touched(m, *write), touched(sink, to)}, false);
    if (fresh)
      known->second = elements(source, from).intersect(elements(sink, to)).is_subset(elements(m, *write));
    return known->second;
  }

  isl::set elements(int s, const Reference& reference) const {
    return polyhedra_.sets[s].accesses[reference.number].range();
  }

  /// The same number where the same elements are touched.
  int touched(int s, const Reference& reference) const {
    const auto [number, fresh] = touched_.try_emplace({s, reference.number}, 0);
    if (fresh) {
      char* text = isl_set_to_str(elements(s, reference).get());
      number->second = sets_.try_emplace(text ? text : "", static_cast<int>(sets_.size())).first->second;
      std::free(text);
    }
    return number->second;
  }

  /// Whether both combine the element with something by the same operation, which may take any order then.
  bool sums(int a, int b, const Expression& element) const {
    const Statement &one = polyhedra_.statements[a], &other = polyhedra_.statements[b];
    return !one.reduction.empty() && one.reduction == other.reduction && one.assignment.target == element &&
           other.assignment.target == element && (a == b || element.kind == Expression::Kind::name);
  }

  void between(int source, int sink) {
    std::vector<isl::map> levels;  // made when wanted
    for (const Reference& from : polyhedra_.statements[source].references)
      for (const Reference& to : polyhedra_.statements[sink].references) {
        if (from.element.text != to.element.text || (!from.is_write && !to.is_write)) continue;
        const bool carried = !loops_apart(source, sink) && !is_implied(source, sink, true, from, to),
                   same_iteration = source < sink && !is_implied(source, sink, false, from, to);
        if (!carried && !same_iteration) continue;
        if (levels.empty()) levels = runs_before(source, sink);
        const isl::map same_element = polyhedra_.sets[source].accesses[from.number].apply_range(
            polyhedra_.sets[sink].accesses[to.number].reverse());
        if (same_element.is_empty()) continue;
        check_interrupt();
        for (std::size_t level = 0; level < levels.size(); ++level) {
          const bool is_last = source < sink && level + 1 == levels.size();
          if (is_last ? !same_iteration : !carried) continue;
          const isl::map pairs = same_element.intersect(levels[level]).coalesce();
          if (!pairs.is_empty()) add(source, sink, from, to, static_cast<int>(level), pairs);
        }
      }
  }

  /// Of each level: source iterations to those of the sink that run later, equal in the loops outside of the
  /// level. The last level is that of no loop, if the sink stands later in the text.
  std::vector<isl::map> runs_before(int source, int sink) const {
    const StatementSets &a = polyhedra_.sets[source], &b = polyhedra_.sets[sink];
    const std::size_t common = common_loops(a, b);
    // Without sizes, which another order of theirs would come from.
    const auto tuple = [&](int s, const StatementSets& sets) {
      return isl::space::unit(polyhedra_.context())
          .add_named_tuple(polyhedra_.statements[s].label, static_cast<unsigned>(sets.loops.size()));
    };
    isl::map equal = isl::manage(isl_map_universe(
        isl_space_map_from_domain_and_range(tuple(source, a).release(), tuple(sink, b).release())));
    std::vector<isl::map> levels;
    for (std::size_t l = 0; l < common; ++l) {
      const auto at = static_cast<int>(l);
      isl_map* (*const order)(isl_map*, isl_dim_type, int, isl_dim_type, int) =
          a.loops[l].direction > 0 ? isl_map_order_lt : isl_map_order_gt;
      levels.push_back(isl::manage(order(equal.copy(), isl_dim_in, at, isl_dim_out, at)));
      equal = isl::manage(isl_map_equate(equal.release(), isl_dim_in, at, isl_dim_out, at));
    }
    if (source < sink) levels.push_back(equal);
    return levels;
  }

  void add(int source, int sink, const Reference& from, const Reference& to, int level,
           const isl::map& pairs) {
    Dependence dependence;
    dependence.kind = !from.is_write ? DependenceKind::anti
                      : to.is_write  ? DependenceKind::output
                                     : DependenceKind::flow;
    dependence.source = source;
    dependence.sink = sink;
    dependence.source_reference = from.number;
    dependence.sink_reference = to.number;
    dependence.level = level;
    dependence.reduction = from.element == to.element && sums(source, sink, from.element);
    if (static_cast<std::size_t>(level) < shared_lifetime(polyhedra_, from.element.text, source, sink)) {
      polyhedra_.between_lifetimes.push_back({std::move(dependence), pairs});
      return;
    }
    dependence.distance = distance(source, sink, pairs);
    dependence.witness = witness_of(pairs, polyhedra_);
    polyhedra_.dependences.push_back({std::move(dependence), pairs});
  }

  std::vector<Component> distance(int source, int sink, const isl::map& pairs) const {
    const StatementSets &a = polyhedra_.sets[source], &b = polyhedra_.sets[sink];
    const isl::set wrapped = pairs.wrap();
    std::vector<Component> components;
    for (std::size_t l = 0; l < common_loops(a, b); ++l) {
      isl_local_space* space = isl_local_space_from_space(isl_set_get_space(wrapped.get()));
      const isl::aff from = isl::manage(
          isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, static_cast<unsigned>(l)));
      const isl::aff to =
          isl::manage(isl_aff_var_on_domain(space, isl_dim_set, static_cast<unsigned>(a.loops.size() + l)));
      const isl::aff difference = a.loops[l].direction > 0 ? to.sub(from) : from.sub(to);
      const isl::val least = wrapped.min_val(difference), most = wrapped.max_val(difference);
      Component component;
      if (is_in_64_bits(least)) component.least = least.num_si();
      if (is_in_64_bits(most)) component.most = most.num_si();
      components.push_back(component);
    }
    return components;
  }

  /// isl gives 0 for those that are not.
  static bool is_in_64_bits(const isl::val& value) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return value.is_int() && isl_val_cmp_si(value.get(), most) <= 0 &&
           isl_val_cmp_si(value.get(), -most) >= 0;
  }

  Polyhedra& polyhedra_;
  std::vector<int> bodies_;  ///< of each statement the first one that runs in the same iterations
  std::map<std::string, std::vector<int>> writers_;
  mutable std::map<std::string, int> sets_;             ///< of elements, as isl writes them
  mutable std::map<std::pair<int, int>, int> touched_;  ///< of statement and reference: a number of these
  mutable std::map<std::tuple<int, int, int>, bool>
      covered_;  ///< what the first and the last share is in the second
};

}  // namespace

void find_dependences(Polyhedra& polyhedra) { Search(polyhedra).run(); }

std::vector<Dependence> dependences(const Nest& nest) {
  std::vector<Dependence> summaries;
  for (const DependenceRelation& relation : nest.polyhedra().dependences)
    summaries.push_back(relation.summary);
  return summaries;
}

std::string_view name(DependenceKind kind) {
  switch (kind) {
    case DependenceKind::flow:
      return "flow";
    case DependenceKind::anti:
      return "anti";
    case DependenceKind::output:
      return "output";
  }
  refuse_enumerator(kind, "the kind of dependence");
}

std::string to_text(const Component& component) {
  const auto &least = component.least, &most = component.most;
  if (least && most && *least == *most) return std::to_string(*least);
  if (least && *least >= 0) return *least > 0 ? "+" : "0+";
  if (most && *most <= 0) return *most < 0 ? "-" : "0-";
  return "*";
}

void check(const Nest& nest, const Dependence& dependence) {
  name(dependence.kind);
  check(nest, std::vector{dependence.source, dependence.sink});
  for (const auto& [statement, reference] : {std::pair{dependence.source, dependence.source_reference},
                                             {dependence.sink, dependence.sink_reference}})
    if (reference < 0 ||
        static_cast<std::size_t>(reference) >= nest.statements()[statement].references.size())
      throw BadInput(fmt::format("statement {} has no reference {}", statement, reference));
  const std::size_t loops = dependence.distance.size();
  if (dependence.level < 0 || static_cast<std::size_t>(dependence.level) > loops ||
      loops > std::min(nest.statements()[dependence.source].loops.size(),
                       nest.statements()[dependence.sink].loops.size()))
    throw BadInput(
        fmt::format("a dependence over {} loops is carried by number {}", loops, dependence.level));
}

std::string to_text(const Nest& nest, const Dependence& dependence) {
  check(nest, dependence);
  const Statement &source = nest.statements()[dependence.source], &sink = nest.statements()[dependence.sink];
  std::vector<std::string> distance;
  for (const Component& component : dependence.distance) distance.push_back(to_text(component));
  const bool carried = dependence.level < static_cast<int>(dependence.distance.size());
  return fmt::format("{} {} -> {} on {}, distance ({}), {}{}: ({}) -> ({})", name(dependence.kind),
                     source.label, sink.label, source.references[dependence.source_reference].element.text,
                     fmt::join(distance, ", "),
                     carried ? "carried by " + source.loops[dependence.level] : "carried by no loop",
                     dependence.reduction ? ", reduction" : "", fmt::join(dependence.witness.source, ", "),
                     fmt::join(dependence.witness.sink, ", "));
}

}  // namespace warploom::tile
