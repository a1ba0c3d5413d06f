// --auto for a CPU: orders of loops that touch few cache lines.
#include <algorithm>
#include <numeric>

#include "tile/order/loop_paths.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

constexpr double kLineElements = 16;  // 64 bytes of floats
constexpr double kIterations = 1024;  // of a loop whose length is not known
constexpr std::int64_t kStrip = 64;   // loops outside of the innermost: tiles of two operands stay in L2
constexpr std::int64_t kInnermostStrip = 512;

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

bool legal(const Schedule& schedule) { return schedule.verdict().legal; }

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

}  // namespace

std::vector<Step> steps_for_cpu(const Nest& nest) {
  std::vector<Step> steps;
  Schedule schedule = Schedule::of_source(nest);
  const auto take = [&](const Step& step) {
    const Schedule next = schedule.then(step);
    if (!legal(next)) return false;
    schedule = next;
    steps.push_back(step);
    return true;
  };
  for (const auto& [loops, chain] : loop_chains(nest)) {
    if (loops.size() < 2 || loops.size() > 5) continue;
    std::vector<double> cost(loops.size(), 0);
    std::vector<bool> reused(loops.size(), false);
    for (const int s : chain)
      for (const Reference& reference : nest.statements()[s].references)
        for (std::size_t l = 0; l < loops.size(); ++l) {
          const double taken = lines(reference, l, loops.size());
          cost[l] += taken;
          reused[l] = reused[l] || (taken == 1 && !reference.coefficients.empty());
        }
    std::vector<std::size_t> order(loops.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
    for (const std::vector<std::size_t>& candidate : orders_near(order)) {
      std::vector<std::string> names;
      for (const std::size_t l : candidate) names.push_back(loops[l]);
      if (names == loops || take(Permute{names, chain})) {
        order = candidate;
        break;
      }
    }
    // Only a loop outside that uses data again gains from tiles.
    const bool reuse_outside =
        std::any_of(order.begin(), order.end() - 1, [&](std::size_t l) { return reused[l]; });
    if (loops.size() < 3 || !reuse_outside) continue;
    Tile tile{{}, chain};
    for (const std::size_t l : order)
      tile.sizes.emplace_back(loops[l], l == order.back() ? kInnermostStrip : kStrip);
    take(tile);
  }
  return steps;
}

}  // namespace warploom::tile
