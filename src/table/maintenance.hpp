#pragma once

/// Kernels over whole tables, for times when no operation is under way: every slot is free or live, no
/// insertion is pending, no line is pinned.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "table/batch.hpp"
#include "warploom/table/device_table.cuh"

namespace warploom::table {

/// The trim under way; all 0 when there is none.
struct TrimState {
  unsigned freed = 0;   ///< lines that it took out of chains
  unsigned blocks = 0;  ///< those that are done
};

/// The words of a table besides its lines, in device memory.
struct TableState {
  LinePool pool;
  TrimState trim;
  Counters asynchronous, waited;  ///< of batches since the table was made
  long long base = 0;             ///< pairs that the counters do not know of
  unsigned long long moved = 0;   ///< by rehash: pairs that found a place
  unsigned long long lost = 0;    ///< by rehash: pairs that did not
  unsigned long long sum = 0;     ///< of whoever counts

  /// As far as batches know: operations in kernels of the user's do not count.
  std::uint64_t population() const { return static_cast<std::uint64_t>(base + net()); }
  long long net() const {
    return static_cast<long long>(asynchronous.inserted + waited.inserted - asynchronous.erased -
                                  waited.erased);
  }
};

/// Lines that can be appended, at least: the lists are not counted.
WARPLOOM_HOST_DEVICE constexpr unsigned free_lines(const LinePool& pool) {
  const unsigned fresh = pool.next_fresh < pool.end ? pool.end - pool.next_fresh : 0;
  return fresh + (pool.stacked > 0 ? static_cast<unsigned>(pool.stacked) : 0);
}
/// Then chains are trimmed before the next batch.
WARPLOOM_HOST_DEVICE constexpr bool is_short(unsigned free, unsigned pool) { return free < pool / 4; }

/// Pairs and lines of a chain
struct ChainLength {
  std::uint32_t pairs = 0, lines = 0;
};

// All launch on the stream and return.

/// Takes lines out of chains whose pairs have room in fewer. @param only_if_short  else nothing is done
template <class Slots>
void launch_trim(Word* lines, TableState* state, LineIndex chains, bool only_if_short, cudaStream_t stream);

/// Inserts all pairs of `count` lines into a table where no others are, and adds up TableState::moved and
/// lost. Repeated, it inserts those that were lost.
template <class Slots>
void launch_rehash(const Word* from, std::uint64_t count, Word* to, TableState* state,
                   const Placement& placement, cudaStream_t stream);

/// After lines were set to 0: the pool is whole, the population 0, the counters go on.
void launch_reset(TableState* state, LineIndex chains, LineIndex end, LineIndex* stack, cudaStream_t stream);

/// Adds the number of pairs in `count` lines to `sum`.
void launch_count(const Word* lines, std::uint64_t count, unsigned long long* sum, cudaStream_t stream);

/// Of the chains [first, first + count)
void launch_chain_lengths(const Word* lines, LineIndex first, LineIndex count, ChainLength* lengths,
                          cudaStream_t stream);

/// Appends the pairs of `count` lines to keys and values, whose length `*length` becomes; pairs beyond `room`
/// are counted only.
template <class Key, class Value>
void launch_export(const Word* lines, std::uint64_t count, Key* keys, Value* values, std::uint64_t room,
                   unsigned long long* length, cudaStream_t stream);

/// The operations of a batch that ended as full, to be repeated.
template <class Key, class Value>
struct FullOperations {
  unsigned long long* count = nullptr;
  std::uint64_t* indices = nullptr;
  Operation* operations = nullptr;  ///< null: one for all, as in the batch
  Key* keys = nullptr;
  Value* operands = nullptr;  ///< null: as in the batch
  Outcome* outcomes = nullptr;
  Value* values = nullptr;  ///< null: not wanted
};
template <class Key, class Value>
void launch_gather_full(const BatchArguments& batch, const FullOperations<Key, Value>& full,
                        cudaStream_t stream);
/// Puts outcomes and values of the `count` operations that were repeated where they belong.
template <class Key, class Value>
void launch_scatter_full(const FullOperations<Key, Value>& full, std::uint64_t count, Outcome* outcomes,
                         Value* values, cudaStream_t stream);

}  // namespace warploom::table
