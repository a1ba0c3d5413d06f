// The GPU's back end finds what brute force finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "oracle/search_brute_force.hpp"
#include "search/lists_of_windows.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

IndexOptions on_gpu(Normalization normalization = Normalization::z, std::uint64_t memory = 0) {
  return {.run = {.devices = {Device::cuda}, .memory = memory}, .normalization = normalization};
}

/// Distances in single precision within the header's tolerance; what is nearer to 0 than 1e-6 is 0.
void expect_near(float found, double expected, const std::string& where) {
  if (std::isinf(expected))
    ASSERT_TRUE(std::isinf(found)) << where << ": " << found;
  else
    ASSERT_NEAR(found, expected, 1e-4 * expected + 1e-6) << where;
}

void expect_profile(const std::vector<float>& channel, const Pattern& pattern,
                    Normalization normalization = Normalization::z) {
  SCOPED_TRACE(testing::Message() << "length " << pattern.samples.size() << ", radius " << pattern.radius);
  Index index({channel}, on_gpu(normalization));
  const auto expected = oracle::profile(pattern, channel, normalization == Normalization::z);
  const auto found = index.profile(pattern, 0, 0, std::ssize(expected));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    expect_near(found[t], expected[t], "window " + std::to_string(t));
}

void expect_best(const Signal& signal, const std::vector<Pattern>& patterns, const std::vector<Task>& tasks,
                 Normalization normalization = Normalization::z, std::uint64_t memory = 0) {
  Index index(signal, on_gpu(normalization, memory));
  const auto found = index.best(patterns, tasks);
  ASSERT_EQ(found.size(), tasks.size());
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const auto expected = oracle::best(signal, patterns, tasks[task], normalization == Normalization::z);
    ASSERT_EQ(found[task].size(), expected.size()) << "task " << task;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const std::string where = "task " + std::to_string(task) + ", choice " + std::to_string(k);
      EXPECT_EQ(found[task][k].offset, expected[k].offset) << where;
      EXPECT_EQ(found[task][k].pattern, expected[k].pattern) << where;
      expect_near(found[task][k].distance, expected[k].distance, where);
    }
  }
}

TEST(GpuProfile, IsTheOraclesForEveryNarrowBand) {
  const std::vector<float> walk = random_walk(700, 1);
  for (std::int64_t radius = 0; radius < 40; ++radius)
    for (const std::size_t length : {93, 100})
      expect_profile(walk, {.samples = random_walk(length, 2), .radius = radius});
}

TEST(GpuProfile, IsTheOraclesForEveryShortLength) {
  const std::vector<float> walk = random_walk(300, 3);
  for (std::size_t length = 2; length < 70; ++length)
    for (const std::int64_t radius : {std::int64_t{0}, std::int64_t{2}, std::int64_t{1000}})
      for (const Normalization normalization : {Normalization::none, Normalization::z})
        expect_profile(walk, {.samples = random_walk(length, 4), .radius = radius}, normalization);
}

TEST(GpuProfile, IsTheOraclesForWideBands) {
  const std::vector<float> walk = random_walk(1300, 5);
  for (const std::size_t length : {127, 128, 129, 255, 256, 257, 300, 511, 513, 777, 1023, 1024, 1025, 1290})
    for (const double fraction : {.05, .1, .2, .4, .6, .9, 1.})
      expect_profile(part(walk, 0, length + 9),
                     {.samples = random_walk(length, 6),
                      .radius = band_radius(fraction, static_cast<std::int64_t>(length))});
}

TEST(GpuProfile, IsTheOraclesForLongPatterns) {
  for (const std::size_t length : {2047, 2050, 3000, 4097, 8192})
    for (const double fraction : {.003, .05, .1, .3, .7, 1.})
      expect_profile(random_walk(length, 7),
                     {.samples = random_walk(length, 8),
                      .radius = band_radius(fraction, static_cast<std::int64_t>(length))});
}

TEST(GpuProfile, HoldsInfinityWhereAWindowTouchesAMissingSample) {
  std::vector<float> walk = random_walk(900, 9);
  walk[0] = walk[100] = walk[101] = walk[350] = walk[899] = kNaN;
  for (const Normalization normalization : {Normalization::none, Normalization::z})
    for (const std::int64_t radius : {2, 45, 100})
      expect_profile(walk, {.samples = random_walk(100, 10), .radius = radius}, normalization);
}

TEST(GpuProfile, OfConstantStretchesIsOne) {
  std::vector<float> walk = random_walk(600, 11);
  std::fill(walk.begin() + 100, walk.begin() + 200, 0.F);
  std::fill(walk.begin() + 300, walk.begin() + 400, 1e6F);
  const Pattern pattern{.samples = random_walk(40, 12), .radius = 4};
  expect_profile(walk, pattern);
  Index index({walk}, on_gpu());
  EXPECT_NEAR(index.profile(pattern, 0, 110, 1)[0], 1, 1e-6);
}

TEST(GpuProfile, IsExactOnAHugeOffset) {
  for (const float deviation : {100.F, 30.F}) {
    std::vector<float> walk = random_walk(500, 13);
    for (std::size_t i = 0; i < walk.size(); ++i)
      walk[i] = 1e6F + deviation * std::sin(static_cast<float>(i) / 7) + walk[i];
    expect_profile(walk, {.samples = like(walk, 200, 60, .3F), .radius = 3});
  }
}

/// A mean of 10^5 and 10^6 deviations, as of pressure in Pa: the query is found, nearest and first.
TEST(GpuProfile, IsExactWhereTheMeanIsAMillionDeviations) {
  for (const float mean : {1e5F, -1e6F}) {
    std::vector<float> samples = random_walk(700, 60);
    for (std::size_t i = samples.size(); i-- > 1;) samples[i] = mean + 2 * (samples[i] - samples[i - 1]);
    samples[0] = mean;
    const Pattern pattern{.samples = part(samples, 300, 60), .radius = 3};
    expect_profile(samples, pattern);
    Index index({samples}, on_gpu());
    const std::vector<float> profile = index.profile(pattern, 0, 0, 641);
    EXPECT_LT(profile[300], 1e-4) << mean;
    for (std::size_t t = 0; t < profile.size(); ++t)
      if (t < 290 || t > 310) {
        ASSERT_GT(profile[t], .3) << mean << ", window " << t;
      }
    EXPECT_EQ(std::ranges::count(profile, 1.F), 0) << "constant windows";
  }
}

TEST(GpuProfile, OfPartsIsAPartOfTheProfile) {
  const std::vector<float> walk = random_walk(9000, 14);
  const Pattern pattern{.samples = random_walk(50, 15), .radius = 5};
  Index index({walk}, on_gpu());
  const std::vector<float> all = index.profile(pattern, 0, 0, 8951);
  const std::vector<std::int64_t> offsets = {8950, 0, 4096, 4095, 17, 17, 5000};
  for (const std::uint64_t memory : {0, 60'000}) {  // the second: the recording does not stay on the device
    SCOPED_TRACE(memory);
    Index other({walk}, on_gpu(Normalization::z, memory));
    for (const std::int64_t first : {1, 77, 4095, 4096, 8000})
      for (const std::int64_t count : {1, 5, 16, 33, 900}) {
        const std::vector<float> some = other.profile(pattern, 0, first, count);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + first)) << first << " " << count;
      }
    const std::vector<float> single = other.distances(pattern, 0, offsets);
    for (std::size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(single[i], all[offsets[i]]);
  }
}

TEST(GpuDistances, OfSeveralListsAreThoseOfEach) {
  const ListsOfWindows asked;
  Index whole(asked.signal(), on_gpu());
  // The second: pieces of a few lists; the third: the recording does not stay on the device.
  for (const std::uint64_t memory : {0, 60'000, 40'000}) {
    SCOPED_TRACE(memory);
    Index index(asked.signal(), on_gpu(Normalization::z, memory));
    asked.expect_of_each(index.distances(asked.patterns, asked.lists), whole);
  }
}

TEST(GpuBest, IsTheOraclesOnARandomWalk) {
  const std::vector<float> walk = random_walk(3000, 20);
  for (const std::size_t length : {8, 50, 120})
    for (const std::int64_t radius : {0, 3, 50, 1000}) {
      SCOPED_TRACE(testing::Message() << "length " << length << ", radius " << radius);
      const auto half = static_cast<std::int64_t>(length) / 2;
      expect_best(
          {walk}, {{.samples = like(walk, 1000, length, .5F), .radius = radius}},
          {{.limit = 1, .exclusion = half}, {.limit = 40, .exclusion = half}, {.limit = 3, .exclusion = 0}});
    }
}

TEST(GpuBest, TakesAnyLimitAndZone) {
  const std::vector<float> walk = random_walk(2000, 21);
  expect_best({walk}, {{.samples = random_walk(40, 22), .radius = 4}},
              {{.limit = 1000, .exclusion = 0},
               {.limit = 100'000, .exclusion = 0},
               {.limit = 1000, .exclusion = 20},
               {.limit = 3, .exclusion = 700},
               {.limit = 3, .exclusion = std::numeric_limits<std::int64_t>::max()},
               {.limit = 50, .exclusion = 10, .max_distance = .8F},
               {.limit = 50, .exclusion = 10, .max_distance = 0}});
}

TEST(GpuBest, OfSeveralPatternsIsTheNearest) {
  const std::vector<float> walk = random_walk(2500, 23), other = random_walk(2500, 24);
  std::vector<Pattern> patterns;
  for (const std::size_t length : {30, 40, 40, 50, 160})
    patterns.push_back(
        {.samples = like(walk, 20 * length, length, .4F), .radius = static_cast<std::int64_t>(length) / 9});
  patterns.push_back(patterns[1]);  // equal distances: the first counts
  patterns[3].lead = 17;
  patterns[4].lead = -9;
  expect_best(
      {walk, other}, patterns,
      {{.channel = 0, .first_pattern = 0, .patterns = 6, .limit = 12, .exclusion = 20},
       {.channel = 1, .first_pattern = 0, .patterns = 6, .limit = 12, .exclusion = 20},
       {.channel = 1,
        .first_pattern = 3,
        .patterns = 2,
        .limit = 5,
        .exclusion = 20,
        .first = -20,
        .last = 900},
       {.channel = 0,
        .first_pattern = 4,
        .patterns = 1,
        .limit = 5,
        .exclusion = 20,
        .first = 100,
        .last = 101},
       {.channel = 0, .first_pattern = 4, .patterns = 1, .limit = 5, .exclusion = 20, .first = 5000}});
}

TEST(GpuBest, TakesLeadsThatLieFarApart) {
  const std::vector<float> walk = random_walk(900, 40);
  std::vector<Pattern> patterns;
  for (const std::int64_t lead : {std::int64_t{0}, std::int64_t{1} << 55, std::int64_t{-1} << 55})
    patterns.push_back({.samples = like(walk, 300 + patterns.size(), 50, .4F), .radius = 5, .lead = lead});
  expect_best({walk}, patterns, {{.patterns = 3, .limit = 12, .exclusion = 25}});
}

TEST(GpuBest, PassesOverGapsAndConstantStretches) {
  std::vector<float> walk = random_walk(2500, 25);
  for (const std::size_t gap : {0, 500, 501, 1777}) walk[gap] = kNaN;
  std::fill(walk.begin() + 900, walk.begin() + 1300, -4.F);
  expect_best({walk}, {{.samples = like(walk, 600, 64, .4F), .radius = 4}},
              {{.limit = 2, .exclusion = 32}, {.limit = 60, .exclusion = 32}});
}

TEST(GpuBest, TakesTheFirstOfEqualDistances) {
  const std::vector<float> period = random_walk(64, 26);
  std::vector<float> samples;
  for (int k = 0; k < 40; ++k) samples.insert(samples.end(), period.begin(), period.end());
  Index index({samples}, on_gpu());
  const std::vector<Pattern> patterns = {{.samples = part(samples, 0, 64), .radius = 5}};
  const std::vector<Task> tasks = {{.limit = 4, .exclusion = 25, .first = 3}};
  const auto found = index.best(patterns, tasks)[0];
  ASSERT_EQ(found.size(), 4U);
  for (std::int64_t k = 0; k < 4; ++k) EXPECT_EQ(found[k].offset, 64 * (k + 1));
}

TEST(GpuBest, OfConstantRecordingsIsTheFirstWindows) {
  const std::vector<float> flat(1500, 3.F);
  expect_best({flat}, {{.samples = random_walk(30, 27), .radius = 3}}, {{.limit = 5, .exclusion = 15}});
}

TEST(GpuBest, FromLittleMemoryIsTheSame) {
  std::vector<float> walk = random_walk(30'000, 28), other = random_walk(30'000, 29);
  walk[7777] = kNaN;
  std::fill(other.begin() + 12'000, other.begin() + 15'000, 2.F);
  std::vector<Pattern> patterns = {{.samples = like(walk, 20'000, 64, .4F), .radius = 4, .lead = 11},
                                   {.samples = like(walk, 20'000, 80, .4F), .radius = 8},
                                   {.samples = random_walk(300, 30), .radius = 40}};
  const std::vector<Task> tasks = {
      {.channel = 0, .patterns = 2, .limit = 20, .exclusion = 32},
      {.channel = 1, .patterns = 3, .limit = 20, .exclusion = 32},
      {.channel = 1, .patterns = 1, .limit = 3000, .exclusion = 5},
      {.channel = 1, .patterns = 1, .limit = 9000, .exclusion = 0},
      {.channel = 1, .first_pattern = 2, .limit = 7, .exclusion = 150, .first = 9000}};
  Index index({walk, other}, on_gpu());
  const auto expected = index.best(patterns, tasks);
  for (const std::uint64_t memory : {150'000, 400'000, 1'000'000}) {
    Index little({walk, other}, on_gpu(Normalization::z, memory));
    EXPECT_EQ(little.best(patterns, tasks), expected) << memory << " bytes";
    EXPECT_EQ(little.effort().windows, index.effort().windows);
    EXPECT_EQ(little.effort().skipped, index.effort().skipped);
  }
  Index cpu({walk, other}, {.run = {.devices = {Device::cpu}}});
  const auto on_cpu = cpu.best(patterns, tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    ASSERT_EQ(on_cpu[t].size(), expected[t].size());
    for (std::size_t k = 0; k < on_cpu[t].size(); ++k) {
      EXPECT_EQ(on_cpu[t][k].offset, expected[t][k].offset);
      EXPECT_EQ(on_cpu[t][k].pattern, expected[t][k].pattern);
    }
  }
}

TEST(GpuBest, RefusesTooLittleMemory) {
  const std::vector<float> walk = random_walk(30'000, 31);
  Index index({walk}, on_gpu(Normalization::z, 20'000));
  const std::vector<Pattern> patterns = {{.samples = random_walk(2000, 32), .radius = 4}};
  const std::vector<Task> tasks = {Task{}};
  EXPECT_THROW(index.best(patterns, tasks), OutOfMemory);
}

TEST(GpuBest, SaysWhatItTook) {
  std::vector<float> walk = random_walk(5000, 33);
  walk[2000] = kNaN;
  Index index({walk}, on_gpu());
  const std::vector<Pattern> patterns = {{.samples = random_walk(100, 34), .radius = 6}};
  const std::vector<Task> tasks = {{.limit = 5, .exclusion = 50},
                                   {.limit = 5, .exclusion = 50, .first = 4000}};
  index.best(patterns, tasks);
  EXPECT_EQ(index.effort().windows, 4901U + 901U);
  EXPECT_EQ(index.effort().skipped, 100U);
  EXPECT_EQ(index.effort().cells, (4901U + 901U) * static_cast<std::uint64_t>(band_cells(100, 6)));
  EXPECT_GT(index.effort().device_seconds, 0);
  EXPECT_GE(index.effort().seconds, index.effort().device_seconds);
  EXPECT_FALSE(index.effort().choice.empty());
}

}  // namespace
}  // namespace warploom::search
