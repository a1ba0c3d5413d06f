#include "core/cuda/owners.hpp"
#include "segment_convex_devices.hpp"
#include "segment_devices.hpp"
#include "strided.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/gpu_image.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, SegmentOn, testing::Values(Device::cuda));
INSTANTIATE_TEST_SUITE_P(Gpu, ConvexOn, testing::Values(Device::cuda));

TEST(SegmentGpu, TheConvexMasksAgreeWithTheCpus) {
  for (const Grid& grid :
       {Grid{1000, 700, 1}, Grid{997, 350, 1}, Grid{501, 1, 300, {1, 1, 2}}, Grid{130, 70, 60, {1, 1, 2}}}) {
    const SegmentPhantom phantom = segment_phantom(grid, 2.5);
    SegmentOptions with;
    with.tolerance = 1e-4;
    with.run.devices = {Device::cpu};
    const Segmentation cpu = segment(phantom.image, with);
    with.run.devices = {Device::cuda};
    const Segmentation gpu = segment(phantom.image, with);
    EXPECT_GE(oracle::dice(cpu.mask, gpu.mask), 0.9998);
    EXPECT_TRUE(gpu.report.converged);
    EXPECT_NEAR(cpu.report.mask_energy, gpu.report.mask_energy, 2e-4 * cpu.report.mask_energy);
    EXPECT_EQ(cpu.report.noise_level, gpu.report.noise_level);
  }
}

// The kernel that does several iterations at once has them as the CPU has them one by one.
TEST(SegmentGpu, SevenIterationsOfAPlaneAreTheCpus) {
  for (const Grid& grid : {Grid{700, 500, 1}, Grid{701, 333, 1}, Grid{6, 900, 1}}) {
    const Image image = segment_phantom(grid, 2.5).image;
    SegmentOptions with;
    with.tolerance = 0, with.max_iterations = 7;
    with.run.devices = {Device::cpu};
    const Segmentation cpu = segment(image, with);
    with.run.devices = {Device::cuda};
    const Segmentation gpu = segment(image, with);
    ASSERT_EQ(cpu.level_set.data.size(), gpu.level_set.data.size());
    float most = 0;
    for (std::size_t v = 0; v < cpu.level_set.data.size(); ++v)
      most = std::max(most, std::abs(cpu.level_set.data[v] - gpu.level_set.data[v]));
    EXPECT_LE(most, 1e-4F) << grid.nx << " x " << grid.ny;
  }
}

// Of an array that is turned, in the host's memory and in the GPU's.
TEST(SegmentGpu, ReadsValuesWithStrides) {
  for (const Grid& grid : {Grid{610, 430, 1}, Grid{101, 73, 60}}) {
    const Image image = segment_phantom(grid, 3).image;
    const Turned turned(image);
    SegmentOptions with;
    with.run.devices = {Device::cuda};
    const Segmentation want = segment(image, with), found = segment(turned.view(), with);
    EXPECT_EQ(found.mask, want.mask);
    EXPECT_EQ(found.level_set.data, want.level_set.data);

    const std::size_t count = image.data.size();
    const auto values = make_device<float>(turned.values.size()), level_set = make_device<float>(count);
    const auto mask = make_device<std::uint8_t>(count);
    cuda_check(cudaMemcpy(values.get(), turned.values.data(), turned.values.size() * sizeof(float),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
    const float* const first = values.get() + turned.first;
    segment(ImageView(grid, 1, first, turned.strides), {mask.get(), level_set.get()}, with);
    Mask here(count);
    cuda_check(cudaMemcpy(here.data(), mask.get(), count, cudaMemcpyDeviceToHost), "cudaMemcpy");
    EXPECT_EQ(here, want.mask);

    ImageView there(grid, 1, {});
    there.on_gpu = first, there.on_gpu_strides = turned.strides;
    std::vector<float> fetched(count);
    fetch_image(there, nullptr, fetched);
    EXPECT_EQ(fetched, image.data);
    EXPECT_THROW(fetch_image(there, nullptr, std::span(fetched).first(count - 1)), BadInput);
  }
}

TEST(SegmentGpu, SeveralGivesTheBitsOfOne) {
  int gpus = 0;
  cuda_check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  std::vector<DeviceArray<std::byte>> kept;
  expect_slabs_to_give_what_one_gives(
      [&](const ConvexProblem& problem, std::size_t slabs) {
        std::vector<Device> devices;
        for (std::size_t k = 0; k < slabs; ++k) devices.push_back(Device::gpu(static_cast<int>(k) % gpus));
        return convex_cuda(problem, devices);
      },
      [](const ConvexBackend& backend, std::int64_t voxels) {
        std::vector<float> values(static_cast<std::size_t>(voxels));
        cuda_check(cudaMemcpy(values.data(), backend.v(), values.size() * sizeof(float), cudaMemcpyDefault),
                   "cudaMemcpy");
        return values;
      },
      [&](const void* values, std::size_t bytes) -> const void* {
        kept.push_back(make_device<std::byte>(bytes));
        cuda_check(cudaMemcpy(kept.back().get(), values, bytes, cudaMemcpyDefault), "cudaMemcpy");
        return kept.back().get();
      });
}

TEST(SegmentGpu, SeveralGpusFindTheMaskOfOne) {
  int gpus = 0;
  cuda_check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  const Image image = segment_phantom({256, 200, 192}, 2.5).image;  // worth two
  SegmentOptions with;
  with.run.devices = {Device::gpu(0)};
  const Segmentation one = segment(image, with);
  with.run.devices = {Device::gpu(0), Device::gpu(gpus - 1)};
  const Segmentation two = segment(image, with);
  EXPECT_EQ(two.report.devices, 2);
  EXPECT_EQ(one.mask, two.mask);
  EXPECT_EQ(one.level_set.data, two.level_set.data);
  EXPECT_EQ(one.report.energy, two.report.energy);
}

TEST(SegmentGpu, MoreThanTwoClassesAreRefused) {
  SegmentOptions with;
  with.classes = 3;
  with.run.devices = {Device::cuda};
  EXPECT_THROW(segment(segment_phantom({40, 30, 1}, 5).image, with), NoDevice);
}

TEST(SegmentGpu, AgreesWithTheCpuOnALargeNoisyImage) {
  const SegmentPhantom phantom = segment_phantom({1000, 700, 1}, 2);
  SegmentOptions with;
  with.method = Method::level_set;
  with.run.devices = {Device::cpu};
  const Segmentation cpu = segment(phantom.image, with);
  with.run.devices = {Device::cuda};
  const Segmentation gpu = segment(phantom.image, with);
  EXPECT_GE(oracle::dice(cpu.mask, gpu.mask), 0.9998);
  EXPECT_NEAR(cpu.report.iterations, gpu.report.iterations, 3);
  EXPECT_NEAR(cpu.report.mean_in, gpu.report.mean_in, 1e-4);
  EXPECT_NEAR(cpu.report.energy.back(), gpu.report.energy.back(), 1e-4 * cpu.report.energy.back());
  EXPECT_GE(gpu.report.device_bytes, 12u * 700'000);
}

}  // namespace
}  // namespace warploom::imaging
