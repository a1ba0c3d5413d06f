// gpu_bench_fold: how fast does a GPU fold one long sequence, batches of middle ones and many short ones?
//
// Fixed: random sequences of fixed seeds, and those of --fasta FILE. Timed: `wall_ms` the whole call from
// strings to energies and structures (each checked loop by loop on the host), `fill_ms` and `finish_ms`
// between events on the device: C and M; f, energies and structures. Medians of --rounds after one that is
// not counted; of calls of more than two seconds one is counted. `cells` is the number of pairs i < j,
// `splits` what a dense product would try, n^3 / 6. --write makes a FASTA file of each case for other
// programs, and one of the energies, a line each [0.01 kcal/mol].
//
// --cpu 1 also folds each case once on all threads of the CPU; `start` is a process's first call, of four
// bases.
//
//   gpu_bench_fold [--cpu 1] [--rounds N] [--fasta FILE] [--json FILE] [--only NAME] [--write FOLDER]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fasta.hpp"
#include "fold/gpu_fold.hpp"
#include "oracle/random.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/fold/fold.hpp"
#include "warploom/json/json.hpp"

namespace warploom::fold {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> sequences;
  bool structures;
};

std::vector<std::string> random_sequences(std::size_t count, std::size_t n, std::uint32_t seed) {
  Random random(seed);
  std::vector<std::string> all(count, std::string(n, 'A'));
  for (std::string& one : all)
    for (char& letter : one) letter = "ACGU"[random.below(4)];
  return all;
}

/// All single-point mutants of the first bases of a random sequence: 3 a base.
std::vector<std::string> random_mutants(std::size_t count, std::size_t n, std::uint32_t seed) {
  const std::string whole = random_sequences(1, n, seed).front();
  std::vector<std::string> all;
  for (std::size_t k = 0; all.size() < count; ++k)
    for (const char letter : std::string_view("ACGU"))
      if (letter != whole[k]) all.push_back(whole), all.back()[k] = letter;
  return all;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// NAME.fa and NAME.energies, the name's letters and digits.
void write(const std::string& folder, const Case& one, const std::vector<Folding>& all) {
  std::string name;
  for (const char c : one.name)
    if (c != ',' && c != ' ') name += c;
  std::ofstream fasta(folder + "/" + name + ".fa"), energies(folder + "/" + name + ".energies");
  for (std::size_t k = 0; k < all.size(); ++k) {
    fasta << '>' << k + 1 << '\n' << one.sequences[k] << '\n';
    energies << all[k].energy << '\n';
  }
  if (!fasta.flush() || !energies.flush()) throw BadInput("cannot write into " + folder);
}

Json measure(const Case& one, const LoopTables& tables, int rounds, const std::string& folder, bool cpu) {
  std::vector<double> wall, fill, finish, prepare, results;
  double energy = 0;
  for (int round = 0; round <= rounds; ++round) {
    gpu::Times times;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Folding> all = gpu::fold_on_gpu(one.sequences, tables, one.structures, &times);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    double sum = 0;
    for (const Folding& folding : all) sum += folding.energy;
    if (round > 0 && sum != energy) throw Internal("two rounds gave different energies");
    energy = sum;
    if (round == 0) {
      if (!folder.empty()) write(folder, one, all);
      if (seconds > 2) rounds = std::min(rounds, 1);
      continue;
    }
    wall.push_back(seconds * 1e3), fill.push_back(times.fill * 1e3), finish.push_back(times.finish * 1e3);
    prepare.push_back(times.prepare * 1e3), results.push_back(times.results * 1e3);
  }
  double cpu_seconds = 0;
  if (cpu) {
    const auto begin = std::chrono::steady_clock::now();
    double sum = 0;
    for (const Folding& folding : fold(one.sequences, Model{}, {.devices = {Device::cpu}}))
      sum += folding.energy;
    cpu_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (sum != energy) throw Internal("CPU and GPU gave different energies");
    std::printf("%-26s CPU %.2f ms, %u threads\n", one.name.c_str(), cpu_seconds * 1e3, threads());
  }
  double cells = 0, splits = 0;
  for (const std::string& sequence : one.sequences) {
    const double n = static_cast<double>(sequence.size());
    cells += n * (n - 1) / 2, splits += n * n * n / 6;
  }
  const double kernels = (median(fill) + median(finish)) / 1e3;
  std::printf(
      "%-26s wall %9.2f ms  fill %9.2f  finish %8.2f  prepare %7.2f  results %7.2f  %6.2f Gcells/s  mean %.2f\n",
      one.name.c_str(), median(wall), median(fill), median(finish), median(prepare), median(results),
      cells / median(fill) / 1e6, energy / 100. / static_cast<double>(one.sequences.size()));
  std::fflush(stdout);
  return {{"name", one.name},
          {"sequences", one.sequences.size()},
          {"bases", one.sequences.front().size()},
          {"structures", one.structures},
          {"rounds", rounds},
          {"wall_ms", median(wall)},
          {"fill_ms", median(fill)},
          {"finish_ms", median(finish)},
          {"prepare_ms", median(prepare)},
          {"results_ms", median(results)},
          {"cpu_ms", cpu ? Json(cpu_seconds * 1e3) : Json()},
          {"cells", cells},
          {"cells_per_s", cells / median(fill) * 1e3},
          {"splits_per_s", splits / kernels},
          {"mean_energy_kcal", energy / 100. / static_cast<double>(one.sequences.size())}};
}

int run(int argc, char** argv) {
  int rounds = 3;
  bool cpu = false;
  std::string fasta, json, only, folder;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view name = argv[k];
    if (name == "--rounds")
      rounds = std::atoi(argv[k + 1]);
    else if (name == "--fasta")
      fasta = argv[k + 1];
    else if (name == "--json")
      json = argv[k + 1];
    else if (name == "--only")
      only = argv[k + 1];
    else if (name == "--cpu")
      cpu = std::string_view(argv[k + 1]) == "1";
    else if (name == "--write")
      folder = argv[k + 1];
    else
      throw BadInput(std::string("no such option: ") + argv[k]);
  }
  if (cuda_devices().devices.empty()) throw NoDevice(cuda_devices().absent);
  const Loops loops(Model{});
  const LoopTables tables(loops);
  const auto begin = std::chrono::steady_clock::now();
  gpu::fold_on_gpu(std::vector<std::string>{"ACGU"}, tables);
  const double start = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("start %.1f ms\n", start * 1e3);
  Json list = Json::array();
  const auto add = [&](const std::string& name, bool structures, auto sequences) {
    if (!only.empty() && !name.starts_with(only)) return;
    list.push_back(measure({name, sequences(), structures}, tables, rounds, folder, cpu));
    if (!json.empty())
      std::ofstream(json) << Json{{"device", cuda_devices().devices.front().name},
                                  {"start_ms", start * 1e3},
                                  {"cases", list}}
                                 .dump(1)
                          << '\n';
  };
  std::string gc;
  for (int k = 0; k < 2'000; ++k) gc += "GC";
  add("1 x 10,000", true, [] { return random_sequences(1, 10'000, 1); });
  if (!fasta.empty()) add("virus", true, [&] { return std::vector{read_fasta(fasta)}; });
  add("1 x 29,903 random", true, [] { return random_sequences(1, 29'903, 2); });
  add("1 x 4,000", true, [] { return random_sequences(1, 4'000, 11); });
  add("100 x 500", true, [] { return random_sequences(100, 500, 12); });
  add("1 x 1,000", true, [] { return random_sequences(1, 1'000, 7); });
  add("256 x 900", false, [] { return random_sequences(256, 900, 3); });
  add("256 x 900, structures", true, [] { return random_sequences(256, 900, 3); });
  add("3,000 x 1,200", false, [] { return random_sequences(3'000, 1'200, 4); });
  add("3,000 x 1,200, structures", true, [] { return random_sequences(3'000, 1'200, 4); });
  add("400 x 5,601", true, [] { return random_sequences(400, 5'601, 5); });
  add("20,000 x 100, structures", true, [] { return random_sequences(20'000, 100, 6); });
  add("1,000,000 x 100, structures", true, [] { return random_sequences(1'000'000, 100, 6); });
  add("3,000,000 x 120", false, [] { return random_sequences(3'000'000, 120, 8); });
  add("9,000 x 3,000, mutants", false, [] { return random_mutants(9'000, 3'000, 9); });
  add("(GC) of 4,000", true, [&] { return std::vector{gc}; });
  add("1 x 100,000", true, [] { return random_sequences(1, 100'000, 10); });
  return 0;
}

}  // namespace
}  // namespace warploom::fold

int main(int argc, char** argv) {
  try {
    return warploom::fold::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench_fold: %s\n", error.what());
    return 1;
  }
}
