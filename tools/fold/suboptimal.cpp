#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "model.hpp"

namespace warploom::tool {

void add_suboptimal_options(Command& command, SuboptimalSettings& settings) {
  command.group("Suboptimal structures");
  command
      .add(
          "--suboptimal DELTA", &settings.delta,
          "Print every structure within DELTA of the least energy [kcal/mol], as RNAsubopt -e; with -d 0 or 2, without -g")
      .range(0.0, fold::kMostDelta / 100.0);
  command.add("--sorted", &settings.sorted, "Those of the least energy first; else as they are found");
  command.add("--most N", &settings.most, "Structures of a sequence at most [1000000]")
      .range(std::int64_t{1}, std::int64_t{1'000'000'000'000});
}

bool suboptimal_structures(const SuboptimalSettings& settings, std::string_view sequence,
                           const fold::Model& model, std::string_view constraint,
                           const std::function<void(const fold::Folding&)>& take) {
  std::vector<fold::Folding> kept;
  std::int64_t count = 0;
  bool all = true;
  const auto one = [&](const fold::Folding& folding) {
    all = count < settings.most;
    if (!all) return false;
    ++count;
    if (settings.sorted)
      kept.push_back(folding);
    else
      take(folding);
    return true;
  };
  fold::suboptimal(sequence, static_cast<std::int32_t>(std::lround(settings.delta * 100)), one, model, {},
                   constraint);
  std::ranges::sort(kept, {}, [](const fold::Folding& f) { return std::tie(f.energy, f.structure); });
  for (const fold::Folding& folding : kept) take(folding);
  return all;
}

}  // namespace warploom::tool
