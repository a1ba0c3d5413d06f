#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/linearizability.hpp"

namespace warploom::table {

/// Operations of several threads on keys 0, 1, ..., in a table that is empty before.
struct Workload {
  std::string name;
  std::vector<std::vector<oracle::MapOperation>> threads;  ///< operation, key, operand
  std::uint64_t keys;
  std::uint32_t chains;
  std::uint32_t pool;  ///< lines to append
};

/// What makes threads meet: storms on one key, a key inserted twice while another of its line is erased,
/// pairs that come and go where no slot is to spare, additions to keys whose slots others take, all on keys
/// of Zipf's frequencies.
/// @param crowd  how many threads may be busy with one key: the time of the check grows quickly with it
std::vector<Workload> adversarial_workloads(int threads, int operations, int crowd);

/// Mostly insertions, into one chain, which is to be split while they run: what is not inserted is changed,
/// found or erased.
Workload growing_workload(int threads, int operations, std::uint32_t seed);

/// insertions less erasures
std::int64_t balance(const std::vector<oracle::MapOperation>& history);

}  // namespace warploom::table
