#include "warploom/core/device.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "core/architectures.hpp"
#include "core/cuda_driver.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Device, NamesAndParsingAgree) {
  for (const Device device : {Device::cpu, Device::cuda, Device::best, Device::gpu(0), Device::gpu(17)})
    EXPECT_EQ(parse_devices(name(device)), std::vector<Device>{device});
  EXPECT_EQ(name(Device::gpu(1)), "cuda:1");
}

TEST(Device, SeveralGpusAreNamedByNumber) {
  const std::vector<Device> both{Device::gpu(2), Device::gpu(0)};
  EXPECT_EQ(parse_devices("cuda:2,cuda:0"), both);
  EXPECT_EQ(parse_devices("cuda:2,0"), both);
  EXPECT_EQ(parse_devices("cuda:0,0"), (std::vector<Device>{Device::gpu(0), Device::gpu(0)}));
  EXPECT_EQ(parse_devices("cpu,cpu,cpu"), std::vector<Device>(3, Device::cpu));
}

TEST(Device, AllGpusAreThoseOfTheDriver) {
  EXPECT_EQ(all_gpus(CudaDriver(FAKE_CUDA_DRIVER)), (std::vector<Device>{Device::gpu(0), Device::gpu(1)}));
  try {
    all_gpus(CudaDriver("libno_such_driver.so.1"));
    FAIL() << "there are some";
  } catch (const NoDevice& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'cuda:all'"), HasSubstr("libno_such_driver.so.1")));
  }
}

TEST(Device, AnUnknownNameIsRefusedWithTheKnownOnes) {
  for (const char* text :
       {"gpu", "", "CUDA", "cuda:", "cuda:-1", "cuda:1x", "cuda:1,", "cuda,cuda:1", "cpu,cuda:0", "cpu,0",
        "cuda:0,cpu", "0", "0,1", "cuda:0,all", "cuda:all,0", "cuda:0,1x", "cuda:0,-1"})
    try {
      parse_devices(text);
      FAIL() << text << " was accepted";
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("'" + std::string(text) + "'"),
                                      HasSubstr("cpu, cuda or auto"), HasSubstr("cuda:0,1 or cuda:all")));
    }
}

TEST(Device, TheDriversDescriptionIsReadWhole) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  const CudaDevices& found = driver.devices();
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
  EXPECT_EQ(CudaDriver(FAKE_CUDA_DRIVER).devices().devices.at(0).shared_reserved, 0U);
}

TEST(Device, NoDriverIsExplained) {
  const CudaDevices found = CudaDriver("libno_such_driver.so.1").devices();
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.absent, AllOf(HasSubstr("libno_such_driver.so.1"), HasSubstr("install the driver")));
}

TEST(Device, ALibraryThatIsNoDriverIsExplained) {
  EXPECT_THAT(CudaDriver(NOT_A_CUDA_DRIVER).devices().absent, HasSubstr("lacks functions"));
}

TEST(Device, ADriverThatDoesNotStartIsExplained) {
  setenv("FAKE_CUDA", "broken", 1);
  const CudaDevices found = CudaDriver(FAKE_CUDA_DRIVER).devices();
  unsetenv("FAKE_CUDA");
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.absent, AllOf(HasSubstr("CUDA error 999: invented error"), HasSubstr("nvidia-smi")));
}

TEST(Device, ADriverWithoutDevicesIsExplained) {
  setenv("FAKE_CUDA", "empty", 1);
  const CudaDevices found = CudaDriver(FAKE_CUDA_DRIVER).devices();
  unsetenv("FAKE_CUDA");
  EXPECT_THAT(found.absent, HasSubstr("shows no device"));
}

/// The number of the device that is the thread's current one with the invented driver; -1: none.
int current_device() {
  static const auto ask =
      reinterpret_cast<int (*)()>(dlsym(dlopen(FAKE_CUDA_DRIVER, RTLD_NOW), "fake_current"));
  return ask();
}

TEST(OnDevice, MakesAGpuCurrentAndLeavesItAsItWas) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  {
    const OnDevice second(Device::gpu(1), driver);
    EXPECT_EQ(current_device(), 1);
    {
      const OnDevice first(Device::gpu(0), driver);
      EXPECT_EQ(current_device(), 0);
      std::thread([] { EXPECT_EQ(current_device(), -1); }).join();
    }
    EXPECT_EQ(current_device(), 1);
  }
  EXPECT_EQ(current_device(), -1);
}

TEST(OnDevice, ChangesNothingWithoutANumber) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  const OnDevice second(Device::gpu(1), driver), any(Device::cuda, driver), cpu(Device::cpu, driver);
  EXPECT_EQ(current_device(), 1);
}

TEST(OnDevice, SaysWhichGpuDoesNotAnswer) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  try {
    const OnDevice third(Device::gpu(2), driver);
    FAIL() << "accepted";
  } catch (const NoDevice& error) {
    EXPECT_STREQ(error.what(), "there is no GPU 2: the highest number here is 1");
  }
  EXPECT_EQ(current_device(), -1);
}

TEST(Device, AGpuThatNoCodeWasBuiltForIsRefusedWithWhatToDo) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  EXPECT_EQ(choose_device(Device::gpu(1), driver, "90-real"), Device::gpu(1));
  EXPECT_EQ(choose_device(Device::cuda, driver, "75-virtual,80-real"), Device::cuda);
  try {
    choose_device(Device::gpu(1), driver, "75-real,100");
    FAIL() << "chosen";
  } catch (const NoDevice& error) {
    EXPECT_STREQ(error.what(),
                 "device 'cuda:1' was asked for, but no code was built for Invented 1, sm_91, only for "
                 "75-real,100: configure with -DCMAKE_CUDA_ARCHITECTURES=91; or use `device` cpu or auto");
  }
  EXPECT_EQ(choose_device(Device::best, driver, "75-real,100"), Device::cpu);
}

TEST(Device, WithoutANumberTheCurrentGpuCounts) {
  const CudaDriver driver(FAKE_CUDA_DRIVER);
  EXPECT_THROW(choose_device(Device::cuda, driver, "91-real"), NoDevice);  // the first: sm_90
  const OnDevice second(Device::gpu(1), driver);
  EXPECT_EQ(choose_device(Device::cuda, driver, "91-real"), Device::cuda);
}

TEST(Device, TheCpuIsAlwaysThere) { EXPECT_EQ(choose_device(Device::cpu), Device::cpu); }

TEST(Device, AutoTakesCudaExactlyWhenThereIsADeviceThatOurCodeRunsOn) {
  const bool present = !cuda_devices().devices.empty();
  const bool usable =
      present && runs_on(built_architectures(), cuda_devices().devices.front().compute_capability);
  EXPECT_EQ(choose_device(Device::best), usable ? Device::cuda : Device::cpu);
  EXPECT_EQ(present, cuda_devices().absent.empty());
}

TEST(Device, AskingForAnAbsentDeviceSaysWhatToDo) {
  if (!cuda_devices().devices.empty()) GTEST_SKIP() << "there is a CUDA device here";
  try {
    choose_device(Device::cuda);
    FAIL() << "chosen";
  } catch (const NoDevice& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(cuda_devices().absent), HasSubstr("`device` cpu or auto")));
  }
}

}  // namespace
}  // namespace warploom
