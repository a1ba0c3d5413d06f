#include "warploom/count/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/page/text.hpp"
#include "warploom/table/list_table.hpp"

namespace warploom::table {
namespace {

template <class Part>
double median(const std::vector<BatchReport>& rounds, Part part) {
  if (rounds.empty()) throw BadInput("a measurement without rounds has no median");
  std::vector<double> seconds;
  for (const BatchReport& round : rounds) seconds.push_back(round.*part);
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

template <class Key, class Value>
class Measuring {
 public:
  explicit Measuring(const Experiment& experiment)
      : workload_(experiment.workload), table_(experiment.table) {
    result_.experiment = experiment;
    result_.experiment.workload = workload_.options();
    result_.description = table_.description();
    require_memory_for(experiment.batch, 2 + sizeof(Key) + 2 * sizeof(Value),
                       fmt::format("a batch of {} operations", page::grouped(experiment.batch)));
  }

  Measurement run() && {
    const Experiment& e = result_.experiment;
    preload();
    result_.pairs_before = table_.size();
    const bool fills = e.workload.mix.insert > 0 && e.workload.mix.erase == 0;
    const auto rounds = static_cast<std::uint64_t>(e.rounds);
    Progress progress(
        fmt::format("measuring {} tables, batches of {}", e.table.tables, page::grouped(e.batch)),
        (rounds + 1) * e.batch, "operations");
    operations_.resize(e.batch);
    outcomes_.resize(e.batch);
    for (std::uint64_t round = 0; round <= rounds; ++round) {
      if (fills && round > 0) {
        table_.clear();
        preload();
      }
      prepare(e.batch);
      workload_.operations(round * e.batch, operations_, keys_);
      std::ranges::copy(keys_, operands_.begin());
      const std::uint64_t before = table_.size();
      const BatchReport report = table_.run(operations_, keys_, operands_, outcomes_, values_);
      check(before, report.tally);
      if (round > 0) count(report);
      progress.advance(e.batch);
    }
    result_.statistics = table_.statistics();
    result_.experiment.table.buckets =
        static_cast<std::uint32_t>(std::accumulate(result_.statistics.chain_lengths.begin(),
                                                   result_.statistics.chain_lengths.end(), std::uint64_t{0}) /
                                   e.table.tables);
    return std::move(result_);
  }

 private:
  void prepare(std::uint64_t count) {
    keys_.resize(count);
    operands_.resize(count);
    values_.resize(count);
  }

  void preload() {
    const std::uint64_t pairs = result_.experiment.workload.preload;
    Progress progress("preloading", pairs, "pairs");
    const std::uint64_t batch = std::clamp<std::uint64_t>(pairs / 16, 1 << 14, 1 << 22);
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t first = 0; first < pairs; first += keys_.size()) {
      prepare(std::min(batch, pairs - first));
      workload_.preload(first, keys_);
      std::ranges::copy(keys_, operands_.begin());
      const std::uint64_t before = table_.size();
      const BatchReport report = table_.run(Operation::insert, keys_, operands_, {}, {});
      check(before, report.tally);
      if (report.tally.full > 0)
        throw OutOfMemory(fmt::format("the table is full with {} of {} pairs to put in before",
                                      page::grouped(table_.size()), page::grouped(pairs)));
      progress.advance(keys_.size());
    }
    result_.preload_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void check(std::uint64_t before, const Tally& tally) const {
    const std::uint64_t after = table_.size();
    if (after != before + tally.inserted - tally.erased)
      throw Internal(fmt::format("{}: {} pairs, {} inserted and {} erased leave {}", result_.description,
                                 before, tally.inserted, tally.erased, after));
  }

  void count(const BatchReport& report) {
    result_.rounds.push_back(report);
    result_.full += report.tally.full;
    for (std::size_t k = 0; k < operations_.size(); ++k) {
      const Operation operation = operations_[k];
      Success& success = operation == Operation::insert  ? result_.inserts
                         : operation == Operation::erase ? result_.erases
                                                         : result_.finds;
      const Outcome good = operation == Operation::insert  ? Outcome::inserted
                           : operation == Operation::erase ? Outcome::erased
                                                           : Outcome::found;
      ++success.all;
      success.good += outcomes_[k] == good;
    }
  }

  Workload<Key> workload_;
  HashTable<Key, Value> table_;
  Measurement result_;
  std::vector<Operation> operations_;
  std::vector<Key> keys_;
  std::vector<Value> operands_, values_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

Measurement measure(const Experiment& e) {
  const auto bits = [](int count) { return count == 32 || count == 64; };
  if (!bits(e.key_bits) || !bits(e.value_bits) || e.batch < 1 || e.rounds < 1)
    throw BadInput(fmt::format(
        "{} batches of {} operations on keys of {} and values of {} bits; at least one of one, of 32 or 64 bits, are measured",
        e.rounds, e.batch, e.key_bits, e.value_bits));
  if (e.key_bits == 32)
    return e.value_bits == 32 ? Measuring<std::uint32_t, std::uint32_t>(e).run()
                              : Measuring<std::uint32_t, std::uint64_t>(e).run();
  return e.value_bits == 32 ? Measuring<std::uint64_t, std::uint32_t>(e).run()
                            : Measuring<std::uint64_t, std::uint64_t>(e).run();
}

double Measurement::kernel_seconds() const { return median(rounds, &BatchReport::kernel_seconds); }
double Measurement::transfer_seconds() const { return median(rounds, &BatchReport::transfer_seconds); }
double Measurement::wall_seconds() const { return median(rounds, &BatchReport::wall_seconds); }

double Measurement::retries_per_operation() const {
  std::uint64_t retries = 0;
  for (const BatchReport& round : rounds) retries += round.retries;
  return static_cast<double>(retries) / static_cast<double>(operations());
}

std::uint64_t Measurement::longest_chain() const {
  return statistics.chain_lengths.empty() ? 0 : statistics.chain_lengths.size() - 1;
}

double Measurement::fullest_table() const {
  const std::vector<std::uint64_t>& pairs = statistics.pairs_per_table;
  if (pairs.size() < 2 || statistics.pairs == 0) return 1;
  return static_cast<double>(std::ranges::max(pairs)) /
         (static_cast<double>(statistics.pairs) / static_cast<double>(pairs.size()));
}

std::span<const Application> applications() {
  static const Application both[] = {
      {"emergencies", {{.mean = 0.3, .deviation = 0.05}, {.mean = 0.7, .deviation = 0.1}}, 4096},
      {"statistics", {{.mean = 0.5, .deviation = 0.58}}, 262144},
  };
  return both;
}

std::vector<double> key_shares(const Application& application, std::size_t parts) {
  constexpr std::size_t kMostParts = 1 << 20;
  if (parts < 1 || parts > kMostParts)
    throw BadInput(fmt::format("shares of {} parts; from 1 to {}", parts, kMostParts));
  std::vector<std::uint32_t> keys(1 << 18);
  Workload<std::uint32_t>({.distribution = Distribution::normal, .normals = application.keys})
      .operations(0, {}, keys);
  std::vector<double> shares(parts);
  for (const std::uint32_t key : keys)
    shares[(std::uint64_t{key} * parts) >> 32] += 100.0 / static_cast<double>(keys.size());
  return shares;
}

std::vector<Compared> compare_structures(const Application& application, const ComparisonOptions& options) {
  Experiment e;
  e.workload.preload = options.preload;
  e.workload.distribution = Distribution::normal;
  e.workload.normals = application.keys;
  e.workload.mix = mix_of_find(options.find);
  e.batch = application.batch;
  e.rounds = options.rounds;
  e.table = options.table;
  e.table.capacity = std::max<std::uint64_t>(options.preload, 1);
  std::vector<Compared> compared{{"ours", measure(e)}};
  const bool gpu = choose_device(one_device(options.table.run.devices, "a hash table")).is_gpu();
  for (const Variant variant :
       {gpu ? Variant::gpu_ph : Variant::cpu_ph, gpu ? Variant::gpu_basic : Variant::cpu_basic}) {
    e.table = options_of(variant, options.tables, 1024, e.table.capacity);
    e.table.run = options.table.run;
    e.table.threads_per_block = options.table.threads_per_block;
    compared.push_back({std::string(name(variant)), measure(e)});
  }
  std::ranges::reverse(compared);
  return compared;
}

}  // namespace warploom::table
