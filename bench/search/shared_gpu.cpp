// gpu_bench_search_shared: how much faster do several GPUs find the same?
//
// Question, a list of records in the JSON:
//   best  seconds of Index::best() on 1, 2, ... GPUs: one pattern in one long channel, which is cut; 18
//         channels in 18 others, whose pairs are dealt out; one path of 8 channels; without lower bounds and
//         with them
//
// Fixed: random walks. Timed: the call, the recording on the GPUs already; the median of --rounds, GPUs in
// turns. What is found is compared with what one GPU finds: exits with 1 where a bit differs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

struct Settings {
  int rounds = 5;
  std::vector<Device> devices = {};
  std::string json = {};
};

std::vector<float> walk(std::size_t samples, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> all;
  float at = 0;
  for (std::size_t i = 0; i < samples; ++i)
    all.push_back(at += static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1));
  return all;
}

std::vector<float> part(const std::vector<float>& samples, std::size_t first, std::size_t count) {
  return {samples.begin() + static_cast<std::ptrdiff_t>(first),
          samples.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) { records_.list("best"); }

  template <class SomePattern, class SomeTask>
  void run(const std::string& what, const std::vector<std::vector<float>>& channels,
           const std::vector<SomePattern>& patterns, const std::vector<SomeTask>& tasks, Prune prune) {
    const Signal signal(channels.begin(), channels.end());
    std::vector<Index> indices;
    for (std::size_t count = 1; count <= settings_.devices.size(); ++count)
      indices.emplace_back(
          signal,
          IndexOptions{.run = {.devices = {settings_.devices.begin(),
                                           settings_.devices.begin() + static_cast<std::ptrdiff_t>(count)}},
                       .prune = prune});
    std::vector<std::vector<double>> seconds(indices.size()), in_kernels(indices.size());
    std::vector<std::vector<Candidate>> want;
    for (int round = 0; round <= settings_.rounds; ++round)
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const double kernels_before = indices[k].effort().device_seconds;
        const auto begin = std::chrono::steady_clock::now();
        const auto found = indices[k].best(patterns, tasks);
        const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (k == 0) want = found;
        if (found != want) differs_ = true;
        if (round == 0) continue;  // loads kernels
        seconds[k].push_back(time);
        in_kernels[k].push_back(indices[k].effort().device_seconds - kernels_before);
      }
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const double time = median(seconds[k]);
      records_.add(fmt::format(
          R"({{"what": "{}", "bounds": "{}", "channels": {}, "samples": {}, "tasks": {}, "gpus": {}, "seconds": {}, "least": {}, "most": {}, "seconds_in_kernels": {}, "times_one": {}, "same_as_one": {}}})",
          what, prune == Prune::never ? "never" : "automatic", channels.size(), channels[0].size(),
          tasks.size(), k + 1, json_number(time), json_number(std::ranges::min(seconds[k])),
          json_number(std::ranges::max(seconds[k])), json_number(median(in_kernels[k])),
          json_number(median(seconds[0]) / time), !differs_));
    }
  }

  int finish() const {
    if (!settings_.json.empty()) std::ofstream(settings_.json) << records_.text();
    if (differs_)
      std::fprintf(stderr, "gpu_bench_search_shared: several GPUs found something else than one\n");
    return differs_ ? 1 : 0;
  }

 private:
  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  const Settings& settings_;
  JsonRecords records_;
  bool differs_ = false;
};

int run(const Settings& settings) {
  Bench bench(settings);
  for (const Prune prune : {Prune::never, Prune::automatic}) {
    {
      const std::vector<std::vector<float>> channels{walk(8'000'000, 1)};
      const std::vector<Pattern> patterns{{.samples = part(channels[0], 1'000'000, 512), .radius = 51}};
      bench.run("one channel in one, m = 512, band 51, p = 100", channels, patterns,
                std::vector<Task>{{.limit = 100, .exclusion = 256}}, prune);
    }
    std::vector<std::vector<float>> channels;
    for (unsigned c = 0; c < 18; ++c) channels.push_back(walk(400'000, c + 2));
    std::vector<Pattern> patterns;
    std::vector<Task> tasks;
    for (std::int32_t q = 0; q < 18; ++q) {
      patterns.push_back(
          {.samples = part(channels[static_cast<std::size_t>(q)], 100'000, 256), .radius = 25});
      for (std::int32_t c = 0; c < 18; ++c)
        tasks.push_back({.channel = c, .first_pattern = q, .limit = 100, .exclusion = 128});
    }
    bench.run("18 channels in 18, m = 256, band 25, p = 100", channels, patterns, tasks, prune);
  }
  std::vector<std::vector<float>> channels;
  JointPattern joint{.radius = 25};
  for (unsigned c = 0; c < 8; ++c) {
    channels.push_back(walk(2'000'000, c + 30));
    joint.samples.push_back(part(channels.back(), 100'000, 256));
    joint.channels.push_back(static_cast<std::int32_t>(c));
  }
  bench.run("one path of 8 channels, m = 256, band 25, p = 20", channels, std::vector<JointPattern>{joint},
            std::vector<JointTask>{{.limit = 20, .exclusion = 128}}, Prune::automatic);
  return bench.finish();
}

}  // namespace
}  // namespace warploom::search

int main(int count, char** arguments) {
  using namespace warploom;
  try {
    search::Settings settings;
    std::string devices = "cuda:all";
    for (int k = 1; k + 1 < count; k += 2) {
      const std::string word = arguments[k], value = arguments[k + 1];
      if (word == "--rounds") settings.rounds = std::stoi(value);
      if (word == "--json") settings.json = value;
      if (word == "--device") devices = value;
    }
    settings.devices = parse_devices(devices);
    return search::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench_search_shared: %s\n", error.what());
    return 1;
  }
}
