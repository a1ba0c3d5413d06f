#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/sim/arguments.hpp"

namespace warploom::reuse::mutation {

/// The simulator as a judge of rewritten modules: each launch under every schedule, with races looked for;
/// what the detectors find, or a byte of any buffer that differs from the original's, is an objection.
class SimulatorJudge {
 public:
  /// Runs the original. A kernel that is not clean by itself, or whose result depends on the schedule, is no
  /// measure. @throws sim::Unsupported and BadInput as sim::Machine does
  SimulatorJudge(const std::string& original, std::vector<sim::LaunchText> launches);

  /// What is wrong with the original; empty if nothing is.
  const std::string& unusable() const { return unusable_; }
  /// The first objection to a rewritten text; empty if there is none.
  std::string objection(const std::string& text) const;

 private:
  struct Run {
    std::string finding;  ///< empty: clean
    std::vector<std::vector<std::byte>> buffers;
    std::uint64_t instructions = 0;
  };
  static Run run(const std::string& text, const sim::LaunchText& launch, std::size_t schedule,
                 std::uint64_t max_instructions);

  std::vector<sim::LaunchText> launches_;
  std::vector<Run> expected_;  ///< of each launch
  std::string unusable_;
};

}  // namespace warploom::reuse::mutation
