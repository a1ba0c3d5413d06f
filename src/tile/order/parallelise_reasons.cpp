#include "tile/order/parallelise_reasons.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace warploom::tile {
namespace {

/// "i carries the flow dependence S0 -> S0 on A, distance (1, 0)"; empty if it carries none.
std::string carried_text(const LoopsAround& around, const std::vector<Relation>& relations,
                         const SharedLoop& loop) {
  const Dependence* carried = nullptr;  // a flow dependence if there is one: it says most
  for (const Relation& relation : relations)
    if ((!carried || carried->kind != DependenceKind::flow) && crosses(relation, loop))
      if (!carried || relation.summary->kind == DependenceKind::flow) carried = relation.summary;
  if (!carried) return "";
  std::vector<std::string> distance;
  for (const Component& component : carried->distance) distance.push_back(to_text(component));
  const Polyhedra& polyhedra = around.polyhedra();
  return fmt::format("{} carries the {} dependence {} -> {} on {}, distance ({})", around.source_name(loop),
                     name(carried->kind), polyhedra.statements[carried->source].label,
                     polyhedra.statements[carried->sink].label, variable_of(polyhedra, *carried),
                     fmt::join(distance, ", "));
}

std::vector<std::string> parallel_reasons(const LoopsAround& around, const Group& group) {
  const std::string who = around.labels(group.statements);
  std::vector<std::string> reasons{fmt::format("{} carr{} no dependence of {}: parallel",
                                               around.source_names(group.loops),
                                               group.loops.size() > 1 ? "y" : "ies", who)};
  for (const SharedLoop& loop : group.loops)
    for (const SharedLoop& outer : around.candidates(group))
      if (outer.dimension.begin()->second < loop.dimension.begin()->second &&
          std::ranges::none_of(group.loops,
                               [&](const SharedLoop& l) { return l.dimension == outer.dimension; }))
        reasons.push_back(fmt::format("{} moves outside of {} in {}", around.source_name(loop),
                                      around.source_name(outer), who));
  return reasons;
}

}  // namespace

std::vector<std::string> distribution_reasons(const LoopsAround& around, const std::vector<Group>& groups) {
  std::vector<std::string> reasons;
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    Group pair = groups[g];
    pair.statements.insert(pair.statements.end(), groups[g + 1].statements.begin(),
                           groups[g + 1].statements.end());
    if (const std::vector<SharedLoop> apart = around.candidates(pair); !apart.empty())
      reasons.push_back(fmt::format("{} and {} get loops {} of their own",
                                    around.labels(groups[g].statements),
                                    around.labels(groups[g + 1].statements), around.source_names(apart)));
  }
  return reasons;
}

std::vector<std::string> loop_reasons(const LoopsAround& around, const Group& group,
                                      const std::vector<Relation>& relations) {
  if (group.parallel) return parallel_reasons(around, group);
  if (const std::string carried = carried_text(around, relations, group.loops.front()); !carried.empty())
    return {carried + ": sequential"};
  return {fmt::format("{} is one sequential loop around {} in each thread", around.source_names(group.loops),
                      around.labels(group.statements))};
}

std::vector<std::string> wave_reasons(const LoopsAround& around, const Group& group,
                                      const std::vector<Relation>& relations) {
  std::vector<std::string> reasons;
  for (const SharedLoop& loop : around.candidates(group))
    reasons.push_back(carried_text(around, relations, loop));
  std::vector<SharedLoop> inside = group.loops;
  inside.pop_back();
  reasons.push_back(fmt::format(
      "{} grows along every dependence of {} between different iterations of {}: those of one value, a wave, run in parallel over {}; {} follows",
      wave_text(around, group.loops, group.wave), around.labels(group.statements),
      around.source_names(around.candidates(group)), around.source_names(inside),
      around.source_name(group.loops.back())));
  return reasons;
}

std::string no_wave_reason(const LoopsAround& around, const Group& group,
                           const std::vector<SharedLoop>& loops, const WaveSearch& search) {
  const std::string who = around.labels(group.statements), names = around.source_names(loops);
  if (search.wave)
    return fmt::format(
        "{} does not run in waves over {}: those of {} have {:.1f} iterations on average, and {} are worth a launch",
        who, names, wave_text(around, loops, search.wave->coefficients), search.wave->width, kLeastWaveWidth);
  std::vector<std::string> distances;
  for (const std::vector<std::int64_t>& distance : search.distances)
    distances.push_back(fmt::format("({})", fmt::join(distance, ", ")));
  return fmt::format(
      "{} cannot run in waves over {}: no sum of them with coefficients of {} to {}, one of them 1 or -1, grows along each of {}",
      who, names, -kLargestWaveCoefficient, kLargestWaveCoefficient, fmt::join(distances, ", "));
}

}  // namespace warploom::tile
