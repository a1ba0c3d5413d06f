// Question: how long does symmetric greedy registration take on a GPU, and how much of what memory gives does
// an iteration take? Fixed: the tests' made-up head on N^3 voxels and the same head bent, the defaults (lncc
// of radius 2), the affine stage left out. Timed (manual time): the deformation, between two events, from its
// begin to the map in mm, certified. `wall_ms` is the whole of estimate_deformation(), transfers among it.
// BM_Passes is each pass alone, ten launches in a row, with the bytes that it has to read and write; the
// displacement is some voxels, smooth. BM_Iterations is one resolution, as the difference of runs of 45 and
// of 5 iterations; an iteration reads and writes 170 bytes a voxel (design 0013), `of_copy` is that over the
// bandwidth of a copy within the device in the same process. BM_Template is ten images, each onto the same
// fixed one, in one warm process, their affine stages among it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "../../tests/registration/phantom.hpp"
#include "core/cuda/memory.hpp"
#include "registration/greedy_kernels.hpp"
#include "registration/smooth.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/registration/workflow.hpp"

namespace {

using namespace warploom;
using namespace warploom::registration;

Point bent(const Point& p) {
  return {p[0] + 3 * std::sin(p[1] / 11), p[1] + 3 * std::sin(p[2] / 12), p[2] + 3 * std::cos(p[0] / 13)};
}

Space cube(std::int64_t n) {
  const double spacing = 80.0 / static_cast<double>(n);
  return space_around(n, n, n, {spacing, spacing, spacing});
}

/// head_on() on all threads: a head of 256^3 voxels takes half a minute on one.
template <class Map>
PlacedImage head(const Space& space, const Map& map) {
  PlacedImage out;
  out.image = imaging::Image(space.grid, 1);
  out.to_world = space.to_world;
  parallel_for(space.grid.nz, [&](std::int64_t z) {
    float* to = out.image.data.data() + z * space.grid.nx * space.grid.ny;
    for (std::int64_t y = 0; y < space.grid.ny; ++y)
      for (std::int64_t x = 0; x < space.grid.nx; ++x)
        *to++ = static_cast<float>(head_at(map(map_point(
            space.to_world, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)}))));
  });
  return out;
}
Point same(const Point& p) { return p; }

/// Read and written [bytes a second].
double copy_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  static const double bandwidth = [] {
    const auto from = make_device<std::byte>(kBytes), to = make_device<std::byte>(kBytes);
    const CudaEvent start = make_event(), end = make_event();
    std::vector<double> samples;
    for (int k = 0; k < 7; ++k) {
      cuda_check(cudaEventRecord(start.get()), "cudaEventRecord");
      cuda_check(cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
      cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
      cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
      samples.push_back(2.0 * kBytes / seconds_between(start, end));
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }();
  return bandwidth;
}

void BM_Whole(benchmark::State& state) {
  const Space space = cube(state.range(0));
  const PlacedImage fixed = head(space, bent), moving = head(space, same);
  DeformOptions options;
  options.measure = state.range(1) != 0 ? Measure::ssd : Measure::lncc;
  options.run.devices = {Device::cuda};
  estimate_deformation(fixed, moving, identity_affine(), options);
  DeformReport last;
  double wall = 0;
  for (auto _ : state) {
    last = estimate_deformation(fixed, moving, identity_affine(), options).report;
    state.SetIterationTime(last.kernel_seconds);
    wall += last.seconds;
  }
  state.counters["wall_ms"] = 1e3 * wall / static_cast<double>(state.iterations());
  state.counters["measure"] = last.measure.back();
  state.counters["smoothed_voxels"] = static_cast<double>(last.smoothed_voxels);
  state.counters["device_bytes_per_voxel"] =
      static_cast<double>(last.device_bytes) / static_cast<double>(space.grid.voxels());
}
BENCHMARK(BM_Whole)
    ->ArgNames({"side", "ssd"})
    ->ArgsProduct({{64, 128, 192, 256}, {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

/// All of an iteration, and the look for folds of every tenth.
enum Pass { kWarp, kStatistics, kForce, kSmoothUpdate, kLongest, kSmoothField, kFolds };

void BM_Passes(benchmark::State& state) {
  static constexpr struct {
    const char* name;
    int bytes;  // a voxel, read and written
  } kPasses[] = {
      {"draw both images", 29},  {"window statistics", 29}, {"force", 40},
      {"smooth the update", 24}, {"longest vector", 12},    {"add and smooth the displacement", 36},
      {"look for folds", 12}};
  const auto pass = static_cast<Pass>(state.range(1));
  const auto side = static_cast<int>(state.range(0));
  const DeviceGrid grid{side, side, side};
  const auto voxels = static_cast<std::uint64_t>(grid.voxels());
  const CudaStream stream = make_stream();
  PinnedPair staging(stream.get(), 4 << 20);
  const auto h = make_device<float>(3 * voxels), force = make_device<float>(3 * voxels),
             image = make_device<float>(voxels), warped = make_device<float>(2 * voxels),
             statistics = make_device<float>(5 * voxels);
  const auto counts = make_device<std::uint8_t>(voxels);
  const auto marks = make_device<int>(voxels);
  const auto parts = make_device<double>(1 << 20);
  const auto longest = make_device<unsigned>(2);
  const auto failing = make_device<int>(2);
  std::vector<float> smooth(3 * voxels);
  const auto wave = [](std::int64_t i, double length) { return std::sin(static_cast<double>(i) / length); };
  for (std::size_t i = 0; i < smooth.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    smooth[i] = static_cast<float>(3 * wave(at % side, 31) * wave(at / side % side, 37) *
                                   wave(at / side / side % side, 41));
  }
  for (float* to : {h.get(), force.get()}) staging.upload(to, smooth.data(), 3 * sizeof(float) * voxels);
  for (float* to : {image.get(), warped.get(), warped.get() + voxels})
    staging.upload(to, smooth.data(), sizeof(float) * voxels);
  for (int c = 0; c < 5; ++c)
    staging.upload(statistics.get() + static_cast<std::uint64_t>(c) * voxels, smooth.data(),
                   sizeof(float) * voxels);
  cuda_check(cudaMemsetAsync(counts.get(), 1, voxels, stream.get()), "cudaMemsetAsync");
  cuda_check(cudaMemsetAsync(marks.get(), 0, sizeof(int) * voxels, stream.get()), "cudaMemsetAsync");
  cuda_check(cudaMemsetAsync(longest.get(), 0, 2 * sizeof(unsigned), stream.get()), "cudaMemsetAsync");

  const DeviceLevel level{image.get(), nullptr, grid};
  const DeviceMap same_map{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const WarpArguments warp{grid, level, level, same_map, same_map, h.get(), warped.get(), counts.get()};
  const LnccArguments lncc{
      grid,        2,         window_planes(grid), 1e-3F, warped.get(), counts.get(), statistics.get(),
      parts.get(), {1, 1, 1}, force.get()};
  LnccArguments windows_of_force = lncc;
  windows_of_force.planes = force_planes(grid);
  const auto smoothing = [&](const DeformOptions& options, bool field) {
    SmoothArguments a{};
    const std::vector<float> taps = gaussian(field ? 0.5 : options.smooth_update);
    a.grid = grid, a.radius = static_cast<int>(taps.size() / 2), a.planes = smoothing_planes(grid, a.radius);
    for (auto& axis : a.taps) std::copy(taps.begin(), taps.end(), axis);
    a.a = field ? h.get() : force.get(), a.b = field ? statistics.get() : nullptr;
    a.longest = longest.get(), a.step = 0.5F, a.shortest = 0.02F;
    a.out = field ? force.get() : statistics.get();
    return a;
  };
  const SmoothArguments update = smoothing({}, false), field = smoothing({}, true);
  const FoldArguments folds{.grid = grid,
                            .h = h.get(),
                            .voxel = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 1},
                            .in_voxels = true,
                            .sign = 1,
                            .least = 0.05,
                            .margin = 1,
                            .marks = marks.get(),
                            .means = statistics.get(),
                            .failing = failing.get(),
                            .smoothed = failing.get() + 1};
  const auto once = [&] {
    switch (pass) {
      case kWarp:
        return launch_warp(warp, stream.get());
      case kStatistics:
        return launch_lncc(lncc, stream.get());
      case kForce:
        return launch_lncc_force(windows_of_force, stream.get());
      case kSmoothUpdate:
        return launch_smooth(update, stream.get());
      case kLongest:
        return launch_longest(statistics.get(), grid.voxels(), longest.get() + 1, stream.get());
      case kSmoothField:
        return launch_smooth(field, stream.get());
      case kFolds:
        return launch_count_suspects(folds, stream.get());
    }
    return cudaErrorInvalidValue;
  };
  cuda_check(once(), kPasses[pass].name);
  constexpr int kLaunches = 10;
  const CudaEvent start = make_event(), end = make_event();
  double seconds = 0;
  for (auto _ : state) {
    cuda_check(cudaEventRecord(start.get(), stream.get()), "cudaEventRecord");
    for (int k = 0; k < kLaunches; ++k) cuda_check(once(), kPasses[pass].name);
    cuda_check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    state.SetIterationTime(seconds_between(start, end) / kLaunches);
    seconds += seconds_between(start, end) / kLaunches;
  }
  const double bytes =
      kPasses[pass].bytes * static_cast<double>(voxels) * static_cast<double>(state.iterations());
  state.SetLabel(kPasses[pass].name);
  state.counters["GB_per_s"] = 1e-9 * bytes / seconds;
  state.counters["of_copy"] = bytes / seconds / copy_bandwidth();
}
BENCHMARK(BM_Passes)
    ->ArgNames({"side", "pass"})
    ->ArgsProduct({{128, 256}, benchmark::CreateDenseRange(kWarp, kFolds, 1)})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(5);

void BM_Iterations(benchmark::State& state) {
  const Space space = cube(state.range(0));
  const PlacedImage fixed = head(space, bent), moving = head(space, same);
  const auto seconds_of = [&](int iterations) {
    DeformOptions options{.iterations = {iterations}, .allow_folds = true};
    options.run.devices = {Device::cuda};
    return estimate_deformation(fixed, moving, identity_affine(), options).report.kernel_seconds;
  };
  seconds_of(5);
  double seconds = 0;
  for (auto _ : state) {
    const double short_run = seconds_of(5), long_run = seconds_of(45);
    state.SetIterationTime(long_run - short_run);
    seconds += long_run - short_run;
  }
  const double iterations = 40 * static_cast<double>(state.iterations());
  const double bytes = 170 * static_cast<double>(space.grid.voxels()) * iterations;
  state.counters["us_per_iteration"] = 1e6 * seconds / iterations;
  state.counters["GB_per_s"] = 1e-9 * bytes / seconds;
  state.counters["copy_GB_per_s"] = 1e-9 * copy_bandwidth();
  state.counters["of_copy"] = bytes / seconds / copy_bandwidth();
}
BENCHMARK(BM_Iterations)
    ->ArgName("side")
    ->Arg(64)
    ->Arg(128)
    ->Arg(192)
    ->Arg(256)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

void BM_Template(benchmark::State& state) {
  const Space space = cube(state.range(0));
  const PlacedImage fixed = head(space, same);
  std::vector<PlacedImage> brains;
  for (int k = 0; k < 10; ++k)
    brains.push_back(head(space, [k](const Point& p) {
      const Point q = bent({p[0] + 2 * k - 9, p[1], p[2]});
      return Point{q[0] - 2 * k + 9, q[1], q[2]};
    }));
  RegisterOptions options;
  options.align.run.devices = {Device::cuda};
  double affine = 0, deforming = 0, proof = 0;
  const auto run = [&](const PlacedImage& moving) {
    const Registration r = register_images(fixed, moving, options);
    affine += r.align->seconds, deforming += r.deform->seconds, proof += r.certificate_seconds;
  };
  run(brains[0]);
  affine = deforming = proof = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (const PlacedImage& moving : brains) run(moving);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["affine_s"] = affine / runs;
  state.counters["deforming_s"] = deforming / runs;
  state.counters["proof_s"] = proof / runs;
}
BENCHMARK(BM_Template)
    ->ArgName("side")
    ->Arg(128)
    ->Arg(192)
    ->UseManualTime()
    ->Unit(benchmark::kSecond)
    ->Iterations(2);

}  // namespace
