#include "search/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "search/signals.hpp"

namespace warploom::search {
namespace {

/// The definition, by looking at all candidates for each choice.
std::vector<Candidate> chosen_by_looking(const std::vector<Candidate>& all, std::int64_t limit,
                                         std::int64_t exclusion, float max_distance) {
  std::vector<Candidate> chosen;
  for (std::int64_t k = 0; k < limit; ++k) {
    const Candidate* nearest = nullptr;
    for (const Candidate& c : all) {
      bool free = c.distance <= max_distance;
      for (const Candidate& other : chosen) free &= std::abs(c.offset - other.offset) > exclusion;
      if (free && (nearest == nullptr || chosen_before(c, *nearest))) nearest = &c;
    }
    if (nearest == nullptr) break;
    chosen.push_back(*nearest);
  }
  return chosen;
}

/// Distances that rise and fall slowly, in steps of `step` (so that many are equal), of two patterns.
std::vector<Candidate> smooth_candidates(std::size_t count, float step, std::uint32_t seed) {
  const std::vector<float> walk = random_walk(2 * count, seed);
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < 2 * count; ++i)
    all.push_back({static_cast<std::int64_t>(i % count), std::round(std::abs(walk[i]) / step) * step,
                   static_cast<std::int32_t>(i / count)});
  return all;
}

TEST(Selection, ChoosesWhatTheDefinitionSays) {
  for (std::uint32_t seed = 0; seed < 8; ++seed)
    for (const std::int64_t exclusion : {0, 3, 40, 5000})
      for (const std::int64_t limit : {1, 2, 13}) {
        std::vector<Candidate> all = smooth_candidates(8000, .25F, seed);
        const std::vector<Candidate> expected =
            chosen_by_looking(all, limit, exclusion, std::numeric_limits<float>::infinity());
        std::shuffle(all.begin(), all.end(), std::mt19937(seed));
        Selection selection(limit, exclusion, std::numeric_limits<float>::infinity());
        for (const Candidate& c : all) selection.add(c);
        EXPECT_EQ(selection.finish(), expected) << seed << " " << exclusion << " " << limit;
      }
}

TEST(Selection, LowersItsBound) {
  Selection selection(5, 100, 9);
  EXPECT_EQ(selection.bound(), 9);
  float last = 9;
  for (const Candidate& c : smooth_candidates(20'000, .01F, 1)) {
    selection.add(c);
    EXPECT_LE(selection.bound(), last);
    last = selection.bound();
  }
  EXPECT_LT(last, 5);
}

TEST(Selection, KeepsItsBoundWhileTooFewLieApart) {
  Selection selection(3, 5000, std::numeric_limits<float>::infinity());
  for (std::int64_t t = 0; t < 20'000; ++t) selection.add({t, static_cast<float>(t % 7), 0});
  EXPECT_EQ(selection.bound(), std::numeric_limits<float>::max());
  // 0, 7, 14, ... are equally near: the first, the next that lies more than 5000 behind it, and so on.
  const std::vector<Candidate> expected = {{0, 0, 0}, {5005, 0, 0}, {10'010, 0, 0}};
  EXPECT_EQ(selection.finish(), expected);
}

TEST(Selection, LeavesOutWhatIsTooFarOrNoDistance) {
  Selection selection(10, 0, 2);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Candidate& c :
       {Candidate{5, 2, 0}, {6, 2.0001F, 0}, {7, infinity, 0}, {8, std::nanf(""), 0}, {9, 1, 0}})
    selection.add(c);
  const std::vector<Candidate> expected = {{9, 1, 0}, {5, 2, 0}};
  EXPECT_EQ(selection.finish(), expected);
  Selection unlimited(10, 0, infinity);
  unlimited.add({0, infinity, 0});
  EXPECT_TRUE(unlimited.finish().empty());
}

TEST(Selection, TakesTheNearestPatternAtAnOffsetAndTheFirstOfEquals) {
  Selection selection(10, 0, 9);
  for (const Candidate& c : {Candidate{1, 3, 2}, {1, 3, 0}, {1, 3, 1}, {2, 5, 0}, {2, 4, 1}})
    selection.add(c);
  const std::vector<Candidate> expected = {{1, 3, 0}, {2, 4, 1}};
  EXPECT_EQ(selection.finish(), expected);
}

TEST(Selection, TakesTheFirstOfManyEqualDistances) {
  Selection selection(3, 10, 9);
  for (std::int64_t t = 100'000; t-- > 0;) selection.add({t, 1, 0});
  EXPECT_EQ(selection.finish(), (std::vector<Candidate>{{0, 1, 0}, {11, 1, 0}, {22, 1, 0}}));
}

TEST(Selection, TakesAZoneThatIsLargerThanAnyRecording) {
  Selection selection(2, std::numeric_limits<std::int64_t>::max(), 9);
  for (std::int64_t t = 0; t < 10'000; ++t) selection.add({t, 1, 0});
  EXPECT_EQ(selection.finish(), (std::vector<Candidate>{{0, 1, 0}}));
}

}  // namespace
}  // namespace warploom::search
