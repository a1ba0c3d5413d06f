#include "imaging/there.hpp"
#include "series_denoise_devices.hpp"
#include "warploom/imaging/gpu_image.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, SeriesDenoiseOn, testing::Values(Device::cuda));

struct Compared {
  double other_ranks = 0;  ///< share of voxels
  double values = 0;       ///< largest difference where ranks are equal, over the noise
};
Compared compare_with_cpu(const Image& before, SeriesDenoiseOptions with, double sigma) {
  Image cpu = before, gpu = before;
  with.run.devices = {Device::cpu};
  const SeriesDenoising a = denoise_series(cpu, {}, with);
  with.run.devices = {Device::cuda};
  const SeriesDenoising b = denoise_series(gpu, {}, with);
  EXPECT_GE(b.device_bytes, 8 * before.data.size());
  EXPECT_EQ(a.voxels, b.voxels);
  Compared out;
  for (std::size_t v = 0; v < a.rank.data.size(); ++v) {
    if (a.rank.data[v] != b.rank.data[v]) {
      out.other_ranks += 1.0 / double(a.rank.data.size());
      continue;
    }
    for (int c = 0; c < before.channels; ++c)
      out.values =
          std::max(out.values, std::abs(double(cpu.channel(c)[v]) - double(gpu.channel(c)[v])) / sigma);
  }
  return out;
}

// Extents of 3, 5 and 7; a warp a patch up to 96 volumes, a block above; matrices in shared memory and, of
// 240 volumes in double precision, outside.
TEST(SeriesDenoiseGpu, AgreesWithTheCpuWhateverTheLengthOfTheSeries) {
  for (const Precision precision : {Precision::float32, Precision::float64})
    for (const int volumes : {17, 65, 130, 240}) {
      SeriesDenoiseOptions with;
      with.output = PatchOutput::centre;
      with.precision = precision;
      const Compared found = compare_with_cpu(series_of({21, 16, 11}, volumes, 20, 6), with, 20);
      EXPECT_LE(found.other_ranks, precision == Precision::float64 ? 0 : 1e-3) << volumes;
      EXPECT_LT(found.values, precision == Precision::float64 ? kDoubleTolerance : 2 * kSingleTolerance)
          << volumes;
    }
}

TEST(SeriesDenoiseGpu, AgreesWithTheCpuInTheAverage) {
  for (const int volumes : {17, 65, 130}) {
    SeriesDenoiseOptions with;
    with.precision = Precision::float64;
    EXPECT_LT(compare_with_cpu(series_of({21, 16, 11}, volumes, 20, 6), with, 20).values,
              5 * kDoubleTolerance);
  }
}

TEST(SeriesDenoiseGpu, ReadsASeriesThatIsThere) {
  const Image image = series_of({21, 16, 11}, 20, 20);
  const There there(image);
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    SeriesDenoiseOptions with;
    with.output = output;
    with.run.devices = {Device::cuda};
    Image here, beside;
    denoise_series(ImageView(image), here, {}, with);
    denoise_series(there.view(), beside, {}, with);
    EXPECT_EQ(beside.data, here.data);
    EXPECT_EQ(there.now(), image.data);
  }
  ImageView wrong = image;  // no kernel may see memory of the host
  wrong.on_gpu = image.data.data();
  SeriesDenoiseOptions with;
  with.run.devices = {Device::cuda};
  Image beside;
  EXPECT_THROW(denoise_series(wrong, beside, {}, with), BadInput);
}

TEST(SeriesDenoiseGpu, IsBroughtToTheHostAfterWhatItsStreamHas) {
  const Image image = series_of({37, 16, 11}, 20, 20);
  const There there(image);
  const Image here = fetch_image(image.grid, image.channels, there.view().on_gpu, nullptr);
  EXPECT_EQ(here.grid, image.grid);
  EXPECT_EQ(here.data, image.data);
  const CudaStream stream = make_stream();
  const auto late = make_device<float>(image.data.size());
  for (int k = 0; k < 50; ++k)  // what has to be waited for
    cuda_check(cudaMemsetAsync(late.get(), 0, image.data.size() * sizeof(float), stream.get()),
               "cudaMemsetAsync");
  cuda_check(cudaMemcpyAsync(late.get(), there.view().on_gpu, image.data.size() * sizeof(float),
                             cudaMemcpyDeviceToDevice, stream.get()),
             "cudaMemcpyAsync");
  EXPECT_EQ(fetch_image(image.grid, image.channels, late.get(), stream.get()).data, image.data);
  EXPECT_THROW(fetch_image(image.grid, image.channels, image.data.data(), nullptr), BadInput);
}

TEST(SeriesDenoiseGpu, TellsHowMuchMemoryItNeeds) {
  Image image = series_of({21, 16, 11}, 20, 20);
  SeriesDenoiseOptions with;
  with.run.devices = {Device::cuda};
  with.run.memory = 1 << 20;
  EXPECT_THROW(denoise_series(image, {}, with), OutOfMemory);
}

}  // namespace
}  // namespace warploom::imaging
