#pragma once

#include <map>
#include <string>
#include <vector>

#include "mutants.hpp"
#include "warploom/sim/arguments.hpp"

namespace warploom::reuse::mutation {

/// A kernel with the launches that it is judged by, all with the same block.
struct Case {
  std::string name;  ///< of the kernel, or "random N"
  std::string module_text;
  std::vector<sim::LaunchText> launches;
};

/// Kernels with a .sim file, one block of each launch: those in tests/reuse/mutation/cases and examples, and
/// the papers', which the build compiles where there is nvcc. `missing` gets the names of PTX files that are
/// not there.
std::vector<Case> named_cases(std::vector<std::string>& missing);
/// oracle::random_kernel(seed); those with dynamic shared memory, whose pools need padding, left out.
std::vector<Case> random_cases(std::uint64_t first_seed, std::uint64_t count);

/// What became of one mutation.
struct Trial {
  Fault fault = Fault::barrier_removed;
  std::string what;
  bool unchanged = false;        ///< the output is the faultless one: nothing to judge
  std::string violation;         ///< Mutant::violation
  std::string check, simulator;  ///< objections; empty: none
  std::string certificate;       ///< of the check, if it accepts: why it does what the violation is about
  bool survives() const { return !unchanged && !violation.empty() && check.empty() && simulator.empty(); }
  std::string text() const;  ///< one line
};

struct CaseResult {
  std::string name;
  std::string skipped;    ///< why nothing was tried
  std::string faultless;  ///< objection of either judge to the faultless output; empty: none
  std::vector<Trial> trials;
};

/// Each mutation whose index is a multiple of `stride`, before the judges.
CaseResult try_all(const Case& c, std::size_t stride = 1);

/// Counts of one row of the table.
struct Tally {
  std::uint64_t mutations = 0, unchanged = 0, sound = 0, check_only = 0, simulator_only = 0, both = 0,
                survivors = 0;
  void add(const Trial& trial);
  void add(const Tally& other);
};
std::map<Fault, Tally> tally(const CaseResult& result);

}  // namespace warploom::reuse::mutation
