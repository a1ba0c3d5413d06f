#pragma once

/// What hash_table.cpp asks of the implementations of a table.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/one_caller.hpp"
#include "table/host_batch.hpp"
#include "table/share.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

template <class Key, class Value>
class HashTable<Key, Value>::Engine {
 public:
  virtual ~Engine() = default;
  /// @param report  all but wall_seconds is added to
  virtual void run(const HostBatch<Key, Value>& batch, BatchReport& report) = 0;
  /// Parts of a batch, after what the stream has. Of the report `tally` and `retries` are set.
  virtual void run(std::span<const GpuBatch<Key, Value>> parts, void* stream, BatchReport& report);
  // Of a table that several GPUs share (shared_engine.cpp).

  /// Sees to it that all these GPUs reach the parts' memory. @return which GPU has each part
  /// @throws BadInput, NoDevice: they do not
  virtual std::vector<int> reach(std::span<const GpuBatch<Key, Value>> parts,
                                 std::span<const Device> devices);
  /// Waits for what the stream has on this GPU, and for what an exception left behind.
  virtual void begin_share(void*) {}
  /// Memory for what others send; there are two. What was there is lost where it has to grow.
  virtual std::byte* inbox(std::size_t, std::size_t) { return nullptr; }
  struct Sent {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  /// Begins to copy from here to one of another table's inboxes, when that is no longer used.
  virtual void send(std::span<const Sent>, Engine&, std::size_t) {}
  /// Begins with its share of operations, whose arrays are here but for outcomes and values ...
  virtual void work(std::span<const GpuBatch<Key, Value>>, const Share&) {}
  /// ... and of those in an inbox, when the others have sent them.
  virtual void work_on_inbox(std::size_t, std::span<const GpuBatch<Key, Value>>, const Share&,
                             std::span<Engine* const>) {}
  virtual void finish_share(BatchReport&) {}
  /// So that some of the operations that ended as full succeed when they are repeated. @return false: no
  /// memory, or run() has done all that can be done
  virtual bool make_room(std::uint64_t full) = 0;
  virtual std::uint64_t count() const = 0;  ///< walks through the table
  virtual void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const = 0;
  virtual std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, void* stream) const;
  virtual Statistics statistics() const = 0;
  virtual void reserve(std::uint64_t pairs) = 0;
  virtual void trim() = 0;
  virtual void clear() = 0;
  virtual std::string description() const = 0;
  DeviceScope enter() const { return {run_as, "a hash table", true}; }

  Run run_as;         ///< the options' run, with the device chosen
  bool grows = true;  ///< whether make_room() is to be called
  OneCaller caller;
  mutable std::optional<std::uint64_t> size = 0;  ///< pairs; none: to be counted
};

/// One table of what `make` gives for each of the options' devices, which has the keys of its share.
template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_shared_engine(
    const Options& options,
    const std::function<std::unique_ptr<typename HashTable<Key, Value>::Engine>(const Options&)>& make);

/// Our lines on the current CUDA device. Only where WARPLOOM_HAVE_CUDA.
template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_gpu_engine(const Options& options);

}  // namespace warploom::table
