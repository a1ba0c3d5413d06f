#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cuda/owners.hpp"
#include "table/hash_table_on.hpp"
#include "warploom/table/gpu_table.cuh"

/// Batches in a GPU's memory, and GpuTable as the tests call it.
namespace warploom::table {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count)
      : size_(count), memory_(make_device<T>(std::max<std::size_t>(count, 1))) {}
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    cuda_check(cudaMemcpy(get(), values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    cuda_check(cudaDeviceSynchronize(), "cudaMemcpy");  // for streams that do not wait for the default one
  }
  T* get() const { return memory_.get(); }
  std::vector<T> fetch() const {
    std::vector<T> values(size_);
    cuda_check(cudaMemcpy(values.data(), get(), size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  std::size_t size_;
  DeviceArray<T> memory_;
};

/// A batch in device memory
template <class Key, class Value>
struct DeviceBatch {
  explicit DeviceBatch(const Batch<Key, Value>& batch)
      : count(batch.size()),
        operations(batch.operations),
        keys(batch.keys),
        operands(batch.operands),
        outcomes(batch.outcomes),
        values(batch.values) {}
  GpuBatch<Key, Value> arguments() const {
    return {.count = count,
            .operations = operations.get(),
            .keys = keys.get(),
            .operands = operands.get(),
            .outcomes = outcomes.get(),
            .values = values.get()};
  }
  void fetch(Batch<Key, Value>& batch) const {
    batch.outcomes = outcomes.fetch();
    batch.values = values.fetch();
  }

  std::size_t count;
  OnDevice<Operation> operations;
  OnDevice<Key> keys;
  OnDevice<Value> operands;
  OnDevice<Outcome> outcomes;
  OnDevice<Value> values;
};

using Key = std::uint32_t;
using Value = std::uint32_t;

inline GpuOptions gpu_options(std::uint64_t capacity, bool grows = true) {
  GpuOptions options;
  options.capacity = capacity;
  options.grows = grows;
  return options;
}

template <class K, class V>
GpuReport run(GpuTable<K, V>& table, Batch<K, V>& batch, cudaStream_t stream) {
  const DeviceBatch<K, V> there(batch);
  const GpuReport report = table.run(there.arguments(), stream);
  there.fetch(batch);
  return report;
}

/// One operation on many keys, whose operands are the keys' complements
template <class K, class V>
Batch<K, V> batch_of(Operation operation, const std::vector<K>& keys) {
  Batch<K, V> batch(keys.size());
  batch.keys = keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    batch.operations[i] = operation;
    batch.operands[i] = static_cast<V>(~keys[i]);
  }
  return batch;
}
template <class K, class V>
std::vector<Outcome> run(GpuTable<K, V>& table, Operation operation, const std::vector<K>& keys,
                         cudaStream_t stream) {
  Batch<K, V> batch = batch_of<K, V>(operation, keys);
  run(table, batch, stream);
  return batch.outcomes;
}

template <class K, class V>
PlainMap<K, V> contents(const GpuTable<K, V>& table, cudaStream_t stream) {
  std::vector<K> keys;
  std::vector<V> values;
  table.export_pairs(keys, values, stream);
  EXPECT_EQ(keys.size(), table.size(stream));
  return model_of(keys, values);
}

template <class T>
std::vector<T> part(const std::vector<T>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

class GpuTableTest : public testing::Test {
 protected:
  CudaStream owner_ = make_stream();
  cudaStream_t stream_ = owner_.get();
};

}  // namespace warploom::table
