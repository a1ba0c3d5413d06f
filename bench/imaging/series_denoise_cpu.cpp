// Question: how long does a patch's principal component analysis take on a core?
// Fixed: 40 x 36 x 16 voxels, one patch a voxel, one thread. Timed: the whole call.

#include <benchmark/benchmark.h>

#include "series_denoise.hpp"

namespace {

using namespace warploom::imaging;

void BM_SeriesDenoise(benchmark::State& state, PatchOutput output, Precision precision) {
  const Image before = series_scene({40, 36, 16}, static_cast<int>(state.range(0)));
  SeriesDenoiseOptions options;
  options.output = output;
  options.precision = precision;
  options.run.devices = {warploom::Device::cpu};
  options.run.threads = 1;
  for (auto _ : state) {
    state.PauseTiming();
    Image image = before;
    state.ResumeTiming();
    benchmark::DoNotOptimize(denoise_series(image, {}, options));
  }
  state.counters["voxels"] = benchmark::Counter(40.0 * 36 * 16 * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_SeriesDenoise, centre_float32, PatchOutput::centre, Precision::float32)->Arg(17)->Arg(65)->Arg(125);
BENCHMARK_CAPTURE(BM_SeriesDenoise, centre_float64, PatchOutput::centre, Precision::float64)->Arg(17)->Arg(65)->Arg(125);
BENCHMARK_CAPTURE(BM_SeriesDenoise, average_float32, PatchOutput::average, Precision::float32)->Arg(17)->Arg(65);

}  // namespace
