// gpu_bench_table_host: what does a batch from host memory take, and how much of its transfers does HashTable
// hide behind its kernels (the dissertation's Figure 40, whose batches are copied, run and copied back)?
//
// Fixed: keys and values of 32 bits, 2^22 pairs preloaded, workload `half`, batches of 2^16 to 2^24, 9 bytes
// an operation to the GPU and 5 back.
// Timed: wall from call to return, medians over batches after one that is not counted. `overlapped`:
// HashTable::run() on ordinary memory, which goes through pinned memory in chunks; kernel and transfer are
// sums over the chunks, under way at the same time. `in turn`: copy, GpuTable, copy back, each waited for, on
// ordinary memory and on pinned memory, where the copies are as fast as can be.
// Checked: values found are those of their keys, no operation is `full`, and the pairs there at the end are
// those preloaded plus insertions less erasures.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/owners.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/table/gpu_table.cuh"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {
namespace {

using Key = std::uint32_t;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPreload = 1 << 22, kMost = 1 << 24;

struct Sample {
  double wall = 0, kernel = 0, transfer = 0;  // seconds
};

Sample median(std::vector<Sample> samples) {
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::ranges::nth_element(samples, middle, {}, &Sample::wall);
  return *middle;
}

/// A batch and its results in host memory.
struct Host {
  std::span<Operation> operations;
  std::span<Key> keys, values;
  std::span<Outcome> outcomes;

  Host first(std::uint64_t count) const {
    return {operations.first(count), keys.first(count), values.first(count), outcomes.first(count)};
  }
};

/// std::vector's memory
struct OrdinaryMemory {
  std::vector<Operation> operations = std::vector<Operation>(kMost);
  std::vector<Key> keys = std::vector<Key>(kMost), values = std::vector<Key>(kMost);
  std::vector<Outcome> outcomes = std::vector<Outcome>(kMost);
  Host host() { return {operations, keys, values, outcomes}; }
};
struct PinnedMemory {
  PinnedArray<Operation> operations = make_pinned<Operation>(kMost);
  PinnedArray<Key> keys = make_pinned<Key>(kMost), values = make_pinned<Key>(kMost);
  PinnedArray<Outcome> outcomes = make_pinned<Outcome>(kMost);
  Host host() {
    return {{operations.get(), kMost}, {keys.get(), kMost}, {values.get(), kMost}, {outcomes.get(), kMost}};
  }
};

class Subject {
 public:
  virtual ~Subject() = default;
  /// Adds to the tally.
  virtual Sample run(const Host& batch, Tally& tally) = 0;
  virtual std::uint64_t size() const = 0;
};

void add(Tally& sum, const Tally& tally) {
  sum.inserted += tally.inserted;
  sum.erased += tally.erased;
  sum.full += tally.full;
}

class Overlapped final : public Subject {
 public:
  Sample run(const Host& batch, Tally& tally) override {
    const BatchReport report =
        table_.run(batch.operations, batch.keys, batch.keys, batch.outcomes, batch.values);
    add(tally, report.tally);
    return {report.wall_seconds, report.kernel_seconds, report.transfer_seconds};
  }
  std::uint64_t size() const override { return table_.size(); }

 private:
  HashTable<Key, Key> table_{{.run = {.devices = {Device::cuda}}, .capacity = kPreload}};
};

class InTurn final : public Subject {
 public:
  Sample run(const Host& batch, Tally& tally) override {
    const std::size_t count = batch.keys.size();
    const auto begin = Clock::now();
    copy(keys_.get(), batch.keys.data(), count);
    copy(operands_.get(), batch.keys.data(), count);
    copy(operations_.get(), batch.operations.data(), count);
    const auto copied = Clock::now();
    const GpuReport report = table_.run({.count = count,
                                         .operations = operations_.get(),
                                         .keys = keys_.get(),
                                         .operands = operands_.get(),
                                         .outcomes = outcomes_.get(),
                                         .values = values_.get()},
                                        stream_.get());
    const auto computed = Clock::now();
    copy(batch.values.data(), values_.get(), count);
    copy(batch.outcomes.data(), outcomes_.get(), count);
    const auto end = Clock::now();
    add(tally, report.tally);
    return {seconds(end - begin), seconds(computed - copied), seconds(copied - begin + (end - computed))};
  }
  std::uint64_t size() const override { return table_.size(stream_.get()); }

 private:
  template <class T>
  void copy(T* to, const T* from, std::size_t count) const {
    cuda_check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, stream_.get()),
               "copying a batch");
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying a batch");
  }
  static double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

  CudaStream stream_ = make_stream();
  GpuTable<Key, Key> table_{{.capacity = kPreload, .allocator = {}}, stream_.get()};
  DeviceArray<Operation> operations_ = make_device<Operation>(kMost);
  DeviceArray<Key> keys_ = make_device<Key>(kMost), operands_ = make_device<Key>(kMost),
                   values_ = make_device<Key>(kMost);
  DeviceArray<Outcome> outcomes_ = make_device<Outcome>(kMost);
};

void preload(Subject& subject, const Host& host, const Workload<Key>& workload) {
  const Host batch = host.first(kPreload);
  std::ranges::fill(batch.operations, Operation::insert);
  workload.preload(0, batch.keys);
  Tally tally;
  subject.run(batch, tally);
  if (tally.inserted != kPreload)
    throw Error(fmt::format("{} of {} pairs were inserted", tally.inserted, kPreload));
}

/// Values are keys.
void check(const Host& batch) {
  for (std::size_t i = 0; i < batch.keys.size(); ++i)
    if (batch.outcomes[i] == Outcome::found && batch.values[i] != batch.keys[i])
      throw Error(fmt::format("{} was found for key {}", batch.values[i], batch.keys[i]));
}

void measure(const std::string& how, Subject& subject, const Host& host, int rounds, JsonRecords& records) {
  preload(subject, host, Workload<Key>({.preload = kPreload}));
  std::uint64_t first = 0;
  for (const int find : {33, 80}) {
    const Mix mix = mix_of_find(find);
    const Workload<Key> workload({.preload = kPreload, .mix = mix});
    for (std::uint64_t count = 1 << 16; count <= kMost; count *= 2) {
      const Host batch = host.first(count);
      std::vector<Sample> samples;
      const std::uint64_t before = subject.size();
      Tally tally;
      for (int round = 0; round <= rounds; ++round) {
        workload.operations(first, batch.operations, batch.keys);
        first += count;
        const Sample sample = subject.run(batch, tally);
        check(batch);
        if (round > 0) samples.push_back(sample);
      }
      if (tally.full != 0 || subject.size() != before + tally.inserted - tally.erased)
        throw Error(fmt::format("{}: {} pairs, {} inserted, {} erased, {} found no room, but {} at the end",
                                how, before, tally.inserted, tally.erased, tally.full, subject.size()));
      const Sample sample = median(samples);
      records.add(
          fmt::format(R"({{"how": "{}", "batch": {}, "insert": {}, "erase": {}, "find": {}, "wall_ms": {}, )"
                      R"("kernel_ms": {}, "transfer_ms": {}, "operations_per_second": {}}})",
                      how, count, mix.insert, mix.erase, mix.find(), json_number(sample.wall * 1e3),
                      json_number(sample.kernel * 1e3), json_number(sample.transfer * 1e3),
                      json_number(static_cast<double>(count) / sample.wall)));
    }
  }
}

int run(int argc, char** argv) {
  int rounds = 7;
  std::string out;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument.starts_with("--rounds="))
      rounds = std::max(1, std::atoi(argument.c_str() + 9));
    else if (argument.starts_with("--benchmark_out="))
      out = argument.substr(16);
    else if (!argument.starts_with("--benchmark_out_format="))
      throw BadInput("usage: gpu_bench_table_host [--rounds=N] [--benchmark_out=FILE]");
  }
  JsonRecords records;
  records.list("host_batches");
  OrdinaryMemory ordinary;
  PinnedMemory pinned;
  {
    Overlapped overlapped;
    measure("overlapped", overlapped, ordinary.host(), rounds, records);
  }
  {
    InTurn in_turn;
    measure("in turn", in_turn, ordinary.host(), rounds, records);
  }
  {
    InTurn in_turn;
    measure("in turn, pinned", in_turn, pinned.host(), rounds, records);
  }
  if (!out.empty()) write_file_atomically(out, records.text());
  return 0;
}

}  // namespace
}  // namespace warploom::table

int main(int argc, char** argv) {
  try {
    return warploom::table::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
