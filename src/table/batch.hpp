#pragma once

/// What a kernel needs to run a batch: between gpu_table.cu, which owns memory, and batch.cu, which has the
/// kernel.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "table/share.hpp"
#include "warploom/table/hash.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

struct LinePool;

/// In device memory; added to by every batch, zeroed by the owner.
struct Counters {
  unsigned long long inserted = 0;
  unsigned long long erased = 0;
  unsigned long long full = 0;
  unsigned long long retries = 0;  ///< walks that had to be repeated
};

/// A table's memory on the device, as kernels get it.
struct DeviceMemory {
  Word* lines = nullptr;  ///< placement.chains() home lines, then those of the pool
  LinePool* pool = nullptr;
  Placement placement;
};

/// All pointers to device memory. Key and Value have 4 or 8 bytes.
struct BatchArguments {
  std::uint64_t count = 0;
  const Operation* operations = nullptr;  ///< null: `operation` for all
  Operation operation = Operation::find;
  /// Nothing else is done to the table while the batch runs. Then finds alone (`operations` null) need not
  /// make sure that what they found is still there.
  bool alone = false;
  const void* keys = nullptr;
  const void* operands = nullptr;  ///< null: zeros
  Outcome* outcomes = nullptr;     ///< null: not wanted
  void* values = nullptr;          ///< null: not wanted
  Counters* counters = nullptr;
  Share share = {};  ///< operations on other keys are not done, and their outcomes and values stay
};

/// Launches on the stream and returns. Pairs of 4 + 4 bytes use NarrowSlots, all others WideSlots.
/// @param threads_per_block  0: the best known
template <class Key, class Value>
void launch_batch(const DeviceMemory& memory, const BatchArguments& batch, int threads_per_block,
                  cudaStream_t stream);

}  // namespace warploom::table
