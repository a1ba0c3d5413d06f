// Several channels at one offset: the GPU's back end finds what brute force and the CPU find.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/search_brute_force.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/index.hpp"
#include "warploom/search/reading.hpp"

namespace warploom::search {
namespace {

using Channels = std::vector<std::vector<float>>;

IndexOptions on(Device device, Normalization normalization, std::uint64_t memory = 0) {
  return {.run = {.devices = {device}, .memory = memory}, .normalization = normalization};
}
Channels joint_walks(std::size_t channels, std::size_t samples, std::uint32_t seed) {
  Channels all;
  for (std::size_t c = 0; c < channels; ++c)
    all.push_back(random_walk(samples, seed + 100 * static_cast<std::uint32_t>(c)));
  return all;
}
JointPattern joint_pattern(const Channels& samples, std::int64_t radius, Warping warping) {
  JointPattern pattern{.samples = samples, .radius = radius, .warping = warping};
  for (std::size_t c = 0; c < samples.size(); ++c) pattern.channels.push_back(static_cast<std::int32_t>(c));
  return pattern;
}
void expect_joint_near(float found, double expected, const std::string& where) {
  if (std::isinf(expected))
    ASSERT_TRUE(std::isinf(found)) << where << ": " << found;
  else
    ASSERT_NEAR(found, expected, 1e-4 * expected + 1e-6) << where;
}

TEST(GpuJoint, HasTheOraclesProfileForAnyLengthBandAndNumberOfChannels) {
  for (const std::size_t count : {1, 2, 6, 18})
    for (const std::size_t length : {2, 33, 100, 200})
      for (const double band : {0., .05, .12, .3, 1.})
        for (const Warping warping : {Warping::together, Warping::each})
          for (const Normalization normalization : {Normalization::none, Normalization::z}) {
            SCOPED_TRACE(testing::Message() << count << " channels, length " << length << ", band " << band);
            Channels recorded = joint_walks(count, length + 40, 1);
            recorded[count / 2][length + 35] = std::numeric_limits<float>::quiet_NaN();
            const Signal signal(recorded.begin(), recorded.end());
            const JointPattern pattern = joint_pattern(
                joint_walks(count, length, 9), band_radius(band, static_cast<std::int64_t>(length)), warping);
            Index index(signal, on(Device::cuda, normalization));
            const auto expected = oracle::profile(pattern, signal, normalization == Normalization::z);
            const auto found = index.profile(pattern, 0, std::ssize(expected));
            for (std::size_t t = 0; t < found.size(); ++t)
              expect_joint_near(found[t], expected[t], "window " + std::to_string(t));
          }
}

/// Places and distances of both back ends, and what is skipped.
void expect_as_on_cpu(const Channels& recorded, const std::vector<JointPattern>& patterns,
                      const std::vector<JointTask>& tasks, std::uint64_t memory = 0) {
  const Signal signal(recorded.begin(), recorded.end());
  Index cpu(signal, on(Device::cpu, Normalization::z)),
      gpu(signal, on(Device::cuda, Normalization::z, memory));
  const auto expected = cpu.best(patterns, tasks), found = gpu.best(patterns, tasks);
  EXPECT_EQ(gpu.effort().skipped, cpu.effort().skipped);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    ASSERT_EQ(found[t].size(), expected[t].size()) << "task " << t;
    for (std::size_t k = 0; k < found[t].size(); ++k) {
      const std::string where = "task " + std::to_string(t) + ", choice " + std::to_string(k);
      EXPECT_EQ(found[t][k].offset, expected[t][k].offset) << where;
      EXPECT_EQ(found[t][k].pattern, expected[t][k].pattern) << where;
      expect_joint_near(found[t][k].distance, expected[t][k].distance, where);
    }
  }
}

TEST(GpuJoint, ChoosesThePlacesThatTheCpuChooses) {
  Channels recorded = joint_walks(6, 60'000, 3);
  for (std::size_t t = 500; t < 60'000; t += 7001)
    recorded[t % 6][t] = std::numeric_limits<float>::quiet_NaN();
  std::vector<JointPattern> patterns;
  for (const Warping warping : {Warping::together, Warping::each})
    for (const std::size_t length : {100, 128, 160})
      for (const std::int64_t radius : {6, 30})
        patterns.push_back(joint_pattern(joint_walks(6, length, 5), radius, warping));
  const std::vector<JointTask> tasks = {
      {.first_pattern = 0, .patterns = 6, .limit = 50, .exclusion = 64},
      {.first_pattern = 6, .patterns = 6, .limit = 50, .exclusion = 64},
      {.first_pattern = 2, .limit = 10, .exclusion = 0, .first = 20'000, .last = 30'000},
      {.first_pattern = 3, .limit = 500, .exclusion = 20, .max_distance = 1.1F}};
  expect_as_on_cpu(recorded, patterns, tasks);
  // With so little memory that the recording is not kept on the device, and goes through it in pieces.
  expect_as_on_cpu(recorded, patterns, tasks, 4'000'000);
}

/// A pattern eight times in six walks, with noise; its channels may have changed places or be late.
struct Planted {
  Channels recorded = joint_walks(6, 12'000, 21), pattern = joint_walks(6, 120, 23);
  Planted(const std::vector<std::size_t>& channel_of, const std::vector<std::size_t>& lag) {
    const Channels noise = joint_walks(6, 121, 25);
    for (std::size_t c = 0; c < 6; ++c)
      for (std::size_t k = 0; k < 8; ++k)
        for (std::size_t i = 0; i < 120; ++i)
          recorded[channel_of[c]][400 + 1300 * k + lag[c] + i] =
              pattern[c][i] + 0.2F * static_cast<float>(1 + k) * (noise[c][i + 1] - noise[c][i]);
  }
  FoundAs found_on(Device device) const {
    Query query;
    query.channels = {pattern.begin(), pattern.end()};
    for (std::int32_t c = 0; c < 6; ++c) query.places.push_back(c);
    Index index({recorded.begin(), recorded.end()}, on(device, Normalization::z));
    return find_automatic(index, query, {.limit = 8});
  }
};

TEST(GpuJoint, AutoFindsWhatItFindsOnTheCpu) {
  const std::vector<std::size_t> in_place = {0, 1, 2, 3, 4, 5}, at_once(6, 0);
  for (const auto& [channel_of, lag] :
       {std::pair(in_place, at_once), std::pair(std::vector<std::size_t>{1, 0, 3, 2, 5, 4}, at_once),
        std::pair(in_place, std::vector<std::size_t>{0, 25, 0, 18, 0, 30})}) {
    const Planted all(channel_of, lag);
    const FoundAs expected = all.found_on(Device::cpu), found = all.found_on(Device::cuda);
    SCOPED_TRACE(expected.chosen().name);
    EXPECT_EQ(found.chosen().name, expected.chosen().name);
    ASSERT_EQ(found.matches.size(), 8U);
    ASSERT_EQ(expected.matches.size(), 8U);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(found.matches[k].first, expected.matches[k].first) << k;
      EXPECT_NEAR(found.matches[k].distance, expected.matches[k].distance,
                  1e-3 * expected.matches[k].distance + 1e-6)
          << k;
    }
  }
}

TEST(GpuJoint, TakesBandsThatSharedMemoryDoesNotHold) {
  const std::size_t length = 24'000;
  const Channels recorded = joint_walks(2, length + 2, 7);
  const Signal signal(recorded.begin(), recorded.end());
  const JointPattern pattern = joint_pattern(joint_walks(2, length, 8), 20'000, Warping::together);
  Index cpu(signal, on(Device::cpu, Normalization::z)), gpu(signal, on(Device::cuda, Normalization::z));
  const auto expected = cpu.profile(pattern, 0, 3), found = gpu.profile(pattern, 0, 3);
  for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(found[t], expected[t], 1e-4 * expected[t]);
}

TEST(GpuJoint, ComparesSingleWindows) {
  const Channels recorded = joint_walks(3, 5000, 11);
  const Signal signal(recorded.begin(), recorded.end());
  const JointPattern pattern = joint_pattern(joint_walks(3, 90, 12), 4, Warping::together);
  const std::vector<std::int64_t> offsets = {4910, 0, 17, 3000};
  const JointWindows windows{.pattern = 0, .offsets = offsets};
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{200'000}}) {
    Index index(signal, on(Device::cuda, Normalization::z, memory));
    const auto found = index.distances({&pattern, 1}, {&windows, 1});
    const auto all = oracle::profile(pattern, signal, true);
    for (std::size_t k = 0; k < offsets.size(); ++k)
      expect_joint_near(found[0][k], all[static_cast<std::size_t>(offsets[k])], std::to_string(offsets[k]));
  }
}

}  // namespace
}  // namespace warploom::search
