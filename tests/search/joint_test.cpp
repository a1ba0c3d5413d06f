// Several channels at one offset: distances and places are the oracle's.

#include "warploom/search/joint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "measured_data.hpp"
#include "oracle/search_brute_force.hpp"
#include "search/index_checks.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

using Channels = std::vector<std::vector<float>>;

Channels joint_walks(std::size_t channels, std::size_t samples, std::uint32_t seed) {
  Channels all;
  for (std::size_t c = 0; c < channels; ++c)
    all.push_back(random_walk(samples, seed + 100 * static_cast<std::uint32_t>(c)));
  return all;
}
Signal signal_of(const Channels& channels) { return {channels.begin(), channels.end()}; }

/// A pattern of the first channels, or of those given.
JointPattern pattern_of(Channels samples, std::int64_t radius, Warping warping,
                        std::vector<std::int32_t> channels = {}) {
  for (std::size_t c = channels.size(); c < samples.size(); ++c)
    channels.push_back(static_cast<std::int32_t>(c));
  return {
      .samples = std::move(samples), .channels = std::move(channels), .radius = radius, .warping = warping};
}

void expect_joint_profile(const Signal& signal, const JointPattern& pattern, Normalization normalization) {
  Index index(signal, on_cpu(normalization));
  const auto expected = oracle::profile(pattern, signal, normalization == Normalization::z);
  const auto found = index.profile(pattern, 0, std::ssize(expected));
  ASSERT_EQ(found.size(), expected.size());
  std::vector<std::int64_t> offsets;
  for (std::size_t t = 0; t < found.size(); ++t) {
    expect_near(found[t], expected[t], "window " + std::to_string(t));
    if (t % 7 == 3) offsets.push_back(static_cast<std::int64_t>(t));
  }
  const JointWindows some{.pattern = 0, .offsets = offsets};
  const auto at = index.distances({&pattern, 1}, {&some, 1});
  ASSERT_EQ(at[0].size(), offsets.size());
  for (std::size_t k = 0; k < offsets.size(); ++k) EXPECT_EQ(at[0][k], found[offsets[k]]);
}

/// The oracle's, with lower bounds and without, to the last bit the same on any number of threads.
void expect_joint_best(const Signal& signal, const std::vector<JointPattern>& patterns,
                       const std::vector<JointTask>& tasks, Normalization normalization = Normalization::z) {
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
  for (const unsigned threads : {1U, 3U}) {
    const RunScope scope({.threads = threads});
    for (const Prune prune : {Prune::automatic, Prune::always}) {
      Index pruned(signal, on_cpu(normalization, prune));
      for (int time = 0; time < 2; ++time)  // the second time moments are kept
        EXPECT_EQ(pruned.best(patterns, tasks), found) << threads << " threads, lower bounds";
    }
  }
}

TEST(JointProfile, IsTheOraclesForAnyLengthBandAndNumberOfChannels) {
  for (const std::size_t count : {1, 2, 3, 6, 18})
    for (const std::size_t length : {2, 7, 8, 9, 33, 64})
      for (const std::int64_t radius : {0, 1, 3, 12, 1000})
        for (const Warping warping : {Warping::together, Warping::each})
          for (const Normalization normalization : {Normalization::none, Normalization::z}) {
            SCOPED_TRACE(testing::Message()
                         << count << " channels, length " << length << ", radius " << radius);
            const Channels recorded = joint_walks(count, length + 37, 1);
            expect_joint_profile(signal_of(recorded),
                                 pattern_of(joint_walks(count, length, 9), radius, warping), normalization);
          }
}

TEST(JointProfile, OfOneChannelIsThatOfTheFreeSearchToTheLastBit) {
  const std::vector<float> walk = random_walk(3000, 3), query = random_walk(80, 4);
  for (const std::int64_t radius : {0, 4, 79}) {
    Index index({walk}, on_cpu());
    const Pattern single{.samples = query, .radius = radius};
    for (const Warping warping : {Warping::together, Warping::each})
      EXPECT_EQ(index.profile(pattern_of({query}, radius, warping), 0, 2900),
                index.profile(single, 0, 0, 2900));
  }
}

TEST(JointProfile, SkipsWindowsWhoseAnyChannelMissesASample) {
  Channels recorded = joint_walks(3, 400, 5);
  recorded[1][100] = kNaN;
  recorded[2][300] = std::numeric_limits<float>::infinity();
  for (const Warping warping : {Warping::together, Warping::each}) {
    const JointPattern pattern = pattern_of(joint_walks(3, 20, 6), 2, warping);
    for (const Normalization normalization : {Normalization::none, Normalization::z})
      expect_joint_profile(signal_of(recorded), pattern, normalization);
    Index index(signal_of(recorded), on_cpu());
    const JointTask task{.limit = 5, .exclusion = 10};
    index.best({&pattern, 1}, {&task, 1});
    EXPECT_EQ(index.effort().windows, 381U);
    EXPECT_EQ(index.effort().skipped, 40U);
  }
}

TEST(JointProfile, TakesConstantWindowsAndLargeMeans) {
  Channels recorded = joint_walks(3, 300, 7);
  std::fill(recorded[0].begin() + 50, recorded[0].begin() + 120, 3.F);
  std::fill(recorded[2].begin() + 90, recorded[2].begin() + 200, 0.F);
  for (float& x : recorded[1]) x += 2e3F;
  for (const Warping warping : {Warping::together, Warping::each})
    expect_joint_profile(signal_of(recorded), pattern_of(joint_walks(3, 25, 8), 3, warping),
                         Normalization::z);
}

TEST(JointProfile, ComparesWithTheChannelsThatAreNamed) {
  const Channels recorded = joint_walks(5, 200, 9);
  for (const Warping warping : {Warping::together, Warping::each})
    expect_joint_profile(signal_of(recorded), pattern_of(joint_walks(3, 16, 10), 2, warping, {4, 0, 4}),
                         Normalization::z);
}

TEST(JointBest, IsTheOraclesOnWalks) {
  const Channels recorded = joint_walks(4, 2500, 11);
  std::vector<JointPattern> patterns;
  for (const Warping warping : {Warping::together, Warping::each})
    for (const std::size_t length : {28, 32, 36})
      patterns.push_back(pattern_of(joint_walks(4, length, 12), 3, warping));
  Channels planted;
  for (const auto& channel : recorded) planted.push_back(like(channel, 700, 40, .3F));
  patterns.push_back(pattern_of(planted, 4, Warping::together));
  const Signal signal = signal_of(recorded);
  expect_joint_best(
      signal, patterns,
      {{.first_pattern = 0, .patterns = 3, .limit = 30, .exclusion = 16},
       {.first_pattern = 3, .patterns = 3, .limit = 30, .exclusion = 16},
       {.first_pattern = 6, .limit = 5, .exclusion = 0},
       {.first_pattern = 6, .limit = 500, .exclusion = 20, .max_distance = 1.1F},
       {.first_pattern = 0, .patterns = 2, .limit = 10, .exclusion = 5, .first = 300, .last = 900},
       {.first_pattern = 0, .limit = 10, .first = 2490}});
  expect_joint_best(signal, patterns, {{.first_pattern = 0, .patterns = 7, .limit = 10, .exclusion = 30}},
                    Normalization::none);
}

TEST(JointBest, IsTheOraclesWhereSamplesAreMissing) {
  Channels recorded = joint_walks(3, 1200, 13);
  for (std::size_t t = 0; t < 1200; t += 170) recorded[t % 3][t] = kNaN;
  for (const Warping warping : {Warping::together, Warping::each})
    expect_joint_best(signal_of(recorded), {pattern_of(joint_walks(3, 30, 14), 2, warping)},
                      {{.limit = 40, .exclusion = 15}});
}

TEST(JointBest, IsTheOraclesOnMeasuredGait) {
  const auto path = measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data", "gait") /
                    "GaPt03_01.txt.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const io::Recording recording = io::read_recording(path);
  Channels recorded;
  for (const std::size_t c : {1, 4, 7, 9, 12, 15}) {
    const auto& samples = recording.channels[c].samples;
    recorded.emplace_back(samples.begin() + 1000, samples.begin() + 2500);
  }
  Channels query;
  for (const auto& channel : recorded) query.push_back(part(channel, 400, 100));
  for (const Warping warping : {Warping::together, Warping::each})
    for (const Normalization normalization : {Normalization::none, Normalization::z})
      expect_joint_best(signal_of(recorded), {pattern_of(query, 5, warping)},
                        {{.limit = 12, .exclusion = 50}}, normalization);
}

TEST(JointDistance, IsTheOracles) {
  const Channels q = joint_walks(3, 40, 15), w = joint_walks(3, 40, 16);
  const std::vector<std::span<const float>> query(q.begin(), q.end()), window(w.begin(), w.end());
  for (const Warping warping : {Warping::together, Warping::each})
    for (const std::int64_t radius : {0, 3, 50})
      for (const Normalization normalization : {Normalization::none, Normalization::z})
        EXPECT_NEAR(joint_distance(query, window, radius, normalization, warping),
                    oracle::joint(pattern_of(q, radius, warping), w, normalization == Normalization::z),
                    1e-12);
  EXPECT_THROW(joint_distance({}, {}, 0, Normalization::z), BadInput);
  EXPECT_THROW(joint_distance(query, std::span(window).first(2), 0, Normalization::z), BadInput);
  EXPECT_THROW(joint_distance(query, window, -1, Normalization::z), BadInput);
  EXPECT_THROW(joint_distance(query, window, 0, Normalization::z, static_cast<Warping>(7)), BadInput);
}

TEST(JointBest, RefusesWhatIsNoPattern) {
  const Channels recorded = joint_walks(2, 100, 17);
  Index index(signal_of(recorded), on_cpu());
  const JointTask task{};
  const auto search = [&](const JointPattern& pattern) { index.best({&pattern, 1}, {&task, 1}); };
  EXPECT_THROW(search({}), BadInput);
  EXPECT_THROW(search(pattern_of({{1, 2, 3}, {1, 2}}, 0, Warping::each)), BadInput);
  EXPECT_THROW(search(pattern_of({{1, 2, 3}}, 0, Warping::each, {2})), BadInput);
  EXPECT_THROW(search(pattern_of({{1, 2, 3}}, 0, Warping::each, {0, 1})), BadInput);
  EXPECT_THROW(search(pattern_of({{1, kNaN, 3}}, 0, Warping::each)), BadInput);
  EXPECT_THROW(search(pattern_of({{1, 2, 3}}, 0, static_cast<Warping>(9))), BadInput);
  EXPECT_THROW(search(pattern_of({{1, 2, 3}}, -1, Warping::each)), BadInput);
  EXPECT_THROW(index.profile(pattern_of({{1, 2, 3}}, 0, Warping::each), 99, 1), BadInput);
}

}  // namespace
}  // namespace warploom::search
