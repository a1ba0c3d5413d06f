// gpu_bench_table_shares: how much faster is a table that several GPUs share?
//
// Fixed: keys and values of 32 bits, 2^26 pairs preloaded, workload `half`, batches of 2^24 operations, of
// which an equal part lies in the memory of each device.
// Timed: wall of HashTable::run() from call to return, median over batches after one that is not counted.
// Checked: values found are those of their keys, no operation is `full`, and the pairs there at the end are
// those preloaded plus insertions less erasures.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/owners.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/table/hash_table.hpp"

namespace warploom::table {
namespace {

using Key = std::uint32_t;
using Part = GpuBatch<Key, Key>;

constexpr std::uint64_t kPreload = 1 << 26, kBatch = 1 << 24;

template <class T>
void copy(T* to, const T* from, std::size_t count) {
  cuda_check(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
}

/// A batch whose parts lie on several devices, and all of it on the host.
class SplitBatch {
 public:
  explicit SplitBatch(const std::vector<Device>& devices)
      : keys(kBatch), operations(kBatch), each_(kBatch / devices.size()) {
    for (const Device device : devices) {
      const OnDevice current(device);
      parts_.push_back({device, make_device<Operation>(each_), make_device<Key>(each_),
                        make_device<Key>(each_), make_device<Outcome>(each_)});
    }
  }

  void upload() {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const OnDevice current(parts_[p].device);
      copy(parts_[p].keys.get(), keys.data() + p * each_, each_);
      copy(parts_[p].operations.get(), operations.data() + p * each_, each_);
      cuda_check(cudaMemset(parts_[p].outcomes.get(), static_cast<int>(Outcome::invalid), each_),
                 "cudaMemset");
      cuda_check(cudaDeviceSynchronize(), "bringing a batch to its devices");
    }
  }
  /// Operands are keys, so that what is found can be told to be right.
  std::vector<Part> arguments(bool mixed, Operation operation) const {
    std::vector<Part> all;
    for (const OnOne& part : parts_)
      all.push_back({.count = each_,
                     .operations = mixed ? part.operations.get() : nullptr,
                     .operation = operation,
                     .keys = part.keys.get(),
                     .operands = part.keys.get(),
                     .outcomes = part.outcomes.get(),
                     .values = part.values.get()});
    return all;
  }
  void check() const {
    std::vector<Outcome> outcomes(each_);
    std::vector<Key> values(each_);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      copy(outcomes.data(), parts_[p].outcomes.get(), each_);
      copy(values.data(), parts_[p].values.get(), each_);
      for (std::size_t i = 0; i < each_; ++i)
        if (outcomes[i] >= Outcome::full ||
            (outcomes[i] == Outcome::found && values[i] != keys[p * each_ + i]))
          throw Internal(fmt::format("operation {} of part {} gave {} with {} for the key {}", i, p,
                                     name(outcomes[i]), values[i], keys[p * each_ + i]));
    }
  }

  std::vector<Key> keys;
  std::vector<Operation> operations;

 private:
  struct OnOne {
    Device device;
    DeviceArray<Operation> operations;
    DeviceArray<Key> keys, values;
    DeviceArray<Outcome> outcomes;
  };
  std::size_t each_;
  std::vector<OnOne> parts_;
};

void measure(const std::vector<Device>& devices, int rounds, JsonRecords& records) {
  HashTable<Key, Key> table({.run = {.devices = devices}, .capacity = kPreload + kPreload / 16});
  SplitBatch batch(devices);
  std::uint64_t pairs = 0, at = 0;
  const auto run = [&](bool mixed, Operation operation) {
    batch.upload();
    const BatchReport report = table.run(batch.arguments(mixed, operation), nullptr);
    batch.check();
    pairs += report.tally.inserted - report.tally.erased;
    return report.wall_seconds;
  };
  const Workload<Key> loading({.preload = kPreload});
  for (std::uint64_t first = 0; first < kPreload; first += kBatch) {
    loading.preload(first, batch.keys);
    run(false, Operation::insert);
  }
  for (const Mix mix : {Mix{0, 0}, Mix{33, 33}, Mix{10, 10}}) {
    const Workload<Key> workload({.preload = kPreload, .mix = mix});
    std::vector<double> seconds;
    for (int round = 0; round < rounds + 1; ++round, at += kBatch) {
      workload.operations(at, batch.operations, batch.keys);
      seconds.push_back(run(mix.find() < 100, Operation::find));
    }
    std::sort(seconds.begin() + 1, seconds.end());
    const double median = seconds[1 + (seconds.size() - 2) / 2];
    records.add(fmt::format(
        R"({{"what": "{}/{}/{}", "devices": {}, "preload": {}, "batch": {}, "ms": {:.4f}, "giga_per_second": {:.3f}}})",
        mix.insert, mix.erase, mix.find(), devices.size(), kPreload, kBatch, median * 1e3,
        static_cast<double>(kBatch) / median / 1e9));
  }

  if (table.size() != pairs || table.statistics().pairs != pairs)
    throw Internal(fmt::format("{} pairs where {} were inserted and not erased", table.size(), pairs));
}

int run(int argc, char** argv) {
  std::string out;
  std::vector<std::vector<Device>> all;
  int rounds = 10;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--benchmark_out=")) {
      out = argument.substr(16);
    } else if (argument.starts_with("--rounds=")) {
      rounds = std::atoi(argument.data() + 9);
    } else if (argument.starts_with("--device=")) {
      all.push_back(parse_devices(argument.substr(9)));
    } else if (!argument.starts_with("--benchmark")) {
      std::fprintf(stderr, "%s [--device=cuda:0,1]... [--rounds=N] [--benchmark_out=FILE]\n", argv[0]);
      return argument == "--help" ? 0 : 2;
    }
  }
  if (all.empty()) all = {parse_devices("cuda:0"), parse_devices("cuda:all")};
  JsonRecords records;
  for (const std::vector<Device>& devices : all) {
    records.list(fmt::format("{} devices", devices.size()));
    measure(devices, rounds, records);
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
