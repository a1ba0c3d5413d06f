// Several GPUs that search together find what one finds, to the last bit. A GPU that is named twice is two.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "search/signals.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

std::vector<std::vector<Device>> groups() {
  const Device first = Device::gpu(0),
               last = Device::gpu(static_cast<int>(cuda_devices().devices.size()) - 1);
  std::vector<std::vector<Device>> all{{first, first}};
  if (last != first) all.insert(all.end(), {{first, last}, {last, first}, {first, last, first}});
  return all;
}

template <class SomePattern, class SomeTask>
void expect_same(const Signal& signal, const std::vector<SomePattern>& patterns,
                 const std::vector<SomeTask>& tasks) {
  for (const Prune prune : {Prune::never, Prune::automatic, Prune::always}) {
    Index one(signal, {.run = {.devices = {Device::cuda}}, .prune = prune});
    const std::vector<std::vector<Candidate>> want = one.best(patterns, tasks);
    for (const std::vector<Device>& devices : groups()) {
      Index several(signal, {.run = {.devices = devices}, .prune = prune});
      EXPECT_EQ(several.best(patterns, tasks), want) << devices.size() << " devices";
      EXPECT_EQ(several.effort().windows, one.effort().windows);
      // All of them searched.
      EXPECT_EQ(several.effort().choice.find(std::to_string(devices.size()) + " devices"), 0U)
          << several.effort().choice;
    }
  }
}

/// Of more cells than a call needs for that GPUs share it.
std::vector<float> gait(std::size_t samples, std::uint32_t seed) {
  std::vector<float> all = random_walk(samples, seed);
  for (std::size_t i = 0; i < samples; ++i)
    all[i] = .1F * all[i] + std::sin(static_cast<float>(i) * 6.2831853F / 64);
  for (std::size_t i = samples / 3; i < samples / 3 + 5; ++i)
    all[i] = std::numeric_limits<float>::quiet_NaN();
  return all;
}

TEST(SharedGpuSearch, CutsATaskWithoutATrace) {
  const std::vector<float> walk = gait(400'000, 1);
  const std::vector<Pattern> patterns{{.samples = part(walk, 5000, 64), .radius = 6}};
  for (const std::int64_t limit : {1, 100, 9000})
    for (const std::int64_t exclusion : {0, 32, 70})
      expect_same({walk}, patterns, std::vector<Task>{{.limit = limit, .exclusion = exclusion}});
}

TEST(SharedGpuSearch, DealsOutTasks) {
  const std::vector<float> a = gait(100'000, 2), b = gait(100'000, 3);
  std::vector<Pattern> patterns;
  std::vector<Task> tasks;
  for (std::int32_t p = 0; p < 5; ++p) {
    patterns.push_back({.samples = part(p % 2 == 0 ? a : b, 700 * static_cast<std::size_t>(p) + 9,
                                        60 + static_cast<std::size_t>(p)),
                        .radius = 6,
                        .lead = 3 * p});
    for (const std::int32_t channel : {0, 1})
      tasks.push_back({.channel = channel, .first_pattern = p, .limit = 50, .exclusion = 32});
  }
  tasks.push_back({.channel = 1, .first_pattern = 0, .patterns = 5, .limit = 50, .exclusion = 32});
  expect_same({a, b}, patterns, tasks);
}

TEST(SharedGpuSearch, OfSeveralChannelsAtOneOffset) {
  const std::vector<float> a = gait(300'000, 4), b = gait(300'000, 5);
  const std::vector<JointPattern> patterns{
      {.samples = {part(a, 200, 64), part(b, 200, 64)}, .channels = {0, 1}, .radius = 6}};
  expect_same({a, b}, patterns, std::vector<JointTask>{{.limit = 50, .exclusion = 32}});
}

}  // namespace
}  // namespace warploom::search
