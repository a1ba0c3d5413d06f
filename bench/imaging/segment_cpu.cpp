// Question: how fast is an iteration of the active contour on this CPU, beside what its memory gives and
// beside a plain loop in double precision? Fixed: the scene of segment_scene.hpp (200 objects, noise 0.1),
// checkerboard, the defaults, all threads. Timed: the iterations (20 of them). `triad` is a = b + s c over
// arrays of 64 Mi floats, in the same threads; 12 bytes an element, as an iteration moves 12 bytes a voxel.
// `plain` is the tests' reference: one step.

#include <benchmark/benchmark.h>

#include "../../tests/oracle/chan_vese.hpp"
#include "segment_scene.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/segment.hpp"

namespace {

using namespace warploom;
using namespace warploom::imaging;

constexpr int kIterations = 20;

void iterations(benchmark::State& state, const Grid& grid) {
  const Image image = scene(grid, 200, 0.1);
  SegmentOptions options;
  options.method = Method::level_set;
  options.run.devices = {Device::cpu};
  options.tolerance = 0;
  options.max_iterations = kIterations;
  double seconds = 0;
  for (auto _ : state) {
    const double last = segment(image, options).report.seconds;
    state.SetIterationTime(last);
    seconds += last;
  }
  const double voxels =
      static_cast<double>(grid.voxels()) * kIterations * static_cast<double>(state.iterations());
  state.counters["voxels_per_s"] = voxels / seconds;
  state.counters["GB_per_s"] = 12e-9 * voxels / seconds;
}
void BM_Iterations2d(benchmark::State& state) { iterations(state, {state.range(0), state.range(0), 1}); }
BENCHMARK(BM_Iterations2d)->Arg(512)->Arg(2048)->UseManualTime()->Unit(benchmark::kMillisecond);
void BM_Iterations3d(benchmark::State& state) {
  iterations(state, {state.range(0), state.range(0), state.range(0)});
}
BENCHMARK(BM_Iterations3d)->Arg(64)->Arg(192)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Triad(benchmark::State& state) {
  constexpr std::int64_t kCount = std::int64_t{1} << 26, kPiece = 1 << 14;
  std::vector<float> a(kCount), b(kCount, 1.0F), c(kCount, 2.0F);
  for (auto _ : state) {
    parallel_for(kCount / kPiece, [&](std::int64_t piece) {
      for (std::int64_t i = piece * kPiece; i < (piece + 1) * kPiece; ++i)
        a[static_cast<std::size_t>(i)] =
            b[static_cast<std::size_t>(i)] + 3.0F * c[static_cast<std::size_t>(i)];
    });
    benchmark::DoNotOptimize(a.data());
    benchmark::ClobberMemory();
  }
  state.counters["GB_per_s"] = benchmark::Counter(
      12e-9 * double(kCount) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Triad)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_PlainDoubleStep(benchmark::State& state) {
  const Grid grid{state.range(0), state.range(0), 1};
  oracle::ChanVese problem;
  problem.extent = {grid.nx, grid.ny, 1};
  for (const float v : scene(grid, 200, 0.1).data) problem.image.push_back(double(v));
  std::vector<double> phi = oracle::checkerboard(problem.extent);
  for (auto _ : state) benchmark::DoNotOptimize(phi = problem.step(phi));
  state.counters["voxels_per_s"] = benchmark::Counter(static_cast<double>(grid.voxels() * state.iterations()),
                                                      benchmark::Counter::kIsRate);
}
BENCHMARK(BM_PlainDoubleStep)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
