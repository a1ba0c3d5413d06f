#pragma once

#include "warploom/count/count.hpp"

namespace warploom::table {

/// count_kmers() on the current GPU: k is at most 31.
Counts count_on_gpu(io::SequenceStream& sequences, const KmerOptions& options);

}  // namespace warploom::table
