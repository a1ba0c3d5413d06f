#pragma once

/// The list table in device memory. Benchmarks use it for batches that are on the device already.

#include "core/cuda/owners.hpp"
#include "table/batch.hpp"
#include "table/list_backend.hpp"

namespace warploom::table {

template <class Key, class Value>
class GpuList final : public ListTable<Key, Value>::Backend {
 public:
  using Base = typename ListTable<Key, Value>::Backend;
  using Pairs = typename Base::Pairs;

  /// On the current device.
  explicit GpuList(const Options& options);

  /// Launches the batch on the stream and returns. batch.counters may be null.
  void launch(const BatchArguments& batch, cudaStream_t stream);

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override;
  std::vector<Word> words() const override;
  void reserve(std::uint32_t nodes) override;
  void clear() override;
  std::string device() const override;

 private:
  /// What a host batch needs on the device, kept from batch to batch
  struct Buffers {
    std::uint64_t room = 0;
    DeviceArray<Operation> operations;
    DeviceArray<Key> keys;
    DeviceArray<Value> operands, values;
    DeviceArray<Outcome> outcomes;
  };

  void push_nodes(std::uint32_t first);

  int threads_per_block_;
  CudaStream stream_;
  CudaEvent begin_, copied_, computed_, end_;
  DeviceArray<Word> words_;
  DeviceArray<Counters> counters_;
  Buffers buffers_;
};

}  // namespace warploom::table
