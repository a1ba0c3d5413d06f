// The kernels of lower bounds, in the simulator.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "oracle/search_brute_force.hpp"
#include "search/bounds_model.hpp"
#include "search/cuda_bounds.hpp"
#include "search/kernel_simulator.hpp"
#include "search/signals.hpp"
#include "search/sum_bound.hpp"
#include "search/windows.hpp"

namespace warploom::search {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

/// Of the samples of query or channel around `at`, within [first, last].
std::pair<double, double> around(const std::vector<float>& samples, std::int64_t at, std::int64_t radius,
                                 std::int64_t first, std::int64_t last) {
  std::pair<double, double> range{kInfinity, -kInfinity};
  for (std::int64_t i = std::max(first, at - radius); i <= std::min(last, at + radius); ++i) {
    if (!std::isfinite(samples[i])) continue;
    range = {std::min<double>(range.first, samples[i]), std::max<double>(range.second, samples[i])};
  }
  return range;
}

double square_beyond(double x, double least, double most) {
  const double beyond = x - std::clamp(x, least, most);
  return beyond * beyond;
}

/// A query, a channel and what kernels are given of them.
struct Bounded {
  std::vector<float> query, channel;
  std::int64_t radius;
  bool normalize;
  std::int64_t length = std::ssize(query), windows = std::ssize(channel) - length + 1;
  std::vector<WindowScale> scales;

  Bounded(std::vector<float> pattern, std::vector<float> samples, std::int64_t band, bool z)
      : query(z ? normalised(pattern) : std::move(pattern)),
        channel(std::move(samples)),
        radius(band),
        normalize(z) {
    const WindowMoments moments = window_moments(channel, length, 0, windows);
    for (std::int64_t t = 0; t < windows; ++t) {
      const bool missing = std::isnan(moments.scale[t]);
      scales.push_back(
          missing ? WindowScale{0, kMissing, 0}
          : z     ? WindowScale{moments.mean[t], moments.scale[t], -moments.rest[t] * moments.scale[t]}
                  : WindowScale{0, 1, 0});
    }
  }

  bool missing(std::int64_t window) const { return std::isnan(scales[window].scale); }
  double sample(std::int64_t window, double x) const {
    return (x - scales[window].mean) * scales[window].scale + scales[window].offset;
  }
  double by_query(std::int64_t window) const {
    double sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const bool is_end = j == 0 || j == length - 1;
      const auto [least, most] = around(query, j, is_end ? 0 : radius, 0, length - 1);
      sum += square_beyond(sample(window, channel[window + j]), least, most);
    }
    return sum;
  }
  /// @param first, last  samples that its block has
  double by_window(std::int64_t window, std::int64_t first, std::int64_t last) const {
    double sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const auto [least, most] = around(channel, window + j, radius, first, last);
      sum += square_beyond(query[j], sample(window, least), sample(window, most));
    }
    return sum;
  }

  EnvelopeJob envelope_job(Simulator& simulator) const {
    return {.query = simulator.upload(query),
            .envelope = simulator.upload(std::vector<EnvelopeSample>(query.size())),
            .length = static_cast<std::int32_t>(length),
            .radius = static_cast<std::int32_t>(radius),
            .middle = 0,
            .first_block = 0};
  }
  BoundJob job(Simulator& simulator) const {
    std::vector<EnvelopeJob> jobs = {envelope_job(simulator)};
    const auto blocks = static_cast<unsigned>((length + kBoundThreads - 1) / kBoundThreads);
    simulator.launch("::envelopes", blocks, kBoundThreads, 0, address(simulator.upload(jobs)),
                     std::int32_t{1});
    std::vector<float> padded = channel;
    padded.resize(padded.size() + kSamplePad);
    return {.samples = simulator.upload(padded),
            .scales = simulator.upload(scales),
            .envelope = jobs[0].envelope,
            .list = simulator.upload(std::vector<std::uint32_t>(static_cast<std::size_t>(windows))),
            .bound = nullptr,
            .counts = simulator.upload(std::vector<BoundCounts>(1)),
            .windows = windows,
            .origin = 0,
            .stride = kBoundWindows,
            .blocks = (windows + kBoundWindows - 1) / kBoundWindows,
            .sampled = windows,
            .matrix_cost = 1e9,
            .length = static_cast<std::int32_t>(length),
            .radius = static_cast<std::int32_t>(radius),
            .always = 0,
            .first_block = 0};
  }
};

constexpr unsigned shared_bytes(std::int64_t length) {
  return static_cast<unsigned>(4 * 4 * (kBoundWindows + length - 1));
}

/// A walk with a gap, a constant stretch and a peak.
std::vector<float> eventful_walk(std::size_t samples, std::uint32_t seed) {
  std::vector<float> walk = random_walk(samples, seed);
  walk[samples / 3] = kMissing;
  std::fill_n(walk.begin() + static_cast<std::ptrdiff_t>(samples / 2), samples / 5, 2.F);
  walk[samples * 4 / 5] += 40;
  return walk;
}

TEST(BoundKernels, FindEnvelopesInTheOrderOfWhatLiesFarOut) {
  for (const std::int64_t length : {2, 5, 40, 300})
    for (const std::int64_t radius : {std::int64_t{0}, std::int64_t{3}, length - 1}) {
      if (radius >= length) continue;
      SCOPED_TRACE(testing::Message() << "length " << length << ", radius " << radius);
      Simulator simulator;
      std::vector<float> query = random_walk(static_cast<std::size_t>(length), 4);
      if (length > 5) query[3] = query[4];  // equal ones
      const Bounded bounded(query, random_walk(static_cast<std::size_t>(length), 1), radius, false);
      std::vector<EnvelopeJob> jobs = {bounded.envelope_job(simulator)};
      jobs[0].middle = .3F;
      simulator.launch("::envelopes", static_cast<unsigned>(length / kBoundThreads + 1), kBoundThreads, 0,
                       address(simulator.upload(jobs)), std::int32_t{1});
      const auto found = simulator.download(jobs[0].envelope, query.size());
      std::set<std::int32_t> positions;
      for (std::size_t k = 0; k < found.size(); ++k) {
        const std::int32_t j = found[k].position;
        positions.insert(j);
        const bool is_end = j == 0 || j == length - 1;
        EXPECT_EQ(k < 2, is_end) << k;
        const auto [least, most] = around(query, j, is_end ? 0 : radius, 0, length - 1);
        EXPECT_EQ(found[k].query, query[j]);
        EXPECT_EQ(found[k].lower, static_cast<float>(least));
        EXPECT_EQ(found[k].upper, static_cast<float>(most));
        if (k > 2) {
          EXPECT_LE(std::abs(query[j] - .3F), std::abs(found[k - 1].query - .3F)) << k;
        }
      }
      EXPECT_EQ(positions.size(), query.size());
    }
}

/// The list of the windows that remain holds those whose bounds are within the bound, and the sample counts
/// as many.
void expect_list(const Bounded& bounded, float distance, bool staged) {
  SCOPED_TRACE(testing::Message() << "length " << bounded.length << ", radius " << bounded.radius
                                  << ", normalised " << bounded.normalize << ", distance " << distance
                                  << ", staged " << staged);
  Simulator simulator;
  BoundJob job = bounded.job(simulator);
  job.bound = simulator.upload(std::vector<float>{distance});
  job.always = 1;
  auto* const jobs = simulator.upload(std::vector<BoundJob>{job});
  const std::string kind = staged ? "bounds<true, " : "bounds<false, ";
  const auto blocks = static_cast<unsigned>(job.blocks);
  const unsigned shared = staged ? shared_bytes(bounded.length) : 0;
  simulator.launch(kind + "true>", blocks, kBoundThreads, shared, address(jobs), std::int32_t{1});
  simulator.launch(kind + "false>", blocks, kBoundThreads, shared, address(jobs), std::int32_t{1});
  const BoundCounts counts = simulator.download(job.counts, 1)[0];
  EXPECT_EQ(counts.used, 1U);
  EXPECT_EQ(counts.left, counts.sample_left);
  EXPECT_LE(counts.sample_positions,
            static_cast<std::uint64_t>(2 * bounded.length * kBoundWindows * job.blocks));
  std::vector<std::uint32_t> list = simulator.download(job.list, counts.left);
  std::sort(list.begin(), list.end());
  EXPECT_EQ(std::adjacent_find(list.begin(), list.end()), list.end());
  const double bound = sum_bound(distance, bounded.length);
  for (std::int64_t t = 0; t < bounded.windows; ++t) {
    const bool is_left = std::binary_search(list.begin(), list.end(), static_cast<std::uint32_t>(t));
    if (bounded.missing(t)) {
      EXPECT_FALSE(is_left) << "window " << t;
      continue;
    }
    const std::int64_t first = t / kBoundWindows * kBoundWindows;
    const std::int64_t last =
        std::min<std::int64_t>(first + kBoundWindows, bounded.windows) + bounded.length - 2;
    double sum = bounded.by_query(t);
    if (staged) sum = std::max(sum, bounded.by_window(t, first, last));
    if (std::abs(sum - bound) < 1e-4 * bound) continue;  // rounding may tip it
    EXPECT_EQ(is_left, sum <= bound) << "window " << t << ", bound " << sum << " of " << bound;
  }
}

TEST(BoundKernels, ListTheWindowsThatBoundsLeave) {
  for (const std::int64_t length : {5, 24, 67})
    for (const std::int64_t radius : {std::int64_t{0}, std::int64_t{4}, std::int64_t{12}, length - 1})
      for (const bool normalize : {true, false}) {
        if (radius >= length) continue;
        const Bounded bounded(random_walk(static_cast<std::size_t>(length), 6), eventful_walk(700, 5), radius,
                              normalize);
        for (const float distance : {.2F, .6F, 3.F}) expect_list(bounded, distance, radius != 12);
      }
}

TEST(BoundKernels, NeverExcludeAWindowThatIsNear) {
  for (const std::int64_t radius : {0, 3, 29})
    for (const bool normalize : {true, false}) {
      SCOPED_TRACE(testing::Message() << "radius " << radius << ", normalised " << normalize);
      const std::vector<float> channel = eventful_walk(600, 8);
      std::vector<float> pattern(channel.begin() + 20, channel.begin() + 50);
      pattern[7] += .3F;
      const Bounded bounded(pattern, channel, radius, normalize);
      const auto profile = oracle::profile({.samples = pattern, .radius = radius}, channel, normalize);
      Simulator simulator;
      BoundJob job = bounded.job(simulator);
      job.always = 1;
      for (const double quantile : {0., .02, .3}) {
        std::vector<double> sorted = profile;
        std::sort(sorted.begin(), sorted.end());
        const double distance = sorted[static_cast<std::size_t>(quantile * 500)] * (1 + 1e-6);
        job.bound = simulator.upload(std::vector<float>{static_cast<float>(distance)});
        job.counts = simulator.upload(std::vector<BoundCounts>(1));
        simulator.launch("bounds<true, false>", static_cast<unsigned>(job.blocks), kBoundThreads,
                         shared_bytes(bounded.length), address(simulator.upload(std::vector<BoundJob>{job})),
                         std::int32_t{1});
        const auto left = simulator.download(job.list, simulator.download(job.counts, 1)[0].left);
        for (std::size_t t = 0; t < profile.size(); ++t)
          if (profile[t] <= distance) {
            EXPECT_NE(std::find(left.begin(), left.end(), t), left.end()) << "window " << t;
          }
      }
    }
}

TEST(BoundKernels, MakeNoListWhereTheSampleSpeaksAgainstIt) {
  Simulator simulator;
  const Bounded bounded(random_walk(20, 6), random_walk(600, 5), 3, true);
  BoundJob job = bounded.job(simulator);
  job.bound = simulator.upload(std::vector<float>{1.F});
  for (const auto& [left, expected] : {std::pair{std::int64_t{100}, 1U}, {bounded.windows, 0U}}) {
    job.counts = simulator.upload(std::vector<BoundCounts>{
        {.sample_positions = 9000, .sample_left = static_cast<unsigned>(left), .left = 0, .used = 0}});
    simulator.launch("bounds<true, false>", static_cast<unsigned>(job.blocks), kBoundThreads,
                     shared_bytes(bounded.length), address(simulator.upload(std::vector<BoundJob>{job})),
                     std::int32_t{1});
    EXPECT_EQ(simulator.download(job.counts, 1)[0].used, expected);
    EXPECT_EQ(bounds_pay({.windows = bounded.windows, .positions = 9000, .left = left}, job.matrix_cost),
              expected == 1);
  }
}

TEST(BoundKernels, SowInEachGroupAndFindTheBound) {
  constexpr std::int64_t kStride = 290, kOrigin = -40;
  const std::vector<float> channel = eventful_walk(1500, 9);
  for (const bool staged : {true, false}) {
    SCOPED_TRACE(staged);
    Simulator simulator;
    std::vector<Bounded> both;
    std::vector<BoundJob> jobs;
    std::vector<ProfileEntry> profile(1700, kNoEntry);
    constexpr std::int64_t kGroups = 7;  // the last without windows
    for (const std::int64_t length : {30, 50}) {
      const std::vector<float> pattern = random_walk(static_cast<std::size_t>(length), 10);
      both.emplace_back(pattern, channel, 4, true);
      BoundJob job = both.back().job(simulator);
      job.list = simulator.upload(std::vector<std::uint32_t>(kGroups));
      job.origin = both.size() == 1 ? kOrigin : 0;  // as if the first pattern had a lead
      job.stride = kStride;
      job.blocks = kGroups;
      job.first_block = jobs.empty() ? 0 : kGroups;
      jobs.push_back(job);
      const auto distances = oracle::profile({.samples = pattern, .radius = 4}, channel, true);
      for (std::size_t t = 0; t < distances.size(); ++t) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(distances[t]));
        ProfileEntry& entry = profile[t - static_cast<std::size_t>(job.origin)];
        entry = std::min(entry, ProfileEntry{bits} << 32);
      }
    }
    auto* const device = simulator.upload(jobs);
    simulator.launch(staged ? "seeds<true>" : "seeds<false>", 2 * kGroups, kBoundThreads,
                     staged ? shared_bytes(50) / 4 : 0, address(device), std::int32_t{2});
    std::vector<float> nearest(kGroups, kInfinity);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto seeds = simulator.download(jobs[j].list, kGroups);
      for (std::int64_t g = 0; g < kGroups; ++g) {
        const std::int64_t begin = g * kStride + jobs[j].origin, seed = seeds[g];
        ASSERT_LT(seed, both[j].windows);
        const bool inside = seed >= begin && seed < begin + kBoundWindows;
        EXPECT_EQ(inside, begin < both[j].windows) << g;
        if (!inside) continue;
        double least = kInfinity;
        for (std::int64_t t = std::max<std::int64_t>(0, begin);
             t < std::min(begin + kBoundWindows, both[j].windows); ++t)
          if (!both[j].missing(t)) least = std::min(least, both[j].by_query(t));
        EXPECT_LE(both[j].by_query(seed), least * (1 + 1e-5) + 1e-5) << "group " << g;
        nearest[g] =
            std::min(nearest[g],
                     std::bit_cast<float>(static_cast<std::uint32_t>(profile[seed - jobs[j].origin] >> 32)));
      }
    }
    std::sort(nearest.begin(), nearest.end());
    for (const std::int32_t limit : {1, 3, 6, 7}) {
      const float most = limit == 3 ? nearest[1] : std::numeric_limits<float>::max();
      auto* const bound = simulator.upload(std::vector<float>{-1.F});
      simulator.launch("::bound_by_seeds", 1, 1024, 0,
                       address(simulator.upload(std::vector<SeedTask>{{.profile = simulator.upload(profile),
                                                                       .bound = bound,
                                                                       .stride = kStride,
                                                                       .groups = kGroups,
                                                                       .first_job = 0,
                                                                       .jobs = 2,
                                                                       .limit = limit,
                                                                       .most = most}})),
                       address(device));
      EXPECT_EQ(simulator.download(bound, 1)[0], std::min(most, nearest[limit - 1])) << limit;
    }
  }
}

}  // namespace
}  // namespace warploom::search
