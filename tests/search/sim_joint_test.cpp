// The kernels of several channels at one offset, in the simulator.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "oracle/search_brute_force.hpp"
#include "search/cuda_dtw.hpp"
#include "search/joint_job.hpp"
#include "search/kernel_simulator.hpp"
#include "search/signals.hpp"
#include "search/windows.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kWindows = 19;

enum class Memory { registers, shared, global };

/// The kernel's distances of two patterns of three channels, together and each, from all windows of walks,
/// one of which misses a sample, are the oracle's.
void expect_joint_distances(std::string_view kernel, Memory memory, std::int64_t length,
                            std::int64_t radius) {
  SCOPED_TRACE(testing::Message() << kernel << " on length " << length << ", radius " << radius);
  constexpr std::size_t kChannels = 3;
  Simulator simulator;
  std::vector<std::vector<float>> recorded;
  std::vector<const float*> samples;
  std::vector<MomentsJob> moments;
  unsigned moment_blocks = 0;
  for (std::uint32_t c = 0; c < kChannels; ++c) {
    recorded.push_back(random_walk(static_cast<std::size_t>(length + kWindows - 1), 1 + c));
    if (c == 1 && length < 60)
      recorded[c][static_cast<std::size_t>(length)] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> padded = recorded[c];
    padded.resize(padded.size() + kSamplePad);
    samples.push_back(simulator.upload(padded));
    moments.push_back({.samples = samples[c],
                       .begins = nullptr,
                       .scales = simulator.upload(std::vector<WindowScale>(kWindows)),
                       .missing = simulator.upload(std::vector<unsigned long long>(1)),
                       .first = 0,
                       .count = kWindows,
                       .length = static_cast<std::int32_t>(length),
                       .normalize = 1,
                       .first_block = moment_blocks++});
  }
  simulator.launch("::moments", moment_blocks, kMomentThreads, 0, address(simulator.upload(moments)),
                   std::int32_t{kChannels});
  std::vector<JointJob> jobs;
  std::vector<JointPattern> patterns;
  auto* const missing = simulator.upload(std::vector<unsigned long long>(1));
  unsigned blocks = 0;
  for (std::uint32_t p = 0; p < 2; ++p) {
    JointPattern pattern{.radius = radius, .warping = p == 0 ? Warping::together : Warping::each};
    std::vector<JointChannel> channels;
    for (std::uint32_t c = 0; c < kChannels; ++c) {
      pattern.samples.push_back(random_walk(static_cast<std::size_t>(length), 15 + c));
      pattern.channels.push_back(static_cast<std::int32_t>(c));
      const std::vector<float> normal = normalised(pattern.samples[c]);
      std::vector<float> query(static_cast<std::size_t>(front_pad(radius) + length + radius + kBackPad),
                               kFar);
      std::copy(normal.begin(), normal.end(), query.begin() + front_pad(radius));
      channels.push_back({simulator.upload(query) + front_pad(radius), samples[c], moments[c].scales});
    }
    jobs.push_back({.channels = simulator.upload(channels),
                    .begins = nullptr,
                    .profile = simulator.upload(std::vector<ProfileEntry>(kWindows, kNoEntry)),
                    .missing = missing,
                    .windows = kWindows,
                    .count = kChannels,
                    .together = p == 0 ? std::int32_t{kChannels} : 1,
                    .length = static_cast<std::int32_t>(length),
                    .radius = static_cast<std::int32_t>(radius),
                    .pattern = p,
                    .first_block = blocks});
    blocks += memory == Memory::registers ? 1 : static_cast<unsigned>(kWindows);
    patterns.push_back(std::move(pattern));
  }
  auto* const device = simulator.upload(jobs);
  const std::int64_t floats = joint_floats(radius);
  if (memory == Memory::registers) {
    simulator.launch(kernel, blocks, kDtwThreads, 0, address(device), std::int32_t{2});
  } else if (memory == Memory::shared) {
    simulator.launch(kernel, blocks, 64, static_cast<unsigned>(4 * floats), address(device), std::int32_t{2},
                     blocks, sim::Address{0}, floats);
  } else {
    auto* const diagonals = simulator.upload(std::vector<float>(static_cast<std::size_t>(5 * floats)));
    simulator.launch(kernel, 5, 32, 0, address(device), std::int32_t{2}, blocks, address(diagonals), floats);
  }
  for (std::size_t p = 0; p < 2; ++p) {
    const auto expected = oracle::profile(patterns[p], {recorded.begin(), recorded.end()}, true);
    const auto found = simulator.download(jobs[p].profile, kWindows);
    for (std::size_t t = 0; t < found.size(); ++t) {
      const auto distance = std::bit_cast<float>(static_cast<std::uint32_t>(found[t] >> 32));
      EXPECT_EQ(static_cast<std::uint32_t>(found[t]), p);
      if (std::isinf(expected[t]))
        EXPECT_TRUE(std::isinf(distance)) << t;
      else
        EXPECT_NEAR(distance, expected[t], 1e-4 * expected[t] + 1e-6) << t;
    }
  }
  EXPECT_EQ(simulator.download(missing, 1)[0], length < 60 ? 2 * std::min(length, kWindows - 1) : 0);
}

TEST(JointKernels, CompareInOneThread) {
  for (const std::int64_t length : {2, 7, 8, 33})
    expect_joint_distances("dtw_joint_thread<0, 4>", Memory::registers, length, 0);
  for (const std::int64_t length : {4, 7, 33, 61})
    expect_joint_distances("dtw_joint_thread<3, 4>", Memory::registers, length, 3);
}

TEST(JointKernels, CompareInABlock) {
  for (const Memory memory : {Memory::shared, Memory::global})
    for (const auto& [length, radius] :
         {std::pair{2, 0}, {2, 1}, {9, 2}, {30, 29}, {40, 7}, {61, 60}, {70, 33}})
      expect_joint_distances("dtw_joint_block", memory, length, radius);
}

}  // namespace
}  // namespace warploom::search
