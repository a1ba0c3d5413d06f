// bench_fold_scan: how long do all windows of a genome with their shuffles, and all mutants of a sequence,
// take?
//
// Fixed: the sequence of --fasta FILE (its first --bases), windows of 120 bases. Timed: the whole call, from
// letters to results in the host's memory; of windows also with reading the file. `alone` folds each window
// by itself with the same energies, for what sharing brings on a CPU; `shuffling` makes the shuffles and
// drops them. Medians of --rounds after one that is not counted; with --rounds 1 one, counted.
//
//   bench_fold_scan --fasta FILE [--device D] [--threads N] [--bases N] [--shuffles N] [--rounds N] [--only
//   NAME] [--json FILE]
#include "warploom/fold/scan.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "fasta.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/json/json.hpp"

namespace warploom::fold {
namespace {

using Options = std::map<std::string, std::string, std::less<>>;

/// The sum of what a call gives, the same in each round, and the median of its seconds.
struct Measured {
  double seconds, sum;
};
Measured measure(int rounds, const std::function<double()>& call) {
  std::vector<double> seconds;
  double sum = 0;
  for (int round = rounds > 1 ? 0 : 1; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const double found = call();
    if (!seconds.empty() && found != sum) throw Internal("two rounds gave different results");
    sum = found;
    if (round > 0)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], sum};
}

double sum_of(const std::vector<std::int32_t>& energies) {
  return static_cast<double>(std::accumulate(energies.begin(), energies.end(), std::int64_t{0}));
}

int run(const Options& options) {
  const auto number = [&](std::string_view name, std::int64_t without) {
    const auto found = options.find(name);
    return found == options.end() ? without : std::atoll(found->second.c_str());
  };
  const auto word = [&](std::string_view name) {
    const auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  };
  const int rounds = static_cast<int>(number("--rounds", 1));
  Run run;
  run.threads = static_cast<unsigned>(number("--threads", 0));
  if (const std::string device = word("--device"); !device.empty()) run.devices = parse_devices(device);
  const RunScope scope(run);
  const auto bases = static_cast<std::size_t>(number("--bases", kMostShuffles));
  const std::string fasta = word("--fasta"), sequence = read_fasta(fasta).substr(0, bases);
  WindowOptions windows;
  WindowOptions with_shuffles = windows;
  with_shuffles.shuffles = number("--shuffles", 100);

  std::vector<std::string> each;
  for (std::int64_t k = 0; k < count_windows(std::ssize(sequence), windows); ++k)
    each.push_back(sequence.substr(static_cast<std::size_t>(k), static_cast<std::size_t>(windows.window)));
  const struct {
    std::string name;
    std::function<double()> call;
  } cases[] = {
      {"windows", [&] { return sum_of(fold_windows(sequence, windows).energies); }},
      {"windows, structures",
       [&] {
         WindowOptions structures = windows;
         structures.structures = true;
         return sum_of(fold_windows(sequence, structures).energies);
       }},
      {"alone",
       [&] {
         double sum = 0;
         for (const Folding& folding : fold(each)) sum += folding.energy;
         return sum;
       }},
      {"shuffling",
       [&] {
         std::vector<std::size_t> lengths(each.size());
         parallel_for(std::ssize(each), [&](std::int64_t k) {
           for (std::int64_t shuffle = 0; shuffle < with_shuffles.shuffles; ++shuffle)
             lengths[static_cast<std::size_t>(k)] +=
                 shuffled(each[static_cast<std::size_t>(k)], Shuffle::dinucleotides,
                          static_cast<std::uint64_t>(shuffle))
                     .size();
         });
         return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
       }},
      {"windows, shuffles, from the file",
       [&] {
         const std::string again = read_fasta(fasta).substr(0, bases);
         const Windows found = fold_windows(again, with_shuffles);
         return sum_of(found.energies) + std::accumulate(found.means.begin(), found.means.end(), 0.);
       }},
      {"mutants", [&] { return sum_of(fold_mutants(sequence).energies); }},
      {"mutants, structures", [&] { return sum_of(fold_mutants(sequence, {.structures = true}).energies); }},
  };
  Json list = Json::array();
  for (const auto& [name, call] : cases) {
    if (const std::string only = word("--only"); !only.empty() && name != only) continue;
    const Measured measured = measure(rounds, call);
    std::printf("%-34s %10.4f s  sum %.0f\n", name.c_str(), measured.seconds, measured.sum);
    std::fflush(stdout);
    list.push_back({{"name", name}, {"seconds", measured.seconds}, {"sum", measured.sum}});
  }
  if (const std::string json = word("--json"); !json.empty())
    write_file_atomically(json, Json({{"sequence", fasta.substr(fasta.find_last_of('/') + 1)},
                                      {"bases", sequence.size()},
                                      {"window", windows.window},
                                      {"shuffles", with_shuffles.shuffles},
                                      {"device", word("--device").empty() ? "cpu" : word("--device")},
                                      {"threads", threads()},
                                      {"rounds", rounds},
                                      {"measurements", std::move(list)}})
                                        .dump(2) +
                                    "\n");
  return 0;
}

}  // namespace
}  // namespace warploom::fold

int main(int argc, char** argv) {
  try {
    warploom::fold::Options options;
    for (int k = 1; k + 1 < argc; k += 2) options[argv[k]] = argv[k + 1];
    return warploom::fold::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
