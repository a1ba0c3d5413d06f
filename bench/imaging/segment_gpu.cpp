// Question: how long does an active contour take on a GPU, as a whole and per iteration, and how near is an
// iteration to the memory's bandwidth? And how long the exact minimum (BM_Convex*), with mu from the noise,
// to a gap of 1e-4: its time is that of all kernels, checks of the gap among them; the noise, on the CPU, is
// `wall_ms` less it. Fixed: the scene of segment_scene.hpp (noise 0.1), started from the checkerboard,
// scikit-image's defaults: mu 0.25, tolerance 1e-3, at most 500 iterations. Timed: the iterations, on the
// GPU, image and level set resident (manual time); the counters tell the transfers. `fixed` runs 200
// iterations whatever the change.

#include <benchmark/benchmark.h>

#include <chrono>

#include "segment_scene.hpp"
#include "warploom/imaging/segment.hpp"

namespace {

using namespace warploom::imaging;

void run(benchmark::State& state, const Image& image, const SegmentOptions& options) {
  SegmentReport last;
  double transfer = 0;
  for (auto _ : state) {
    last = segment(image, options).report;
    state.SetIterationTime(last.seconds);
    transfer += last.transfer_seconds;
  }
  const double voxels = static_cast<double>(image.grid.voxels());
  state.counters["iterations"] = last.iterations;
  state.counters["still"] = last.still ? 1 : 0;
  state.counters["us_per_iteration"] = 1e6 * last.seconds / last.iterations;
  state.counters["GB_per_s"] = 12e-9 * voxels * last.iterations / last.seconds;  // 12 bytes a voxel
  state.counters["transfer_ms"] = 1e3 * transfer / static_cast<double>(state.iterations());
  state.counters["device_bytes_per_voxel"] = static_cast<double>(last.device_bytes) / voxels;
  state.counters["inside"] = static_cast<double>(last.inside) / voxels;
}

Grid plane(std::int64_t n) { return {n, n, 1}; }
Grid cube(std::int64_t n) { return {n, n, n}; }
constexpr int kObjects = 200;
constexpr double kNoise = 0.1;

void convex(benchmark::State& state, const Image& image) {
  SegmentOptions options;
  options.run.devices = {warploom::Device::cuda};
  SegmentReport last;
  double transfer = 0, wall = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    last = segment(image, options).report;
    wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    state.SetIterationTime(last.seconds);
    transfer += last.transfer_seconds;
  }
  const auto runs = static_cast<double>(state.iterations());
  const double voxels = static_cast<double>(image.grid.voxels());
  state.counters["iterations"] = last.iterations;
  state.counters["converged"] = last.converged ? 1 : 0;
  state.counters["both_models"] = last.noise == Noise::counts ? 1 : 0;
  state.counters["gap"] = last.gap;
  state.counters["us_per_iteration"] = 1e6 * last.seconds / last.iterations;
  state.counters["transfer_ms"] = 1e3 * transfer / runs;
  state.counters["wall_ms"] = 1e3 * wall / runs;
  state.counters["device_bytes_per_voxel"] = static_cast<double>(last.device_bytes) / voxels;
  state.counters["inside"] = static_cast<double>(last.inside) / voxels;
}
void BM_Convex2d(benchmark::State& state) {
  convex(state, scene(plane(state.range(0)), kObjects, 0.01 * static_cast<double>(state.range(1))));
}
BENCHMARK(BM_Convex2d)
    ->ArgNames({"side", "noise_percent"})
    ->ArgsProduct({{512, 1024, 2048, 4096}, {10, 20}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
void BM_Convex3d(benchmark::State& state) { convex(state, scene(cube(state.range(0)), kObjects, kNoise)); }
BENCHMARK(BM_Convex3d)->Arg(128)->Arg(256)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_WholeRun2d(benchmark::State& state) {
  SegmentOptions options;
  options.method = Method::level_set;
  options.run.devices = {warploom::Device::cuda};
  run(state, scene(plane(state.range(0)), kObjects, kNoise), options);
}
BENCHMARK(BM_WholeRun2d)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(2048)
    ->Arg(4096)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_WholeRun3d(benchmark::State& state) {
  SegmentOptions options;
  options.method = Method::level_set;
  options.run.devices = {warploom::Device::cuda};
  run(state, scene(cube(state.range(0)), kObjects, kNoise), options);
}
BENCHMARK(BM_WholeRun3d)->Arg(128)->Arg(256)->UseManualTime()->Unit(benchmark::kMillisecond);

void fixed(benchmark::State& state, const Grid& grid) {
  SegmentOptions options;
  options.method = Method::level_set;
  options.run.devices = {warploom::Device::cuda};
  options.tolerance = 0;
  options.max_iterations = 200;
  run(state, scene(grid, kObjects, kNoise), options);
}
void BM_Fixed2d(benchmark::State& state) { fixed(state, plane(state.range(0))); }
BENCHMARK(BM_Fixed2d)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(2048)
    ->Arg(8192)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
void BM_Fixed3d(benchmark::State& state) { fixed(state, cube(state.range(0))); }
BENCHMARK(BM_Fixed3d)->Arg(64)->Arg(128)->Arg(256)->Arg(512)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
