// gpu_bench_table_figures: what do the dissertation's Figures 19 and 26 to 41 and Tables 5 and 6 look like on
// the machine at hand, for its five variants, and beside them ours?
//
// Fixed, as in its section 4.6.1: m = 1024 buckets, 262,144 pairs preloaded, keys in [0, 1) of 32 bits drawn
// at random, normal with mean 0.5 and variance 0.05 unless said, hash function DEK, TA(k) = k * 10^6 mod n,
// blocks of 512 threads, 8 CPU threads. Two keys drawn are seldom the same: most searches and deletions find
// nothing. Every round begins with the same preloaded table.
//
// Timed: the batch alone, data in place: on a GPU between two events, on a CPU by the clock; medians of
// `rounds` after one that is not counted. `transfer` (Figure 40): operations, keys and values to the device,
// outcomes and values back, pinned memory. Checked: no operation is `full`, and the pairs there at the end
// are those preloaded plus insertions less erasures.
//
// Parts are named for the figures (--part=figure26): a list of records in the JSON. `lines` is our table, its
// number of buckets from its capacity. Figure 41's means are not given; ours are 0.3 and 0.7. Parts `blocks`
// and `cpu_threads` are not the dissertation's: threads a block and of the CPU, for the choice of both. Nor
// is `bad_hash`: keys that PJW gives 128 values, half of them there, and beside them DEK on normal keys of
// variance 0.01, with how the preloaded keys lie in the chains.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../json_records.hpp"
#include "collisions.hpp"
#include "variants.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kStream = 1 << 20;  ///< operations of Figure 39
constexpr std::array<std::uint32_t, 9> kTables{1, 5, 10, 20, 50, 100, 200, 320, 400};
constexpr std::array<int, 5> kFinds{33, 50, 60, 80, 90};
constexpr std::array<double, 5> kVariances{0.5, 0.1, 0.05, 0.02, 0.01};

std::vector<std::uint64_t> batches() {
  std::vector<std::uint64_t> result;
  for (std::uint64_t batch = 1 << 12; batch <= kMost; batch *= 2) result.push_back(batch);
  return result;
}

class Bench {
 public:
  Bench(int rounds, std::vector<std::string> parts) : rounds_(rounds), parts_(std::move(parts)) {}

  std::string run() {
    const std::array<std::pair<std::string_view, void (Bench::*)()>, 21> parts{{
        {"table5", &Bench::table5},     {"table6", &Bench::table6},     {"figure19", &Bench::figure19},
        {"figure26", &Bench::figure26}, {"figure27", &Bench::figure27}, {"figure28", &Bench::figure28},
        {"figure29", &Bench::figure29}, {"figure30", &Bench::figure30}, {"figure31", &Bench::figure31},
        {"figure32", &Bench::figure32}, {"figure33", &Bench::figure33}, {"figure34", &Bench::figure34},
        {"figure35", &Bench::figure35}, {"figure36", &Bench::figure36}, {"figure38", &Bench::figure38},
        {"figure39", &Bench::figure39}, {"figure40", &Bench::figure40}, {"figure41", &Bench::figure41},
        {"bad_hash", &Bench::bad_hash}, {"blocks", &Bench::blocks},     {"cpu_threads", &Bench::cpu_threads},
    }};
    for (const auto& [name, part] : parts) {
      if (!parts_.empty() && std::ranges::find(parts_, name) == parts_.end()) continue;
      records_.list(std::string(name));
      const auto begin = Clock::now();
      (this->*part)();
      std::fprintf(stderr, "%s: %.1f s\n", std::string(name).c_str(),
                   std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return records_.text();
  }

 private:
  static Choice list(Variant variant, std::uint32_t tables) {
    Choice choice;
    choice.variant = variant;
    choice.tables = tables;
    return choice;
  }
  static Choice lines(std::uint32_t tables = 1) {
    Choice choice;
    choice.variant.reset();
    choice.tables = tables;
    choice.hash = Hash::mix;
    return choice;
  }

  const Load& load(const Choice& choice) {
    const std::string name = choice.keys.name + fmt::format(" {} {}", choice.mix.insert, choice.mix.erase);
    std::unique_ptr<Load>& load = loads_[name];
    if (load) return *load;
    load = std::make_unique<Load>();
    WorkloadOptions options;
    options.distribution = choice.keys.distribution;
    options.normals = choice.keys.normals;
    options.preload = kPreload;
    options.mix = choice.mix;
    const Workload<Key> workload(options);
    load->preload.resize(kPreload);
    load->keys.resize(kStream);
    load->operations.resize(kStream);
    workload.preload(0, load->preload);
    workload.operations(0, load->operations, load->keys);
    if (choice.keys.collide) {
      const std::vector<Key> universe = colliding_keys();
      std::copy_n(universe.begin(), kPreload, load->preload.begin());
      for (std::uint64_t i = 0; i < kStream; ++i)
        load->keys[i] = universe[half_index(splitmix64(options.seed, i), universe.size())];
    }
    load->device_preload = to_device(load->preload);
    load->device_keys = to_device(load->keys);
    load->device_operations = to_device(load->operations);
    return *load;
  }

  static std::unique_ptr<Subject> subject(const Choice& choice) {
    if (!choice.variant) return std::make_unique<LinesSubject>(choice);
    if (choice.on_cpu()) return std::make_unique<CpuSubject>(choice);
    return std::make_unique<ListSubject>(choice);
  }

  const Sample& measure(const Choice& choice) {
    if (const auto known = samples_.find(choice); known != samples_.end()) return known->second;
    const Load& work = load(choice);
    const std::unique_ptr<Subject> table = subject(choice);
    std::vector<Sample> samples;
    const auto begin = Clock::now();
    for (int round = 0; round <= rounds_; ++round) {
      table->prepare(work);
      const std::uint64_t before = round == 0 ? table->size() : 0;
      const Sample sample = table->run(work, choice);
      if (round == 0 && before + sample.tally.inserted - sample.tally.erased != table->size())
        throw Error(fmt::format("{{{}}}: {} pairs, {} inserted, {} erased, but {} at the end", choice.text(),
                                before, sample.tally.inserted, sample.tally.erased, table->size()));
      if (sample.tally.full != 0)
        throw Error(fmt::format("{{{}}}: {} operations found no room", choice.text(), sample.tally.full));
      if (round > 0) samples.push_back(sample);
      // Slow ones vary little.
      const auto elapsed = Clock::now() - begin;
      if ((round >= 3 && elapsed > std::chrono::milliseconds(300)) ||
          (round >= 1 && elapsed > std::chrono::seconds(1)))
        break;
    }
    return samples_.emplace(choice, median(std::move(samples))).first->second;
  }

  /// @param over  to be compared with: its time over that of `choice`
  /// @param more  further fields of the record
  void add(const Choice& choice, const std::optional<Choice>& over = {}, const std::string& more = "") {
    const Sample& sample = measure(choice);
    std::string record = fmt::format(
        R"({{{}, "milliseconds": {}, "operations_per_second": {}, "inserted": {}, "erased": {}, "retries": {})",
        choice.text(), json_number(sample.milliseconds),
        json_number(static_cast<double>(choice.operations()) / sample.milliseconds * 1e3),
        sample.tally.inserted, sample.tally.erased, sample.retries);
    if (over)
      record +=
          fmt::format(R"(, "over": "{}", "speedup": {})", over->variant ? name(*over->variant) : "lines",
                      json_number(measure(*over).milliseconds / sample.milliseconds));
    records_.add(record + (more.empty() ? "" : ", ") + more + "}");
  }

  /// Another variant with the same work
  static Choice as(Choice choice, Variant variant) {
    choice.variant = variant;
    if (variant == Variant::gpu_basic || variant == Variant::cpu_basic) choice.tables = 1;
    return choice;
  }

  void table5() {
    for (const std::uint32_t tables : {4U, 16U, 64U, 128U, 256U}) {
      const ListTable<Key, Key> table(options_of(Variant::cpu_ph, tables, kBuckets, 1));
      const std::uint64_t bytes = table.statistics().bytes_directory;
      records_.add(fmt::format(R"({{"n": {}, "m": {}, "bytes": {}, "more_than_one_table": {}}})", tables,
                               kBuckets, bytes, bytes - bytes / tables));
    }
  }

  /// Occupancy of buckets and tables by the preloaded pairs
  void table6() {
    for (const Keys& keys : {uniform_keys(), normal_keys(0.05), normal_keys(0.01)})
      for (const Hash hash : {Hash::dek, Hash::sdbm, Hash::pjw, Hash::mix})
        for (const std::uint32_t tables : {1U, 320U}) {
          Choice choice = list(Variant::cpu_ph, tables);
          choice.keys = keys;
          choice.hash = hash;
          ListTable<Key, Key> table(choice.options());
          table.run(Operation::insert, load(choice).preload, {}, {}, {});
          const Statistics statistics = table.statistics();
          const double mean =
              static_cast<double>(statistics.pairs) / (static_cast<double>(tables) * kBuckets);
          double squares = 0;
          for (std::size_t length = 0; length < statistics.chain_lengths.size(); ++length)
            squares += static_cast<double>(statistics.chain_lengths[length]) *
                       std::pow(static_cast<double>(length) - mean, 2);
          records_.add(fmt::format(
              R"({{"hash": "{}", "ta": "decimal", "keys": "{}", "n": {}, "m": {}, "pairs": {}, "mean_chain": {}, )"
              R"("deviation_over_poisson": {}, "empty_chains": {}, "longest_chain": {}, "least_table": {}, )"
              R"("greatest_table": {}}})",
              name(hash), keys.name, tables, kBuckets, statistics.pairs, json_number(mean),
              json_number(std::sqrt(squares / (static_cast<double>(tables) * kBuckets) / mean)),
              statistics.chain_lengths[0], statistics.chain_lengths.size() - 1,
              std::ranges::min(statistics.pairs_per_table), std::ranges::max(statistics.pairs_per_table)));
        }
  }

  /// GPU_BASIC over CPU_BASIC by variance
  void figure19() {
    for (const double variance : kVariances) {
      Choice choice = list(Variant::gpu_basic, 1);
      choice.keys = normal_keys(variance);
      add(as(choice, Variant::cpu_basic));
      add(choice, as(choice, Variant::cpu_basic));
    }
  }

  void by_tables_and_batch(Mix mix, bool over_cpu) {
    for (const std::uint64_t batch : batches())
      for (const std::uint32_t tables : kTables) {
        Choice choice = list(Variant::gpu_ph, tables);
        choice.mix = mix;
        choice.batch = batch;
        if (over_cpu)
          add(choice, as(choice, Variant::cpu_basic));
        else
          add(choice);
      }
  }
  void figure26() { by_tables_and_batch(kInserts, false); }
  void figure27() { by_tables_and_batch(kInserts, true); }
  void figure28() {
    for (const double variance : {0.5, 0.05, 0.01})
      for (const std::uint32_t tables : kTables) {
        Choice choice = list(Variant::gpu_ph, tables);
        choice.mix = kInserts;
        choice.keys = normal_keys(variance);
        add(choice);
      }
  }
  void figure29() { by_tables_and_batch(kSearches, true); }
  void figure30() {
    for (const int find : kFinds)
      for (const std::uint32_t tables : kTables) {
        Choice choice = list(Variant::gpu_ph, tables);
        choice.mix = mix_of_find(find);
        add(choice);
      }
  }

  void by_mix_and_batch(Variant over, bool with_lines) {
    for (const int find : kFinds)
      for (const std::uint64_t batch : batches()) {
        Choice choice = list(Variant::gpu_ph, 320);
        choice.mix = mix_of_find(find);
        choice.batch = batch;
        add(as(choice, over));
        add(choice, as(choice, over));
        if (!with_lines) continue;
        Choice ours = lines();
        ours.mix = choice.mix;
        ours.batch = batch;
        add(ours, choice);
      }
  }
  void figure31() { by_mix_and_batch(Variant::gpu_basic, true); }
  void figure32() { by_mix_and_batch(Variant::cpu_ph, false); }

  void figure33() {
    const auto compare = [&](const Keys& keys) {
      Choice choice = list(Variant::gpu_ph, 320);
      choice.keys = keys;
      add(as(choice, Variant::gpu_basic));
      add(choice, as(choice, Variant::gpu_basic));
    };
    compare(uniform_keys());
    for (const double variance : kVariances) compare(normal_keys(variance));
  }

  void figure34() {
    for (const Hash hash : {Hash::dek, Hash::sdbm, Hash::pjw})
      for (const std::uint32_t tables : kTables) {
        Choice choice = list(Variant::gpu_ph, tables);
        choice.hash = hash;
        add(choice);
      }
  }

  void figure35() {
    for (const Keys& keys : {uniform_keys(), normal_keys(0.05)})
      for (const std::uint64_t batch : batches()) {
        Choice choice = list(Variant::gpu_ph, 320);
        choice.mix = kInserts;
        choice.keys = keys;
        choice.batch = batch;
        add(choice, as(choice, Variant::gpu_basic));
      }
  }

  /// And 37
  void figure36() {
    for (const std::uint32_t tables : kTables) {
      const Choice choice = list(Variant::gpu_ph, tables);
      add(as(choice, Variant::gpu_big));
      add(choice, as(choice, Variant::gpu_big));
      add(lines(tables), choice);
    }
  }

  void figure38() {
    for (const double variance : kVariances) {
      Choice choice = list(Variant::gpu_ph, 50);
      choice.keys = normal_keys(variance);
      add(as(choice, Variant::gpu_big));
      add(choice, as(choice, Variant::gpu_big));
      for (const std::uint32_t tables : {1U, 50U}) {
        Choice ours = lines(tables);
        ours.keys = choice.keys;
        add(ours, choice);
      }
    }
  }

  void figure39() {
    for (const std::uint64_t batch : batches())
      for (Choice choice : {list(Variant::gpu_ph, 320), lines()}) {
        choice.batch = batch;
        choice.stream = kStream;
        add(choice);
      }
  }

  void figure40() {
    const CudaStream stream = make_stream();
    const CudaEvent begin = make_event(), end = make_event();
    const auto host = make_pinned<Key>(3 * kMost);  // as many bytes as operations, keys, operands: 9 each
    const auto device = make_device<Key>(3 * kMost);
    const auto transfer = [&](std::uint64_t bytes, cudaMemcpyKind kind) {
      std::vector<double> times;
      for (int round = 0; round <= rounds_; ++round) {
        cuda_check(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
        const bool in = kind == cudaMemcpyHostToDevice;
        cuda_check(cudaMemcpyAsync(in ? device.get() : host.get(), in ? host.get() : device.get(), bytes,
                                   kind, stream.get()),
                   "cudaMemcpyAsync");
        cuda_check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
        cuda_check(cudaStreamSynchronize(stream.get()), "cudaMemcpyAsync");
        times.push_back(milliseconds(begin, end));
      }
      std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
      return times[times.size() / 2];
    };
    std::fill_n(host.get(), 3 * kMost, Key{1});
    for (const std::uint64_t batch : batches()) {
      records_.add(fmt::format(R"({{"batch": {}, "to_device_ms": {}, "from_device_ms": {}}})", batch,
                               json_number(transfer(9 * batch, cudaMemcpyHostToDevice)),
                               json_number(transfer(5 * batch, cudaMemcpyDeviceToHost))));
      for (const int find : kFinds) {
        Choice choice = list(Variant::gpu_ph, 320);
        choice.mix = mix_of_find(find);
        choice.batch = batch;
        add(choice);
      }
    }
  }

  void figure41() {
    const Keys first{
        "normals, deviations 0.05 and 0.1", Distribution::normal, {{0.3, 0.05, 1}, {0.7, 0.1, 1}}};
    const Keys second{"normal, deviation 0.58", Distribution::normal, {{0.5, 0.58, 1}}};
    for (const auto& [keys, batch] : {std::pair{first, std::uint64_t{4096}}, {second, kMost}}) {
      Choice choice = list(Variant::gpu_ph, 320);
      choice.keys = keys;
      choice.batch = batch;
      add(as(choice, Variant::gpu_basic));
      add(choice, as(choice, Variant::gpu_basic));
      Choice ours = lines();
      ours.keys = keys;
      ours.batch = batch;
      add(ours, as(choice, Variant::gpu_basic));
    }
  }

  /// What do n tables change when the hash is bad for the keys, and when it is not?
  void bad_hash() {
    const auto compare = [&](const Keys& keys, Hash hash, std::uint32_t tables) {
      Choice choice = list(Variant::gpu_ph, tables);
      choice.keys = keys;
      choice.hash = hash;
      Choice ours = lines(tables);
      ours.keys = keys;
      if (keys.collide) ours.hash = hash;
      for (const Choice& one : {as(choice, Variant::gpu_big), choice, ours}) {
        Choice single = one;
        single.tables = 1;
        add(one, single, collisions(load(one).preload, subject(one)->placement()));
      }
    };
    for (const std::uint32_t tables : {1U, 5U, 20U, 50U, 100U, 320U})
      compare(of_colliding_keys(), Hash::pjw, tables);
    for (const std::uint32_t tables : {1U, 50U, 320U}) compare(normal_keys(0.01), Hash::dek, tables);
  }

  void blocks() {
    for (const Variant variant : {Variant::gpu_basic, Variant::gpu_ph, Variant::gpu_big})
      for (const std::uint64_t batch : {std::uint64_t{1} << 14, kMost})
        for (const int threads : {64, 128, 256, 512, 1024}) {
          Choice choice = list(variant, variant == Variant::gpu_basic ? 1 : 320);
          choice.batch = batch;
          choice.threads = threads;
          add(choice);
        }
  }

  void cpu_threads() {
    for (const Variant variant : {Variant::cpu_basic, Variant::cpu_ph})
      for (const int count : {1, 2, 4, 8, 16, 32}) {
        if (static_cast<unsigned>(count) > threads()) break;
        Choice choice = list(variant, variant == Variant::cpu_basic ? 1 : 320);
        choice.threads = count;
        add(choice);
      }
  }

  int rounds_;
  std::vector<std::string> parts_;
  JsonRecords records_;
  std::map<std::string, std::unique_ptr<Load>> loads_;
  std::map<Choice, Sample> samples_;
};

int run(int argc, char** argv) {
  int rounds = 7;
  std::vector<std::string> parts;
  std::string out;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    const auto value = [&argument](std::string_view prefix) {
      return argument.starts_with(prefix) ? argument.c_str() + prefix.size() : nullptr;
    };
    if (const char* part = value("--part="))
      parts.emplace_back(part);
    else if (const char* count = value("--rounds="))
      rounds = std::max(1, std::atoi(count));
    else if (const char* file = value("--benchmark_out="))
      out = file;
    else if (value("--benchmark_out_format=") == nullptr)
      throw BadInput("usage: gpu_bench_table_figures [--part=NAME]... [--rounds=N] [--benchmark_out=FILE]");
  }
  const std::string text = Bench(rounds, parts).run();
  if (!out.empty()) write_file_atomically(out, text);
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
