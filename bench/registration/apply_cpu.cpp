// Question: what does it cost to prove that a field does not fold, to invert it, and to resample through it?
// Fixed: a smooth field of 4 mm on voxels of 1 mm. Timed: memory to memory, all threads. Argument: which
// grid.

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>

#include "warploom/registration/folding.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/transform.hpp"

namespace {

using namespace warploom::registration;

constexpr std::array<std::array<std::int64_t, 3>, 2> kGrids{{{128, 150, 128}, {256, 256, 256}}};

Space space_of(const benchmark::State& state) {
  const auto& [nx, ny, nz] = kGrids[static_cast<std::size_t>(state.range(0))];
  return {{nx, ny, nz, {1, 1, 1}}, identity_affine()};
}

DisplacementField waves(const Space& space) {
  DisplacementField field = zero_field(space);
  const auto voxels = static_cast<std::size_t>(space.grid.voxels());
  for (std::size_t v = 0; v < voxels; ++v) {
    const auto n = static_cast<std::int64_t>(v);
    const double x = static_cast<double>(n % space.grid.nx),
                 y = static_cast<double>(n / space.grid.nx % space.grid.ny),
                 z = static_cast<double>(n / (space.grid.nx * space.grid.ny));
    const Point d{std::sin(0.08 * y + 0.05 * z), std::cos(0.07 * x - 0.06 * z),
                  std::sin(0.06 * x + 0.08 * y)};
    for (std::size_t c = 0; c < 3; ++c) field.mm[c * voxels + v] = static_cast<float>(4 * d[c]);
  }
  return field;
}

/// 139 labels in blocks of 8 voxels: a surface in most rows.
PlacedImage labels(const Space& space) {
  PlacedImage image{warploom::imaging::Image(space.grid, 1), space.to_world};
  for (std::size_t v = 0; v < image.image.data.size(); ++v) {
    const auto n = static_cast<std::int64_t>(v);
    const std::int64_t block = n % space.grid.nx / 8 + 7 * (n / space.grid.nx % space.grid.ny / 8) +
                               31 * (n / (space.grid.nx * space.grid.ny) / 8);
    image.image.data[v] = static_cast<float>(block % 139);
  }
  return image;
}

void count_voxels(benchmark::State& state, const Space& space) {
  state.counters["voxels"] =
      benchmark::Counter(static_cast<double>(space.grid.voxels()) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void BM_Certify(benchmark::State& state) {
  const DisplacementField field = waves(space_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(certify(field).lower_bound);
  count_voxels(state, field.space);
}
BENCHMARK(BM_Certify)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_Invert(benchmark::State& state) {
  const DisplacementField field = waves(space_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(invert(field, field.space).largest_residual);
  count_voxels(state, field.space);
}
BENCHMARK(BM_Invert)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->UseRealTime();

template <Interpolation kHow>
void BM_Resample(benchmark::State& state) {
  const Space space = space_of(state);
  const PlacedImage image = labels(space);
  const TransformChain chain{{waves(space)}};
  for (auto _ : state) benchmark::DoNotOptimize(resample(image, space, chain, kHow).image.data.data());
  count_voxels(state, space);
}
BENCHMARK(BM_Resample<Interpolation::linear>)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Resample<Interpolation::cubic>)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Resample<Interpolation::nearest>)
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(BM_Resample<Interpolation::labels>)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
