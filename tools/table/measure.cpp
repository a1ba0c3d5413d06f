#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tool {
namespace {

using table::Operation;
using table::Outcome;

template <class Part>
double median(const std::vector<table::BatchReport>& rounds, Part part) {
  std::vector<double> seconds;
  for (const table::BatchReport& round : rounds) seconds.push_back(round.*part);
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
    require_memory(experiment.batch * (2 + sizeof(Key) + 2 * sizeof(Value)),
                   fmt::format("a batch of {} operations", grouped(experiment.batch)));
  }

  Measurement run() && {
    const Experiment& e = result_.experiment;
    preload();
    result_.pairs_before = table_.size();
    const bool fills = e.workload.mix.insert > 0 && e.workload.mix.erase == 0;
    const auto rounds = static_cast<std::uint64_t>(e.rounds);
    Progress progress(fmt::format("measuring {} tables, batches of {}", e.table.tables, grouped(e.batch)),
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
      const table::BatchReport report = table_.run(operations_, keys_, operands_, outcomes_, values_);
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
    const Stopwatch watch;
    for (std::uint64_t first = 0; first < pairs; first += keys_.size()) {
      prepare(std::min(batch, pairs - first));
      workload_.preload(first, keys_);
      std::ranges::copy(keys_, operands_.begin());
      const std::uint64_t before = table_.size();
      const table::BatchReport report = table_.run(Operation::insert, keys_, operands_, {}, {});
      check(before, report.tally);
      if (report.tally.full > 0)
        throw OutOfMemory(fmt::format("the table is full with {} of {} pairs to put in before",
                                      grouped(table_.size()), grouped(pairs)));
      progress.advance(keys_.size());
    }
    result_.preload_seconds = watch.seconds();
  }

  void check(std::uint64_t before, const table::Tally& tally) const {
    const std::uint64_t after = table_.size();
    if (after != before + tally.inserted - tally.erased)
      throw Internal(fmt::format("{}: {} pairs, {} inserted and {} erased leave {}", result_.description,
                                 before, tally.inserted, tally.erased, after));
  }

  void count(const table::BatchReport& report) {
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

  table::Workload<Key> workload_;
  table::HashTable<Key, Value> table_;
  Measurement result_;
  std::vector<Operation> operations_;
  std::vector<Key> keys_;
  std::vector<Value> operands_, values_;
  std::vector<Outcome> outcomes_;
};

double mean(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
}

}  // namespace

Measurement measure(const Experiment& e) {
  if (e.key_bits == 32)
    return e.value_bits == 32 ? Measuring<std::uint32_t, std::uint32_t>(e).run()
                              : Measuring<std::uint32_t, std::uint64_t>(e).run();
  return e.value_bits == 32 ? Measuring<std::uint64_t, std::uint32_t>(e).run()
                            : Measuring<std::uint64_t, std::uint64_t>(e).run();
}

std::string Success::text() const {
  return all == 0 ? "-" : fmt::format("{:.0f} %", 100 * static_cast<double>(good) / static_cast<double>(all));
}

double Measurement::kernel_seconds() const { return median(rounds, &table::BatchReport::kernel_seconds); }
double Measurement::transfer_seconds() const { return median(rounds, &table::BatchReport::transfer_seconds); }
double Measurement::wall_seconds() const { return median(rounds, &table::BatchReport::wall_seconds); }

double Measurement::retries_per_operation() const {
  std::uint64_t retries = 0;
  for (const table::BatchReport& round : rounds) retries += round.retries;
  return static_cast<double>(retries) / static_cast<double>(operations());
}

std::uint64_t Measurement::longest_chain() const {
  return statistics.chain_lengths.empty() ? 0 : statistics.chain_lengths.size() - 1;
}

double Measurement::fullest_table() const {
  const std::vector<std::uint64_t>& pairs = statistics.pairs_per_table;
  if (pairs.size() < 2 || statistics.pairs == 0) return 1;
  return static_cast<double>(std::ranges::max(pairs)) / mean(pairs);
}

Json as_json(const Measurement& m) {
  const Experiment& e = m.experiment;
  Json rounds = Json::array();
  for (const table::BatchReport& round : m.rounds)
    rounds.push_back({{"kernel", round.kernel_seconds},
                      {"transfer", round.transfer_seconds},
                      {"wall", round.wall_seconds},
                      {"retries", round.retries}});
  Json normals = Json::array();
  for (const table::Normal& part : e.workload.normals)
    normals.push_back({{"mean", part.mean}, {"deviation", part.deviation}, {"weight", part.weight}});
  Json workload{{"distribution", name(e.workload.distribution)},
                {"preload", e.workload.preload},
                {"seed", e.workload.seed},
                {"mix",
                 {{"insert", e.workload.mix.insert},
                  {"erase", e.workload.mix.erase},
                  {"find", e.workload.mix.find()}}}};
  if (e.workload.distribution == table::Distribution::normal) workload["normals"] = std::move(normals);
  if (e.workload.universe > 0) workload["universe"] = e.workload.universe;
  if (e.workload.distribution == table::Distribution::zipf) workload["exponent"] = e.workload.exponent;
  return {{"table", m.description},
          {"structure", e.table.structure == table::Structure::lines ? "lines" : "list"},
          {"tables", e.table.tables},
          {"buckets", e.table.buckets},
          {"hash", name(e.table.hash)},
          {"assignment", name(e.table.assignment)},
          {"key_bits", e.key_bits},
          {"value_bits", e.value_bits},
          {"threads", e.table.run.threads},
          {"threads_per_block", e.table.threads_per_block},
          {"workload", std::move(workload)},
          {"batch", e.batch},
          {"operations_per_second", m.rate()},
          {"seconds",
           {{"preload", m.preload_seconds},
            {"kernel", m.kernel_seconds()},
            {"transfer", m.transfer_seconds()},
            {"wall", m.wall_seconds()}}},
          {"retries_per_operation", m.retries_per_operation()},
          {"outcomes",
           {{"inserted", m.inserts.good},
            {"not_inserted", m.inserts.all - m.inserts.good},
            {"erased", m.erases.good},
            {"not_erased", m.erases.all - m.erases.good},
            {"found", m.finds.good},
            {"not_found", m.finds.all - m.finds.good},
            {"full", m.full}}},
          {"rounds", std::move(rounds)},
          {"pairs_before", m.pairs_before},
          {"pairs", m.statistics.pairs},
          {"bytes",
           {{"directory", m.statistics.bytes_directory},
            {"nodes", m.statistics.bytes_nodes},
            {"free", m.statistics.bytes_free}}},
          {"chain_lengths", m.statistics.chain_lengths},
          {"pairs_per_table", m.statistics.pairs_per_table}};
}

std::string chains_text(const table::Statistics& statistics) {
  constexpr std::size_t kBars = 24;
  constexpr double kWidth = 50;
  const std::vector<std::uint64_t>& lengths = statistics.chain_lengths;
  if (lengths.empty()) return "";
  // As many lengths a bar as make at most kBars of them.
  const std::size_t step = (lengths.size() + kBars - 1) / kBars;
  std::vector<std::vector<std::string>> rows{{"pairs", "chains", ""}};
  std::vector<std::uint64_t> bars;
  for (std::size_t first = 0; first < lengths.size(); first += step) {
    const std::size_t end = std::min(first + step, lengths.size());
    bars.push_back(std::accumulate(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                                   lengths.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0}));
    rows.push_back({end - first == 1 ? std::to_string(first) : fmt::format("{}-{}", first, end - 1),
                    grouped(bars.back()), ""});
  }
  const double most = static_cast<double>(std::ranges::max(bars));
  for (std::size_t k = 0; k < bars.size(); ++k) {
    std::string& bar = rows[k + 1].back();
    bar = std::string(static_cast<std::size_t>(std::ceil(kWidth * static_cast<double>(bars[k]) / most)), '#');
    bar.resize(static_cast<std::size_t>(kWidth), ' ');
  }
  return columns(rows);
}

std::string occupancy_text(const table::Statistics& statistics) {
  const std::vector<std::uint64_t>& pairs = statistics.pairs_per_table;
  if (pairs.size() < 2) return "";
  const double middle = mean(pairs);
  double squares = 0;
  for (const std::uint64_t count : pairs) {
    const double off = static_cast<double>(count) - middle;
    squares += off * off;
  }
  return fmt::format("{} tables: {} to {} pairs, mean {:.1f}, deviation {:.1f} % of it\n", pairs.size(),
                     grouped(std::ranges::min(pairs)), grouped(std::ranges::max(pairs)), middle,
                     middle > 0 ? 100 * std::sqrt(squares / static_cast<double>(pairs.size())) / middle : 0);
}

}  // namespace warploom::tool
