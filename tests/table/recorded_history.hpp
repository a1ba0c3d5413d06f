#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table/history_kernel.hpp"
#include "table/history_workload.hpp"
#include "table/quiet_lines.hpp"

/// Between a workload and the kernel that runs it.
namespace warploom::table {

/// Step i of thread t is number t * (operations of a thread) + i.
inline std::vector<HistoryStep> steps_of(const Workload& workload) {
  std::vector<HistoryStep> steps;
  for (const auto& thread : workload.threads)
    for (const oracle::MapOperation& operation : thread)
      steps.push_back({operation.key, operation.operand, operation.operation});
  return steps;
}

/// @param doubt  how far readings of the clock may be from the time [ns]: intervals become longer by it at
/// both ends
inline std::vector<oracle::MapOperation> history_of(const Workload& workload,
                                                    std::span<const HistoryAnswer> answers,
                                                    std::uint64_t doubt) {
  std::vector<oracle::MapOperation> history;
  for (const auto& thread : workload.threads)
    for (oracle::MapOperation operation : thread) {
      const HistoryAnswer& answer = answers[history.size()];
      operation.outcome = answer.outcome;
      const bool valued = answer.outcome == Outcome::found || answer.outcome == Outcome::updated;
      operation.value = valued ? answer.value : 0;
      operation.called = answer.called - std::min(answer.called, doubt);
      operation.returned = answer.returned + doubt;
      history.push_back(operation);
    }
  return history;
}

using PairMap = std::map<std::uint64_t, std::uint64_t>;

/// All pairs of a table that nobody uses, from its lines. @param wrong  becomes what is wrong with them, if
/// anything
template <class Slots>
PairMap pairs_of(std::span<const Word> lines, const Placement& placement, std::string& wrong) {
  PairMap pairs;
  std::vector<bool> used;
  const auto homes = static_cast<std::uint32_t>(placement.chains());
  const std::string damage =
      read_quiet_lines<Slots>(lines, kLineWords, homes, used, [&](LineIndex home, Word key, Word value) {
        if (!pairs.emplace(key, value).second) wrong = "key " + std::to_string(key) + " is there twice";
        if (placement.home(key) != home) wrong = "key " + std::to_string(key) + " is in a chain not its own";
      });
  if (!damage.empty()) wrong = damage;
  return pairs;
}

inline oracle::KeyState state_of(const PairMap& pairs, std::uint64_t key) {
  const auto at = pairs.find(key);
  return at == pairs.end() ? oracle::KeyState() : oracle::KeyState(at->second);
}

}  // namespace warploom::table
