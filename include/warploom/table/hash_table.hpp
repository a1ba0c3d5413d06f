#pragma once

/// The parallel hash table for batches from host memory, on a CPU or a GPU behind one face, and the
/// dissertation's five variants behind the same face. For operations of your own threads: concurrent_map.hpp
/// (CPU), device_table.cuh (kernels); for a GPU's data, in streams and without waiting: gpu_table.cuh.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/table/hash.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

/// `lines` is ours; `list` the dissertation's: Michael's list, a node a pair (its section 4.3).
enum class Structure : std::uint8_t { lines, list };

struct Options {
  /// One device, or several: GPUs by their numbers, or the CPU. Then each has the keys of its share, and a
  /// table of its own for them. Threads of the CPU that are not given are as many as processors (lines) or 8
  /// (list).
  Run run = {};
  Structure structure = Structure::lines;
  /// Pairs to make room for, at most 2^40: at the default load, 8.25 a line of 14 on a GPU and 9 on a CPU
  /// (keys and values of 32 bits); of a list, nodes. A table grows beyond it, unless `grows` is false: then
  /// insertions that find no room end as `full`.
  std::uint64_t capacity = 1 << 16;
  bool grows = true;
  std::uint32_t tables = 1;  ///< n of PH[n]
  /// m, of each table (on each of several devices); 0: from the capacity, and more when it grows. A number
  /// given stays as it is.
  std::uint32_t buckets = 0;
  Hash hash = Hash::mix;
  Assignment assignment = Assignment::mix;
  int threads_per_block = 0;  ///< GPU: 0, the best known
};

/// `run` for a table of which so many operations from host memory are expected at a time: where its device is
/// auto and the processors are done before a GPU would be, the CPU.
Run run_for(const Run& run, std::uint64_t operations);

/// Operations to be run at once. All pointers are to memory that the device can reach.
template <class Key, class Value>
struct GpuBatch {
  std::uint64_t count = 0;
  const Operation* operations = nullptr;  ///< null: `operation` for all
  Operation operation = Operation::find;
  const Key* keys = nullptr;
  const Value* operands = nullptr;  ///< null: zeros
  Outcome* outcomes = nullptr;      ///< null: not wanted
  Value* values = nullptr;          ///< null: not wanted
};

/// What a batch took. Sums over its chunks and repetitions: on a GPU transfers overlap with kernels and with
/// each other, so wall can be less.
struct BatchReport {
  Tally tally = {};
  double wall_seconds = 0;      ///< from call to return
  double kernel_seconds = 0;    ///< the operations alone
  double transfer_seconds = 0;  ///< between pinned memory and the GPU; 0 on a CPU
  std::uint64_t retries = 0;    ///< walks through a chain that another operation made void
};

/// Sizes and shape, counted when asked for. Cost: one walk through the table.
struct Statistics {
  std::uint64_t pairs = 0;
  std::uint64_t bytes_directory = 0;                ///< home lines, or heads of lists
  std::uint64_t bytes_nodes = 0;                    ///< appended lines, or nodes, in use
  std::uint64_t bytes_free = 0;                     ///< set aside for those to come
  std::vector<std::uint64_t> chain_lengths = {};    ///< [i]: how many chains have i pairs
  std::vector<std::uint64_t> pairs_per_table = {};  ///< of PH[n]: the occupancy of the n tables
};

/// Key and Value: std::uint32_t or std::uint64_t each; every value of either may be used.
///
/// One call at a time: a call that begins in another thread while one is under way throws BadInput and
/// changes nothing. So does any call of a table that was moved from, but for assignment. For threads that
/// share a table there is ConcurrentMap.
template <class Key, class Value>
class HashTable {
 public:
  WARPLOOM_TABLE_REQUIRE_WORDS(Key, Value);

  /// @throws BadInput (an option outside its range), NoDevice, OutOfMemory
  explicit HashTable(const Options& options);
  ~HashTable();
  HashTable(HashTable&&) noexcept;
  HashTable& operator=(HashTable&&) noexcept;

  /// Runs a batch of operations, all at once: those on one key take effect in some order. All spans have the
  /// same length or, where nothing is wanted of them, none: `operands` of a batch that only finds and erases
  /// (else values of 0 are inserted), `outcomes`, `values` (of found and updated; 0 elsewhere). With
  /// Options::grows no operation ends as `full` unless memory is exhausted or its chain has 4,096 lines;
  /// those that do changed nothing.
  ///
  /// For a GPU the spans may be in any memory: chunks of up to 2^20 operations are copied to pinned memory
  /// and back by several threads while the GPU works on others. If the GPU fails, what chunks before gave is
  /// in outcomes and values, and nothing else in host memory has changed.
  /// @throws BadInput (lengths differ), OutOfMemory, Interrupted (operations done so far stay done)
  BatchReport run(std::span<const Operation> operations, std::span<const Key> keys,
                  std::span<const Value> operands, std::span<Outcome> outcomes, std::span<Value> values);
  /// The same with one operation for all.
  BatchReport run(Operation operation, std::span<const Key> keys, std::span<const Value> operands,
                  std::span<Outcome> outcomes, std::span<Value> values);
  /// The same of a table of lines on a GPU for arrays in that GPU's memory, or in what it reaches (managed,
  /// pinned): nothing is copied. The batch comes after what `stream` has; it is done when this returns.
  /// @param stream  a cudaStream_t; null: the default one
  /// @throws also NoDevice (a table on the CPU, or of lists), BadInput (no keys, memory that the GPU does not
  ///         reach). Of the report's times wall_seconds alone is set.
  BatchReport run(const GpuBatch<Key, Value>& batch, void* stream);
  /// The same for a batch whose parts lie in several arrays, which run at once. A table on several GPUs takes
  /// parts in the memory of each of them: every GPU reads all keys and does the operations on those of its
  /// share, so it is best if each has a part of the same size. At most 16 parts. Memory of a pool
  /// (cudaMallocAsync) has to be open to the other GPUs (cudaMemPoolSetAccess).
  /// @throws also BadInput (an insertion without outcomes, on several GPUs)
  BatchReport run(std::span<const GpuBatch<Key, Value>> parts, void* stream);

  /// Cost: O(1), but a walk through the table after a batch that threw
  std::uint64_t size() const;
  /// All pairs, in no particular order
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const;
  /// The same of a table of lines on a GPU, to that GPU's memory, which has room for `room` of each; it may
  /// be in use until `stream` comes here. Done when this returns.
  /// @return how many there are; if more than room, only `room` of them were written
  /// @throws NoDevice (a table on the CPU, or of lists), BadInput (room without memory, memory that the GPU
  ///         does not reach)
  std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, void* stream) const;
  Statistics statistics() const;
  /// Makes room for `pairs` pairs at the default load. Never shrinks.
  void reserve(std::uint64_t pairs);
  /// Gives back lines that chains needed once and do not need now.
  void trim();
  void clear();
  /// "lines on cuda: NVIDIA H200, 1 x 7456540 lines"
  std::string description() const;

  class Engine;  ///< one implementation of the above (src/table)

 private:
  std::unique_ptr<Engine> engine_;
};

extern template class HashTable<std::uint32_t, std::uint32_t>;
extern template class HashTable<std::uint32_t, std::uint64_t>;
extern template class HashTable<std::uint64_t, std::uint32_t>;
extern template class HashTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
