#include "warploom/core/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/cuda_driver.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Device, NamesAndParsingAgree) {
  for (const Device device : {Device::cpu, Device::cuda, Device::best})
    EXPECT_EQ(parse_device(name(device)), device);
}

TEST(Device, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    parse_device("gpu");
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'gpu'"), HasSubstr("cpu, cuda or auto")));
  }
  EXPECT_THROW(parse_device(""), BadInput);
  EXPECT_THROW(parse_device("CUDA"), BadInput);
}

TEST(Device, TheDriversDescriptionIsReadWhole) {
  const CudaDevices found = query_cuda_driver(FAKE_CUDA_DRIVER);
  EXPECT_EQ(found.absent, "");
  EXPECT_EQ(found.driver_version, 13000);
  ASSERT_EQ(found.devices.size(), 2U);
  const CudaDevice& second = found.devices[1];
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.name, "Invented 1");
  EXPECT_EQ(second.compute_capability, 91);
  EXPECT_EQ(second.multiprocessors, 11);
  EXPECT_EQ(second.memory, std::uint64_t{16} << 30);
  EXPECT_EQ(second.shared_per_sm, 228U << 10);
  EXPECT_EQ(second.shared_per_block, 48U << 10);
  EXPECT_EQ(second.shared_per_block_optin, 227U << 10);
  EXPECT_EQ(second.threads_per_sm, 2048);
  EXPECT_EQ(second.registers_per_sm, 65536);
}

TEST(Device, AnAttributeTheDriverDoesNotKnowIsZero) {
  EXPECT_EQ(query_cuda_driver(FAKE_CUDA_DRIVER).devices.at(0).shared_reserved, 0U);
}

TEST(Device, NoDriverIsExplained) {
  const CudaDevices found = query_cuda_driver("libno_such_driver.so.1");
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.absent, AllOf(HasSubstr("libno_such_driver.so.1"), HasSubstr("install the driver")));
}

TEST(Device, ALibraryThatIsNoDriverIsExplained) {
  EXPECT_THAT(query_cuda_driver(NOT_A_CUDA_DRIVER).absent, HasSubstr("lacks functions"));
}

TEST(Device, ADriverThatDoesNotStartIsExplained) {
  setenv("FAKE_CUDA", "broken", 1);
  const CudaDevices found = query_cuda_driver(FAKE_CUDA_DRIVER);
  unsetenv("FAKE_CUDA");
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.absent, AllOf(HasSubstr("CUDA error 999: invented error"), HasSubstr("nvidia-smi")));
}

TEST(Device, ADriverWithoutDevicesIsExplained) {
  setenv("FAKE_CUDA", "empty", 1);
  const CudaDevices found = query_cuda_driver(FAKE_CUDA_DRIVER);
  unsetenv("FAKE_CUDA");
  EXPECT_THAT(found.absent, HasSubstr("shows no device"));
}

TEST(Device, TheCpuIsAlwaysThere) { EXPECT_EQ(choose_device(Device::cpu), Device::cpu); }

TEST(Device, AutoTakesCudaExactlyWhenThereIsADevice) {
  const bool present = !cuda_devices().devices.empty();
  EXPECT_EQ(choose_device(Device::best), present ? Device::cuda : Device::cpu);
  EXPECT_EQ(present, cuda_devices().absent.empty());
}

TEST(Device, AskingForAnAbsentDeviceSaysWhatToDo) {
  if (!cuda_devices().devices.empty()) GTEST_SKIP() << "there is a CUDA device here";
  try {
    choose_device(Device::cuda);
    FAIL() << "chosen";
  } catch (const NoDevice& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(cuda_devices().absent), HasSubstr("--device cpu or auto")));
  }
}

}  // namespace
}  // namespace warploom
