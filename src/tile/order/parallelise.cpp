#include "warploom/tile/parallelise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tile/kernels/affine.hpp"
#include "tile/order/later.hpp"
#include "tile/order/locals.hpp"
#include "tile/order/parallelise_order.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

void replace(Expression& expression, const Expression& element, const std::string& copy) {
  if (expression == element) expression.text = copy;
  for (Expression& operand : expression.operands) replace(operand, element, copy);
}

void replace_in_statement(Node& node, int statement, const Expression& element, const std::string& copy) {
  if (node.kind == Node::Kind::assignment && node.statement == statement) replace(node.value, element, copy);
  for (Node& child : node.children) replace_in_statement(child, statement, element, copy);
}

/// The snapshot of an array; the region gets its variable when it is asked for first.
const Snapshot& snapshot_of(const std::string& array, const std::string& reason, Region& region,
                            std::vector<Snapshot>& snapshots) {
  const auto known =
      std::ranges::find_if(snapshots, [&](const Snapshot& snapshot) { return snapshot.array == array; });
  if (known != snapshots.end()) return *known;
  std::string name = array + "_before";
  while (find_variable(region, name)) name += "_";
  Variable copy = *find_variable(region, array);
  copy.name = name;
  copy.is_parameter = false;
  copy.is_constant = true;
  region.variables.push_back(copy);
  return snapshots.emplace_back(Snapshot{array, name, reason});
}

/// The nest in which reads see snapshots.
Nest with_snapshots(const Nest& nest, const std::map<std::pair<int, int>, std::string>& reads,
                    std::vector<Snapshot>& snapshots) {
  Region region = nest.region();
  for (const auto& [read, reason] : reads) {
    const auto& [statement, reference] = read;
    const Expression& element = nest.statements()[statement].references[reference].element;
    replace_in_statement(region.body, statement, element,
                         snapshot_of(element.text, reason, region, snapshots).copy);
  }
  return Nest::analyse(std::move(region), nest.sizes());
}

/// Loops of the last entry for a variable are added to the entry of the same statements.
std::vector<Privatised> described(const Nest& nest, const std::vector<PrivateVariable>& all) {
  std::vector<Privatised> result;
  for (const PrivateVariable& copies : all) {
    auto entry = std::ranges::find_if(result, [&](const Privatised& p) {
      return p.variable == copies.variable && p.statements == copies.statements;
    });
    if (entry == result.end())
      entry = result.insert(result.end(),
                            Privatised{copies.variable, {}, copies.statements, copies.last_value, false, {}});
    entry->is_array |= copies.is_array;
    for (const SharedLoop& loop : copies.loops) entry->loops.push_back(loop.name);
  }
  for (Privatised& entry : result)
    entry.reason =
        fmt::format("each iteration of {} writes {} ({}) before it reads it{}", fmt::join(entry.loops, ", "),
                    entry.variable, nest.statements()[entry.statements.front()].label,
                    entry.last_value ? "; the last iteration stores it" : "");
  return result;
}

/// "wave goes through n + m - 3 waves in each iteration of t"; empty if there is no loop over the waves left.
std::string waves_text(const Node& node, const std::string& wave, const std::string& around) {
  const bool is_loop = node.kind == Node::Kind::loop;
  if (is_loop && node.iterator == wave)
    return fmt::format("{} goes through {} waves{}", wave, to_text(trip_count(node)),
                       around.empty() ? "" : " in each iteration of " + around);
  const std::string inside = !is_loop         ? around
                             : around.empty() ? node.iterator
                                              : around + ", " + node.iterator;
  for (const Node& child : node.children)
    if (std::string text = waves_text(child, wave, inside); !text.empty()) return text;
  return "";
}

/// What the order has to keep, looked at once more without regard to how it was found.
void check(const Schedule::Impl& schedule, const std::vector<isl::map>& relations,
           const std::vector<DependenceRelation>& dependences) {
  for (std::size_t r = 0; r < relations.size(); ++r) {
    const Dependence& dependence = dependences[r].summary;
    if (!turned_round(relations[r], schedule.nest.polyhedra(), dependence, schedule.times[dependence.source],
                      schedule.times[dependence.sink])
             .is_empty())
      throw Internal("parallelise: the order breaks " + to_text(schedule.nest, dependence));
  }
}

ParallelNest parallel_nest(const Nest& source) {
  ParallelNest result;
  LoopOrder order;
  std::set<std::string> shared;
  for (result.nest = source;;) {
    order = order_loops(result.nest, shared);
    if (!order.snapshots.empty()) {
      result.nest = with_snapshots(result.nest, order.snapshots, result.snapshots);
    } else if (!order.too_large_copies.empty()) {
      // What snapshots are good for may depend on the copies: from the start again.
      shared.merge(order.too_large_copies);
      result.nest = source;
      result.snapshots.clear();
    } else {
      break;
    }
  }
  const Polyhedra& polyhedra = result.nest.polyhedra();
  std::vector<DependenceRelation> dependences = polyhedra.dependences;
  dependences.insert(dependences.end(), polyhedra.between_lifetimes.begin(),
                     polyhedra.between_lifetimes.end());
  std::vector<isl::map> relations;
  for (const DependenceRelation& dependence : dependences)
    relations.push_back(
        without_private(dependence, variable_of(polyhedra, dependence.summary), order.privatised));
  const Schedule::Impl schedule{result.nest, std::move(order.times)};
  check(schedule, relations, dependences);
  std::vector<Carried> carried;
  for (std::size_t r = 0; r < relations.size(); ++r)
    carried.push_back({relations[r], &dependences[r].summary});
  result.code = generate_code(schedule, carried);
  result.privatised = described(result.nest, order.privatised);
  for (const Snapshot& snapshot : result.snapshots)
    result.reasons.push_back(
        fmt::format("{} holds {} as it was: {}", snapshot.copy, snapshot.array, snapshot.reason));
  for (const Privatised& copy : result.privatised)
    result.reasons.push_back(fmt::format("{} is private: {}", copy.variable, copy.reason));
  result.reasons.insert(result.reasons.end(), order.reasons.begin(), order.reasons.end());
  for (const WaveChoice& wave : order.waves) {
    result.wave_reasons.insert(result.wave_reasons.end(), wave.reasons.begin(), wave.reasons.end());
    const std::string waves = wave.loop.empty() ? "" : waves_text(result.code, wave.loop, "");
    if (!waves.empty()) result.wave_reasons.push_back(waves);
  }
  result.reasons.insert(result.reasons.end(), result.wave_reasons.begin(), result.wave_reasons.end());
  return result;
}

}  // namespace

ParallelNest parallelise(const Nest& nest) {
  return with_isl(nest.polyhedra(), [&] { return parallel_nest(nest); });
}

}  // namespace warploom::tile
