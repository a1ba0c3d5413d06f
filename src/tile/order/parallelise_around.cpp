#include "tile/order/parallelise_around.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace warploom::tile {

bool LoopsAround::is_chosen(int statement, int dimension) const {
  return std::any_of(chosen_[statement].begin(), chosen_[statement].end(),
                     [&](const ChosenLoop& loop) { return loop.dimension == dimension; });
}

bool LoopsAround::any_parallel(int statement) const {
  const auto& around = of(statement);
  return std::ranges::any_of(around, [](const ChosenLoop& loop) { return loop.parallel; });
}

bool LoopsAround::all_parallel(int statement) const {
  const auto& around = of(statement);
  return std::ranges::all_of(around, [](const ChosenLoop& loop) { return loop.parallel; });
}

std::vector<SharedLoop> LoopsAround::candidates(const Group& group) const {
  const std::vector<SourceLoop>& loops = polyhedra_->sets[group.statements.front()].loops;
  std::vector<SharedLoop> common;
  for (int d = 0; d < static_cast<int>(loops.size()); ++d) {
    SharedLoop loop;
    for (const int s : group.statements) {
      const StatementSets& sets = polyhedra_->sets[s];
      if (d < static_cast<int>(sets.loops.size()) && sets.loops[d].number == loops[d].number &&
          !is_chosen(s, d))
        loop.dimension[s] = d;
    }
    if (loop.dimension.size() == group.statements.size()) common.push_back(loop);
  }
  return common;
}

const SourceLoop& LoopsAround::source_loop(const SharedLoop& loop) const {
  const auto& [statement, dimension] = *loop.dimension.begin();
  return polyhedra_->sets[statement].loops[dimension];
}

const std::string& LoopsAround::source_name(const SharedLoop& loop) const {
  const auto& [statement, dimension] = *loop.dimension.begin();
  return polyhedra_->statements[statement].loops[dimension];
}

std::string LoopsAround::source_names(const std::vector<SharedLoop>& loops) const {
  std::vector<std::string> names;
  for (const SharedLoop& loop : loops) names.push_back(source_name(loop));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string LoopsAround::labels(const std::vector<int>& statements) const {
  std::vector<std::string> names;
  for (const int s : statements) names.push_back(polyhedra_->statements[s].label);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace warploom::tile
