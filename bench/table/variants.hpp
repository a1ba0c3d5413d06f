#pragma once

/// What is measured for the dissertation's figures: its five variants and our table, each behind one face,
/// and batches for them.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table/list_cuda.hpp"
#include "warploom/core/error.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/table/gpu_table.cuh"
#include "warploom/table/list_table.hpp"

namespace warploom::table {

using Key = std::uint32_t;

inline constexpr std::uint64_t kPreload = 262144;
/// Pairs that all tables have room for: those preloaded and all that a part inserts.
inline constexpr std::uint64_t kCapacity = 786432;
inline constexpr std::uint32_t kBuckets = 1024;
inline constexpr std::uint64_t kMost = 1 << 18;  ///< operations of a batch
inline constexpr Mix kInserts{100, 0}, kSearches{0, 0}, kThirds{33, 33};

/// Operations on the host and on the device, with what comes before them.
struct Load {
  std::vector<Key> preload, keys;
  std::vector<Operation> operations;
  DeviceArray<Key> device_preload, device_keys;
  DeviceArray<Operation> device_operations;
};

/// Where keys come from.
struct Keys {
  std::string name = "normal, variance 0.05";
  Distribution distribution = Distribution::normal;
  std::vector<Normal> normals = std::vector<Normal>(1);
  bool collide = false;  ///< those of colliding_keys(), in the place of the universe of Distribution::half
};
inline Keys normal_keys(double variance) {
  return {
      fmt::format("normal, variance {}", variance), Distribution::normal, {{0.5, std::sqrt(variance), 1}}};
}
inline Keys uniform_keys() { return {"uniform", Distribution::uniform, std::vector<Normal>(1)}; }

inline constexpr std::uint32_t kCollidingHashes = 128;
/// 2 kPreload keys of which PJW makes kCollidingHashes values, each of as many keys, in no order. PJW of four
/// bytes is 4096 b0 + 256 b1 + 16 b2 + b3, and values in the middle have 4096 keys.
inline std::vector<Key> colliding_keys() {
  constexpr std::uint32_t kFirst = 255 * (4096 + 256 + 16 + 1) / 2 - kCollidingHashes / 2;
  std::vector<Key> keys;
  for (std::uint32_t hash = kFirst; hash < kFirst + kCollidingHashes; ++hash)
    for (std::uint32_t b0 = 0; b0 < 256; ++b0)
      for (std::uint32_t b1 = 0; b1 < 256 && 4096 * b0 + 256 * b1 <= hash; ++b1)
        for (std::uint32_t b2 = 0; b2 < 256 && 4096 * b0 + 256 * b1 + 16 * b2 <= hash; ++b2)
          if (const std::uint32_t b3 = hash - 4096 * b0 - 256 * b1 - 16 * b2; b3 < 256)
            keys.push_back(b0 | b1 << 8 | b2 << 16 | b3 << 24);
  std::ranges::sort(keys, {}, mix32);
  for (const Key key : keys)
    if (hash_bytes(Hash::pjw, key, 4) - kFirst >= kCollidingHashes)
      throw Error(fmt::format("key {} does not collide", key));
  if (keys.size() != 2 * kPreload) throw Error(fmt::format("{} keys collide", keys.size()));
  return keys;
}
inline Keys of_colliding_keys() {
  return {fmt::format("half, {} values of pjw", kCollidingHashes), Distribution::half, std::vector<Normal>(1),
          true};
}

/// What is measured.
struct Choice {
  std::optional<Variant> variant = Variant::gpu_ph;  ///< none: `lines`
  std::uint32_t tables = 1;
  Keys keys{};
  Mix mix = kThirds;
  std::uint64_t batch = kMost;
  Hash hash = Hash::dek;
  int threads = 0;           ///< a block, or of the CPU; 0: the dissertation's
  std::uint64_t stream = 0;  ///< operations in all, in batches that follow one another; 0: one batch
  bool operator<(const Choice& other) const { return text() < other.text(); }

  std::string text() const {
    return fmt::format(
        R"("variant": "{}", "n": {}, "m": {}, "hash": "{}", "ta": "{}", "keys": "{}", "batch": {}, )"
        R"("find": {}, "insert": {}, "erase": {}, "threads": {}, "operations": {})",
        variant ? name(*variant) : "lines", tables, buckets(), name(hash), variant ? "decimal" : "mix",
        keys.name, batch, mix.find(), mix.insert, mix.erase, threads, operations());
  }
  std::uint64_t operations() const { return stream != 0 ? stream : batch; }
  std::uint32_t buckets() const {
    if (!variant) return 0;  // from the capacity
    return variant == Variant::gpu_big ? kBuckets * tables : kBuckets;
  }
  bool on_cpu() const { return variant == Variant::cpu_basic || variant == Variant::cpu_ph; }
  Options options() const {
    Options result = options_of(*variant, tables, kBuckets, kCapacity);
    result.hash = hash;
    if (on_cpu())
      result.run.threads = static_cast<unsigned>(threads);
    else
      result.threads_per_block = threads;
    return result;
  }
};

struct Sample {
  double milliseconds = 0, transfer = 0;
  Tally tally{};
  std::uint64_t retries = 0;
};

inline Sample median(std::vector<Sample> samples) {
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::ranges::nth_element(samples, middle, {}, &Sample::milliseconds);
  return *middle;
}

template <class T>
DeviceArray<T> to_device(const std::vector<T>& values) {
  DeviceArray<T> array = make_device<T>(values.size());
  cuda_check(cudaMemcpy(array.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return array;
}

inline double milliseconds(const CudaEvent& begin, const CudaEvent& end) {
  float result = 0;
  cuda_check(cudaEventElapsedTime(&result, begin.get(), end.get()), "cudaEventElapsedTime");
  return result;
}

/// A table that can be set up for a round and be given a batch: what the variants have in common.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void prepare(const Load& load) = 0;
  virtual Sample run(const Load& load, const Choice& choice) = 0;
  virtual std::uint64_t size() const = 0;
  virtual Placement placement() const = 0;
};

class CpuSubject final : public Subject {
 public:
  explicit CpuSubject(const Choice& choice)
      : table_(choice.options()), placement_(list_placement(choice.options(), sizeof(Key))) {}
  void prepare(const Load& load) override {
    table_.clear();
    table_.run(Operation::insert, load.preload, {}, {}, {});
  }
  Sample run(const Load& load, const Choice& choice) override {
    outcomes_.resize(choice.batch), values_.resize(choice.batch);
    Sample sample;
    for (std::uint64_t first = 0; first < choice.operations(); first += choice.batch) {
      const std::span keys = std::span(load.keys).subspan(first, choice.batch);
      const BatchReport report =
          table_.run(std::span(load.operations).subspan(first, choice.batch), keys, keys, outcomes_, values_);
      sample.milliseconds += report.kernel_seconds * 1e3;
      sample.tally.inserted += report.tally.inserted;
      sample.tally.erased += report.tally.erased;
      sample.tally.full += report.tally.full;
      sample.retries += report.retries;
    }
    return sample;
  }
  std::uint64_t size() const override { return table_.statistics().pairs; }
  Placement placement() const override { return placement_; }

 private:
  ListTable<Key, Key> table_;
  Placement placement_;
  std::vector<Outcome> outcomes_;
  std::vector<Key> values_;
};

/// Batches in device memory
class GpuSubject : public Subject {
 public:
  Sample run(const Load& load, const Choice& choice) override {
    cuda_check(cudaEventRecord(begin_.get(), stream()), "cudaEventRecord");
    for (std::uint64_t first = 0; first < choice.operations(); first += choice.batch)
      launch(load.device_operations.get() + first, load.device_keys.get() + first, choice.batch);
    cuda_check(cudaEventRecord(end_.get(), stream()), "cudaEventRecord");
    Sample sample = counted();
    sample.milliseconds = milliseconds(begin_, end_);
    return sample;
  }

 protected:
  /// @param operations  null: insertions
  virtual void launch(const Operation* operations, const Key* keys, std::uint64_t count) = 0;
  /// What was counted since the last call
  virtual Sample counted() = 0;
  cudaStream_t stream() const { return stream_.get(); }

  DeviceArray<Outcome> outcomes_ = make_device<Outcome>(kMost);
  DeviceArray<Key> values_ = make_device<Key>(kMost);

 private:
  CudaStream stream_ = make_stream();
  CudaEvent begin_ = make_event(), end_ = make_event();
};

class ListSubject final : public GpuSubject {
 public:
  explicit ListSubject(const Choice& choice) : list_(choice.options()) {}
  void prepare(const Load& load) override {
    list_.clear();
    launch(nullptr, load.device_preload.get(), kPreload);
    counted();
  }
  std::uint64_t size() const override {
    const std::vector<Word> words = list_.words();
    std::uint64_t pairs = 0;
    for (list::NodeIndex head = 0; head < list_.layout().heads; ++head)
      for (list::NodeIndex node = head;
           (node = list::Link{words[list_.layout().place<list::NarrowPairs>(node, 0)]}.next());)
        ++pairs;
    return pairs;
  }
  Placement placement() const override { return list_.placement(); }

 protected:
  void launch(const Operation* operations, const Key* keys, std::uint64_t count) override {
    BatchArguments batch;
    batch.count = count;
    batch.operations = operations;
    batch.operation = Operation::insert;
    batch.keys = batch.operands = keys;
    batch.outcomes = outcomes_.get();
    batch.values = values_.get();
    batch.counters = counters_.get();
    list_.launch(batch, stream());
  }
  Sample counted() override {
    Counters counters;
    cuda_check(cudaMemcpyAsync(&counters, counters_.get(), sizeof counters, cudaMemcpyDeviceToHost, stream()),
               "cudaMemcpyAsync");
    cuda_check(cudaMemsetAsync(counters_.get(), 0, sizeof counters, stream()), "cudaMemsetAsync");
    cuda_check(cudaStreamSynchronize(stream()), "a batch");
    Sample sample;
    sample.tally.inserted = counters.inserted;
    sample.tally.erased = counters.erased;
    sample.tally.full = counters.full;
    sample.retries = counters.retries;
    return sample;
  }

 private:
  GpuList<Key, Key> list_;
  DeviceArray<Counters> counters_ = to_device(std::vector<Counters>(1));
};

class LinesSubject final : public GpuSubject {
 public:
  explicit LinesSubject(const Choice& choice) : table_(options(choice)) {}
  void prepare(const Load& load) override {
    table_.clear(stream());
    launch(nullptr, load.device_preload.get(), kPreload);
    counted();
  }
  std::uint64_t size() const override { return table_.size(stream()); }
  Placement placement() const override { return table_.placement(); }

 protected:
  void launch(const Operation* operations, const Key* keys, std::uint64_t count) override {
    GpuBatch<Key, Key> batch;
    batch.count = count;
    batch.operations = operations;
    batch.operation = Operation::insert;
    batch.keys = batch.operands = keys;
    batch.outcomes = outcomes_.get();
    batch.values = values_.get();
    table_.run_async(batch, stream());
  }
  Sample counted() override {
    const GpuReport report = table_.wait(stream());
    Sample sample;
    sample.tally = report.tally;
    sample.retries = report.retries;
    return sample;
  }

 private:
  static GpuOptions options(const Choice& choice) {
    GpuOptions result;
    result.capacity = kCapacity;
    result.tables = choice.tables;
    result.hash = choice.hash;
    if (choice.keys.collide) result.pool_fraction = 4;  // few chains hold all pairs
    return result;
  }
  GpuTable<Key, Key> table_;
};

}  // namespace warploom::table
