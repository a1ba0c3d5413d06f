// gpu_bench_fold_ensemble: how fast does a GPU sum over all structures of one long sequence, of batches of
// middle ones and of many short ones?
//
// Fixed: random sequences of fixed seeds, and those of --fasta FILE. Timed: `wall_ms` the whole call from
// strings to results, and the kernels between events on the device. Medians of --rounds after one that is not
// counted; of calls of more than two seconds one is counted. `fp64_share`: multiplications with additions of
// splits (n^3 / 6 inside, n^3 / 3 outside) and of interior loops (190 a cell each way) over what the two take
// at --ceiling [TFLOPS], 2 operations each; without, what the tensor cores reach in products of registers.
//
// --cpu 1 also sums each case once on all threads of the CPU and says the largest differences.
//
// --list FILE writes the ensemble of --fasta's sequence as `warploom fold --ensemble --json` does, for
// linear_partition.py.
//
//   gpu_bench_fold_ensemble [--cpu 1] [--rounds N] [--fasta FILE [--list FILE]] [--json FILE] [--only NAME]
//                           [--ceiling T]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fasta.hpp"
#include "fold/gpu_ensemble.hpp"
#include "oracle/random.hpp"
#include "products_gpu.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/fold/ensemble.hpp"
#include "warploom/json/json.hpp"

namespace warploom::fold {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> sequences;
  EnsembleOptions options;
};

std::vector<std::string> random_sequences(std::size_t count, std::size_t n, std::uint32_t seed) {
  Random random(seed);
  std::vector<std::string> all(count, std::string(n, 'A'));
  for (std::string& one : all)
    for (char& letter : one) letter = "ACGU"[random.below(4)];
  return all;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}
double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The largest differences of energies, relative, and of unpaired bases.
Json against_the_cpu(const Case& one, const std::vector<Ensemble>& gpu) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Ensemble> cpu =
      ensembles(one.sequences, Model{}, one.options, {.devices = {Device::cpu}});
  const double seconds = seconds_since(begin);
  double energy = 0, unpaired = 0;
  for (std::size_t k = 0; k < cpu.size(); ++k) {
    energy = std::max(energy, std::abs(gpu[k].energy / cpu[k].energy - 1));
    for (std::size_t i = 0; i < cpu[k].unpaired.size(); ++i)
      unpaired = std::max(unpaired, std::abs(gpu[k].unpaired[i] - cpu[k].unpaired[i]));
  }
  std::printf("%-34s CPU %.2f ms, %u threads; energies differ by %.1e, unpaired bases by %.1e\n",
              one.name.c_str(), seconds * 1e3, threads(), energy, unpaired);
  return {{"cpu_ms", seconds * 1e3},
          {"threads", threads()},
          {"energies_differ", energy},
          {"unpaired_differ", unpaired}};
}

void write_list(const std::string& path, const Ensemble& ensemble, double seconds) {
  Json pairs = Json::array();
  for (const PairProbability& pair : ensemble.pairs)
    if (pair.probability >= 1e-5) pairs.push_back({pair.i, pair.j, pair.probability});
  const Json record = {
      {"ensemble",
       {{"energy", ensemble.energy}, {"pairs", std::move(pairs)}, {"unpaired", ensemble.unpaired}}}};
  std::ofstream(path) << Json{{"device", cuda_devices().devices.front().name},
                              {"seconds", seconds},
                              {"records", Json::array({record})}}
                             .dump()
                      << '\n';
}

Json measure(const Case& one, const Weights& weights, int rounds, bool cpu, double ceiling,
             const std::string& list) {
  std::vector<double> wall, inside, ends, outside, read, prepare, results;
  std::size_t pairs = 0;
  Json beside;
  for (int round = 0; round <= rounds; ++round) {
    gpu::EnsembleTimes times;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Ensemble> all = gpu::ensembles_on_gpu(one.sequences, weights, one.options, &times);
    const double seconds = seconds_since(begin);
    if (round == 0) {
      for (const Ensemble& ensemble : all) pairs += ensemble.pairs.size();
      if (cpu) beside = against_the_cpu(one, all);
      if (!list.empty()) write_list(list, all.front(), seconds);
      if (seconds > 2) rounds = std::min(rounds, 1);
      continue;
    }
    wall.push_back(seconds * 1e3), inside.push_back(times.inside * 1e3), ends.push_back(times.ends * 1e3),
        outside.push_back(times.outside * 1e3);
    read.push_back(times.read * 1e3), prepare.push_back(times.prepare * 1e3),
        results.push_back(times.results * 1e3);
  }
  double cells = 0, splits = 0;
  for (const std::string& sequence : one.sequences) {
    const double n = static_cast<double>(sequence.size());
    cells += n * (n - 1) / 2, splits += n * n * n / 6;
  }
  const double ways = one.options.probabilities ? 2 : 1,
               operations = 2 * (splits * (2 * ways - 1) + 190 * cells * ways);
  const double share = operations / (median(inside) + median(outside)) / 1e9 / ceiling;
  std::printf(
      "%-34s wall %9.2f ms  inside %9.2f  ends %8.2f  outside %9.2f  read %8.2f  prepare %7.2f  results %8.2f  share %.3f  pairs %zu\n",
      one.name.c_str(), median(wall), median(inside), median(ends), median(outside), median(read),
      median(prepare), median(results), share, pairs);
  std::fflush(stdout);
  return {{"name", one.name},
          {"sequences", one.sequences.size()},
          {"bases", one.sequences.front().size()},
          {"probabilities", one.options.probabilities},
          {"cutoff", one.options.cutoff},
          {"gamma", one.options.gamma},
          {"rounds", rounds},
          {"wall_ms", median(wall)},
          {"inside_ms", median(inside)},
          {"ends_ms", median(ends)},
          {"outside_ms", median(outside)},
          {"read_ms", median(read)},
          {"prepare_ms", median(prepare)},
          {"results_ms", median(results)},
          {"pairs", pairs},
          {"operations", operations},
          {"fp64_share", share},
          {"cpu", beside}};
}

int run(int argc, char** argv) {
  int rounds = 3;
  bool cpu = false;
  double ceiling = 0;
  std::string fasta, json, only, listed;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view name = argv[k];
    if (name == "--rounds")
      rounds = std::atoi(argv[k + 1]);
    else if (name == "--fasta")
      fasta = argv[k + 1];
    else if (name == "--list")
      listed = argv[k + 1];
    else if (name == "--json")
      json = argv[k + 1];
    else if (name == "--only")
      only = argv[k + 1];
    else if (name == "--cpu")
      cpu = std::string_view(argv[k + 1]) == "1";
    else if (name == "--ceiling")
      ceiling = std::atof(argv[k + 1]);
    else
      throw BadInput(std::string("no such option: ") + argv[k]);
  }
  if (cuda_devices().devices.empty()) throw NoDevice(cuda_devices().absent);
  if (ceiling == 0) ceiling = 2e-12 * products_per_second();
  std::printf("ceiling %.1f TFLOPS\n", ceiling);
  const Model model;
  const Loops loops(model);
  const Weights weights(model, loops);
  const auto begin = std::chrono::steady_clock::now();
  gpu::ensembles_on_gpu(std::vector<std::string>{"ACGU"}, weights, {});
  const double start = seconds_since(begin);
  std::printf("start %.1f ms\n", start * 1e3);
  Json list = Json::array();
  const auto add = [&](const std::string& name, const EnsembleOptions& options, bool compare,
                       auto sequences) {
    if (!only.empty() && !name.starts_with(only)) return;
    list.push_back(measure({name, sequences(), options}, weights, rounds, cpu && compare, ceiling,
                           name == "virus" ? listed : std::string()));
    if (!json.empty())
      std::ofstream(json) << Json{{"device", cuda_devices().devices.front().name},
                                  {"start_ms", start * 1e3},
                                  {"ceiling_tflops", ceiling},
                                  {"cases", list}}
                                 .dump(1)
                          << '\n';
  };
  const EnsembleOptions energies{.probabilities = false}, all{.cutoff = 1e-6},
      unpaired{.cutoff = 1, .gamma = 0}, pairs{.cutoff = 1e-6, .gamma = 0};
  add("256 x 900, energies", energies, true, [] { return random_sequences(256, 900, 3); });
  add("256 x 900, pairs alone", pairs, false, [] { return random_sequences(256, 900, 3); });
  if (!fasta.empty()) {
    add("virus, energy", energies, false, [&] { return std::vector{read_fasta(fasta)}; });
    add("virus", pairs, false, [&] { return std::vector{read_fasta(fasta)}; });
  }
  add("1,000,000 x 100, unpaired", unpaired, false, [] { return random_sequences(1'000'000, 100, 6); });
  add("256 x 900", all, true, [] { return random_sequences(256, 900, 3); });
  add("1 x 1,000", all, true, [] { return random_sequences(1, 1'000, 7); });
  add("1 x 4,000", all, true, [] { return random_sequences(1, 4'000, 11); });
  add("20,000 x 100", all, true, [] { return random_sequences(20'000, 100, 6); });
  add("1 x 10,000", all, false, [] { return random_sequences(1, 10'000, 1); });
  return 0;
}

}  // namespace
}  // namespace warploom::fold

int main(int argc, char** argv) {
  try {
    return warploom::fold::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench_fold_ensemble: %s\n", error.what());
    return 1;
  }
}
