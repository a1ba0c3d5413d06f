#include "warploom/search/evaluate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "child.hpp"

namespace warploom::search {
namespace {

using Intervals = std::vector<Interval>;

TEST(Evaluate, GainFallsWithTheRank) {
  // Ranks 1 and 3 of four are relevant; three fit into the events of 10, 10 and 10 s.
  const Intervals events{{0, 10, "a"}, {100, 10, "a"}, {200, 10, "a"}};
  const Intervals results{{0, 10, "a"}, {50, 10, "a"}, {100, 10, "a"}, {150, 10, "a"}};
  const Evaluation judged = evaluate(results, events, {}, 20);
  EXPECT_EQ(judged.results, 4);
  EXPECT_EQ(judged.relevant, 2);
  EXPECT_EQ(judged.events, 3);
  EXPECT_EQ(judged.events_found, 2);
  const double ideal = 1 + 1 / std::log2(3.0) + 0.5;
  EXPECT_NEAR(judged.ndcg, (1 + 0.5) / ideal, 1e-12);  // 1 / log2(2) and 1 / log2(4)
  EXPECT_DOUBLE_EQ(judged.precision, 0.5);
  EXPECT_DOUBLE_EQ(judged.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(judged.coverage, 20.0 / 30);
}

TEST(Evaluate, APerfectRankingIsOne) {
  const Intervals events{{0, 30, "a"}};
  const Intervals results{{20, 10, "a"}, {0, 10, "a"}, {10, 10, "a"}};
  const Evaluation judged = evaluate(results, events, {}, 20);
  EXPECT_DOUBLE_EQ(judged.ndcg, 1);
  EXPECT_DOUBLE_EQ(judged.precision, 1);
  EXPECT_DOUBLE_EQ(judged.recall, 1);
  EXPECT_DOUBLE_EQ(judged.coverage, 1);
}

TEST(Evaluate, OneResultOfThreeThatFitIsNotPerfect) {
  const Evaluation judged = evaluate(Intervals{{0, 10, "a"}}, Intervals{{0, 35, "a"}}, {}, 20);
  EXPECT_NEAR(judged.ndcg, 1 / (1 + 1 / std::log2(3.0) + 0.5), 1e-12);
  EXPECT_DOUBLE_EQ(judged.recall, 1);  // of events, of which there is one
}

TEST(Evaluate, RanksBeyondKDoNotCount) {
  const Intervals events{{0, 10, "a"}, {100, 10, "a"}};
  const Evaluation judged = evaluate(Intervals{{50, 10, "a"}, {0, 10, "a"}}, events, {}, 1);
  EXPECT_EQ(judged.results, 1);
  EXPECT_EQ(judged.relevant, 0);
  EXPECT_EQ(judged.ndcg, 0);
  const Evaluation best = evaluate(Intervals{{0, 10, "a"}, {50, 10, "a"}}, events, {}, 1);
  EXPECT_DOUBLE_EQ(best.ndcg, 1);  // the ideal ranking has one result, too
}

TEST(Evaluate, OverlapDecidesAndLabelsMustAgree) {
  const Intervals events{{0, 10, "a"}, {20, 10, "b"}};
  EXPECT_EQ(evaluate(Intervals{{5, 10, "a"}}, events, {}, 9).relevant, 1);
  EXPECT_EQ(evaluate(Intervals{{5.1, 10, "a"}}, events, {}, 9).relevant, 0);
  EXPECT_EQ(evaluate(Intervals{{5.1, 10, "a"}}, events, {}, 9, {.overlap = 0.49}).relevant, 1);
  EXPECT_EQ(evaluate(Intervals{{20, 10, "a"}}, events, {}, 9).relevant, 0);
  EXPECT_EQ(evaluate(Intervals{{20, 10, "b"}}, events, {}, 9).relevant, 1);
  EXPECT_EQ(evaluate(Intervals{{10, 10, "a"}}, events, {}, 9, {.overlap = 0}).relevant, 0);
  // Two events that meet are one stretch.
  EXPECT_EQ(
      evaluate(Intervals{{5, 10, "a"}}, Intervals{{0, 8, "a"}, {8, 8, "a"}}, {}, 9, {.overlap = 1}).relevant,
      1);
}

TEST(Evaluate, SelfMatchesAreLeftOutAndOthersMoveUp) {
  const Intervals events{{0, 10, "a"}, {100, 10, "a"}};
  const Intervals results{{0.5, 10, "a"}, {100, 10, "a"}};
  const Evaluation judged = evaluate(results, events, Intervals{{0, 10, ""}}, 20);
  EXPECT_EQ(judged.results, 1);
  EXPECT_EQ(judged.relevant, 1);
  EXPECT_EQ(judged.events, 1);  // the query's own is not to be found
  EXPECT_DOUBLE_EQ(judged.ndcg, 1);
  EXPECT_DOUBLE_EQ(judged.recall, 1);
  EXPECT_DOUBLE_EQ(judged.coverage, 1);
}

TEST(Evaluate, TheRestOfALongEventStaysOne) {
  const Evaluation judged =
      evaluate(Intervals{{50, 10, "a"}}, Intervals{{0, 60, "a"}}, Intervals{{0, 10, ""}}, 20);
  EXPECT_EQ(judged.events, 1);
  EXPECT_DOUBLE_EQ(judged.coverage, 10.0 / 50);
  EXPECT_NEAR(judged.ndcg, 1 / (1 + 1 / std::log2(3.0) + 0.5 + 1 / std::log2(5.0) + 1 / std::log2(6.0)),
              1e-12);
}

TEST(Evaluate, OverlappingResultsCoverTimeOnce) {
  const Evaluation judged = evaluate(Intervals{{0, 10, "a"}, {5, 10, "a"}}, Intervals{{0, 20, "a"}}, {}, 20);
  EXPECT_DOUBLE_EQ(judged.coverage, 0.75);
  EXPECT_DOUBLE_EQ(judged.ndcg, 1);
}

TEST(Evaluate, MomentsAreFoundByWhatContainsThem) {
  const Intervals beats{{1, 0, "N"}, {2, 0, "N"}, {3, 0, "V"}};
  const Evaluation judged = evaluate(Intervals{{1.5, 1, "N"}, {2.5, 1, "N"}, {2.8, 0.5, "V"}}, beats, {}, 20);
  EXPECT_EQ(judged.relevant, 2);
  EXPECT_EQ(judged.events, 3);
  EXPECT_EQ(judged.events_found, 2);
  EXPECT_NEAR(judged.ndcg, (1 + 0.5) / (1 + 1 / std::log2(3.0) + 0.5), 1e-12);
  EXPECT_EQ(judged.coverage, 0);  // there is no annotated time
  EXPECT_EQ(evaluate({}, beats, Intervals{{1.9, 0.2, ""}}, 20).events, 2);
}

TEST(Evaluate, NothingFoundIsZero) {
  const Evaluation none = evaluate({}, Intervals{{0, 10, "a"}}, {}, 20);
  EXPECT_EQ(none.ndcg, 0);
  EXPECT_EQ(none.precision, 0);
  EXPECT_EQ(none.recall, 0);
  EXPECT_EQ(none.events, 1);
  EXPECT_EQ(evaluate(Intervals{{0, 1, "a"}}, {}, {}, 20).ndcg, 0);
}

TEST(Evaluate, RefusesWhatMakesNoSense) {
  const Intervals one{{0, 1, "a"}};
  EXPECT_EQ(message_of([&] { evaluate(one, one, {}, 0); }),
            "results are judged up to rank 0; from 1 to 10000000");
  EXPECT_EQ(message_of([&] { evaluate(one, one, {}, 1, {.overlap = 1.5}); }),
            "overlap 1.5: a share from 0 to 1 is expected");
  EXPECT_EQ(message_of([&] {
              evaluate(one, Intervals{{0, -1, "a"}}, {}, 1);
            }),
            "an annotation at 0 s of -1 s: times are finite and durations not negative");
  EXPECT_EQ(message_of([&] {
              evaluate(Intervals{{NAN, 1, "a"}}, one, {}, 1);
            }),
            "a result at nan s of 1 s: times are finite and durations not negative");
}

TEST(StudentQuantile, IsThatOfTheTables) {
  // Two-sided 95 %: Student's table as printed in textbooks.
  const std::pair<std::int64_t, double> table[] = {{1, 12.706},  {2, 4.303},     {3, 3.182},  {4, 2.776},
                                                   {5, 2.571},   {9, 2.262},     {10, 2.228}, {30, 2.042},
                                                   {120, 1.980}, {100000, 1.960}};
  for (const auto& [freedom, t] : table) EXPECT_NEAR(student_quantile(freedom, 0.95), t, 6e-4) << freedom;
  EXPECT_NEAR(student_quantile(1, 0.5), 1, 1e-12);                               // Cauchy's quartile
  EXPECT_NEAR(student_quantile(2, 0.9), 0.9 * std::sqrt(2 / (1 - 0.81)), 1e-9);  // its closed form
}

TEST(MeanWithConfidence, IsStudents) {
  const std::vector<double> values{1, 2, 3, 4};
  const Mean mean = mean_with_confidence(values);
  EXPECT_DOUBLE_EQ(mean.value, 2.5);
  EXPECT_NEAR(mean.half_width, 3.182446 * std::sqrt(5.0 / 3 / 4), 1e-5);
  EXPECT_TRUE(std::isinf(mean_with_confidence(std::vector<double>{7}).half_width));
  EXPECT_EQ(mean_with_confidence(std::vector<double>{7}).value, 7);
  EXPECT_EQ(message_of([] { mean_with_confidence({}); }), "the mean of no values");
}

}  // namespace
}  // namespace warploom::search
