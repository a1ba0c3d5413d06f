#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "warploom/count/workload.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

/// A table, a workload, and how to run one on the other.
struct Experiment {
  Options table = {};
  WorkloadOptions workload = {};
  int key_bits = 32, value_bits = 32;  ///< 32 or 64
  std::uint64_t batch = 1 << 18;       ///< operations
  int rounds = 9;                      ///< batches that are timed, after one that is not
};

/// Operations of a kind, and those that found what they were after.
struct Success {
  std::uint64_t all = 0, good = 0;
};

struct Measurement {
  Experiment experiment = {};  ///< with what was chosen filled in
  std::string description = {};
  double preload_seconds = 0;
  std::vector<BatchReport> rounds = {};
  Success inserts = {}, erases = {}, finds = {};  ///< of the rounds
  std::uint64_t full = 0;
  std::uint64_t pairs_before = 0;  ///< after the preload
  Statistics statistics = {};      ///< after the last round

  std::uint64_t operations() const { return experiment.batch * rounds.size(); }
  /// Medians of the rounds. @throws BadInput (there are none)
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

/// One of the dissertation's two applications (its section 4.6.2.9), by its keys: where in [0, 1) they peak
/// it does not say. What such a table holds of real recordings is in statuses.hpp.
struct Application {
  std::string name = {};
  std::vector<Normal> keys = {};
  std::uint64_t batch = 0;  ///< operations
};
/// emergencies, statistics
std::span<const Application> applications();

/// Shares [%] of its keys in equal parts of [0, 1), of 2^18 keys: the dissertation's Figure 41.
/// @throws BadInput (parts outside [1, 2^20], as Workload)
std::vector<double> key_shares(const Application& application, std::size_t parts);

struct ComparisonOptions {
  Options table = {};          ///< device and threads; the rest is each structure's own
  std::uint64_t preload = 0;   ///< pairs put in before
  int find = 33;               ///< [%]
  int rounds = 3;              ///< batches that are timed
  std::uint32_t tables = 320;  ///< n of the parallel hash table
};
struct Compared {
  std::string name = {};  ///< list_table.hpp's, of a Variant, or "ours"
  Measurement measurement = {};
};
/// The same workload on the dissertation's two structures, one hash table of m = 1024 lists and n of them,
/// and on ours. @throws as measure()
std::vector<Compared> compare_structures(const Application& application, const ComparisonOptions& options);

}  // namespace warploom::table
