#include "parallelise_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "parallelise_groups.hpp"
#include "value_flow.hpp"

namespace warploom::loops {
namespace {

class Orderer {
 public:
  Orderer(const Nest& nest, const std::set<std::string>& shared)
      : polyhedra_(nest.polyhedra()),
        shared_(shared),
        flow_(polyhedra_),
        around_(polyhedra_.statements.size()) {
    order_.times.resize(polyhedra_.statements.size());
  }

  LoopOrder run() && {
    std::vector<int> statements(polyhedra_.statements.size());
    std::iota(statements.begin(), statements.end(), 0);
    std::vector<Relation> relations;
    for (const DependenceRelation& dependence : polyhedra_.dependences)
      relations.push_back({&dependence.summary, dependence.pairs});
    nest(statements, relations);
    find_large_copies();
    return std::move(order_);
  }

 private:
  struct ChosenLoop {
    int dimension = 0;
    std::string name;
    bool parallel = false;
    int group = 0;  ///< loops that are shared have the same
  };

  /// Orders what lies inside the loops chosen so far.
  void nest(const std::vector<int>& statements, const std::vector<Relation>& relations) {
    std::vector<Group> groups = components(statements, relations);
    for (Group& group : groups) choose_loops(group, within(relations, group.statements));
    groups = fuse(std::move(groups), relations);
    tell_distribution(groups);
    for (std::size_t position = 0; position < groups.size(); ++position) {
      Group& group = groups[position];
      for (const int s : group.statements) {
        TimeDimension place;
        place.value = static_cast<std::int64_t>(position);
        order_.times[s].push_back(place);
      }
      if (group.loops.empty()) continue;
      const std::vector<Relation> inside = within(relations, group.statements);
      tell_loops(group, inside);
      enter(group);
      nest(group.statements, not_carried(inside, group.loops));
    }
  }

  void enter(Group& group) {
    name_loops(group);
    const int number = ++groups_;
    std::map<std::string, std::vector<SharedLoop>> copies;
    for (std::size_t l = 0; l < group.loops.size(); ++l) {
      const SharedLoop& loop = group.loops[l];
      for (const std::string& variable : loop.privatised) copies[variable].push_back(loop);
      for (const int s : group.statements) {
        if (l > 0) order_.times[s].emplace_back();
        TimeDimension time;
        time.kind = TimeDimension::Kind::loop;
        time.name = loop.name;
        time.aff = iterator_aff(polyhedra_.sets[s].domain, loop.dimension.at(s));
        if (direction(loop) < 0) time.aff = time.aff->neg();
        order_.times[s].push_back(time);
        around_[s].push_back({loop.dimension.at(s), loop.name, group.parallel, number});
      }
    }
    for (auto& [variable, loops] : copies) {
      PrivateCopies entry{variable, {}, loops, find_variable(polyhedra_.region, variable)->is_parameter};
      for (const int s : group.statements)
        if (names(s, variable)) entry.statements.push_back(s);
      order_.privatised.push_back(entry);
    }
  }

  // --- which loop

  /// Loops of the source around all statements of the group, not chosen yet.
  std::vector<SharedLoop> candidates(const Group& group) const {
    const std::vector<SourceLoop>& loops = polyhedra_.sets[group.statements.front()].loops;
    std::vector<SharedLoop> common;
    for (int d = 0; d < static_cast<int>(loops.size()); ++d) {
      SharedLoop loop;
      for (const int s : group.statements) {
        const StatementSets& sets = polyhedra_.sets[s];
        if (d < static_cast<int>(sets.loops.size()) && sets.loops[d].number == loops[d].number &&
            !is_chosen(s, d))
          loop.dimension[s] = d;
      }
      if (loop.dimension.size() == group.statements.size()) common.push_back(loop);
    }
    return common;
  }

  void choose_loops(Group& group, const std::vector<Relation>& relations) {
    std::vector<SharedLoop> common = candidates(group);
    if (common.empty() && group.statements.size() > 1)
      throw Internal(
          fmt::format("parallelise: {} depend on each other within no loop", labels(group.statements)));
    if (common.empty()) return;
    for (SharedLoop loop : common)
      if (becomes_parallel(group, relations, loop)) group.loops.push_back(loop);
    group.parallel = !group.loops.empty();
    if (group.parallel)
      contiguous_last(group);
    else
      group.loops = {sequential_loop(group, relations, common)};
  }

  /// The outermost loop of the source, unless another one may go outside that leaves more loops parallel
  /// inside, and some around every statement. Statements of one component may also share different loops of
  /// theirs (right-looking LU: k of one, j of the other).
  SharedLoop sequential_loop(const Group& group, const std::vector<Relation>& relations,
                             const std::vector<SharedLoop>& common) const {
    SharedLoop best = common.front();
    int best_count = inside_of(group, relations, best).parallel_loops;
    const auto consider = [&](const SharedLoop& loop, bool is_mixed) {
      if (std::any_of(relations.begin(), relations.end(),
                      [&](const Relation& r) { return runs_back(r, loop, direction(loop)); }))
        return;
      const Inside inside = inside_of(group, relations, loop);
      if (inside.parallel_loops <= best_count || inside.serial_part || (is_mixed && inside.cycle)) return;
      best = loop;
      best_count = inside.parallel_loops;
    };
    for (const SharedLoop& loop : common) consider(loop, false);
    std::size_t most = 0;
    for (const int s : group.statements)
      most += polyhedra_.statements[s].loops.size() - around_[s].size() - 1;
    if (best_count < static_cast<int>(most) && !any_parallel_around(group))
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
      for (const SharedLoop& other : candidates(component)) {
        if (other.dimension.at(s) == loop.dimension.at(s)) continue;
        ++loops;
        parallel +=
            std::none_of(left.begin(), left.end(), [&](const Relation& r) { return crosses(r, other); });
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
          if (is_chosen(s, d) || polyhedra_.sets[s].loops[d].direction < 0) continue;
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
      if (may_be_private(group, loop, variable))
        loop.privatised.insert(variable);
      else if (vanishes_with_snapshot(*relation.summary))
        on_old_values.push_back(relation.summary);
      else
        return false;
    }
    for (const Dependence* dependence : on_old_values)
      want_snapshot(*dependence, fmt::format("loop {} becomes parallel", source_name(loop)));
    return true;
  }

  // --- false dependences

  bool names(int statement, const std::string& variable) const {
    const auto& references = polyhedra_.statements[statement].references;
    return std::any_of(references.begin(), references.end(),
                       [&](const Reference& r) { return r.element.text == variable; });
  }

  /// Each iteration of the loop writes the variable before it reads it, and nothing else reads what it
  /// writes.
  bool may_be_private(const Group& group, const SharedLoop& loop, const std::string& variable) {
    if (shared_.count(variable)) return false;
    for (const Statement& reader : polyhedra_.statements) {
      const bool reads_inside = contains(group.statements, reader.number);
      for (const Reference& reference : reader.references) {
        if (reference.is_write || reference.element.text != variable) continue;
        const ReadSources& sources = flow_.sources(reader.number, reference.number);
        if (reads_inside && !sources.from_before.is_empty()) return false;
        for (const auto& [writer, pairs] : sources.writers) {
          if (contains(group.statements, writer) != reads_inside) return false;
          if (reads_inside && !pairs.is_subset(same_copy(pairs, writer, reader.number, loop))) return false;
        }
      }
    }
    return last_iteration_stores(group, loop, variable);
  }

  isl::map same_copy(isl::map pairs, int writer, int reader, const SharedLoop& loop) const {
    for (std::size_t l = 0; l < around_[writer].size(); ++l)
      pairs = same_iteration(pairs, around_[writer][l].dimension, around_[reader][l].dimension);
    return same_iteration(pairs, loop.dimension.at(writer), loop.dimension.at(reader));
  }

  /// Where the variable lives on, the last iteration of the loop writes what it keeps.
  bool last_iteration_stores(const Group& group, const SharedLoop& loop, const std::string& variable) const {
    if (!find_variable(polyhedra_.region, variable)->is_parameter) return true;
    for (const int s : group.statements) {
      const isl::set last = flow_.last_writes(s, variable);
      if (last.is_empty()) continue;
      for (const int t : group.statements) {
        std::vector<std::pair<int, int>> around;
        for (std::size_t l = 0; l < around_[s].size(); ++l)
          around.emplace_back(around_[s][l].dimension, around_[t][l].dimension);
        const std::pair<int, int> here{loop.dimension.at(s), loop.dimension.at(t)};
        if (!followed(last, polyhedra_.sets[t].domain, around, here, direction(loop)).is_empty())
          return false;
      }
    }
    return true;
  }

  /// An anti-dependence of an array's read that sees values from before the region only.
  bool vanishes_with_snapshot(const Dependence& dependence) {
    if (dependence.kind != DependenceKind::anti) return false;
    const Statement& reader = polyhedra_.statements[dependence.source];
    const Expression& element = reader.references[dependence.source_reference].element;
    return element.kind == Expression::Kind::element && element != reader.assignment.target &&
           flow_.reads_only_old_values(dependence.source, dependence.source_reference);
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
          order_.reasons.push_back(
              fmt::format("{} share {}", labels(group.statements), source_names(group.loops)));
    return groups;
  }

  bool fuse_two(std::vector<Group>& groups, const std::vector<Relation>& relations, bool same_loops) {
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = a + 1; b < groups.size(); ++b)
        if (const std::optional<Group> both = fused(groups, relations, {a, b}, same_loops)) {
          groups[a] = *both;
          groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
          return true;
        }
    return false;
  }

  /// @param same_loops  loops of the source that the two share; else loops over one range, worth it if the
  /// second group needs what the first has and not both have loops inside: a kernel is built around one
  /// reduction
  std::optional<Group> fused(const std::vector<Group>& groups, const std::vector<Relation>& relations,
                             std::pair<std::size_t, std::size_t> pair, bool same_loops) {
    const auto [a, b] = pair;
    const Group& first = groups[a];
    const Group& second = groups[b];
    if (first.loops.empty() || first.loops.size() != second.loops.size()) return std::nullopt;
    if (!same_loops && has_loops_inside(first) && has_loops_inside(second)) return std::nullopt;
    const Reachability reaches = reachability(groups, relations);
    for (std::size_t between = 0; between < groups.size(); ++between)
      if (between != a && between != b && reaches[a][between] && reaches[between][b]) return std::nullopt;
    // One thread runs what is inside of a parallel loop: there one loop is worth more than a parallel one.
    const bool inside_thread = any_parallel_around(first);
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
      std::sort(both.statements.begin(), both.statements.end());
      bool are_same = true;
      for (std::size_t l = 0; l < match.size(); ++l) {
        const SharedLoop& other = second.loops[match[l]];
        are_same = are_same && source_loop(first.loops[l]).number == source_loop(other).number;
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
    return std::any_of(group.statements.begin(), group.statements.end(), [&](int s) {
      return polyhedra_.statements[s].loops.size() > around_[s].size() + group.loops.size();
    });
  }

  bool stays_parallel(const Group& both, const std::vector<Relation>& joining) {
    const bool snapshots_help = all_parallel_around(both) && !around_[both.statements.front()].empty();
    std::vector<const Dependence*> on_old_values;
    for (const Relation& relation : joining)
      if (std::any_of(both.loops.begin(), both.loops.end(),
                      [&](const SharedLoop& l) { return crosses(relation, l); })) {
        if (!snapshots_help || !vanishes_with_snapshot(*relation.summary)) return false;
        on_old_values.push_back(relation.summary);
      }
    for (const Dependence* dependence : on_old_values)
      want_snapshot(*dependence, fmt::format("{} share loop {}, parallel", labels(both.statements),
                                             source_names(both.loops)));
    return true;
  }

  bool stays_in_order(const Group& both, const std::vector<Relation>& joining) const {
    return both.loops.size() == 1 &&
           std::none_of(joining.begin(), joining.end(), [&](const Relation& relation) {
             return runs_back(relation, both.loops.front(), direction(both.loops.front()));
           });
  }

  bool copies_stay(const Group& both) const {
    for (const SharedLoop& loop : both.loops)
      for (const std::string& variable : loop.privatised)
        if (!both.parallel || !last_iteration_stores(both, loop, variable)) return false;
    return true;
  }

  /// Values of the loops around and of the group's loops for the statements of `part`.
  isl::set range(const Group& group, const Group& part) const {
    isl::set all;
    for (const int s : part.statements) {
      std::vector<int> dimensions;
      for (const ChosenLoop& loop : around_[s]) dimensions.push_back(loop.dimension);
      for (const SharedLoop& loop : group.loops) dimensions.push_back(loop.dimension.at(s));
      const isl::set one = onto(polyhedra_.sets[s].domain, dimensions).range();
      all = all.is_null() ? one : all.unite(one);
    }
    return all;
  }

  /// The loop along which most references are contiguous goes innermost; the others keep their order.
  void contiguous_last(Group& group) const {
    std::vector<int> counts;
    for (const SharedLoop& loop : group.loops) {
      counts.push_back(0);
      for (const int s : group.statements)
        for (const Reference& reference : polyhedra_.statements[s].references) {
          const int d = loop.dimension.at(s);
          const auto& subscripts = reference.coefficients;
          const auto coefficient = [d](const std::vector<std::int64_t>& subscript) {
            return subscript.empty() ? 0 : std::abs(subscript[d]);
          };
          if (subscripts.empty() || coefficient(subscripts.back()) != 1) continue;
          counts.back() += std::all_of(subscripts.begin(), subscripts.end() - 1,
                                       [&](const auto& c) { return coefficient(c) == 0; });
        }
    }
    const auto most = std::max_element(counts.rbegin(), counts.rend());  // of equals the innermost
    const auto place = group.loops.begin() + (counts.rend() - most - 1);
    std::rotate(place, place + 1, group.loops.end());
  }

  // --- loops of the source and those around

  const SourceLoop& source_loop(const SharedLoop& loop) const {
    const auto& [statement, dimension] = *loop.dimension.begin();
    return polyhedra_.sets[statement].loops[dimension];
  }
  int direction(const SharedLoop& loop) const { return source_loop(loop).direction; }
  const std::string& source_name(const SharedLoop& loop) const {
    const auto& [statement, dimension] = *loop.dimension.begin();
    return polyhedra_.statements[statement].loops[dimension];
  }
  bool is_chosen(int statement, int dimension) const {
    return std::any_of(around_[statement].begin(), around_[statement].end(),
                       [&](const ChosenLoop& loop) { return loop.dimension == dimension; });
  }
  bool any_parallel_around(const Group& group) const {
    const auto& around = around_[group.statements.front()];
    return std::any_of(around.begin(), around.end(), [](const ChosenLoop& loop) { return loop.parallel; });
  }
  bool all_parallel_around(const Group& group) const {
    const auto& around = around_[group.statements.front()];
    return std::all_of(around.begin(), around.end(), [](const ChosenLoop& loop) { return loop.parallel; });
  }

  /// A loop of several loops of the source has the first name that means nothing else for any of them.
  void name_loops(Group& group) const {
    std::set<std::string> taken;
    for (const ChosenLoop& loop : around_[group.statements.front()]) taken.insert(loop.name);
    for (SharedLoop& loop : group.loops) {
      const auto means_another = [&](const std::string& name) {
        if (taken.count(name)) return true;
        return std::any_of(loop.dimension.begin(), loop.dimension.end(), [&](const auto& entry) {
          const auto& [statement, dimension] = entry;
          const std::vector<std::string>& loops = polyhedra_.statements[statement].loops;
          for (int d = 0; d < static_cast<int>(loops.size()); ++d)
            if (d != dimension && loops[d] == name && !is_chosen(statement, d)) return true;
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

  // --- copies that are arrays

  /// A copy is a scalar where one iteration of the parallel loops touches one element.
  void find_large_copies() {
    for (const PrivateCopies& copies : order_.privatised) {
      if (find_variable(polyhedra_.region, copies.variable)->extents.empty()) continue;
      const std::vector<ChosenLoop>& reference = around_[copies.statements.front()];
      const int first = copies.loops.front().dimension.at(copies.statements.front());
      std::size_t depth = 0;
      while (reference[depth].dimension != first) ++depth;
      const auto shared = [&](std::size_t d) {
        return std::all_of(copies.statements.begin(), copies.statements.end(), [&](int s) {
          return d < around_[s].size() && around_[s][d].group == reference[d].group && around_[s][d].parallel;
        });
      };
      while (depth < reference.size() && shared(depth)) ++depth;
      isl::map touched;
      for (const int s : copies.statements) {
        std::vector<int> dimensions;
        for (std::size_t d = 0; d < depth; ++d) dimensions.push_back(around_[s][d].dimension);
        const isl::map iterations = onto(polyhedra_.sets[s].domain, dimensions).reverse();
        for (const Reference& r : polyhedra_.statements[s].references)
          if (r.element.text == copies.variable) {
            const isl::map elements = iterations.apply_range(polyhedra_.sets[s].accesses[r.number]);
            touched = touched.is_null() ? elements : touched.unite(elements);
          }
      }
      if (!touched.is_single_valued()) order_.too_large_copies.insert(copies.variable);
    }
  }

  // --- reasons

  std::string labels(const std::vector<int>& statements) const {
    std::vector<std::string> names;
    for (const int s : statements) names.push_back(polyhedra_.statements[s].label);
    return fmt::format("{}", fmt::join(names, ", "));
  }
  std::string source_names(const std::vector<SharedLoop>& loops) const {
    std::vector<std::string> names;
    for (const SharedLoop& loop : loops) names.push_back(source_name(loop));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void tell_distribution(const std::vector<Group>& groups) {
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      Group pair = groups[g];
      pair.statements.insert(pair.statements.end(), groups[g + 1].statements.begin(),
                             groups[g + 1].statements.end());
      if (const std::vector<SharedLoop> apart = candidates(pair); !apart.empty())
        order_.reasons.push_back(fmt::format("{} and {} get loops {} of their own",
                                             labels(groups[g].statements), labels(groups[g + 1].statements),
                                             source_names(apart)));
    }
  }

  void tell_loops(const Group& group, const std::vector<Relation>& relations) {
    const std::string names = source_names(group.loops), who = labels(group.statements);
    const bool several = group.loops.size() > 1;
    if (group.parallel) {
      order_.reasons.push_back(
          fmt::format("{} carr{} no dependence of {}: parallel", names, several ? "y" : "ies", who));
      for (const SharedLoop& loop : group.loops)
        for (const SharedLoop& outer : candidates(group))
          if (outer.dimension.begin()->second < loop.dimension.begin()->second &&
              std::none_of(group.loops.begin(), group.loops.end(),
                           [&](const SharedLoop& l) { return l.dimension == outer.dimension; }))
            order_.reasons.push_back(
                fmt::format("{} moves outside of {} in {}", source_name(loop), source_name(outer), who));
      return;
    }
    const Dependence* carried = nullptr;  // a flow dependence if there is one: it says most
    for (const Relation& relation : relations)
      if ((!carried || carried->kind != DependenceKind::flow) && crosses(relation, group.loops.front()))
        if (!carried || relation.summary->kind == DependenceKind::flow) carried = relation.summary;
    if (carried) {
      std::vector<std::string> distance;
      for (const Component& component : carried->distance) distance.push_back(to_text(component));
      order_.reasons.push_back(
          fmt::format("{} carries the {} dependence {} -> {} on {}, distance ({}): sequential", names,
                      name(carried->kind), polyhedra_.statements[carried->source].label,
                      polyhedra_.statements[carried->sink].label, variable_of(polyhedra_, *carried),
                      fmt::join(distance, ", ")));
      return;
    }
    order_.reasons.push_back(fmt::format("{} is one sequential loop around {} in each thread", names, who));
  }

  const Polyhedra& polyhedra_;
  const std::set<std::string>& shared_;
  ValueFlow flow_;
  std::vector<std::vector<ChosenLoop>> around_;  ///< of each statement, outermost first
  int groups_ = 0;
  LoopOrder order_;
};

}  // namespace

const std::string& variable_of(const Polyhedra& polyhedra, const Dependence& dependence) {
  return polyhedra.statements[dependence.source].references[dependence.source_reference].element.text;
}

isl::map without_private(const DependenceRelation& relation, const std::string& variable,
                         const std::vector<PrivateCopies>& privatised) {
  isl::map pairs = relation.pairs;
  const int source = relation.summary.source, sink = relation.summary.sink;
  for (const PrivateCopies& copies : privatised)
    if (copies.variable == variable && contains(copies.statements, source) &&
        contains(copies.statements, sink))
      for (const SharedLoop& loop : copies.loops)
        pairs = same_iteration(pairs, loop.dimension.at(source), loop.dimension.at(sink));
  return pairs;
}

LoopOrder order_loops(const Nest& nest, const std::set<std::string>& shared) {
  return Orderer(nest, shared).run();
}

}  // namespace warploom::loops
