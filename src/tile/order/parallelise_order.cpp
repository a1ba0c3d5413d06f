#include "tile/order/parallelise_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "tile/order/parallelise_copies.hpp"
#include "tile/order/parallelise_reasons.hpp"
#include "tile/order/parallelise_waves.hpp"

namespace warploom::tile {
namespace {

class Orderer {
 public:
  Orderer(const Nest& nest, const std::set<std::string>& shared)
      : polyhedra_(nest.polyhedra()), around_(polyhedra_), false_(around_, shared) {
    order_.times.resize(polyhedra_.statements.size());
  }

  LoopOrder run() && {
    std::vector<int> statements(polyhedra_.statements.size());
    std::iota(statements.begin(), statements.end(), 0);
    std::vector<Relation> relations;
    // On the memory as it is: it is decided here which variables get copies.
    for (const auto* list : {&polyhedra_.dependences, &polyhedra_.between_lifetimes})
      for (const DependenceRelation& dependence : *list)
        relations.push_back({&dependence.summary, dependence.pairs});
    nest(statements, relations);
    order_.too_large_copies = false_.find_arrays(order_.privatised);
    return std::move(order_);
  }

 private:
  /// Orders what lies inside the loops chosen so far.
  void nest(const std::vector<int>& statements, const std::vector<Relation>& relations) {
    std::vector<Group> groups = components(statements, relations);
    for (Group& group : groups) choose_loops(group, within(relations, group.statements));
    groups = fuse(std::move(groups), relations);
    tell(distribution_reasons(around_, groups));
    for (std::size_t position = 0; position < groups.size(); ++position) {
      Group& group = groups[position];
      for (const int s : group.statements) {
        TimeDimension place;
        place.value = static_cast<std::int64_t>(position);
        order_.times[s].push_back(place);
      }
      if (group.loops.empty()) continue;
      const std::vector<Relation> inside = within(relations, group.statements);
      if (group.wave.empty())
        tell(loop_reasons(around_, group, inside));
      else
        order_.waves.push_back({wave_name(), wave_reasons(around_, group, inside)});
      enter(group);
      nest(group.statements, not_carried(inside, group.loops));
    }
  }

  void enter(Group& group) {
    name_loops(group);
    const bool is_wave = !group.wave.empty();
    if (is_wave) add_wave(group);
    const int number = ++groups_;
    std::map<std::string, std::vector<SharedLoop>> copies;
    for (std::size_t l = 0; l < group.loops.size(); ++l) {
      const SharedLoop& loop = group.loops[l];
      const bool is_given = is_wave && l + 1 == group.loops.size();
      if (!is_given)
        for (const std::string& variable : loop.privatised) copies[variable].push_back(loop);
      for (const int s : group.statements) {
        if (!is_given) {
          if (l > 0 || is_wave) order_.times[s].emplace_back();
          order_.times[s].push_back(time(loop.name, iteration(s, loop)));
        }
        around_.add(s, {loop.dimension.at(s), loop.name, group.parallel, number});
      }
    }
    for (auto& [variable, loops] : copies)
      order_.privatised.push_back(false_.copies(group, variable, std::move(loops)));
  }

  /// The sequential loop outside of the group's.
  void add_wave(const Group& group) {
    for (const int s : group.statements) {
      isl::aff sum = isl::aff::zero_on_domain(polyhedra_.sets[s].domain.space());
      for (std::size_t l = 0; l < group.loops.size(); ++l)
        sum = sum.add(iteration(s, group.loops[l]).scale(isl::val(sum.ctx(), group.wave[l])));
      order_.times[s].push_back(time(order_.waves.back().loop, sum));
    }
  }

  static TimeDimension time(const std::string& name, isl::aff function) {
    TimeDimension time;
    time.kind = TimeDimension::Kind::loop;
    time.name = name;
    time.aff = std::move(function);
    return time;
  }
  /// Increasing in the direction in which the loop runs.
  isl::aff iteration(int statement, const SharedLoop& loop) const {
    const isl::aff iterator = iterator_aff(polyhedra_.sets[statement].domain, loop.dimension.at(statement));
    return around_.direction(loop) > 0 ? iterator : iterator.neg();
  }

  // --- which loop

  void choose_loops(Group& group, const std::vector<Relation>& relations) {
    std::vector<SharedLoop> common = around_.candidates(group);
    if (common.empty() && group.statements.size() > 1)
      throw Internal(fmt::format("parallelise: {} depend on each other within no loop",
                                 around_.labels(group.statements)));
    if (common.empty()) return;
    for (SharedLoop loop : common)
      if (becomes_parallel(group, relations, loop)) group.loops.push_back(loop);
    group.parallel = !group.loops.empty();
    if (!group.parallel && common.size() > 1 && waves_ && !around_.any_parallel(group.statements.front()) &&
        !becomes_parallel_inside(group, relations))
      choose_wave(group, relations, common);
    if (group.parallel)
      contiguous_last(group);
    else
      group.loops = {sequential_loop(group, relations, common)};
  }

  /// Whether there are parallel loops in what becomes of the group without waves.
  bool becomes_parallel_inside(const Group& group, const std::vector<Relation>& relations) {
    const LoopOrder order = order_;
    const LoopsAround around = around_;
    waves_ = false;
    nest(group.statements, relations);
    const bool parallel =
        std::ranges::any_of(group.statements, [&](int s) { return around_.any_parallel(s); });
    waves_ = true;
    around_ = around;
    order_ = order;
    return parallel;
  }

  void choose_wave(Group& group, const std::vector<Relation>& relations, std::vector<SharedLoop> loops) {
    // Local variables that each iteration writes first have copies: dependences on them are none.
    std::set<std::string> copies;
    std::vector<Relation> left;
    for (const Relation& relation : relations) {
      const std::string& variable = variable_of(polyhedra_, *relation.summary);
      if (!copies.count(variable) && !find_variable(polyhedra_.region, variable)->is_parameter &&
          std::ranges::all_of(
              loops, [&](const SharedLoop& loop) { return false_.may_be_private(group, loop, variable); }))
        copies.insert(variable);
      if (!copies.count(variable)) left.push_back(relation);
    }
    // A copy is used by one iteration of each wave, in the order of the loop that is given.
    const WaveSearch search = find_wave(around_, left, loops, !copies.empty());
    if (!search.wave || search.wave->width < kLeastWaveWidth) {
      if (search.wave || !search.distances.empty())
        order_.waves.push_back({"", {no_wave_reason(around_, group, loops, search)}});
      return;
    }
    for (SharedLoop& loop : loops) loop.privatised = copies;
    const auto given = static_cast<std::ptrdiff_t>(search.wave->given);
    group.loops = std::move(loops);
    group.wave = search.wave->coefficients;
    std::rotate(group.loops.begin() + given, group.loops.begin() + given + 1, group.loops.end());
    std::rotate(group.wave.begin() + given, group.wave.begin() + given + 1, group.wave.end());
    group.parallel = true;
  }

  /// The outermost loop of the source, unless another one may go outside that leaves more loops parallel
  /// inside, and some around every statement. Statements of one component may also share different loops of
  /// theirs (right-looking LU: k of one, j of the other).
  SharedLoop sequential_loop(const Group& group, const std::vector<Relation>& relations,
                             const std::vector<SharedLoop>& common) const {
    SharedLoop best = common.front();
    int best_count = inside_of(group, relations, best).parallel_loops;
    const auto consider = [&](const SharedLoop& loop, bool is_mixed) {
      if (std::ranges::any_of(relations,
                              [&](const Relation& r) { return runs_back(r, loop, around_.direction(loop)); }))
        return;
      const Inside inside = inside_of(group, relations, loop);
      if (inside.parallel_loops <= best_count || inside.serial_part || (is_mixed && inside.cycle)) return;
      best = loop;
      best_count = inside.parallel_loops;
    };
    for (const SharedLoop& loop : common) consider(loop, false);
    std::size_t most = 0;
    for (const int s : group.statements)
      most += polyhedra_.statements[s].loops.size() - around_.of(s).size() - 1;
    if (best_count < static_cast<int>(most) && !around_.any_parallel(group.statements.front()))
      for (const SharedLoop& loop : mixed_loops(group)) consider(loop, true);
    return best;
  }

  struct Inside {
    int parallel_loops = 0;    ///< loops that carry nothing, counted for each statement
    bool serial_part = false;  ///< there are statements with loops, but none of these
    bool cycle = false;  ///< statements depend on each other: only the order of the source leads on for sure
  };

  /// What the loop leaves inside of it.
  Inside inside_of(const Group& group, const std::vector<Relation>& relations, const SharedLoop& loop) const {
    const std::vector<Relation> inside = not_carried(relations, {loop});
    Inside result;
    for (const Group& component : components(group.statements, inside)) {
      const std::vector<Relation> left = within(inside, component.statements);
      const int s = component.statements.front();
      int loops = 0, parallel = 0;
      for (const SharedLoop& other : around_.candidates(component)) {
        if (other.dimension.at(s) == loop.dimension.at(s)) continue;
        ++loops;
        parallel += std::ranges::none_of(left, [&](const Relation& r) { return crosses(r, other); });
      }
      result.parallel_loops += parallel * static_cast<int>(component.statements.size());
      result.serial_part = result.serial_part || (loops > 0 && parallel == 0);
      result.cycle = result.cycle || component.statements.size() > 1;
    }
    return result;
  }

  /// Every choice of one increasing loop of each statement, unless there are too many to try.
  std::vector<SharedLoop> mixed_loops(const Group& group) const {
    constexpr std::size_t most = 100;
    std::vector<SharedLoop> loops(1);
    for (const int s : group.statements) {
      std::vector<SharedLoop> longer;
      for (const SharedLoop& loop : loops)
        for (int d = 0; d < static_cast<int>(polyhedra_.sets[s].loops.size()); ++d) {
          if (around_.is_chosen(s, d) || polyhedra_.sets[s].loops[d].direction < 0) continue;
          longer.push_back(loop);
          longer.back().dimension[s] = d;
        }
      loops = std::move(longer);
      if (loops.size() > most) return {};
    }
    return loops;
  }

  /// No relation crosses the loop, or those that do are false: on private copies, or gone with a snapshot.
  bool becomes_parallel(const Group& group, const std::vector<Relation>& relations, SharedLoop& loop) {
    std::vector<const Dependence*> on_old_values;
    for (const Relation& relation : relations) {
      if (!crosses(relation, loop)) continue;
      const std::string& variable = variable_of(polyhedra_, *relation.summary);
      if (loop.privatised.count(variable)) continue;
      if (false_.may_be_private(group, loop, variable))
        loop.privatised.insert(variable);
      else if (false_.vanishes_with_snapshot(*relation.summary))
        on_old_values.push_back(relation.summary);
      else
        return false;
    }
    for (const Dependence* dependence : on_old_values)
      want_snapshot(*dependence, fmt::format("loop {} becomes parallel", around_.source_name(loop)));
    return true;
  }

  void want_snapshot(const Dependence& dependence, const std::string& gain) {
    const Statement& reader = polyhedra_.statements[dependence.source];
    order_.snapshots.try_emplace(
        {dependence.source, dependence.source_reference},
        fmt::format("{} reads {} only before it is written: {}", reader.label,
                    to_text(reader.references[dependence.source_reference].element), gain));
  }

  // --- fusion

  /// Joins groups that may share their loops: first those that do in the source.
  std::vector<Group> fuse(std::vector<Group> groups, const std::vector<Relation>& relations) {
    const std::size_t before = groups.size();
    for (const bool same_loops : {true, false})
      while (fuse_two(groups, relations, same_loops)) groups = in_order(std::move(groups), relations);
    if (groups.size() < before)
      for (const Group& group : groups)
        if (group.statements.size() > 1 && !group.loops.empty())
          order_.reasons.push_back(fmt::format("{} share {}", around_.labels(group.statements),
                                               around_.source_names(group.loops)));
    return groups;
  }

  bool fuse_two(std::vector<Group>& groups, const std::vector<Relation>& relations, bool same_loops) {
    const Reachability reaches(groups, relations);
    const auto something_between = [&](std::size_t a, std::size_t b) {
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (g != a && g != b && reaches(a, g) && reaches(g, b)) return true;
      return false;
    };
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = a + 1; b < groups.size(); ++b) {
        if (something_between(a, b)) continue;
        if (const std::optional<Group> both = fused(groups[a], groups[b], relations, same_loops)) {
          groups[a] = *both;
          groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
          return true;
        }
      }
    return false;
  }

  /// @param same_loops  loops of the source that the two share; else loops over one range, worth it if the
  /// second group needs what the first has and not both have loops inside: a kernel is built around one
  /// reduction
  std::optional<Group> fused(const Group& first, const Group& second, const std::vector<Relation>& relations,
                             bool same_loops) {
    if (first.loops.empty() || first.loops.size() != second.loops.size()) return std::nullopt;
    if (!first.wave.empty() || !second.wave.empty()) return std::nullopt;
    if (!same_loops && has_loops_inside(first) && has_loops_inside(second)) return std::nullopt;
    // One thread runs what is inside of a parallel loop: there one loop is worth more than a parallel one.
    const bool inside_thread = around_.any_parallel(first.statements.front());
    if (first.parallel != second.parallel && !inside_thread) return std::nullopt;

    std::vector<Relation> joining;
    for (const Relation& relation : relations) {
      const auto in = [&](const Group& group, int s) { return contains(group.statements, s); };
      const int source = relation.summary->source, sink = relation.summary->sink;
      if ((in(first, source) && in(second, sink)) || (in(second, source) && in(first, sink)))
        joining.push_back(relation);
    }
    std::vector<std::size_t> match(first.loops.size());
    std::iota(match.begin(), match.end(), 0);
    do {
      Group both = first;
      both.parallel = first.parallel && second.parallel;
      both.statements.insert(both.statements.end(), second.statements.begin(), second.statements.end());
      std::ranges::sort(both.statements);
      bool are_same = true;
      for (std::size_t l = 0; l < match.size(); ++l) {
        const SharedLoop& other = second.loops[match[l]];
        are_same =
            are_same && around_.source_loop(first.loops[l]).number == around_.source_loop(other).number;
        both.loops[l].dimension.insert(other.dimension.begin(), other.dimension.end());
        both.loops[l].privatised.insert(other.privatised.begin(), other.privatised.end());
      }
      if (same_loops ? !are_same : !both.parallel || joining.empty()) continue;
      if (!same_loops && !same_range(range(both, first), range(both, second))) continue;
      if ((both.parallel ? stays_parallel(both, joining) : stays_in_order(both, joining)) &&
          copies_stay(both)) {
        if (both.parallel) contiguous_last(both);
        return both;
      }
    } while (std::next_permutation(match.begin(), match.end()));
    return std::nullopt;
  }

  bool has_loops_inside(const Group& group) const {
    return std::ranges::any_of(group.statements, [&](int s) {
      return polyhedra_.statements[s].loops.size() > around_.of(s).size() + group.loops.size();
    });
  }

  bool stays_parallel(const Group& both, const std::vector<Relation>& joining) {
    const bool snapshots_help =
        around_.all_parallel(both.statements.front()) && !around_.of(both.statements.front()).empty();
    std::vector<const Dependence*> on_old_values;
    for (const Relation& relation : joining)
      if (std::ranges::any_of(both.loops, [&](const SharedLoop& l) { return crosses(relation, l); })) {
        if (!snapshots_help || !false_.vanishes_with_snapshot(*relation.summary)) return false;
        on_old_values.push_back(relation.summary);
      }
    for (const Dependence* dependence : on_old_values)
      want_snapshot(*dependence, fmt::format("{} share loop {}, parallel", around_.labels(both.statements),
                                             around_.source_names(both.loops)));
    return true;
  }

  bool stays_in_order(const Group& both, const std::vector<Relation>& joining) const {
    return both.loops.size() == 1 && std::ranges::none_of(joining, [&](const Relation& relation) {
             return runs_back(relation, both.loops.front(), around_.direction(both.loops.front()));
           });
  }

  bool copies_stay(const Group& both) const {
    for (const SharedLoop& loop : both.loops)
      for (const std::string& variable : loop.privatised)
        if (!both.parallel || !false_.last_iteration_stores(both, loop, variable)) return false;
    return true;
  }

  /// Values of the loops around and of the group's loops for the statements of `part`.
  isl::set range(const Group& group, const Group& part) const {
    isl::set all;
    for (const int s : part.statements) {
      std::vector<int> dimensions;
      for (const ChosenLoop& loop : around_.of(s)) dimensions.push_back(loop.dimension);
      for (const SharedLoop& loop : group.loops) dimensions.push_back(loop.dimension.at(s));
      const isl::set one = onto(polyhedra_.sets[s].domain, dimensions).range();
      all = all.is_null() ? one : all.unite(one);
    }
    return all;
  }

  /// The loop along which most references are contiguous goes innermost; the others keep their order. Of a
  /// wave: the one along which most stay in their row, with the iteration that is given.
  void contiguous_last(Group& group) const {
    const bool is_wave = !group.wave.empty();
    const std::size_t loops = group.loops.size() - (is_wave ? 1 : 0);
    std::vector<int> counts;
    for (std::size_t l = 0; l < loops; ++l) {
      counts.push_back(0);
      for (const int s : group.statements)
        for (const Reference& reference : polyhedra_.statements[s].references) {
          const auto& subscripts = reference.coefficients;
          const auto coefficient = [&](const std::vector<std::int64_t>& subscript) {
            if (subscript.empty()) return std::int64_t{0};
            const std::int64_t own = subscript[group.loops[l].dimension.at(s)];
            return std::abs(is_wave ? own - follows(group, l) * subscript[group.loops.back().dimension.at(s)]
                                    : own);
          };
          if (subscripts.empty()) continue;
          const std::int64_t last = coefficient(subscripts.back());
          if (is_wave ? last == 0 : last != 1) continue;
          counts.back() += std::all_of(subscripts.begin(), subscripts.end() - 1,
                                       [&](const auto& c) { return coefficient(c) == 0; });
        }
    }
    const auto most = std::max_element(counts.rbegin(), counts.rend());  // of equals the innermost
    const auto place = counts.rend() - most - 1;
    const auto to_end = [&](auto& list) {
      const auto end = list.begin() + static_cast<std::ptrdiff_t>(loops);
      std::rotate(list.begin() + place, list.begin() + place + 1, end);
    };
    to_end(group.loops);
    if (is_wave) to_end(group.wave);
  }

  /// How many iterations the loop that is given goes back for one of loop l, in values of iterators.
  std::int64_t follows(const Group& group, std::size_t l) const {
    return group.wave[l] * around_.direction(group.loops[l]) * group.wave.back() *
           around_.direction(group.loops.back());
  }

  /// A loop of several loops of the source has the first name that means nothing else for any of them.
  void name_loops(Group& group) const {
    std::set<std::string> taken;
    for (const ChosenLoop& loop : around_.of(group.statements.front())) taken.insert(loop.name);
    for (SharedLoop& loop : group.loops) {
      const auto means_another = [&](const std::string& name) {
        if (taken.count(name)) return true;
        return std::ranges::any_of(loop.dimension, [&](const auto& entry) {
          const auto& [statement, dimension] = entry;
          const std::vector<std::string>& loops = polyhedra_.statements[statement].loops;
          for (int d = 0; d < static_cast<int>(loops.size()); ++d)
            if (d != dimension && loops[d] == name && !around_.is_chosen(statement, d)) return true;
          return false;
        });
      };
      for (const auto& [statement, dimension] : loop.dimension) {
        loop.name = polyhedra_.statements[statement].loops[dimension];
        if (!means_another(loop.name)) break;
      }
      taken.insert(loop.name);
    }
  }

  /// "wave", "wave2", ...: what nothing else is called.
  std::string wave_name() const {
    const Region& region = polyhedra_.region;
    const auto is_taken = [&](const std::string& name) {
      return find_variable(region, name) || contains(region.sizes, name) ||
             std::ranges::any_of(order_.waves, [&](const WaveChoice& wave) { return wave.loop == name; }) ||
             std::ranges::any_of(polyhedra_.statements,
                                 [&](const Statement& statement) { return contains(statement.loops, name); });
    };
    std::string name = "wave";
    for (int n = 2; is_taken(name); ++n) name = fmt::format("wave{}", n);
    return name;
  }

  void tell(const std::vector<std::string>& reasons) {
    order_.reasons.insert(order_.reasons.end(), reasons.begin(), reasons.end());
  }

  const Polyhedra& polyhedra_;
  LoopsAround around_;
  FalseDependences false_;
  int groups_ = 0;
  bool waves_ = true;  ///< may be chosen
  LoopOrder order_;
};

}  // namespace

const std::string& variable_of(const Polyhedra& polyhedra, const Dependence& dependence) {
  return polyhedra.statements[dependence.source].references[dependence.source_reference].element.text;
}

isl::map without_private(const DependenceRelation& relation, const std::string& variable,
                         const std::vector<PrivateVariable>& privatised) {
  isl::map pairs = relation.pairs;
  const int source = relation.summary.source, sink = relation.summary.sink;
  for (const PrivateVariable& copies : privatised)
    if (copies.variable == variable && contains(copies.statements, source) &&
        contains(copies.statements, sink))
      for (const SharedLoop& loop : copies.loops)
        pairs = same_iteration(pairs, loop.dimension.at(source), loop.dimension.at(sink));
  return pairs;
}

LoopOrder order_loops(const Nest& nest, const std::set<std::string>& shared) {
  return Orderer(nest, shared).run();
}

}  // namespace warploom::tile
