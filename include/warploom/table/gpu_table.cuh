#pragma once

/// The parallel hash table for data that is on a GPU already: batches of device pointers in the caller's
/// stream. For operations within kernels of your own: device_table.cuh, with what handle() returns. For data
/// in host memory: hash_table.hpp. No nvcc is needed to include this.

#include "warploom/config.hpp"
#if !WARPLOOM_HAS_CUDA
#error "this Warploom was built for CPUs alone and has no GpuTable: build it with -DWARPLOOM_CUDA=ON"
#endif

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "warploom/table/hash.hpp"
#include "warploom/table/hash_table.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

template <class Key, class Value, class Placer>
class DeviceTable;

struct Share;
template <class Key, class Value>
class GpuEngine;

/// Where a GpuTable has its memory from, stream-ordered like cudaMallocAsync(). Both functions or none:
/// without them the device's default memory pool, or cudaMalloc() on devices that have no pools. A table that
/// ends waits for its work and releases its memory in the default stream.
struct GpuAllocator {
  /// Aligned to 128 bytes. Throws or returns null where there is no memory.
  std::function<void*(std::size_t bytes, cudaStream_t)> allocate = {};
  std::function<void(void*, std::size_t bytes, cudaStream_t)> release = {};
};

struct GpuOptions {
  /// Pairs to make room for at the default load: 8.25 a home line of 14 (8-byte pairs: 15.9 bytes a pair, and
  /// 1.5 of lines to be appended), or 4.125 of 7 for wider pairs.
  std::uint64_t capacity = 1 << 16;
  bool grows = true;  ///< in run(); run_async() never does
  std::uint32_t tables = 1;
  /// Of each table; 0: from the capacity. Otherwise growth adds lines to chains, not chains.
  std::uint32_t buckets = 0;
  Hash hash = Hash::mix;
  Assignment assignment = Assignment::mix;
  /// Lines to be appended to chains, per home line; 0: 0.12. Random keys at the default load need 0.022
  /// (0.059 for wider pairs); the more there are, the rarer chains are trimmed between batches.
  double pool_fraction = 0;
  int threads_per_block = 0;  ///< 0: the best known
  GpuAllocator allocator = {};
};

/// What batches did.
struct GpuReport {
  Tally tally = {};
  std::uint64_t retries = 0;  ///< walks through a chain that another operation made void
};

/// Key and Value: std::uint32_t or std::uint64_t each; every value of either may be used.
///
/// Batches on several streams may run at the same time. Moving pairs (growth, trim, clear) may not, and the
/// table sees to it: by events, without waiting. For that a stream which was given to the table has to exist
/// until the table was given another one or wait() returned. The current device is the one that was current
/// at construction.
///
/// One call at a time: a call that begins in another host thread while one is under way throws BadInput and
/// changes nothing. So does any call of a table that was moved from, but for assignment.
///
/// An error of the device that ends its context ends the table: what throws then says so, and host memory is
/// as it was.
template <class Key, class Value>
class GpuTable {
 public:
  /// @throws BadInput (an option outside its range), NoDevice, OutOfMemory
  explicit GpuTable(const GpuOptions& options, cudaStream_t stream = nullptr);
  /// Waits for the batches under way.
  ~GpuTable();
  GpuTable(GpuTable&&) noexcept;
  GpuTable& operator=(GpuTable&&) noexcept;

  /// Runs the batch in stream order and returns at once. Insertions that find no room end as `full`.
  /// Chains are trimmed before it where lines to append have become few. @throws BadInput (no keys)
  void run_async(const GpuBatch<Key, Value>& batch, cudaStream_t stream);
  /// Runs the batch and waits for it. With GpuOptions::grows the table grows before it when the population
  /// has passed the capacity, and after it for operations that ended as `full`, which are then repeated;
  /// those that are `full` in the end found no memory, or a chain of 4,096 lines.
  GpuReport run(const GpuBatch<Key, Value>& batch, cudaStream_t stream);
  /// Waits for all batches so far. @return what those of run_async() counted since the last wait()
  GpuReport wait(cudaStream_t stream);

  /// For kernels launched on this stream before the table is given another one. Void after growth: run(),
  /// reserve().
  DeviceTable<Key, Value, Placement> handle(cudaStream_t stream);

  /// Counted. Cost: a pass over the headers
  std::uint64_t size(cudaStream_t stream) const;
  /// Cost: a pass over the chains, and a copy of 8 bytes a chain to the host
  Statistics statistics(cudaStream_t stream) const;
  /// All pairs in no particular order, to device memory that has room for `room` of each.
  /// @return how many there are; if more than room, only `room` of them were written
  /// @throws BadInput (room without memory)
  std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, cudaStream_t stream) const;
  /// The same to host memory, part by part
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values, cudaStream_t stream) const;

  /// Makes room for `pairs` pairs at the default load. Never shrinks. Peak memory: the old lines and the new
  /// ones. @throws OutOfMemory, and then the table is as before
  void reserve(std::uint64_t pairs, cudaStream_t stream);
  /// After run_async() ended operations as `full`: trims, or makes more lines, or more chains, so that some
  /// of them succeed when they are repeated, unless their chains have 4,096 lines each. @return false: no
  /// memory
  bool make_room(std::uint64_t full, cudaStream_t stream);
  /// Moves pairs of appended lines to free slots before them and takes lines that are empty out of their
  /// chains. Stream-ordered, no waiting. Cost: a pass over the headers
  void trim(cudaStream_t stream);
  /// Stream-ordered, no waiting. The memory stays.
  void clear(cudaStream_t stream);

  std::uint64_t capacity() const;
  std::uint64_t bytes() const;  ///< of device memory: lines of chains, lines to be appended, counters
  const Placement& placement() const;

 private:
  /// run_async() of what is this table's of a batch that several share (src/table/share.hpp).
  void run_share_async(const GpuBatch<Key, Value>& batch, const Share& share, cudaStream_t stream);
  friend class GpuEngine<Key, Value>;

  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

extern template class GpuTable<std::uint32_t, std::uint32_t>;
extern template class GpuTable<std::uint32_t, std::uint64_t>;
extern template class GpuTable<std::uint64_t, std::uint32_t>;
extern template class GpuTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
