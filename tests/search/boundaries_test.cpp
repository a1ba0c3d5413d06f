#include "warploom/search/boundaries.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "search/index_checks.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {
namespace {

/// Walks into which `pattern`, of `length` samples there, is put at `first`.
struct Put {
  std::vector<std::vector<float>> recorded, pattern;
  Query query;
  Match match;

  Put(std::int64_t first, std::int64_t length, std::vector<std::int64_t> lags = {0, 0, 0}) {
    for (std::uint32_t c = 0; c < 3; ++c) {
      recorded.push_back(random_walk(1000, 41 + c));
      pattern.push_back(random_walk(100, 71 + c));
      const auto stretched = stretch(pattern[c], length);
      std::copy(stretched.begin(), stretched.end(), recorded[c].begin() + first + lags[c]);
      query.places.push_back(static_cast<std::int32_t>(c));
    }
    query.channels = {pattern.begin(), pattern.end()};
  }
  /// As a search would find it that has no scales.
  void found_at(std::int64_t first, std::vector<std::int64_t> lags = {0, 0, 0}) {
    match.first = first;
    match.last = first + 100;
    for (std::int32_t c = 0; c < 3; ++c)
      match.pairs.push_back({.query_channel = c, .channel = c, .offset = first + lags[c], .length = 100});
  }
  Signal signal() const { return {recorded.begin(), recorded.end()}; }
  Boundaries refined(Normalization normalization = Normalization::z) const {
    return refine_boundaries(signal(), query, match, normalization);
  }
};

void expect_bounds(const Boundaries& found, std::int64_t first, std::int64_t last, std::int64_t within) {
  EXPECT_NEAR(static_cast<double>(found.first), static_cast<double>(first), static_cast<double>(within));
  EXPECT_NEAR(static_cast<double>(found.last), static_cast<double>(last), static_cast<double>(within));
}

TEST(RefineBoundaries, LeavesAnExactMatchWhereItIs) {
  Put put(400, 100);
  put.found_at(400);
  for (const Normalization normalization : {Normalization::none, Normalization::z})
    EXPECT_EQ(put.refined(normalization), (Boundaries{400, 500}));
}

TEST(RefineBoundaries, FindsWhereASlowerAndAFasterOneBeginAndEnd) {
  for (const std::int64_t length : {78, 90, 112, 125})
    for (const std::int64_t off : {-6, 0, 6}) {
      SCOPED_TRACE(testing::Message() << "length " << length << ", found " << off << " off");
      Put put(400, length);
      put.found_at(400 + (length - 100) / 2 + off);
      for (const Normalization normalization : {Normalization::none, Normalization::z})
        expect_bounds(put.refined(normalization), 400, 400 + length, 2);
    }
}

TEST(RefineBoundaries, TakesLagsSignsAndLargeMeansAsTheyAre) {
  Put put(400, 115, {0, 30, -20});
  put.found_at(407, {0, 30, -20});
  for (float& x : put.recorded[1]) x = -x;
  for (float& x : put.recorded[2]) x += 1e4F;
  put.match.pairs[1].negated = true;
  expect_bounds(put.refined(), 400, 515, 2);
}

TEST(RefineBoundaries, StaysWithinTheRecordingAndOffMissingSamples) {
  Put put(0, 110);
  put.found_at(0);
  expect_bounds(put.refined(), 0, 110, 2);
  put.recorded[1][104] = kNaN;  // which the whole would touch
  const Boundaries short_of = put.refined();
  EXPECT_LE(short_of.last, 104);
  EXPECT_LT(short_of.first, short_of.last);
  Put late(890, 110);
  late.found_at(900);
  expect_bounds(late.refined(), 890, 1000, 2);
}

TEST(RefineBoundaries, MovesLittleWhereNothingIsLikeTheQuery) {
  Put put(400, 100);
  for (auto& channel : put.recorded) {
    const std::vector<float> other = random_walk(1001, 99 + static_cast<std::uint32_t>(channel.size()));
    for (std::size_t t = 0; t < channel.size(); ++t) channel[t] = other[t + 1] - other[t];  // noise
  }
  put.found_at(600);
  expect_bounds(put.refined(), 600, 700, 13);
}

TEST(RefineBoundaries, RefusesMatchesOfOtherQueriesAndRecordings) {
  Put put(400, 100);
  EXPECT_THROW(put.refined(), BadInput) << "no pairs";
  put.found_at(400);
  const auto refused = [&](auto change) {
    Put other = put;
    other.query.channels = {other.pattern.begin(), other.pattern.end()};
    change(other);
    EXPECT_THROW(other.refined(), BadInput);
  };
  refused([](Put& p) { p.match.pairs[0].query_channel = 3; });
  refused([](Put& p) { p.match.pairs[0].channel = -1; });
  refused([](Put& p) { p.match.pairs[0].scale = 0; });
  refused([](Put& p) { p.match.pairs[0].scale = std::nan(""); });
  refused([](Put& p) { p.match.pairs[0].offset = std::numeric_limits<std::int64_t>::max(); });
  refused([](Put& p) { p.query.channels.clear(); });
  EXPECT_THROW(refine_boundaries({}, put.query, put.match, Normalization::z), BadInput);
  for (const double slack : {-.1, .5, std::nan("")})
    EXPECT_THROW(refine_boundaries(put.signal(), put.query, put.match, Normalization::z, {.slack = slack}),
                 BadInput);
}

/// A slow copy and one of the query's length, their windows a few samples off.
struct Two : Put {
  Two() : Put(400, 112) {
    for (std::size_t c = 0; c < 3; ++c)
      std::copy(pattern[c].begin(), pattern[c].end(), recorded[c].begin() + 700);
  }
  std::vector<Match> found(std::int64_t first, std::int64_t second) {
    std::vector<Match> matches;
    for (const std::int64_t at : {first, second}) {
      match = {};
      found_at(at);
      matches.push_back(match);
    }
    return matches;
  }
  void refine(std::vector<Match>& matches, const Apart& apart = {}) const {
    const std::vector<const Query*> queries(matches.size(), &query);
    refine_all(signal(), queries, matches, Normalization::z, apart);
  }
};

TEST(RefineAll, RefinesEachMatchAndLeavesItsWindows) {
  Two two;
  std::vector<Match> matches = two.found(410, 697);
  two.refine(matches);
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_TRUE(matches[k].refined.has_value());
    two.match = two.found(410, 697)[k];
    EXPECT_EQ(matches[k].refined, two.refined());
    EXPECT_EQ(matches[k].boundaries(), two.refined());
    EXPECT_EQ(matches[k].first, two.match.first);
    EXPECT_EQ(matches[k].pairs[0].offset, two.match.pairs[0].offset);
  }
  expect_bounds(matches[0].boundaries(), 400, 512, 2);
  expect_bounds(matches[1].boundaries(), 700, 800, 1);
}

TEST(RefineAll, KeepsMatchesFartherApartThanTheExclusion) {
  // Both windows are drawn to the copy at 400. The better match goes as far as the other, as it was found,
  // lets it.
  for (const auto& [exclusion, first] : {std::pair{0., 400}, {.1, 400}, {.2, 409}}) {
    Two two;
    std::vector<Match> matches = two.found(412, 388);
    two.refine(matches, {.exclusion = exclusion});
    const auto zone = static_cast<std::int64_t>(100 * exclusion);
    EXPECT_NEAR(static_cast<double>(matches[0].boundaries().first), first, 1) << exclusion;
    EXPECT_NEAR(static_cast<double>(matches[0].boundaries().last), 512, 2) << exclusion;
    EXPECT_EQ(matches[1].boundaries().first, matches[0].boundaries().first - zone - 1) << exclusion;
  }
}

TEST(RefineAll, ExcludesMatchesOfOneQueryAndNoAlternatives) {
  Two two;
  const auto together = [&](auto change) {
    std::vector<Match> matches = two.found(412, 388);
    change(matches);
    two.refine(matches, {.exclusion = .1});
    return std::abs(matches[0].boundaries().first - matches[1].boundaries().first) <= 4;
  };
  EXPECT_FALSE(together([](auto&) {}));
  EXPECT_TRUE(together([](auto& matches) { matches[1].query = 1; }));
  EXPECT_TRUE(together([](auto& matches) { matches[1].first = matches[0].first; }));
}

TEST(RefineAll, LeavesLabelsNoMoreThanHalfOfAnother) {
  Two two;
  std::vector<Match> matches = two.found(412, 345);
  matches[1].query = 1;
  two.refine(matches, {.shared = true});
  const Boundaries a = matches[0].boundaries(), b = matches[1].boundaries();
  expect_bounds(a, 400, 512, 2);
  EXPECT_EQ(b, (Boundaries{345, 445}));
  EXPECT_LE(2 * (std::min(a.last, b.last) - std::max(a.first, b.first)),
            std::min(a.last - a.first, b.last - b.first));
}

TEST(RefineAll, LeavesWhatWasFoundInParts) {
  Two two;
  std::vector<Match> matches = two.found(410, 697);
  matches[0].pairs[1].segment = 1;
  two.refine(matches);
  EXPECT_FALSE(matches[0].refined.has_value());
  EXPECT_TRUE(matches[1].refined.has_value());
}

TEST(RefineAll, DoesNotDependOnThreads) {
  std::vector<std::vector<Match>> all;
  for (const unsigned threads : {1U, 4U}) {
    const RunScope scope({.threads = threads});
    Two two;
    all.push_back(two.found(410, 697));
    two.refine(all.back());
  }
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(all[0][k].refined, all[1][k].refined);
}

TEST(RefineAll, RefusesQueriesThatAreNotThere) {
  Two two;
  std::vector<Match> matches = two.found(410, 697);
  const std::vector<const Query*> one{&two.query}, none{&two.query, nullptr}, both(2, &two.query);
  EXPECT_THROW(refine_all(two.signal(), one, matches, Normalization::z), BadInput);
  EXPECT_THROW(refine_all(two.signal(), none, matches, Normalization::z), BadInput);
  EXPECT_THROW(refine_all(two.signal(), both, matches, Normalization::z, {.exclusion = -1}), BadInput);
  std::vector<Match> nothing;
  EXPECT_NO_THROW(refine_all(two.signal(), {}, nothing, Normalization::z));
}

}  // namespace
}  // namespace warploom::search
