#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "command.hpp"

namespace warploom::tool {
namespace {

double mean(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
}

}  // namespace

std::string share_text(const table::Success& success) {
  const auto all = static_cast<double>(success.all);
  return success.all == 0 ? "-" : fmt::format("{:.0f} %", 100 * static_cast<double>(success.good) / all);
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
          {"threads", current_run().threads},
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
