// Question: how long does an active contour take on a GPU, as a whole and per iteration, and how near is an
// iteration to the memory's bandwidth?
// Fixed: the scene of segment_scene.hpp (noise 0.1), started from the checkerboard, scikit-image's defaults:
// mu 0.25, tolerance 1e-3, at most 500 iterations. Timed: the iterations, on the GPU, image and level set
// resident (manual time); the counters tell the transfers. `fixed` runs 200 iterations whatever the change.

#include <benchmark/benchmark.h>

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
  state.counters["converged"] = last.converged ? 1 : 0;
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
