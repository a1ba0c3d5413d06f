#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/core/json.hpp"
#include "warploom/table/hash_table.hpp"
#include "warploom/table/workload.hpp"

namespace warploom::tool {

/// A table, a workload, and how to run one on the other.
struct Experiment {
  table::Options table;
  table::WorkloadOptions workload;
  int key_bits = 32, value_bits = 32;  ///< 32 or 64
  std::uint64_t batch = 1 << 18;       ///< operations
  int rounds = 9;                      ///< batches that are timed, after one that is not
};

/// Operations of a kind, and those that found what they were after.
struct Success {
  std::uint64_t all = 0, good = 0;
  /// "50 %", or "-" of none
  std::string text() const;
};

struct Measurement {
  Experiment experiment;  ///< with what was chosen filled in
  std::string description;
  double preload_seconds = 0;
  std::vector<table::BatchReport> rounds;
  Success inserts, erases, finds;  ///< of the rounds
  std::uint64_t full = 0;
  std::uint64_t pairs_before = 0;  ///< after the preload
  table::Statistics statistics;    ///< after the last round

  std::uint64_t operations() const { return experiment.batch * rounds.size(); }
  /// Medians of the rounds
  double kernel_seconds() const;
  double transfer_seconds() const;
  double wall_seconds() const;
  /// Operations a second, transfers apart, as the dissertation counts them
  double rate() const { return static_cast<double>(experiment.batch) / kernel_seconds(); }
  double retries_per_operation() const;
  std::uint64_t longest_chain() const;  ///< pairs
  /// Pairs of the fullest of the n tables over the mean; 1 with one table
  double fullest_table() const;
};

/// Preloads a table and runs batches on it, each going on in the workload where the last one ended. The table
/// is not reset between rounds, so it ages; but where a mix inserts and never erases, it is cleared and
/// preloaded again, lest it fills up. A key's value is the key. Outcomes and values of all operations are
/// asked for, as a user would.
/// @throws BadInput, NoDevice, OutOfMemory, Interrupted; Internal (the pairs are not those before and those
///         inserted less those erased)
Measurement measure(const Experiment& experiment);

/// Everything, for machines.
Json as_json(const Measurement& measurement);

/// How many chains have how many pairs, as bars; long tails are put together. A line each.
std::string chains_text(const table::Statistics& statistics);
/// How even the n tables are: least, mean and most pairs, and standard deviation over mean.
std::string occupancy_text(const table::Statistics& statistics);

}  // namespace warploom::tool
