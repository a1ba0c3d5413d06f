#pragma once

#include <cstdint>

#include "warploom/count/count.hpp"

namespace warploom::table {

/// count_kmers() on a CPU: sequences are cut into super-k-mers, these are stored in partitions by their
/// minimiser, and each partition's words are counted by one thread in a table that fits into its cache.
Counts count_in_partitions(io::SequenceStream& sequences, const KmerOptions& options);

}  // namespace warploom::table
