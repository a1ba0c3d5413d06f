// Question: how long does a GPU take for the principal components of a whole series, a patch a voxel?
// Fixed: 104 x 104 x 60 voxels. Timed: the work on the GPU (manual time); the counters tell the transfers and
// the whole call as its caller sees it.

#include <benchmark/benchmark.h>

#include <chrono>

#include "series_denoise.hpp"

namespace {

using namespace warploom::imaging;

void BM_SeriesDenoise(benchmark::State& state, PatchOutput output, Precision precision) {
  const Image before = series_scene({104, 104, 60}, static_cast<int>(state.range(0)));
  SeriesDenoiseOptions options;
  options.output = output;
  options.precision = precision;
  options.run.devices = {warploom::Device::cuda};
  SeriesDenoising last;
  double whole = 0, transfer = 0;
  for (auto _ : state) {
    Image image = before;
    const auto start = std::chrono::steady_clock::now();
    last = denoise_series(image, {}, options);
    whole += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    transfer += last.transfer_seconds;
    state.SetIterationTime(last.seconds);
  }
  const double runs = static_cast<double>(state.iterations());
  double rank = 0;
  for (const float r : last.rank.data) rank += static_cast<double>(r) / static_cast<double>(last.rank.data.size());
  state.counters["whole_ms"] = 1e3 * whole / runs;
  state.counters["transfer_ms"] = 1e3 * transfer / runs;
  state.counters["mean_rank"] = rank;
  state.counters["device_GB"] = 1e-9 * static_cast<double>(last.device_bytes);
}
BENCHMARK_CAPTURE(BM_SeriesDenoise, centre_float32, PatchOutput::centre, Precision::float32)
    ->Arg(17)->Arg(65)->Arg(130)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_SeriesDenoise, centre_float64, PatchOutput::centre, Precision::float64)
    ->Arg(65)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_SeriesDenoise, average_float32, PatchOutput::average, Precision::float32)
    ->Arg(17)->Arg(65)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
