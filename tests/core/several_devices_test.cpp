#include "core/several_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom {
namespace {

const std::vector<Device> kThree(3, Device::cpu);

TEST(DevicesScope, TheCpuMayBeSeveralDevices) {
  const DevicesScope scope({.devices = kThree}, true);
  EXPECT_EQ(scope.devices(), kThree);
  EXPECT_FALSE(scope.on_gpu());
  EXPECT_EQ(current_run().devices, kThree);
}

TEST(DevicesScope, WithoutTheModulesCudaHalfOneIsTheCpu) {
  EXPECT_EQ(DevicesScope({}, false).devices(), std::vector<Device>{Device::cpu});
  EXPECT_THROW(DevicesScope({.devices = {Device::gpu(0), Device::gpu(1)}}, false), NoDevice);
}

TEST(DevicesScope, DevicesThatShareNoWorkAreRefused) {
  for (const std::vector<Device>& devices : {std::vector<Device>{Device::cpu, Device::gpu(0)},
                                             {Device::gpu(0), Device::cuda},
                                             {Device::best, Device::cpu}})
    try {
      const DevicesScope scope({.devices = devices}, true);
      FAIL() << names(devices);
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("devices " + names(devices) + " do not share work"));
    }
}

TEST(OnDevices, EachHasAThreadWithItsOwnRun) {
  std::vector<std::thread::id> ids(3);
  std::vector<unsigned> threads_of(3);
  std::atomic<int> here = 0;
  const RunScope scope({.devices = kThree, .threads = 2});
  on_devices(kThree, [&](std::size_t k) {
    ids[k] = std::this_thread::get_id();
    threads_of[k] = threads();
    EXPECT_EQ(current_run().devices, std::vector<Device>{Device::cpu});
    ++here;
    while (here < 3) check_interrupt();  // all run at once
  });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[2], ids[0]);
  EXPECT_NE(ids[2], ids[1]);
  EXPECT_EQ(threads_of, std::vector<unsigned>(3, 2));
  EXPECT_EQ(current_run().devices, kThree);
}

TEST(OnDevices, WhoFailsStopsTheOthersAndIsHeard) {
  for (const std::size_t failing : {0U, 1U, 2U}) try {
      on_devices(kThree, [&](std::size_t k) {
        if (k == failing) throw std::runtime_error("device " + std::to_string(k));
        for (;;) check_interrupt();
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "device " + std::to_string(failing));
    }
}

TEST(OnDevices, AScopesStopIsHeardByAll) {
  std::atomic<bool> stop = false;
  std::atomic<int> begun = 0, stopped = 0;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(on_devices(kThree,
                          [&](std::size_t k) {
                            ++begun;  // whom a stop finds not begun is not called
                            while (k == 1 && begun < 3) std::this_thread::yield();
                            if (k == 1) stop = true;
                            try {
                              for (;;) check_interrupt();
                            } catch (const Interrupted&) {
                              ++stopped;
                              throw;
                            }
                          }),
               Interrupted);
  EXPECT_EQ(stopped, 3);
}

TEST(OnDevices, ProgressIsTheFirstOnes) {
  std::vector<std::string> shown;
  const RunScope scope({.progress = [&](const ProgressState& state) { shown.push_back(state.what); }});
  on_devices(kThree, [](std::size_t k) {
    Progress progress(std::to_string(k), 1, "times");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // what is over within 100 is not shown
    progress.advance();
  });
  EXPECT_EQ(shown, (std::vector<std::string>{"0", "0"}));  // as it goes on, and as it ends
}

TEST(OnDevices, OfNoDeviceNothingIsDone) {
  on_devices({}, [](std::size_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace warploom
