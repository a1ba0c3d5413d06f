// gpu_bench_dp_shared: how much faster is one problem on several GPUs?
//
// Question, a list of records in the JSON:
//   solve  seconds of one problem on 1, 2, ... GPUs over its size: most base pairs of a random sequence in 16
//          bits a cell, and random weights in int32 and float32; on one also a launch a diagonal (bottom-up),
//          which may be the faster one there
//
// Timed: on one GPU its kernel, between two events; on several the host's clock from before the first kernel
// until all have ended, all data resident; the median of --rounds, GPUs in turns. Optimum and all decisions
// are compared with those of one GPU, up to --table points all cells, too: exits with 1 where they differ.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "warploom/core/error.hpp"
#include "warploom/dp/solve.hpp"

namespace warploom::dp {
namespace {

struct Settings {
  int rounds = 3;
  std::vector<std::int64_t> sizes{8192, 16384, 32768, 65536};
  std::int64_t table = 16384;
  std::vector<Device> devices{};
  std::string kinds = "narrow,int32,float32", json;
};

template <Value T>
Problem<T> weighted(std::int64_t points) {
  std::mt19937 random(static_cast<unsigned>(points));
  const auto values = [&](std::int64_t count) {
    std::vector<T> all(static_cast<std::size_t>(count));
    for (T& value : all) value = static_cast<T>(random() % 100);
    return all;
  };
  Problem<T> problem;
  problem.leaves = values(points - 1);
  problem.row_weight = values(points);
  problem.column_weight = values(points);
  return problem;
}

Problem<std::int32_t> base_pairs(std::int64_t points) {
  using T = std::int32_t;
  constexpr T kNone = -kUnreachable<T>;
  std::mt19937 random(static_cast<unsigned>(points));
  Problem<T> problem;
  problem.optimum = Optimum::maximum;
  problem.leaves.assign(static_cast<std::size_t>(points - 1), T(0));
  problem.pairing = Pairing<T>{.codes = {},
                               .letters = 4,
                               .scores = {kNone, kNone, kNone, 1, kNone, kNone, 1, kNone,  //
                                          kNone, 1, kNone, 1, 1, kNone, 1, kNone},
                               .minimum_span = 5};
  for (std::int64_t k = 0; k + 1 < points; ++k)
    problem.pairing->codes.push_back(static_cast<std::uint8_t>(random() % 4));
  return problem;
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) { records_.list("solve"); }

  template <Value T>
  void run(const std::string& kind, const Problem<T>& problem, Storage storage) {
    const std::size_t most = settings_.devices.size();
    std::vector<std::vector<double>> seconds(most), transfers(most);
    std::vector<std::string> same(most, "true");
    std::vector<Split> trace;
    T optimum{};
    std::optional<Triangle<T>> table;
    std::vector<double> bottom_up;
    for (int round = 0; round < settings_.rounds; ++round) {
      bottom_up.push_back(solve(problem, {.run = {.devices = {settings_.devices[0]}},
                                          .decomposition = Decomposition::bottom_up,
                                          .storage = storage})
                              .report()
                              .seconds);
      for (std::size_t count = 1; count <= most; ++count) {
        const std::vector<Device> devices(settings_.devices.begin(),
                                          settings_.devices.begin() + static_cast<std::ptrdiff_t>(count));
        const Solution<T> solution = solve(
            problem,
            {.run = {.devices = devices}, .decomposition = Decomposition::persistent, .storage = storage});
        seconds[count - 1].push_back(solution.report().seconds);
        transfers[count - 1].push_back(solution.report().transfer_seconds);
        if (round > 0) continue;
        const bool whole = problem.points() <= settings_.table + 1;
        if (count == 1) {
          trace = solution.trace();
          optimum = solution.optimum();
          if (whole) table = solution.table();
        } else if (solution.optimum() != optimum || solution.trace() != trace ||
                   (whole && !std::ranges::equal(solution.table().stored(), table->stored()))) {
          same[count - 1] = "false";
          differs_ = true;
        }
      }
    }
    const auto median = [](std::vector<double> values) {
      std::ranges::sort(values);
      return values[values.size() / 2];
    };
    const auto n = static_cast<double>(problem.leaves.size());
    const double pairs = (n + 1) * n * (n - 1) / 6;
    for (std::size_t count = 1; count <= most; ++count) {
      const double time = median(seconds[count - 1]);
      records_.add(fmt::format(
          R"({{"kind": "{}", "points": {}, "gpus": {}, "seconds": {}, "least": {}, "most": {}, "preparation_seconds": {}, "pairs_per_second": {}, "times_one": {}, "times_one_bottom_up": {}, "same_as_one": {}, "cells_compared": {}}})",
          kind, problem.points(), count, json_number(time), json_number(std::ranges::min(seconds[count - 1])),
          json_number(std::ranges::max(seconds[count - 1])), json_number(median(transfers[count - 1])),
          json_number(pairs / time), json_number(median(seconds[0]) / time),
          json_number(median(bottom_up) / time), same[count - 1], problem.points() <= settings_.table + 1));
    }
  }

  int finish() const {
    if (!settings_.json.empty()) std::ofstream(settings_.json) << records_.text();
    if (differs_) std::fprintf(stderr, "gpu_bench_dp_shared: several GPUs gave other results than one\n");
    return differs_ ? 1 : 0;
  }

 private:
  const Settings& settings_;
  JsonRecords records_;
  bool differs_ = false;
};

int run(const Settings& settings) {
  Bench bench(settings);
  for (const std::int64_t points : settings.sizes) {
    if (settings.kinds.find("narrow") != std::string::npos)
      bench.run("base pairs, int16", base_pairs(points), Storage::narrow);
    if (settings.kinds.find("int32") != std::string::npos)
      bench.run("weights, int32", weighted<std::int32_t>(points), Storage::plain);
    if (settings.kinds.find("float32") != std::string::npos)
      bench.run("weights, float32", weighted<float>(points), Storage::plain);
  }
  return bench.finish();
}

}  // namespace
}  // namespace warploom::dp

int main(int count, char** arguments) {
  using namespace warploom;
  try {
    dp::Settings settings;
    std::string devices = "cuda:all";
    for (int k = 1; k + 1 < count; k += 2) {
      const std::string word = arguments[k], value = arguments[k + 1];
      if (word == "--rounds") settings.rounds = std::stoi(value);
      if (word == "--table") settings.table = std::stoll(value);
      if (word == "--kinds") settings.kinds = value;
      if (word == "--json") settings.json = value;
      if (word == "--device") devices = value;
      if (word == "--sizes") {
        settings.sizes.clear();
        for (std::size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
          settings.sizes.push_back(std::stoll(value.substr(at)));
      }
    }
    settings.devices = parse_devices(devices);
    return dp::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench_dp_shared: %s\n", error.what());
    return 1;
  }
}
