// What a GPU finds does not depend on lower bounds: with them, without, and on the CPU it is the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/signals.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Steps around waves, with gaps and constant stretches: bounds exclude much of it.
std::vector<float> recording(std::size_t samples, std::uint32_t seed) {
  std::vector<float> walk = random_walk(samples, seed);
  for (std::size_t i = 0; i < samples; ++i)
    walk[i] =
        .2F * walk[i] + 4 * std::sin(static_cast<float>(i) / 19) * std::sin(static_cast<float>(i) / 997);
  for (const std::size_t gap : {samples / 7, samples / 7 + 1, samples / 2, samples - 1}) walk[gap] = kNaN;
  std::fill_n(walk.begin() + static_cast<std::ptrdiff_t>(samples / 3), samples / 40, -1.5F);
  return walk;
}

/// To the last bit what is found without bounds; on the CPU the same places.
/// @return windows that bounds excluded
std::uint64_t expect_same(const Signal& signal, const std::vector<Pattern>& patterns,
                          const std::vector<Task>& tasks, Normalization normalization = Normalization::z,
                          std::uint64_t memory = 0) {
  IndexOptions options{
      .run = {.devices = {Device::cuda}}, .normalization = normalization, .prune = Prune::never};
  Index plain(signal, options);
  const auto expected = plain.best(patterns, tasks);
  EXPECT_EQ(plain.effort().bounded, 0U);
  std::uint64_t bounded = 0;
  for (const Prune prune : {Prune::always, Prune::automatic}) {
    options.prune = prune;
    options.run.memory = memory;
    Index index(signal, options);
    const auto found = index.best(patterns, tasks);
    EXPECT_EQ(found, expected) << index.effort().choice;
    EXPECT_EQ(index.effort().windows, plain.effort().windows);
    EXPECT_EQ(index.effort().skipped, plain.effort().skipped);
    if (prune == Prune::always) bounded = index.effort().bounded;
  }
  Index cpu(signal, {.run = {.devices = {Device::cpu}}, .normalization = normalization});
  const auto on_cpu = cpu.best(patterns, tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    EXPECT_EQ(on_cpu[t].size(), expected[t].size()) << "task " << t;
    for (std::size_t k = 0; k < std::min(on_cpu[t].size(), expected[t].size()); ++k) {
      EXPECT_EQ(on_cpu[t][k].offset, expected[t][k].offset) << "task " << t << ", choice " << k;
      EXPECT_EQ(on_cpu[t][k].pattern, expected[t][k].pattern) << "task " << t << ", choice " << k;
    }
  }
  return bounded;
}

TEST(GpuPrune, ChangesNothingForAnyBandAndNormalisation) {
  const std::vector<float> channel = recording(40'000, 1);
  for (const std::size_t length : {8, 50, 128, 517})
    for (const double fraction : {0., .05, .1, .3, 1.})
      for (const Normalization normalization : {Normalization::z, Normalization::none}) {
        const auto m = static_cast<std::int64_t>(length);
        SCOPED_TRACE(testing::Message() << "length " << length << ", band " << fraction << ", normalisation "
                                        << static_cast<int>(normalization));
        EXPECT_GT(
            expect_same({channel},
                        {{.samples = like(channel, 9000, length, .1F), .radius = band_radius(fraction, m)}},
                        {{.limit = 5, .exclusion = m / 2}}, normalization),
            length > 8 ? 500U : 0U);
      }
}

TEST(GpuPrune, ChangesNothingForAnyLimitAndZone) {
  const std::vector<float> channel = recording(60'000, 2);
  const std::vector<Pattern> patterns = {{.samples = like(channel, 31'000, 64, .1F), .radius = 4}};
  std::vector<Task> tasks;
  for (const std::int64_t limit : {1, 2, 30, 150, 1000, 9000, 100'000})
    for (const std::int64_t exclusion :
         {std::int64_t{0}, std::int64_t{32}, std::int64_t{700}, std::numeric_limits<std::int64_t>::max()})
      for (const float most : {std::numeric_limits<float>::infinity(), .4F, 0.F})
        tasks.push_back({.limit = limit, .exclusion = exclusion, .max_distance = most});
  EXPECT_GT(expect_same({channel}, patterns, tasks), 100'000U);
}

TEST(GpuPrune, ChangesNothingForSeveralPatternsWithLeads) {
  const std::vector<float> channel = recording(50'000, 3), other = recording(50'000, 4);
  std::vector<Pattern> patterns;
  for (const std::size_t length : {60, 75, 75, 90, 300})
    patterns.push_back({.samples = like(channel, 100 * length, length, .2F),
                        .radius = static_cast<std::int64_t>(length) / 9});
  patterns.push_back(patterns[1]);  // equal distances: the first counts
  for (const float x : patterns[0].samples) patterns[2].samples.push_back(-x);
  patterns[3].lead = 170;
  patterns[4].lead = -900;
  EXPECT_GT(expect_same({channel, other}, patterns,
                        {{.channel = 0, .patterns = 6, .limit = 12, .exclusion = 30},
                         {.channel = 1, .patterns = 6, .limit = 12, .exclusion = 30},
                         {.channel = 1,
                          .first_pattern = 3,
                          .patterns = 2,
                          .limit = 5,
                          .exclusion = 30,
                          .first = -200,
                          .last = 30'000},
                         {.channel = 0,
                          .first_pattern = 1,
                          .patterns = 1,
                          .limit = 5,
                          .exclusion = 30,
                          .first = 100,
                          .last = 101},
                         {.channel = 0, .first_pattern = 4, .limit = 3, .exclusion = 30, .first = 49'000}}),
            10'000U);
}

TEST(GpuPrune, TakesTheFirstOfEqualDistances) {
  const std::vector<float> period = random_walk(64, 26);
  std::vector<float> samples;
  for (int k = 0; k < 500; ++k) samples.insert(samples.end(), period.begin(), period.end());
  expect_same({samples}, {{.samples = period, .radius = 5}},
              {{.limit = 4, .exclusion = 25, .first = 3}, {.limit = 300, .exclusion = 31}});
}

TEST(GpuPrune, OfConstantAndMissingRecordingsChangesNothing) {
  const std::vector<Pattern> patterns = {{.samples = random_walk(40, 27), .radius = 3},
                                         {.samples = std::vector<float>(40, 2.F), .radius = 3}};
  const std::vector<Task> tasks = {{.limit = 5, .exclusion = 20},
                                   {.first_pattern = 1, .limit = 5, .exclusion = 20}};
  expect_same({std::vector<float>(20'000, 3.F)}, patterns, tasks);
  expect_same({std::vector<float>(20'000, kNaN)}, patterns, tasks);
  expect_same({recording(20'000, 5)}, patterns, tasks);
}

TEST(GpuPrune, FromLittleMemoryChangesNothing) {
  const std::vector<float> channel = recording(200'000, 6), other = recording(200'000, 7);
  const std::vector<Pattern> patterns = {{.samples = like(channel, 20'000, 64, .2F), .radius = 4, .lead = 11},
                                         {.samples = like(channel, 20'000, 80, .2F), .radius = 8},
                                         {.samples = like(other, 50'000, 300, .2F), .radius = 40}};
  const std::vector<Task> tasks = {
      {.channel = 0, .patterns = 2, .limit = 5, .exclusion = 32},
      {.channel = 1, .patterns = 3, .limit = 20, .exclusion = 32},
      {.channel = 1, .patterns = 1, .limit = 300, .exclusion = 5, .max_distance = .5F},
      {.channel = 1, .patterns = 1, .limit = 9000, .exclusion = 0},
      {.channel = 1, .first_pattern = 2, .limit = 7, .exclusion = 150, .first = 9000}};
  for (const std::uint64_t memory : {600'000, 2'000'000, 8'000'000}) {
    SCOPED_TRACE(memory);
    EXPECT_GT(expect_same({channel, other}, patterns, tasks, Normalization::z, memory), 10'000U);
  }
}

TEST(GpuPrune, OfQueriesTooLongForSharedMemoryChangesNothing) {
  const std::vector<float> channel = recording(60'000, 8);
  for (const std::size_t length : {3000, 16'000})
    expect_same({channel}, {{.samples = like(channel, 9000, length, .3F), .radius = 60}},
                {{.limit = 2, .exclusion = 500}});
}

TEST(GpuPrune, IsChosenWhereItPaysAndSaysSo) {
  const std::vector<float> walk = random_walk(2'000'000, 9);
  const std::vector<Pattern> patterns = {{.samples = random_walk(256, 12), .radius = 12}};
  Index index({walk}, {.run = {.devices = {Device::cuda}}});
  index.best(patterns, std::vector<Task>{{.limit = 10, .exclusion = 128}});
  EXPECT_GT(index.effort().bounded, 1'000'000U);
  EXPECT_LT(index.effort().cells,
            index.effort().windows * static_cast<std::uint64_t>(band_cells(256, 12)) / 2);
  EXPECT_NE(index.effort().choice.find("lower bounds in 1 of 1"), std::string::npos) << index.effort().choice;
}

TEST(GpuPrune, IsNotChosenWhereBoundsExcludeNothing) {
  const std::vector<float> walk = random_walk(2'000'000, 10);
  // A bound that all windows keep.
  const std::vector<Pattern> patterns = {{.samples = random_walk(256, 11), .radius = 25}};
  Index index({walk}, {.run = {.devices = {Device::cuda}}});
  index.best(patterns, std::vector<Task>{{.limit = 8000, .exclusion = 0, .max_distance = 50}});
  EXPECT_EQ(index.effort().bounded, 0U);
  EXPECT_NE(index.effort().choice.find("would cost more than they save"), std::string::npos)
      << index.effort().choice;
}

}  // namespace
}  // namespace warploom::search
