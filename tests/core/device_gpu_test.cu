#include <gtest/gtest.h>

#include <vector>

#include "core/cuda/owners.hpp"
#include "core/cuda/peers.hpp"
#include "core/several_devices.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/run.hpp"

namespace warploom {
namespace {

TEST(DeviceOnGpu, TheDriversDescriptionIsTheRuntimes) {
  int count = 0;
  cuda_check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  ASSERT_EQ(cuda_devices().devices.size(), static_cast<std::size_t>(count));
  for (const CudaDevice& device : cuda_devices().devices) {
    cudaDeviceProp properties;
    cuda_check(cudaGetDeviceProperties(&properties, device.ordinal), "cudaGetDeviceProperties");
    EXPECT_EQ(device.name, properties.name);
    EXPECT_EQ(device.compute_capability, 10 * properties.major + properties.minor);
    EXPECT_EQ(device.multiprocessors, properties.multiProcessorCount);
    EXPECT_EQ(device.memory, properties.totalGlobalMem);
    EXPECT_EQ(device.shared_per_sm, properties.sharedMemPerMultiprocessor);
    EXPECT_EQ(device.shared_per_block, properties.sharedMemPerBlock);
    EXPECT_EQ(device.shared_per_block_optin, properties.sharedMemPerBlockOptin);
    EXPECT_EQ(device.shared_reserved, properties.reservedSharedMemPerBlock);
    EXPECT_EQ(device.threads_per_sm, properties.maxThreadsPerMultiProcessor);
    EXPECT_EQ(device.registers_per_sm, properties.regsPerMultiprocessor);
  }
}

TEST(DeviceOnGpu, AScopeMakesItsGpuCurrentAndLeavesItAsItWas) {
  const auto current = [] {
    int device = -1;
    cuda_check(cudaGetDevice(&device), "cudaGetDevice");
    return device;
  };
  const int before = current(), last = static_cast<int>(cuda_devices().devices.size()) - 1;
  {
    const DeviceScope scope({.devices = {Device::gpu(last)}}, "a test", true);
    EXPECT_EQ(current(), last);
    const DeviceArray<int> memory = make_device<int>(1000);
    cudaPointerAttributes attributes{};
    cuda_check(cudaPointerGetAttributes(&attributes, memory.get()), "cudaPointerGetAttributes");
    EXPECT_EQ(attributes.device, last);
  }
  EXPECT_EQ(current(), before);
}

__global__ void fill(int* values, int value) { values[threadIdx.x] = value; }

TEST(DeviceOnGpu, EachWritesIntoTheMemoryOfTheOthers) {
  const DevicesScope scope({.devices = parse_devices("cuda:all")}, true);
  const std::vector<Device>& devices = scope.devices();
  if (devices.size() < 2) GTEST_SKIP() << "there is one GPU";
  constexpr int kCount = 32;
  std::vector<DeviceArray<int>> of(devices.size());
  on_devices(devices, [&](std::size_t k) { of[k] = make_device<int>(kCount); });
  for (int time = 0; time < 2; ++time) enable_peers(devices);
  on_devices(devices, [&](std::size_t k) {
    fill<<<1, kCount>>>(of[(k + 1) % devices.size()].get(), static_cast<int>(k));
    cuda_check(cudaDeviceSynchronize(), "fill");
  });
  for (std::size_t k = 0; k < devices.size(); ++k) {
    std::vector<int> values(kCount);
    cuda_check(cudaMemcpy(values.data(), of[(k + 1) % devices.size()].get(), kCount * sizeof(int),
                          cudaMemcpyDefault),
               "cudaMemcpy");
    EXPECT_EQ(values, std::vector<int>(kCount, static_cast<int>(k)));
  }
}

TEST(DeviceOnGpu, ARunsCapIsRefusedWithBothNumbers) {
  const RunScope scope({.memory = 1000});
  EXPECT_NO_THROW(make_device<char>(1000));
  try {
    make_device<char>(1001);
    FAIL() << "allocated";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("1.00 kB of the GPU's memory were wanted, 1.00 kB of"),
              std::string::npos)
        << error.what();
  }
}

TEST(DeviceOnGpu, MoreMemoryThanThereIsIsOutOfMemory) {
  void* pointer = nullptr;
  EXPECT_THROW(cuda_check(cudaMalloc(&pointer, std::size_t{1} << 50), "cudaMalloc of 1 PiB"), OutOfMemory);
}

TEST(DeviceOnGpu, AnotherErrorNamesTheCall) {
  try {
    cuda_check(cudaSetDevice(-1), "cudaSetDevice(-1)");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("cudaSetDevice(-1): "), 0U);
  }
}

}  // namespace
}  // namespace warploom
