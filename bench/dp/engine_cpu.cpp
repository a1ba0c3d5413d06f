// Question: how many (add, min) pairs a second does the engine do on this CPU, and what share is that of what
// the processor can do in registers alone, by size, type, threads, block and decomposition? Beside it the
// triple loop that anybody writes first, in one thread: the reference of the dissertation's Figure 16. Fixed:
// random leaves, no weights. Timed: the solution (Report::seconds), the least of several; ceilings in the
// same run, per thread. `--out FILE` writes the JSON there, `--largest N` stops at smaller problems.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "ceiling_cpu.hpp"
#include "core/instruction_sets.hpp"
#include "plain_loops.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/dp/solve.hpp"
#include "warploom/json/json.hpp"

namespace {

using namespace warploom;
using namespace warploom::dp;

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr std::array<std::string_view, 5> kTypes = {"int16", "int32", "int64", "float32", "float64"};
constexpr std::array<int, 5> kTypeBytes = {2, 4, 8, 4, 8};

/// Pairs a second of one thread, of each of kTypes.
std::array<double, 5> ceilings() {
  const Ceiling& ceiling = *WARPLOOM_PICK(ceiling);
  constexpr std::int64_t kRounds = 1 << 14;  // some 0.1 ms: between interruptions
  std::array<double, 5> rates{};
  for (std::size_t t = 0; t < rates.size(); ++t) {
    alignas(64) std::array<char, 64> vector{};
    double least = std::numeric_limits<double>::max();
    for (int repeat = 0; repeat < 2000; ++repeat)
      least = std::min(least, seconds_of([&] { ceiling.run[t](kRounds, vector.data()); }));
    rates[t] = static_cast<double>(kRounds * ceiling.accumulators * (ceiling.bytes / kTypeBytes[t])) / least;
  }
  return rates;
}

template <class T>
Problem<T> random_chain(std::int64_t n) {
  std::mt19937 random(1);
  Problem<T> problem;
  problem.leaves.resize(static_cast<std::size_t>(n));
  for (T& leaf : problem.leaves) leaf = static_cast<T>(random() % 64);
  return problem;
}

class Runs {
 public:
  Runs(std::array<double, 5> ceilings, Json& rows) : ceilings_(ceilings), rows_(rows) {}

  template <class T>
  void solve_one(const Problem<T>& problem, const Options& options) {
    const auto n = static_cast<std::int64_t>(problem.leaves.size());
    Report best;
    best.seconds = std::numeric_limits<double>::max();
    for (int repeat = 0; repeat < (n <= 1024 ? 20 : n <= 4096 ? 5 : 2); ++repeat)
      if (const Report report = solve(problem, options).report(); report.seconds < best.seconds)
        best = report;
    const auto type = std::ranges::find(kTypes, best.storage) - kTypes.begin();
    const double rate = best.pairs / best.seconds;
    rows_.push_back({{"n", n},
                     {"storage", best.storage},
                     {"threads", threads()},
                     {"decomposition", std::string(name(best.decomposition))},
                     {"block", best.block},
                     {"seconds", best.seconds},
                     {"rectangular_seconds", best.rectangular_seconds},
                     {"triangular_seconds", best.triangular_seconds},
                     {"Gpairs_per_s", rate * 1e-9},
                     {"share_of_ceiling", rate / (ceilings_[static_cast<std::size_t>(type)] * threads())}});
    fmt::print(stderr, "{}\n", rows_.elements().back().dump());
  }

 private:
  std::array<double, 5> ceilings_;  // pairs/s of a thread
  Json& rows_;
};

Json plain_loops(std::int64_t n) {
  const Problem<float> problem = random_chain<float>(n);
  const PlainLoops plain = run_plain_loops(problem.leaves);
  if (plain.optimum != solve(problem).optimum()) throw Internal("the plain loops have another optimum");
  const double pairs = static_cast<double>(n + 1) * static_cast<double>(n) * static_cast<double>(n - 1) / 6;
  return {{"n", n},
          {"storage", "float32"},
          {"seconds", plain.seconds},
          {"Gpairs_per_s", pairs / plain.seconds * 1e-9}};
}

template <class T>
void by_size(Runs& runs, std::int64_t largest, Storage storage) {
  for (std::int64_t n = 256; n <= largest; n *= 2) {
    Options options;
    options.run.devices = {Device::cpu};
    options.storage = storage;
    options.phases = true;
    runs.solve_one(random_chain<T>(n), options);
  }
}

Json measure(std::int64_t largest) {
  Json result;
  const auto per_thread = ceilings();
  for (std::size_t t = 0; t < kTypes.size(); ++t)
    result["ceiling_Gpairs_per_s"][std::string(kTypes[t])] = per_thread[t] * 1e-9;
  for (std::int64_t n = 256; n <= std::min<std::int64_t>(largest, 4096); n *= 2)
    result["plain_loops"].push_back(plain_loops(n));
  Json& rows = result["engine"] = Json::array();
  Runs runs(per_thread, rows);
  const unsigned all = threads();
  for (unsigned count = 1; count <= all; count = count < all && count * 2 > all ? all : count * 2) {
    const RunScope scope({.threads = count});
    by_size<std::int32_t>(runs, largest, Storage::plain);
    by_size<std::int32_t>(runs, largest, Storage::narrow);
    by_size<std::int64_t>(runs, largest, Storage::plain);
    by_size<float>(runs, largest, Storage::plain);
    by_size<double>(runs, largest, Storage::plain);
    for (const Decomposition decomposition :
         {Decomposition::bottom_up, Decomposition::divide_and_conquer, Decomposition::printed})
      for (int block = 16; block <= 512; block *= 2) {
        Options options;
        options.run.devices = {Device::cpu};
        options.decomposition = decomposition;
        options.block = block;
        options.storage = Storage::plain;
        options.phases = true;
        runs.solve_one(random_chain<std::int32_t>(std::min<std::int64_t>(largest, 4096)), options);
      }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  std::int64_t largest = 8192;
  std::string out;
  for (int a = 1; a + 1 < argc; a += 2) {
    if (std::string_view(argv[a]) == "--out") out = argv[a + 1];
    if (std::string_view(argv[a]) == "--largest") largest = std::strtoll(argv[a + 1], nullptr, 10);
  }
  const std::string text = measure(largest).dump(1) + "\n";
  if (out.empty())
    std::fputs(text.c_str(), stdout);
  else
    write_file_atomically(out, text);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
