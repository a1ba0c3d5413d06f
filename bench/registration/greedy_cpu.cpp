// Question: how much of what memory gives does an iteration of the symmetric greedy registration take on this
// CPU? Fixed: the tests' made-up head on N^3 voxels and the same head bent, lncc of radius 2, the defaults,
// all threads. Timed: 20 iterations at one resolution, as the difference of runs of 25 and of 5, so that
// reading in, the way through the middle and the look for folds before the end are left out. 171 bytes a
// voxel and iteration are read and written (design 0013). `copy` is b = a over 64 Mi floats in the same
// threads, 8 bytes an element.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../../tests/registration/phantom.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/registration/deform.hpp"

namespace {

using namespace warploom;
using namespace warploom::registration;

Point bent(const Point& p) {
  return {p[0] + 3 * std::sin(p[1] / 11), p[1] + 3 * std::sin(p[2] / 12), p[2] + 3 * std::cos(p[0] / 13)};
}

void BM_Iterations(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const double spacing = 80.0 / static_cast<double>(n);
  const Space space = space_around(n, n, n, {spacing, spacing, spacing});
  const PlacedImage fixed = head_on(space, bent), moving = head_on(space);
  const auto seconds_of = [&](int iterations) {
    return estimate_deformation(
               fixed, moving, identity_affine(),
               {.iterations = {iterations}, .allow_folds = true, .run = {.devices = {Device::cpu}}})
        .report.seconds;
  };
  double seconds = 0;
  for (auto _ : state) {
    const double short_run = seconds_of(5), long_run = seconds_of(25);
    state.SetIterationTime(long_run - short_run);
    seconds += long_run - short_run;
  }
  const double voxels = static_cast<double>(n * n * n) * 20 * static_cast<double>(state.iterations());
  state.counters["ns_per_voxel_and_iteration"] = 1e9 * seconds / voxels;
  state.counters["GB_per_s"] = 171e-9 * voxels / seconds;
  state.counters["threads"] = threads();
}
BENCHMARK(BM_Iterations)
    ->Arg(64)
    ->Arg(128)
    ->Arg(192)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(2);

void BM_Copy(benchmark::State& state) {
  constexpr std::int64_t kCount = std::int64_t{1} << 26, kPiece = 1 << 14;
  std::vector<float> a(kCount, 1.0F), b(kCount);
  for (auto _ : state) {
    parallel_for(kCount / kPiece, [&](std::int64_t piece) {
      std::copy_n(a.data() + piece * kPiece, kPiece, b.data() + piece * kPiece);
    });
    benchmark::ClobberMemory();
  }
  state.counters["GB_per_s"] =
      benchmark::Counter(8e-9 * static_cast<double>(kCount) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Copy)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
