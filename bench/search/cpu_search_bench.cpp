// Question: how fast is one pattern found in one channel on this CPU, with lower bounds and without, by
// length, kind of signal, candidates wanted and threads; and how near does a matrix come to what the
// processor can do in registers? Fixed: z-normalised, exclusion zone half a pattern. Random walk: a million
// samples, the pattern another walk, band 5 %; electrocardiogram (MIT-BIH 100): a pattern of its own, cut out
// of what is searched, 5 %; gait (Daphnet, ankle): the same, 10 %. Timed: Index and best(), the data in
// memory. Cells are those of whole bands, so that what bounds spare counts as speed; "computed" is the share
// that was computed.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cpu_ceiling.hpp"
#include "measured_cases.hpp"
#include "search/signals.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/index.hpp"

namespace {

using namespace warploom;
using namespace warploom::search;

void search_one(benchmark::State& state, const Case& data, double band, std::int64_t limit, bool prune,
                int threads) {
  const RunScope scope({.threads = static_cast<unsigned>(threads)});
  const auto length = std::ssize(data.pattern);
  const std::vector<Pattern> patterns = {{.samples = data.pattern, .radius = band_radius(band, length)}};
  const std::vector<Task> tasks = {{.limit = limit, .exclusion = length / 2}};
  double cells = 0, computed = 0;
  for (auto _ : state) {
    Index index({data.signal},
                {.run = {.devices = {Device::cpu}}, .prune = prune ? Prune::automatic : Prune::never});
    benchmark::DoNotOptimize(index.best(patterns, tasks));
    cells += static_cast<double>(index.effort().windows) *
             static_cast<double>(band_cells(length, patterns[0].radius));
    computed += static_cast<double>(index.effort().cells);
  }
  state.counters["cells"] = benchmark::Counter(cells, benchmark::Counter::kIsRate);
  state.counters["computed"] = computed / cells;
}

void ceiling(benchmark::State& state) {
  const Ceiling& ceiling = *WARPLOOM_PICK(ceiling);
  alignas(64) float vector[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  double cells = 0;
  for (auto _ : state) cells += static_cast<double>(ceiling.run(1 << 14, vector));
  state.counters["cells"] = benchmark::Counter(cells, benchmark::Counter::kIsRate);
}

void add(const std::string& name, const Case& data, double band, std::int64_t limit, bool prune,
         int threads) {
  benchmark::RegisterBenchmark(
      (name + "/threads:" + std::to_string(threads)).c_str(),
      [=, &data](benchmark::State& state) { search_one(state, data, band, limit, prune, threads); })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->MinTime(.25);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  cases.reserve(64);  // benchmarks refer to them
  const std::vector<float> walk = random_walk(1'000'000, 1);
  const std::vector<float> ecg = measured_ecg(), gait = measured_gait();
  const int most = static_cast<int>(threads());

  benchmark::RegisterBenchmark("ceiling", ceiling)->Unit(benchmark::kMillisecond);
  // Whole matrices of 4,096 windows, whatever the length and the band.
  for (const auto& [length, band] : std::vector<std::pair<std::size_t, double>>{{8, .2},
                                                                                {64, .1},
                                                                                {128, 0},
                                                                                {128, .05},
                                                                                {128, 1},
                                                                                {512, .05},
                                                                                {1023, .1},
                                                                                {1024, .1},
                                                                                {8192, .05}}) {
    const Case& data = cases.emplace_back(Case{
        {walk.begin(), walk.begin() + static_cast<std::ptrdiff_t>(length) + 4095}, random_walk(length, 2)});
    add("whole/walk/" + std::to_string(length) + "/" +
            std::to_string(band_radius(band, std::ssize(data.pattern))),
        data, band, 1, false, 1);
  }
  for (const std::size_t length : {128, 512, 1024}) {
    const std::string size = "/" + std::to_string(length);
    const Case& walks = cases.emplace_back(Case{walk, random_walk(length, 2)});
    add("bounded/walk" + size, walks, .05, 1, true, 1);
    if (most > 1) add("bounded/walk" + size, walks, .05, 1, true, most);
    add("bounded/walk" + size + "/best:100", walks, .05, 100, true, 1);
    if (!ecg.empty())
      add("bounded/ecg" + size, cases.emplace_back(cut(ecg, 600'000, length)), .05, 1, true, 1);
    if (!gait.empty()) {
      const Case& steps = cases.emplace_back(cut(gait, 82'000, length));
      add("bounded/gait" + size, steps, .1, 1, true, 1);
      if (most > 1) add("bounded/gait" + size, steps, .1, 1, true, most);
      add("bounded/gait" + size + "/best:100", steps, .1, 100, true, 1);
      add("whole/gait" + size, steps, .1, 1, false, most);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
