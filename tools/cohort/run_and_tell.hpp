#pragma once

#include <chrono>
#include <cstdint>

#include "cli/command.hpp"
#include "worker.hpp"

namespace warploom::tool {

/// How a cohort runs, whatever it runs.
struct CohortOptions {
  unsigned at_once = 0;      ///< items; 0: as many as there are threads
  std::uint64_t memory = 0;  ///< [bytes] 0: half of what is available
  double beat = 10;          ///< [s]
  Run run = {};
  bool force = false, json = false;
};

/// `options` has to outlive the parser.
void add_cohort_options(Command& command, CohortOptions& options);

/// Runs it, writes cohort.tsv into its folder and prints what became of it.
/// @return the exit code
int run_and_tell(CohortPlan plan, const CohortOptions& options);

}  // namespace warploom::tool
