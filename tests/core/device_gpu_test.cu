#include <gtest/gtest.h>

#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device.hpp"

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
