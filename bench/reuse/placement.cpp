// Questions: how many bytes does each placement method take over the optimum, and how long does it take?
// Fixed: random interval graphs (tests/oracle/placement.hpp), seed 1, 400 problems a row.
// Timed: `place` alone, one problem an iteration, in turn. Counters: mean and worst bytes / optimum, over the
// problems whose optimum is proved; `unproved` is the share of the others.
#include "oracle/placement.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "warploom/reuse/place.hpp"

namespace warploom::reuse {
namespace {

using oracle::Sizes;

std::vector<PlacementProblem> problems(std::uint32_t objects, Sizes sizes) {
  std::mt19937_64 random(1);
  std::vector<PlacementProblem> all;
  for (int k = 0; k < (objects > 16 ? 40 : 400); ++k)
    all.push_back(oracle::random_intervals(random, objects, sizes));
  return all;
}

std::uint64_t without_reuse(const PlacementProblem& problem) {
  std::uint64_t bytes = 0;
  for (const auto& object : problem.objects)
    bytes = (bytes + object.alignment - 1) / object.alignment * object.alignment + object.bytes;
  return bytes;
}

/// `paper`'s partitions, but coloured in size-descending order.
std::uint64_t colour_by_descending_size(const PlacementProblem& problem) {
  std::vector<std::size_t> order(problem.objects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return problem.objects[a].bytes > problem.objects[b].bytes;
  });
  std::vector<PlacementProblem::Object> partitions;
  std::map<std::size_t, std::size_t> colour;
  for (const std::size_t i : order) {
    std::vector<bool> taken(partitions.size() + 1, false);
    for (const auto& [a, b] : problem.edges)
      if ((a == i || b == i) && colour.contains(a + b - i)) taken[colour[a + b - i]] = true;
    const auto free = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    colour[i] = free;
    if (free == partitions.size()) partitions.push_back({0, 1});
    partitions[free].bytes = std::max(partitions[free].bytes, problem.objects[i].bytes);
    partitions[free].alignment = std::max(partitions[free].alignment, problem.objects[i].alignment);
  }
  return without_reuse({partitions, {}});
}

template <typename Bytes>
void measure(benchmark::State& state, Bytes bytes) {
  const auto all = problems(static_cast<std::uint32_t>(state.range(0)), static_cast<Sizes>(state.range(1)));
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bytes(all[next++ % all.size()]));
  double sum = 0, worst = 1, proved = 0;
  for (const PlacementProblem& problem : all) {
    const Placement optimal = place(problem);
    if (!optimal.proved_optimal) continue;
    const double ratio = static_cast<double>(bytes(problem)) / static_cast<double>(optimal.bytes);
    sum += ratio;
    worst = std::max(worst, ratio);
    ++proved;
  }
  state.counters["mean"] = proved > 0 ? sum / proved : 0;
  state.counters["worst"] = worst;
  state.counters["unproved"] = 1 - proved / static_cast<double>(all.size());
}

void BM_NoReuse(benchmark::State& state) { measure(state, without_reuse); }
void BM_Paper(benchmark::State& state) {
  measure(state, [](const auto& p) { return place(p, {.method = PlacementMethod::paper}).bytes; });
}
void BM_ColourBySize(benchmark::State& state) { measure(state, colour_by_descending_size); }
void BM_Greedy(benchmark::State& state) {
  measure(state, [](const auto& p) { return place(p, {.method = PlacementMethod::greedy}).bytes; });
}
void BM_Optimal(benchmark::State& state) {
  measure(state, [](const auto& p) { return place(p).bytes; });
}

void rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"objects", "sizes"})->Unit(benchmark::kMicrosecond);
  benchmark->ArgsProduct(
      {{8, 12}, {int(Sizes::bytes), int(Sizes::words), int(Sizes::arrays), int(Sizes::padded)}});
}
BENCHMARK(BM_NoReuse)->Apply(rows);
BENCHMARK(BM_Paper)->Apply(rows);
BENCHMARK(BM_ColourBySize)->Apply(rows);
BENCHMARK(BM_Greedy)->Apply(rows);
BENCHMARK(BM_Optimal)->Apply(rows);
BENCHMARK(BM_Optimal)
    ->ArgNames({"objects", "sizes"})
    ->ArgsProduct({{16, 40}, {int(Sizes::words), int(Sizes::arrays), int(Sizes::padded)}})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(40);

}  // namespace
}  // namespace warploom::reuse
