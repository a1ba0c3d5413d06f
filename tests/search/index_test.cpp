#include "warploom/search/index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "measured_data.hpp"
#include "oracle/search_brute_force.hpp"
#include "search/index_checks.hpp"
#include "search/lists_of_windows.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::search {
namespace {

void expect_profile(const Signal& signal, const Pattern& pattern, Normalization normalization) {
  Index index(signal, on_cpu(normalization));
  const auto expected = oracle::profile(pattern, signal[0], normalization == Normalization::z);
  const auto found = index.profile(pattern, 0, 0, std::ssize(expected));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    expect_near(found[t], expected[t], "window " + std::to_string(t));
}

/// Candidates are the oracle's, with lower bounds and without, to the last bit the same on any number of
/// threads.
void expect_best(const Signal& signal, const std::vector<Pattern>& patterns, const std::vector<Task>& tasks,
                 Normalization normalization = Normalization::z) {
  const RunScope one_thread({.threads = 1});
  Index plain(signal, on_cpu(normalization, Prune::never));
  const auto found = plain.best(patterns, tasks);
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
  for (const unsigned threads : {1U, 2U, 5U}) {
    const RunScope scope({.threads = threads});
    for (const Prune prune : {Prune::automatic, Prune::always}) {
      Index pruned(signal, on_cpu(normalization, prune));
      EXPECT_EQ(pruned.best(patterns, tasks), found) << threads << " threads, lower bounds";
    }
    Index again(signal, on_cpu(normalization, Prune::never));
    EXPECT_EQ(again.best(patterns, tasks), found) << threads << " threads";
  }
}

TEST(Profile, IsTheOraclesForAnyLengthAndBand) {
  const std::vector<float> walk = random_walk(400, 11);
  for (const std::size_t length : {2, 3, 7, 8, 9, 31, 64, 100})
    for (const std::int64_t radius : {0, 1, 2, 5, 30, 1000})
      for (const Normalization normalization : {Normalization::none, Normalization::z}) {
        SCOPED_TRACE(testing::Message() << "length " << length << ", radius " << radius);
        expect_profile({walk}, {.samples = random_walk(length, 12), .radius = radius}, normalization);
      }
}

TEST(Profile, OfALongPatternIsTheOracles) {
  const std::vector<float> walk = random_walk(1500, 13);
  for (const std::int64_t radius : {3, 70, 1400})
    expect_profile({walk}, {.samples = random_walk(1450, 14), .radius = radius}, Normalization::z);
}

TEST(Profile, HoldsInfinityWhereAWindowTouchesAMissingSample) {
  std::vector<float> walk = random_walk(600, 15);
  walk[0] = walk[100] = walk[101] = walk[350] = walk[599] = kNaN;
  for (const Normalization normalization : {Normalization::none, Normalization::z})
    expect_profile({walk}, {.samples = random_walk(20, 16), .radius = 2}, normalization);
}

TEST(Profile, OfConstantStretchesIsOne) {
  std::vector<float> walk = random_walk(600, 17);
  std::fill(walk.begin() + 100, walk.begin() + 200, 0.F);
  std::fill(walk.begin() + 300, walk.begin() + 400, 1e6F);
  const Pattern pattern{.samples = random_walk(40, 18), .radius = 4};
  expect_profile({walk}, pattern, Normalization::z);
  Index index({walk}, on_cpu());
  EXPECT_NEAR(index.profile(pattern, 0, 110, 1)[0], 1, 1e-6);
}

TEST(Profile, IsExactOnAHugeOffset) {
  // Deviations from 1e-4 of the mean to 3e-5 of it, where a mean in single precision would not do.
  for (const float deviation : {100.F, 30.F}) {
    std::vector<float> walk = random_walk(500, 19);
    for (std::size_t i = 0; i < walk.size(); ++i)
      walk[i] = 1e6F + deviation * std::sin(static_cast<float>(i) / 7) + walk[i];
    std::vector<float> pattern = like(walk, 200, 60, .3F);
    expect_profile({walk}, {.samples = pattern, .radius = 3}, Normalization::z);
  }
}

/// A mean of 10^5 and 10^6 deviations, as of pressure in Pa: the query is found, nearest and first.
TEST(Profile, IsExactWhereTheMeanIsAMillionDeviations) {
  for (const float mean : {1e5F, -1e6F}) {
    std::vector<float> samples = random_walk(700, 60);
    for (std::size_t i = samples.size(); i-- > 1;) samples[i] = mean + 2 * (samples[i] - samples[i - 1]);
    samples[0] = mean;
    const Pattern pattern{.samples = part(samples, 300, 60), .radius = 3};
    expect_profile({samples}, pattern, Normalization::z);
    Index index({samples}, on_cpu());
    const std::vector<float> profile = index.profile(pattern, 0, 0, 641);
    EXPECT_LT(profile[300], 1e-4) << mean;
    for (std::size_t t = 0; t < profile.size(); ++t)
      if (t < 290 || t > 310) {
        ASSERT_GT(profile[t], .3) << mean << ", window " << t;
      }
    EXPECT_EQ(std::ranges::count(profile, 1.F), 0) << "constant windows";
  }
}

TEST(Profile, OfPartsIsAPartOfTheProfile) {
  const std::vector<float> walk = random_walk(9000, 20);
  const Pattern pattern{.samples = random_walk(50, 21), .radius = 5};
  Index index({walk}, on_cpu());
  const std::vector<float> all = index.profile(pattern, 0, 0, 8951);
  for (const std::int64_t first : {1, 77, 4095, 4096, 8000})
    for (const std::int64_t count : {1, 5, 16, 33, 900}) {
      const std::vector<float> some = index.profile(pattern, 0, first, count);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + first)) << first << " " << count;
    }
  const std::vector<std::int64_t> offsets = {8950, 0, 4096, 4095, 17, 17, 5000};
  const std::vector<float> single = index.distances(pattern, 0, offsets);
  for (std::size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(single[i], all[offsets[i]]);
  EXPECT_EQ(index.distances(pattern, 0, offsets), single);  // what the first calls left to be used again
}

TEST(Distances, OfSeveralListsAreThoseOfEach) {
  const ListsOfWindows asked;
  for (const unsigned threads : {1U, 3U, 100U}) {  // lists are shared out, or their windows
    const RunScope scope({.threads = threads});
    Index index(asked.signal(), on_cpu()), whole(asked.signal(), on_cpu());
    asked.expect_of_each(index.distances(asked.patterns, asked.lists), whole);
  }
}

TEST(Distances, OfNoListsAreNone) {
  const std::vector<float> walk = random_walk(100, 80);
  EXPECT_TRUE(Index({walk}, on_cpu()).distances(std::span<const Pattern>{}, {}).empty());
}

TEST(Distances, RefuseAPatternThatIsNot) {
  const std::vector<float> walk = random_walk(100, 81);
  const std::vector<Pattern> patterns = {{.samples = random_walk(20, 82)}};
  const std::vector<std::int64_t> offsets = {0};
  Index index({walk}, on_cpu());
  for (const std::int32_t pattern : {-1, 1}) {
    const std::vector<Windows> windows = {{pattern, 0, offsets}};
    EXPECT_THROW(index.distances(patterns, windows), BadInput);
  }
}

TEST(Profile, RefusesWhatItCannotCompare) {
  const std::vector<float> walk = random_walk(100, 22);
  Index index({walk}, on_cpu());
  const Pattern good{.samples = random_walk(20, 23), .radius = 2};
  EXPECT_THROW(index.profile({.samples = random_walk(101, 24)}, 0, 0, 1), BadInput);
  EXPECT_THROW(index.profile(good, 0, -1, 1), BadInput);
  EXPECT_THROW(index.profile(good, 0, 0, 82), BadInput);
  EXPECT_THROW(index.profile(good, 0, 81, 1), BadInput);
  EXPECT_THROW(index.profile(good, 1, 0, 1), BadInput);
  EXPECT_THROW(index.profile({.samples = {}}, 0, 0, 1), BadInput);
  EXPECT_THROW(index.profile({.samples = {1}}, 0, 0, 1), BadInput);
  EXPECT_THROW(index.profile({.samples = {1, kNaN, 2}}, 0, 0, 1), BadInput);
  EXPECT_THROW(index.profile({.samples = {1, 2}, .radius = -1}, 0, 0, 1), BadInput);
  EXPECT_THROW(index.distances(good, 0, std::vector<std::int64_t>{0, 81}), BadInput);
  EXPECT_EQ(index.profile(good, 0, 80, 1).size(), 1U);
  EXPECT_TRUE(index.profile(good, 0, 81, 0).empty());
}

TEST(Best, IsTheOraclesOnARandomWalk) {
  const std::vector<float> walk = random_walk(3000, 30);
  for (const std::size_t length : {3, 8, 50})
    for (const std::int64_t radius : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1000}}) {
      SCOPED_TRACE(testing::Message() << "length " << length << ", radius " << radius);
      const std::vector<Pattern> patterns = {{.samples = like(walk, 1000, length, .5F), .radius = radius}};
      const auto half = static_cast<std::int64_t>(length) / 2;
      expect_best(
          {walk}, patterns,
          {{.limit = 1, .exclusion = half}, {.limit = 7, .exclusion = half}, {.limit = 3, .exclusion = 0}});
    }
}

TEST(Best, TakesPatternsOfTwoSamples) {
  const std::vector<float> walk = random_walk(2000, 64);
  const std::vector<Pattern> patterns = {{.samples = {1, 1.3F}, .radius = 1}};
  expect_best({walk}, patterns, {{.limit = 20, .exclusion = 1}}, Normalization::none);
  // Normalised, two samples rise or fall, and are otherwise alike.
  Index index({walk}, on_cpu());
  const auto found = index.best(patterns, std::vector<Task>{{.limit = 20, .exclusion = 1}})[0];
  EXPECT_EQ(found.size(), 20U);
  for (const Candidate& c : found) {
    EXPECT_NEAR(c.distance, 0, 1e-6);
    EXPECT_LT(walk[c.offset], walk[c.offset + 1]);
  }
}

TEST(Best, IsTheOraclesWithoutNormalisation) {
  const std::vector<float> walk = random_walk(3000, 31);
  expect_best({walk}, {{.samples = like(walk, 2000, 60, 1), .radius = 6}},
              {{.limit = 5, .exclusion = 30}, {.limit = 5, .exclusion = 30, .max_distance = .8F}},
              Normalization::none);
}

TEST(Best, TakesAnyLimitAndZone) {
  const std::vector<float> walk = random_walk(800, 32);
  const std::vector<Pattern> patterns = {{.samples = random_walk(40, 33), .radius = 4}};
  expect_best({walk}, patterns,
              {{.limit = std::numeric_limits<std::int64_t>::max(), .exclusion = 0},
               {.limit = 1000, .exclusion = 20},
               {.limit = 3, .exclusion = 400},
               {.limit = 3, .exclusion = std::numeric_limits<std::int64_t>::max()}});
}

TEST(Best, TakesTheFirstOfEqualDistances) {
  // A period of 64 whole numbers whose mean is 0: the same windows again and again, whose sums are exact.
  std::vector<float> samples;
  for (int i = 0; i < 2500; ++i)
    samples.push_back(static_cast<float>((i % 32) * (i % 32) % 19 * (i % 64 < 32 ? 1 : -1)));
  Index index({samples}, on_cpu());
  const std::vector<Pattern> patterns = {{.samples = part(samples, 0, 64), .radius = 5}};
  const std::vector<Task> tasks = {{.limit = 4, .exclusion = 32, .first = 3}};
  const auto found = index.best(patterns, tasks)[0];
  ASSERT_EQ(found.size(), 4U);
  for (std::int64_t k = 0; k < 4; ++k) EXPECT_EQ(found[k].offset, 64 * (k + 1));
  Index plain({samples}, on_cpu(Normalization::z, Prune::never));
  EXPECT_EQ(plain.best(patterns, tasks)[0], found);
}

TEST(Best, PassesOverGapsAndConstantStretches) {
  std::vector<float> walk = random_walk(2500, 35);
  for (const std::size_t gap : {0, 500, 501, 1777}) walk[gap] = kNaN;
  std::fill(walk.begin() + 900, walk.begin() + 1300, -4.F);
  expect_best({walk}, {{.samples = like(walk, 600, 64, .4F), .radius = 4}},
              {{.limit = 2, .exclusion = 32}, {.limit = 6, .exclusion = 32}});
}

TEST(Best, OfAllConstantRecordingIsItsFirstWindow) {
  const std::vector<float> constant(500, 3);
  Index index({constant}, on_cpu());
  const std::vector<Pattern> patterns = {{.samples = random_walk(20, 36), .radius = 2}};
  const auto found = index.best(patterns, std::vector<Task>{{.limit = 2, .exclusion = 10}})[0];
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].offset, 0);
  EXPECT_EQ(found[1].offset, 11);
  EXPECT_NEAR(found[0].distance, 1, 1e-6);
}

TEST(Best, IsTheOraclesOnAHugeOffset) {
  std::vector<float> walk = random_walk(2000, 37);
  for (float& x : walk) x = 1e6F + 20 * x;
  expect_best({walk}, {{.samples = like(walk, 300, 100, 1), .radius = 5}}, {{.limit = 2, .exclusion = 50}});
}

TEST(Best, TakesAtEachPlaceTheNearestPattern) {
  const std::vector<float> walk = random_walk(2500, 38);
  std::vector<Pattern> patterns;
  for (const std::size_t length : {40, 50, 64})
    patterns.push_back(
        {.samples = like(walk, 700, length, .5F), .radius = static_cast<std::int64_t>(length / 10)});
  patterns.push_back({.samples = like(walk, 1900, 50, .5F), .radius = 5});
  for (float& x : patterns.back().samples) x = -x;
  expect_best({walk}, patterns,
              {{.patterns = 4, .limit = 6, .exclusion = 25},
               {.first_pattern = 1, .patterns = 2, .limit = 6, .exclusion = 25},
               {.first_pattern = 3, .patterns = 1, .limit = 6, .exclusion = 25}});
}

TEST(Best, ReportsWhereTheWholeQueryWouldBegin) {
  const std::vector<float> walk = random_walk(1500, 39);
  std::vector<Pattern> patterns;
  for (const std::int64_t lead : {-30, 0, 100})
    patterns.push_back({.samples = like(walk, 600, 48, .5F), .radius = 4, .lead = lead});
  expect_best({walk}, patterns,
              {{.first_pattern = 0, .limit = 3, .exclusion = 24},
               {.first_pattern = 2, .limit = 3, .exclusion = 24},
               {.patterns = 3, .limit = 8, .exclusion = 24},
               {.patterns = 3, .limit = 8, .exclusion = 24, .first = -50, .last = 20}});
  Index index({walk}, on_cpu());
  const std::vector<Pattern> exact = {{.samples = part(walk, 600, 48), .lead = 100}};
  const auto found = index.best(exact, std::vector<Task>{{.limit = 1}})[0];
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].offset, 500);
}

TEST(Best, KeepsToTheOffsetsAskedFor) {
  const std::vector<float> walk = random_walk(3000, 40);
  const std::vector<Pattern> patterns = {{.samples = like(walk, 1000, 50, .5F), .radius = 5}};
  expect_best({walk}, patterns,
              {{.limit = 4, .exclusion = 25, .first = 1001, .last = 2000},
               {.limit = 4, .exclusion = 25, .first = -5, .last = 3},
               {.limit = 4, .exclusion = 25, .first = 2900, .last = 90'000},
               {.limit = 4, .exclusion = 25, .first = 1000, .last = 1000},
               {.limit = 4, .exclusion = 25, .first = 2000, .last = 1000}});
}

TEST(Best, SearchesTheChannelThatATaskNames) {
  const std::vector<float> one = random_walk(1000, 41), two = random_walk(1000, 42);
  const std::vector<Pattern> patterns = {{.samples = like(one, 300, 40, .2F), .radius = 4},
                                         {.samples = like(two, 800, 30, .2F), .radius = 3}};
  std::vector<Task> tasks;
  for (const std::int32_t channel : {0, 1})
    for (const std::int32_t pattern : {0, 1})
      tasks.push_back({.channel = channel, .first_pattern = pattern, .limit = 3, .exclusion = 20});
  expect_best({one, two}, patterns, tasks);
}

TEST(Best, FindsNothingForAPatternThatIsLongerThanTheRecording) {
  const std::vector<float> walk = random_walk(100, 43);
  Index index({walk}, on_cpu());
  const std::vector<Pattern> patterns = {{.samples = random_walk(101, 44)}, {.samples = part(walk, 10, 50)}};
  const auto found = index.best(patterns, std::vector<Task>{{.limit = 3}, {.patterns = 2, .limit = 1}});
  EXPECT_TRUE(found[0].empty());
  ASSERT_EQ(found[1].size(), 1U);
  EXPECT_EQ(found[1][0].offset, 10);
  EXPECT_EQ(found[1][0].pattern, 1);
}

/// Steps that do not know of each other, so that lower bounds exclude next to nothing.
std::vector<float> noise(std::size_t samples, std::uint32_t seed) {
  std::vector<float> steps = random_walk(samples + 1, seed);
  for (std::size_t i = 0; i < samples; ++i) steps[i] = steps[i + 1] - steps[i];
  steps.pop_back();
  return steps;
}

TEST(Best, IsTheSameWithLowerBoundsWhetherTheyPayOrNot) {
  std::vector<float> walk = random_walk(50'000, 65), steps = noise(50'000, 66);
  walk[20'000] = steps[30'000] = kNaN;
  const std::vector<Pattern> patterns = {{.samples = random_walk(64, 67), .radius = 6},
                                         {.samples = noise(64, 68), .radius = 12}};
  std::vector<Task> tasks;
  for (const std::int32_t channel : {0, 1})
    for (const std::int64_t limit : {1, 30})
      tasks.push_back({.channel = channel, .patterns = 2, .limit = limit, .exclusion = 32});
  for (const Normalization normalization : {Normalization::none, Normalization::z}) {
    Index pruned({walk, steps}, on_cpu(normalization)),
        plain({walk, steps}, on_cpu(normalization, Prune::never));
    EXPECT_EQ(pruned.best(patterns, tasks), plain.best(patterns, tasks));
  }
}

TEST(Best, FindsTheSameForManyTasksAsForEach) {
  const std::vector<float> walk = random_walk(1500, 60);
  std::vector<Pattern> patterns;
  std::vector<Task> tasks;
  for (std::int32_t p = 0; p < 12; ++p) {
    patterns.push_back({.samples = random_walk(30, 61 + static_cast<std::uint32_t>(p)), .radius = 3});
    tasks.push_back({.first_pattern = p, .limit = 4, .exclusion = 15});
  }
  const RunScope two_threads({.threads = 2});
  Index index({walk}, on_cpu());
  const auto found = index.best(patterns, tasks);
  for (std::size_t t = 0; t < tasks.size(); ++t)
    EXPECT_EQ(index.best(patterns, std::span(tasks).subspan(t, 1))[0], found[t]);
}

TEST(Best, CanBeInterrupted) {
  const std::vector<float> walk = random_walk(3000, 62);
  const std::vector<Pattern> patterns = {{.samples = random_walk(50, 63), .radius = 5}};
  for (const Prune prune : {Prune::never, Prune::automatic, Prune::always}) {
    Index index({walk}, on_cpu(Normalization::z, prune));
    std::atomic<bool> stop = true;
    const RunScope scope({.stop = &stop});
    EXPECT_THROW(index.best(patterns, std::vector<Task>{{}}), Interrupted);
    EXPECT_THROW(index.profile(patterns[0], 0, 0, 2900), Interrupted);
  }
}

TEST(Best, CountsItsWork) {
  std::vector<float> walk = random_walk(5000, 45);
  walk[100] = kNaN;
  const std::vector<Pattern> patterns = {{.samples = like(walk, 1000, 50, .5F), .radius = 5}};
  const std::vector<Task> tasks = {{.limit = 1, .exclusion = 25}};
  Index plain({walk}, on_cpu(Normalization::z, Prune::never));
  plain.best(patterns, tasks);
  EXPECT_EQ(plain.effort().windows, 4951U);
  EXPECT_EQ(plain.effort().skipped, 50U);
  EXPECT_EQ(plain.effort().bounded, 0U);
  EXPECT_GE(plain.effort().cells, 4901U * static_cast<std::uint64_t>(band_cells(50, 5)));
  EXPECT_GT(plain.effort().seconds, 0);
  Index pruned({walk}, on_cpu());
  pruned.best(patterns, tasks);
  EXPECT_EQ(pruned.effort().windows, 4951U);
  EXPECT_EQ(pruned.effort().skipped, 50U);
  EXPECT_GT(pruned.effort().bounded, 1000U);
  EXPECT_LT(pruned.effort().cells, plain.effort().cells / 2);
  EXPECT_FALSE(pruned.effort().choice.empty());
}

TEST(Best, RefusesTasksThatMakeNoSense) {
  const std::vector<float> walk = random_walk(100, 46);
  Index index({walk}, on_cpu());
  const std::vector<Pattern> patterns = {{.samples = random_walk(20, 47)}};
  for (const Task& task :
       {Task{.channel = 1}, Task{.channel = -1}, Task{.first_pattern = 1}, Task{.first_pattern = -1},
        Task{.patterns = 2}, Task{.patterns = 0}, Task{.limit = 0}, Task{.exclusion = -1},
        Task{.max_distance = -1}, Task{.max_distance = kNaN}})
    EXPECT_THROW(index.best(patterns, std::vector<Task>{task}), BadInput);
  EXPECT_THROW(index.best(std::vector<Pattern>{{.samples = {1, kNaN}}}, std::vector<Task>{{}}), BadInput);
  EXPECT_TRUE(index.best(std::span<const Pattern>{}, {}).empty());
}

TEST(Index, RefusesChannelsOfUnequalLengthAndNone) {
  const std::vector<float> a(10), b(11);
  EXPECT_THROW(Index({a, b}, on_cpu()), BadInput);
  EXPECT_THROW(Index({}, on_cpu()), BadInput);
}

TEST(Index, SaysWhatItIs) {
  const std::vector<float> walk = random_walk(100, 48);
  const Index index({walk, walk}, on_cpu(Normalization::none));
  EXPECT_EQ(index.samples(), 100);
  EXPECT_EQ(index.signal().size(), 2U);
  EXPECT_EQ(index.device(), Device::cpu);
  EXPECT_EQ(index.normalization(), Normalization::none);
}

/// A measured channel, from sample `first` on; empty where there are no measured data.
std::vector<float> measured(const std::string& folder, const std::string& file, const std::string& channel,
                            std::size_t first, std::size_t count) {
  const auto path =
      measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data", folder) / file;
  if (!std::filesystem::exists(path)) return {};
  io::RecordingOptions options;
  options.select = {channel};
  const io::Recording recording = io::read_recording(path, options);
  return part(recording.channels.at(0).samples, first, count);
}

TEST(Best, IsTheOraclesOnAnElectrocardiogram) {
  const std::vector<float> ecg = measured("ecg", "100.hea", "MLII", 100'000, 3000);
  if (ecg.empty()) GTEST_SKIP() << "no ecg/100.hea among the measured data";
  expect_best({ecg}, {{.samples = like(ecg, 1400, 128, .02F), .radius = 6}},
              {{.limit = 1, .exclusion = 64}, {.limit = 8, .exclusion = 64}});
}

TEST(Best, IsTheOraclesOnGait) {
  const std::vector<float> ankle = measured("activity", "S01R02.txt.gz", "A0", 20'000, 3000);
  if (ankle.empty()) GTEST_SKIP() << "no activity/S01R02.txt.gz among the measured data";
  expect_best({ankle}, {{.samples = like(ankle, 1400, 100, 30), .radius = 10}},
              {{.limit = 1, .exclusion = 50}, {.limit = 8, .exclusion = 50}});
}

}  // namespace
}  // namespace warploom::search
