// Lower bounds with costs that adjacent windows share exclude no window that is near enough, and nearly all
// others.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "search/cpu_bounds_search.hpp"
#include "search/index_checks.hpp"
#include "search/signals.hpp"
#include "warploom/core/run.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

using Channels = std::vector<std::vector<float>>;

/// What is left of the last sample, and noise of variance 1.
std::vector<float> noise(std::size_t samples, double left, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<float> all;
  double x = 0;
  for (std::size_t t = 0; t < samples; ++t) all.push_back(static_cast<float>(x = left * x + normal(engine)));
  return all;
}

struct Case {
  std::string what;
  Channels channels;
};

std::vector<Case> cases(std::size_t count) {
  constexpr std::size_t kSamples = 1500;
  std::vector<Case> all(5);
  for (std::uint32_t c = 0; c < count; ++c) {
    all[0].channels.push_back(noise(kSamples, .8, c));
    all[1].channels.push_back(random_walk(kSamples, c));
    all[2].channels.push_back(noise(kSamples, .5, c));  // far from 0, of another size
    for (float& x : all[2].channels[c]) x = 1e6F + 30 * x;
    all[3].channels.push_back(noise(kSamples, .9, c));  // rests, leaps, misses samples
    std::fill_n(all[3].channels[c].begin() + 400 + 10 * c, 250, 3.F);
    all[3].channels[c][900] = 1e4F;
    all[3].channels[c][1100] = std::numeric_limits<float>::quiet_NaN();
    all[4].channels.push_back(noise(kSamples, .7, c));  // louder and louder
    for (std::size_t t = 0; t < kSamples; ++t)
      all[4].channels[c][t] *= std::exp(.01F * static_cast<float>(t));
  }
  all[0].what = "noise", all[1].what = "walk", all[2].what = "far from 0", all[3].what = "rests and leaps";
  all[4].what = "louder";
  return all;
}

JointPattern pattern_of(const Channels& channels, std::size_t length, std::int64_t radius) {
  JointPattern pattern{.radius = radius, .warping = Warping::together};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    pattern.samples.push_back(like(channels[c], 700, length, .1F));
    pattern.channels.push_back(static_cast<std::int32_t>(c));
  }
  return pattern;
}

TEST(SharedCosts, ExcludeNoWindowThatIsNearEnough) {
  const RunScope one_thread({.threads = 1});
  for (const std::size_t count : {2, 3, 6, 9})
    for (const auto& [what, channels] : cases(count))
      for (const auto& [length, radius] :
           {std::pair{37, 2}, std::pair{64, 3}, std::pair{96, 20}, std::pair{18, 17}}) {
        const Signal signal(channels.begin(), channels.end());
        const JointPattern pattern = pattern_of(channels, static_cast<std::size_t>(length), radius);
        Index plain(signal, on_cpu(Normalization::z, Prune::never)),
            bounded(signal, on_cpu(Normalization::z, Prune::always));
        const std::vector<float> profile = plain.profile(pattern, 0, std::ssize(channels[0]) - length + 1);
        std::vector<float> sorted = profile;
        std::sort(sorted.begin(), sorted.end());
        for (const double quantile : {.01, .1, .5}) {
          const float most = sorted[static_cast<std::size_t>(quantile * static_cast<double>(sorted.size()))];
          const JointTask task{.limit = 10'000, .exclusion = 0, .max_distance = most};
          std::vector<std::int64_t> expected, found;
          for (std::size_t t = 0; t < profile.size(); ++t)
            if (profile[t] <= most) expected.push_back(static_cast<std::int64_t>(t));
          const auto best = bounded.best({&pattern, 1}, {&task, 1});
          for (const Candidate& c : best[0]) {
            found.push_back(c.offset);
            EXPECT_EQ(c.distance, profile[c.offset]);
          }
          std::sort(found.begin(), found.end());
          EXPECT_EQ(found, expected) << what << ", " << count << " channels, m = " << length
                                     << ", r = " << radius << ", distances up to " << most;
        }
      }
}

struct Set {
  std::string name;
  const CpuSharedCosts* costs;
  const CpuDtw* dtw;
};

/// Those that this processor can run.
std::vector<Set> sets() {
  std::vector<Set> all;
#if defined(WARPLOOM_HAS_avx512)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({"avx2", &avx2::cpu_shared_costs, &avx2::cpu_dtw});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    all.push_back({"avx512", &avx512::cpu_shared_costs, &avx512::cpu_dtw});
    if (__builtin_cpu_supports("avx512vnni"))
      all.push_back({"avx512vnni", &avx512::cpu_shared_products, &avx512::cpu_dtw});
  }
#endif
  return all;
}

/// What is within the bound of some adjacent windows.
struct Within {
  std::int64_t asked = 0, left = 0;
};

/// Expects that no window is excluded whose distance is not above the bound, and that none comes in that was
/// not asked for.
Within check_windows(const Set& set, const Signal& signal, const JointPattern& pattern,
                     const std::vector<float>& profile, std::int64_t first, float most) {
  const CpuQuery query(signal, pattern, Normalization::z);
  const SharedCostsQuery shared = shared_costs_query(query).value();
  const std::int64_t windows = set.costs->windows;
  const CpuWindowsOfAll some(query, first, windows);
  std::vector<const float*> samples;
  std::vector<LaneMoments> moments;
  for (const CpuWindows& channel : some.channels) {
    samples.push_back(channel.samples);
    moments.push_back(channel.lanes(0));
  }
  std::uint8_t asked[AdjacentWindows::kMost / 8] = {}, within[AdjacentWindows::kMost / 8];
  for (std::int64_t t = 0; t < windows; ++t)
    if (!some.missing(t) && (first + t) % 11 != 0) asked[t / 8] |= static_cast<std::uint8_t>(1U << t % 8);
  std::copy_n(asked, std::size(asked), within);
  Lines memory(set.costs->bytes(shared) / 4);
  const float bound = most * most * static_cast<float>(query.length * query.count());
  set.costs->within_bound(shared, {samples.data(), moments.data(), bound}, memory.data(), within);
  Within sum;
  for (std::int64_t t = 0; t < windows; ++t) {
    const bool was = (asked[t / 8] >> t % 8 & 1) != 0, is = (within[t / 8] >> t % 8 & 1) != 0;
    EXPECT_TRUE(was || !is) << set.name << ", window " << first + t;
    EXPECT_TRUE(!was || is || !(profile[first + t] <= most * (1 - 1e-5F)))
        << set.name << ", window " << first + t << " at " << profile[first + t] << " of " << most;
    sum.asked += was;
    sum.left += is;
  }
  return sum;
}

/// The same of windows that are normalised by themselves.
Within check_each(const Set& set, const Signal& signal, const JointPattern& pattern,
                  const std::vector<float>& profile, std::int64_t first, float most) {
  const CpuQuery query(signal, pattern, Normalization::z);
  const SharedCostsQuery shared = shared_costs_query(query).value();
  const int lanes = set.dtw->lanes;
  const std::int64_t channels = query.count();
  Lines halves[2] = {Lines(query.length * channels * lanes), Lines(query.length * channels * lanes)};
  std::uint32_t asked = 0;
  for (int half = 0; half < 2; ++half) {
    const CpuWindowsOfAll some(query, first + half * lanes, lanes);
    for (std::int64_t c = 0; c < channels; ++c)
      set.dtw->interleave_adjacent(some.channels[c].samples, some.channels[c].lanes(0), query.length,
                                   channels * lanes, halves[half].data() + c * lanes);
    for (int l = 0; l < lanes; ++l)
      if (!some.missing(l) && l % 7 != 3) asked |= 1U << (half * lanes + l);
  }
  Lines memory(set.costs->bytes(shared) / 4);
  const float bound = most * most * static_cast<float>(query.length * channels);
  const std::uint32_t left =
      set.costs->each_within_bound(shared, {halves[0].data(), halves[1].data()}, bound, memory.data(), asked);
  EXPECT_EQ(left & ~asked, 0U) << set.name;
  for (int l = 0; l < 2 * lanes; ++l)
    EXPECT_TRUE((asked >> l & 1) == 0 || (left >> l & 1) != 0 || !(profile[first + l] <= most * (1 - 1e-5F)))
        << set.name << ", window " << first + l << " at " << profile[first + l] << " of " << most;
  return {std::popcount(asked), std::popcount(left)};
}

TEST(SharedCosts, OfEachInstructionSetExcludeNoWindowThatIsNearEnough) {
  for (const Set& set : sets())
    for (const std::size_t count : {2, 3, 5, 8})
      for (const auto& [what, channels] : cases(count))
        for (const auto& [length, radius] : {std::pair{37, 2}, std::pair{64, 3}, std::pair{51, 20}}) {
          const Signal signal(channels.begin(), channels.end());
          const JointPattern pattern = pattern_of(channels, static_cast<std::size_t>(length), radius);
          Index plain(signal, on_cpu(Normalization::z, Prune::never));
          const std::vector<float> profile = plain.profile(pattern, 0, std::ssize(channels[0]) - length + 1);
          std::vector<float> sorted = profile;
          std::sort(sorted.begin(), sorted.end());
          const float half = sorted[sorted.size() / 2], below = .8F * half;
          for (const float most : {sorted[3], below, half}) {
            Within sum, sum_of_each;
            const std::int64_t many = 2 * set.dtw->lanes;
            const bool has_each = set.costs->each_within_bound != nullptr;
            for (std::int64_t first = 5; has_each && first + many <= std::ssize(profile); first += 3 * many) {
              const Within some = check_each(set, signal, pattern, profile, first, most);
              sum_of_each.asked += some.asked;
              sum_of_each.left += some.left;
            }
            for (std::int64_t first = 3; first + set.costs->windows <= std::ssize(profile);
                 first += set.costs->windows) {
              const Within some = check_windows(set, signal, pattern, profile, first, most);
              sum.asked += some.asked;
              sum.left += some.left;
            }
            if (what == "noise" && length == 64 && most == below) {
              EXPECT_LT(2 * sum.left, sum.asked) << set.name << ", " << count << " channels";
              if (has_each) {
                EXPECT_LT(8 * sum_of_each.left, sum_of_each.asked)
                    << set.name << ", " << count << " channels";
              }
            }
          }
        }
}

TEST(SharedCosts, ExcludeMostOfNoise) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "not there without AVX2";
#else
  GTEST_SKIP() << "not there without AVX2";
#endif
  const RunScope one_thread({.threads = 1});
  Channels channels;
  for (std::uint32_t c = 0; c < 6; ++c) channels.push_back(noise(20'000, .8, c));
  const JointPattern pattern = pattern_of(channels, 128, 6);
  Index index(Signal(channels.begin(), channels.end()), on_cpu(Normalization::z, Prune::always));
  const JointTask task{.limit = 5, .exclusion = 64};
  index.best({&pattern, 1}, {&task, 1});
  // Envelopes exclude none here.
  EXPECT_GT(2 * index.effort().bounded, index.effort().windows);
}

}  // namespace
}  // namespace warploom::search
