#pragma once

/// What hash_table.cpp asks of the implementations of a table.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/one_caller.hpp"
#include "table/host_batch.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {

template <class Key, class Value>
class HashTable<Key, Value>::Engine {
 public:
  virtual ~Engine() = default;
  /// @param report  all but wall_seconds is added to
  virtual void run(const HostBatch<Key, Value>& batch, BatchReport& report) = 0;
  /// After what the stream has. Of the report `tally` and `retries` are set.
  virtual void run(const GpuBatch<Key, Value>& batch, void* stream, BatchReport& report);
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

/// Our lines on the current CUDA device. Only where WARPLOOM_HAVE_CUDA.
template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_gpu_engine(const Options& options);

}  // namespace warploom::table
