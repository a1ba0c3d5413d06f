// The search's kernels in the simulator, with the race detector, on jobs built by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "oracle/search_brute_force.hpp"
#include "search/cuda_dtw.hpp"
#include "search/cuda_selection.hpp"
#include "search/kernel_simulator.hpp"
#include "search/selection.hpp"
#include "search/signals.hpp"
#include "search/windows.hpp"

namespace warploom::search {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

constexpr std::string_view kColumns1 = "dtw_columns<1, 6, (warploom::search::ColumnRounds)0>",
                           kColumns4 = "dtw_columns<4, 6, (warploom::search::ColumnRounds)0>",
                           kRounds4 = "dtw_columns<4, 6, (warploom::search::ColumnRounds)1>",
                           kBanded32 = "dtw_columns<32, 4, (warploom::search::ColumnRounds)2>";

/// The kernel's distances of two patterns of this length and band from all windows of a walk with a gap are
/// the oracle's.
void expect_distances(std::string_view kernel, int windows_per_block, std::int64_t length,
                      std::int64_t radius, bool columns = false) {
  SCOPED_TRACE(testing::Message() << kernel << " on length " << length << ", radius " << radius);
  constexpr std::int64_t kWindows = 19;
  Simulator simulator;
  std::vector<float> walk = random_walk(static_cast<std::size_t>(length + kWindows - 1), 1);
  if (length < 60) walk[static_cast<std::size_t>(length)] = kNaN;
  std::vector<float> padded = walk;
  padded.resize(padded.size() + kSamplePad);
  auto* const samples = simulator.upload(padded);
  auto* const scales = simulator.upload(std::vector<WindowScale>(kWindows));
  auto* const missing = simulator.upload(std::vector<unsigned long long>(1));
  std::vector<MomentsJob> moments = {{.samples = samples,
                                      .begins = nullptr,
                                      .scales = scales,
                                      .missing = missing,
                                      .first = 0,
                                      .count = kWindows,
                                      .length = static_cast<std::int32_t>(length),
                                      .normalize = 1,
                                      .first_block = 0}};
  simulator.launch("::moments", 1, kMomentThreads, 0, address(simulator.upload(moments)), std::int32_t{1});
  EXPECT_EQ(simulator.download(missing, 1)[0], length < 60 ? std::min(length, kWindows - 1) : 0);

  std::vector<DtwJob> jobs;
  std::vector<Pattern> patterns;
  unsigned blocks = 0;
  for (std::uint32_t p = 0; p < 2; ++p) {
    patterns.push_back({.samples = random_walk(static_cast<std::size_t>(length), 5 + p), .radius = radius});
    const std::vector<float> normal = normalised(patterns[p].samples);
    std::vector<float> query(static_cast<std::size_t>(front_pad(radius) + length + radius + kBackPad), kFar);
    std::copy(normal.begin(), normal.end(), query.begin() + front_pad(radius));
    jobs.push_back({.query = simulator.upload(query) + front_pad(radius),
                    .samples = samples,
                    .begins = nullptr,
                    .scales = scales,
                    .profile = simulator.upload(std::vector<ProfileEntry>(kWindows, kNoEntry)),
                    .list = nullptr,
                    .windows = kWindows,
                    .length = static_cast<std::int32_t>(length),
                    .radius = static_cast<std::int32_t>(radius),
                    .pattern = p,
                    .first_block = blocks});
    blocks += static_cast<unsigned>((kWindows + windows_per_block - 1) / windows_per_block);
  }
  if (columns) {
    const std::int64_t stride = (length + 1) / 2 * 4;
    auto* const edges =
        simulator.upload(std::vector<float>(static_cast<std::size_t>(3 * windows_per_block * stride)));
    simulator.launch(kernel, std::min(blocks, 3U), kDtwThreads, 0, address(simulator.upload(jobs)),
                     std::int32_t{2}, blocks, address(edges), stride);
  } else {
    simulator.launch(kernel, blocks, kDtwThreads, static_cast<unsigned>(4 * (length + 2 * radius + 48)),
                     address(simulator.upload(jobs)), std::int32_t{2});
  }
  for (std::size_t p = 0; p < 2; ++p) {
    const auto expected = oracle::profile(patterns[p], walk, true);
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
}

TEST(SearchKernels, CompareInOneThread) {
  for (const std::int64_t length : {2, 7, 8, 9, 33}) expect_distances("dtw_thread<0, 8>", 128, length, 0);
  for (const std::int64_t length : {4, 7, 8, 9, 33}) expect_distances("dtw_thread<3, 8>", 128, length, 3);
}

TEST(SearchKernels, CompareInLanes) {
  for (const std::int64_t length : {5, 8, 20, 33}) expect_distances("dtw_lanes<2, 5, 8>", 64, length, 4);
  for (const std::int64_t radius : {6, 7})
    for (const std::int64_t length : {8, 20, 33}) expect_distances("dtw_lanes<4, 4, 8>", 32, length, radius);
  for (const std::int64_t radius : {32, 40, 47}) expect_distances("dtw_lanes<32, 3, 8>", 4, 90, radius);
}

TEST(SearchKernels, CompareInColumns) {
  for (const std::int64_t length : {2, 5, 6}) expect_distances(kColumns1, 128, length, length - 1, true);
  for (const std::int64_t length : {2, 7, 8, 23, 24})
    expect_distances(kColumns4, 32, length, length - 1, true);
}

TEST(SearchKernels, CompareInColumnsInRounds) {
  for (const std::int64_t length : {24, 25, 60, 73}) expect_distances(kRounds4, 32, length, length - 1, true);
}

TEST(SearchKernels, CompareInColumnsWithinABand) {
  for (const std::int64_t radius : {0, 3, 40}) expect_distances(kBanded32, 4, 100, radius, true);
  for (const std::int64_t radius : {5, 100, 190}) expect_distances(kBanded32, 4, 300, radius, true);
}

/// What moments() has for windows [first, first + count), together and each by itself, is what the host has.
void expect_moments(const std::vector<float>& channel, std::int64_t length, std::int64_t first,
                    std::int64_t count) {
  SCOPED_TRACE(testing::Message() << "length " << length << ", windows " << first << " + " << count);
  Simulator simulator;
  auto* const samples = simulator.upload(channel);
  std::vector<std::int64_t> begins;
  for (std::int64_t t = first; t < first + count; t += 37) begins.push_back(t);
  std::vector<MomentsJob> jobs(2);
  jobs[0] = {.samples = samples,
             .begins = nullptr,
             .scales = simulator.upload(std::vector<WindowScale>(static_cast<std::size_t>(count))),
             .missing = simulator.upload(std::vector<unsigned long long>(1)),
             .first = first,
             .count = count,
             .length = static_cast<std::int32_t>(length),
             .normalize = 1,
             .first_block = 0};
  jobs[1] = jobs[0];
  jobs[1].begins = simulator.upload(begins);
  jobs[1].scales = simulator.upload(std::vector<WindowScale>(begins.size()));
  jobs[1].count = std::ssize(begins);
  constexpr std::int64_t kWarps = kMomentThreads / 32;
  const std::int64_t runs = (first + count - 1) / kMomentRun - first / kMomentRun + 1;
  jobs[1].first_block = static_cast<std::uint32_t>((runs + kWarps - 1) / kWarps);
  simulator.launch("::moments",
                   jobs[1].first_block + static_cast<unsigned>((begins.size() + kWarps - 1) / kWarps),
                   kMomentThreads, 0, address(simulator.upload(jobs)), std::int32_t{2});
  const auto found = simulator.download(jobs[0].scales, static_cast<std::size_t>(count));
  const auto single = simulator.download(jobs[1].scales, begins.size());
  const WindowMoments expected = window_moments(channel, length, first, count);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "window " << first + static_cast<std::int64_t>(i));
    const WindowScale& scale = found[i];
    if (i % 37 == 0) {
      EXPECT_EQ(std::memcmp(&scale, &single[i / 37], sizeof scale), 0);
    }
    if (std::isnan(expected.scale[i])) {
      EXPECT_TRUE(std::isnan(scale.scale));
    } else {
      EXPECT_NEAR(scale.scale, expected.scale[i], 1e-5F * expected.scale[i]);
      // What the mean is normalised to.
      const double mean = static_cast<double>(expected.mean[i]) + expected.rest[i];
      if (scale.scale > 0) {
        EXPECT_NEAR((mean - scale.mean) * scale.scale + scale.offset, 0, 1e-6);
      }
    }
  }
}

TEST(SearchKernels, TakeMoments) {
  std::vector<float> channel = random_walk(2500, 9);
  for (const std::int64_t length : {2, 5, 31, 32, 33, 100, 700})
    for (const auto& [first, count] : {std::pair{0, 1500}, {511, 2}, {700, 333}})
      expect_moments(channel, length, first, count);
  channel[300] = channel[301] = channel[1024] = kNaN;
  channel[40] = std::numeric_limits<float>::infinity();
  channel[600] = 1e7F;  // little is left of the sums when it leaves
  std::fill(channel.begin() + 1200, channel.begin() + 1400, 5.F);
  for (const std::int64_t length : {2, 20, 64}) expect_moments(channel, length, 0, 2000);
  for (float& x : channel) x += 3e4F;
  for (const std::int64_t length : {20, 64}) expect_moments(channel, length, 0, 2000);
}

TEST(SearchKernels, TakeMomentsFarFromZero) {
  std::vector<float> channel = random_walk(1500, 9);
  for (std::size_t i = channel.size(); i-- > 1;) channel[i] = 1e6F + 2 * (channel[i] - channel[i - 1]);
  channel[0] = 1e6F;
  std::fill(channel.begin() + 700, channel.begin() + 900, 1e6F);
  for (const std::int64_t length : {20, 64}) expect_moments(channel, length, 0, 1400);
}

TEST(SearchKernels, ChooseGreedily) {
  constexpr std::int64_t kCount = 3000;
  Simulator simulator;
  std::vector<SelectionJob> jobs;
  std::vector<std::vector<Candidate>> expected;
  unsigned blocks = 0;
  for (const auto& [limit, zone, distinct] : {std::tuple{20, std::int64_t{7}, 50},
                                              {500, std::int64_t{0}, 100000},
                                              {30, std::int64_t{600}, 100000},
                                              {30, std::int64_t{100}, 1}}) {
    std::vector<ProfileEntry> profile;
    std::vector<Candidate> candidates;
    const std::vector<float> walk = random_walk(kCount, static_cast<std::uint32_t>(limit));
    for (std::int64_t t = 0; t < kCount; ++t) {
      const float distance =
          t % 97 == 5 ? std::numeric_limits<float>::infinity()
                      : std::floor(std::abs(walk[t]) * 1000) * 1e-3F * static_cast<float>(distinct > 1);
      const auto pattern = static_cast<std::int32_t>(t % 3);
      profile.push_back(ProfileEntry{std::bit_cast<std::uint32_t>(distance)} << 32 |
                        static_cast<unsigned>(pattern));
      if (distance <= 9) candidates.push_back({t, distance, pattern});
    }
    std::sort(candidates.begin(), candidates.end(), chosen_before);
    expected.push_back(choose(candidates, limit, zone));
    const auto fans = static_cast<std::size_t>((kCount + kSelectionFan - 1) / kSelectionFan);
    jobs.push_back({.profile = simulator.upload(profile),
                    .fans = simulator.upload(std::vector<ProfileEntry>(fans)),
                    .superfans = simulator.upload(std::vector<ProfileEntry>(1)),
                    .count = kCount,
                    .exclusion = zone,
                    .limit = limit,
                    .max_distance = 9,
                    .chosen = simulator.upload(std::vector<ProfileEntry>(static_cast<std::size_t>(limit))),
                    .patterns = simulator.upload(std::vector<std::uint32_t>(static_cast<std::size_t>(limit))),
                    .chosen_count = simulator.upload(std::vector<std::int32_t>(1)),
                    .first_block = blocks});
    blocks += static_cast<unsigned>((fans + 7) / 8);
  }
  auto* const device = simulator.upload(jobs);
  simulator.launch("make_fans", blocks, 256, 0, address(device), std::int32_t{4});
  simulator.launch("choose_greedily", 4, 256, 0, address(device));
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::int32_t count = simulator.download(jobs[j].chosen_count, 1)[0];
    ASSERT_EQ(count, std::ssize(expected[j])) << "job " << j;
    const auto chosen = simulator.download(jobs[j].chosen, static_cast<std::size_t>(count));
    const auto patterns = simulator.download(jobs[j].patterns, static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      EXPECT_EQ(static_cast<std::uint32_t>(chosen[k]), expected[j][k].offset)
          << "job " << j << ", choice " << k;
      EXPECT_EQ(static_cast<std::int32_t>(patterns[k]), expected[j][k].pattern);
    }
  }
}

}  // namespace
}  // namespace warploom::search
