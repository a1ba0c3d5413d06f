#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_nests.hpp"
#include "tile/order/later.hpp"
#include "tile_cases.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

using test::analyse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Verdict after(const Nest& nest, const std::vector<Step>& steps) {
  Schedule schedule = Schedule::of_source(nest);
  for (const Step& step : steps) schedule = schedule.then(step);
  return schedule.verdict();
}

std::string refusal(const Nest& nest, const std::vector<Step>& steps) {
  try {
    transform(nest, steps);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

Tile tile(std::int64_t i, std::int64_t j) { return Tile{{{"i", i}, {"j", j}}}; }

TEST(Verdict, TheOrderOfTheTextIsLegal) {
  for (const std::string& text :
       {test::permutable_text, test::skewed_text, test::reuse_text, test::sum_text, test::gemm_text})
    EXPECT_TRUE(after(analyse(text), {}).legal) << text;
}

TEST(Verdict, PermutableNestIsPermutedAndTiled) {
  const Nest nest = analyse(test::permutable_text);
  EXPECT_TRUE(after(nest, {Permute{{"j", "i"}}}).legal);
  EXPECT_TRUE(after(nest, {tile(4, 8)}).legal);
}

TEST(Verdict, DistanceAgainstTheInnerLoopForbidsPermutationAndTiling) {
  const Nest nest = analyse(test::skewed_text);
  for (const Step& step : {Step(Permute{{"j", "i"}}), Step(tile(4, 4))}) {
    const Verdict verdict = after(nest, {step});
    ASSERT_FALSE(verdict.legal);
    ASSERT_TRUE(verdict.violated);
    EXPECT_EQ(verdict.violated->kind, DependenceKind::flow);
    const Witness& witness = verdict.violated->witness;
    EXPECT_EQ(witness.sink[0] - witness.source[0], 1);
    EXPECT_EQ(witness.sink[1] - witness.source[1], -1);
  }
}

TEST(Verdict, LoopsOfOneNameInTwoPlacesAreNoBand) {
  const Nest nest = analyse(R"(
void f(int n, float A[n][n], float x[n]) {
  for (int i = 0; i < n; i++) {
    for (int j = 1; j < n; j++) A[i][j] = A[i][j - 1] + x[j];
    for (int j = 1; j < n; j++)
      for (int k = 0; k < j; k++) x[j] = x[k] + A[k][j - 1];
  }
})");
  EXPECT_FALSE(skew_for_tiling(nest, {{"j"}, {0, 1}}).has_value());
  EXPECT_TRUE(skew_for_tiling(nest, {{"j", "k"}, {1}}).has_value());
}

TEST(Verdict, ARefusedStepLooksForSkewsAmongTheLoopsThatItMeans) {
  const auto refused = [](const std::string& nest, const Step& step) {
    return refusal(test::example("polybench/" + nest), {step});
  };
  EXPECT_THAT(
      refused("ludcmp", Tile{{{"i", 7}}, {6}}),
      HasSubstr("would let S6 overwrite w between S6(1), which writes it, and S7(1, 2), which reads it"));
  EXPECT_THAT(refused("deriche", Tile{{{"i", 32}}, {13}}),
              HasSubstr("would let S13 overwrite y_before_2 between S13(0)"));
  EXPECT_THAT(refused("cholesky", Permute{{"k", "i"}, {2}}),
              HasSubstr("would run S1 (2, 1) before S2 (1, 0)"));
}

TEST(Verdict, OrdersForACpuReadSubscriptsWithQuotientsAndChoices) {
  for (const char* read : {"c[i / 2][j / 2]", "c[i == 0 ? 0 : i - 1][j]", "c[i][j == m - 1 ? j : j + 1]"}) {
    const Nest nest = analyse(std::string("void f(int n, int m, float d[n][m], const float c[n][m]) {\n"
                                          "  for (int i = 0; i < n; i++)\n"
                                          "    for (int j = 0; j < m; j++) d[i][j] = ") +
                              read + ";\n}");
    EXPECT_NO_THROW(transform(nest, steps_for_cpu(nest))) << read;
  }
}

TEST(Verdict, SkewMakesItTilable) {
  const Nest nest = analyse(test::skewed_text);
  EXPECT_TRUE(after(nest, {Skew{"j", 1, "i"}, tile(4, 4)}).legal);
  EXPECT_TRUE(after(nest, {Skew{"j", 1, "i"}, Permute{{"j", "i"}}}).legal);
}

TEST(Verdict, WitnessIsTurnedByTheStrips) {
  // With strips of 4 from j = 1, (0, 4) and (1, 3) share a tile; (0, 5) and (1, 4) are the first that do not.
  const Verdict verdict = after(analyse(test::skewed_text), {tile(4, 4)});
  ASSERT_TRUE(verdict.violated);
  EXPECT_THAT(verdict.violated->witness.source, ElementsAre(0, 5));
  EXPECT_THAT(verdict.violated->witness.sink, ElementsAre(1, 4));
  EXPECT_EQ(
      verdict.reason,
      "would run (1, 4) before (0, 5), which writes A[1][4] that it reads (n = 2, m = 6): flow dependence S0 -> S0, distance (1, -1)");
}

TEST(Verdict, StripsBelowTheDistanceAreLegal) {
  // i carries a distance of 4: strips of i of at most 4 that start at 0 never hold both ends.
  const Nest nest = analyse(R"(
void f(int n, int m, float A[n + 4][m + 1]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++)
      A[i + 4][j - 1] = A[i][j];
})");
  EXPECT_TRUE(after(nest, {tile(4, 8)}).legal);
  EXPECT_TRUE(after(nest, {tile(2, 3)}).legal);
  EXPECT_FALSE(after(nest, {tile(5, 8)}).legal);
  EXPECT_FALSE(after(nest, {Permute{{"j", "i"}}}).legal);
}

TEST(Verdict, StripMiningAloneKeepsTheOrder) {
  EXPECT_TRUE(after(analyse(test::skewed_text), {StripMine{"j", 5}}).legal);
  EXPECT_TRUE(after(analyse(test::skewed_text), {StripMine{"i", 3}, StripMine{"j", 5}}).legal);
}

TEST(Verdict, SumsAreReorderedOnlyWhereAsked) {
  // A sum whose terms go the other way round.
  const Nest nest = analyse(R"(
void f(int n, int m, float D[n], float B[m][n]) {
  for (int j = 0; j < m; j++)
    for (int k = 0; k < m; k++)
      for (int i = 0; i < n; i++)
        D[i] += B[j][i] * B[k][i];
})");
  const Schedule swapped = Schedule::of_source(nest).then(Permute{{"k", "j", "i"}});
  EXPECT_FALSE(swapped.verdict().legal);
  EXPECT_TRUE(swapped.verdict(true).legal);
}

TEST(Verdict, SizesThatAreKnownDecide) {
  const std::string text = R"(
void f(int n, float A[n + 8][n + 8]) {
  for (int i = 0; i < n; i++)
    for (int j = 8; j < n + 8; j++) A[i + 8][j - 8] = A[i][j];
})";
  EXPECT_FALSE(after(analyse(text), {Permute{{"j", "i"}}}).legal);
  EXPECT_TRUE(after(analyse(text, {{"n", 1, 8}}), {Permute{{"j", "i"}}}).legal);
}

TEST(Transform, RefusalNamesTheWitnessAndTheSkew) {
  const std::string text = refusal(analyse(test::skewed_text), {Permute{{"j", "i"}}});
  EXPECT_EQ(
      text,
      "nest.c: f: permute j, i would run (1, 1) before (0, 2), which writes A[1][1] that it reads (n = 2, m = 3): "
      "flow dependence S0 -> S0, distance (1, -1); `skew` j=1*i before makes it legal");
}

TEST(Transform, RefusalOffersNoSkewWhereNoneHelps) {
  // Distances (1, -n): no factor up to 4 reaches them.
  const std::string text = refusal(analyse(R"(
void f(int n, int m, float A[m + 1][2 * n]) {
  for (int i = 0; i < m; i++)
    for (int j = n; j < 2 * n; j++)
      A[i + 1][j - n] = A[i][2 * n - 1 - j];
})"),
                                   {Permute{{"j", "i"}}});
  EXPECT_THAT(text, HasSubstr("permute j, i would run"));
  EXPECT_THAT(text, Not(HasSubstr("`skew`")));
}

TEST(Transform, GivesTheScheduleOfWhatIsLegal) {
  const Schedule schedule = transform(analyse(test::sum_text), {Permute{{"i", "j"}}});
  EXPECT_TRUE(schedule.verdict().legal);
}

std::vector<std::string> skew_texts(const Nest& nest, const Band& band) {
  std::vector<std::string> texts;
  const auto skews = skew_for_tiling(nest, band);
  if (!skews) return {"none"};
  for (const Skew& skew : *skews) texts.push_back(to_text(Step(skew)));
  return texts;
}

TEST(SkewForTiling, TakesTheSmallestFactor) {
  EXPECT_THAT(skew_texts(analyse(test::skewed_text), {{"i", "j"}, {0}}), ElementsAre("skew j=1*i"));
  EXPECT_THAT(skew_texts(analyse(R"(
void f(int n, int m, float A[n + 1][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 3; j < m; j++) A[i + 1][j - 3] = A[i][j];
})"),
                         {{"i", "j"}, {0}}),
              ElementsAre("skew j=3*i"));
}

TEST(SkewForTiling, NeedsNoneWhereNoDistanceIsNegative) {
  EXPECT_TRUE(skew_for_tiling(analyse(test::permutable_text), {{"i", "j"}, {0}})->empty());
}

TEST(Verdict, WitnessNamesTheSizesThatItHas) {  // what accesses assume of sizes puts isl's in another order
  const Nest nest = analyse(R"(
void f(int which, int section, float a[3][9], float b[1]) {
  for (int i = 0; i < 9; i++) a[section][i] = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) b[which - 8] = b[which - 8] * 2 + j - i;
})");
  const Verdict verdict = after(nest, {Permute{{"j", "i"}, {1}}});
  ASSERT_FALSE(verdict.legal);
  EXPECT_THAT(verdict.reason, HasSubstr("b[0]"));
  EXPECT_THAT(verdict.reason, HasSubstr("(which = 8, section = 1)"));
  const std::map<std::string, std::int64_t> near{{"which", 8}, {"section", 2}};
  EXPECT_EQ(sizes_near(nest, {{"which", 20}, {"section", 20}}), near);
}

TEST(Verdict, WitnessesHave0Or1ForSizesThatAreAskedWhetherTheyAre0) {
  const Nest nest = analyse(R"(
    void f(int n, int t, int u, float A[n][n]) {
      for (int i = 1; i < n; i++)
        for (int j = 0; j < n - 1; j++) {
          if (t && !u) A[i][j] = A[i - 1][j + 1] + 1.0f;
          else A[i][j] = 2.0f;
        }
    })");
  const Verdict verdict = after(nest, {Permute{{"j", "i"}}});
  ASSERT_TRUE(verdict.violated);
  using Size = std::pair<std::string, std::int64_t>;
  EXPECT_THAT(verdict.violated->witness.sizes, ElementsAre(Size("n", 3), Size("t", 1), Size("u", 0)));
  EXPECT_THAT(verdict.violated->witness.source, ElementsAre(1, 1));
  EXPECT_THAT(verdict.violated->witness.sink, ElementsAre(2, 0));
}

TEST(Verdict, LoopsThatCountDownAreTiledByTheirDistances) {  // by bounds of distances alone
  const Nest down = analyse(R"(
    void f(int n, float A[n][n]) {
      for (int i = n - 2; i >= 0; i--)
        for (int j = n - 2; j >= 0; j--) A[i][j] = A[i + 1][j] + A[i][j + 1];
    })");
  EXPECT_TRUE(after(down, {tile(4, 8)}).legal);
  EXPECT_TRUE(after(down, {Permute{{"j", "i"}}}).legal);
  const Nest mixed = analyse(R"(
    void f(int n, float A[n][n]) {
      for (int i = n - 2; i >= 0; i--)
        for (int j = 0; j < n - 1; j++) A[i][j] = A[i + 1][j + 1];
    })");
  EXPECT_FALSE(after(mixed, {tile(4, 8)}).legal);
  EXPECT_FALSE(after(mixed, {Permute{{"j", "i"}}}).legal);
  EXPECT_TRUE(after(mixed, {Skew{"j", 1, "i"}, Permute{{"j", "i"}}}).legal);
}

TEST(Later, BoundsAreThoseOfSumsOfLoopsAndOfQuotients) {
  const Nest nest = analyse(R"(
    void f(int n, float A[n][n]) {
      for (int i = 0; i < n; i++)
        for (int j = 1; j < n; j++) A[i][j] = A[i][j - 1];
    })");
  const Polyhedra& polyhedra = nest.polyhedra();
  with_isl(polyhedra, [&] {
    const Later later(polyhedra, polyhedra.dependences.at(0).summary);
    TimeDimension i, j, sum, huge;
    i.aff = iterator_aff(polyhedra.sets[0].domain, 0);
    j.aff = iterator_aff(polyhedra.sets[0].domain, 1);
    sum.aff = i.aff->add(j.aff->scale(isl::val(i.aff->ctx(), 3)));
    huge.aff = j.aff->scale(isl::val(i.aff->ctx(), "36893488147419103232"));
    const auto bounds = [&](const TimeDimension& source, const TimeDimension& sink) {
      const LaterBy by = later.of(source, sink);
      return std::pair(by.least, by.most);
    };
    using Bound = std::optional<std::int64_t>;
    const std::pair<Bound, Bound> none;
    EXPECT_EQ(bounds(i, i), std::pair(Bound(0), Bound(0)));
    EXPECT_EQ(bounds(j, j), std::pair(Bound(1), Bound(1)));
    EXPECT_EQ(bounds(sum, sum), std::pair(Bound(3), Bound(3)));
    EXPECT_EQ(bounds(i, j), none);
    EXPECT_EQ(bounds(huge, huge), none);
    const TimeDimension strip = strip_of(j, 4, 1, "jj");
    TimeDimension twice = strip;
    twice.aff = strip.aff->scale(isl::val(i.aff->ctx(), 2));
    EXPECT_EQ(bounds(strip, strip), std::pair(Bound(0), Bound(4)));
    EXPECT_EQ(bounds(strip, strip_of(j, 2, 1, "jj")), none);
    EXPECT_EQ(bounds(strip, twice), none);
  });
}

TEST(Transform, LoopsThatCarrySomePairsOfADistanceAreNotParallel) {  // 0 or more iterations of j further on
  const Nest nest = analyse(R"(
    void f(int n, int m, float A[n][m]) {
      for (int i = 1; i < n; i++)
        for (int j = 0; j < m; j++) A[i][j] = A[i - 1][j / 2] + 1.0f;
    })");
  const Node code = transform(nest, {Permute{{"j", "i"}}}).code();
  ASSERT_EQ(code.children.size(), 1u);
  EXPECT_EQ(code.children[0].iterator, "j");
  EXPECT_FALSE(code.children[0].parallel);
}

TEST(Verdict, StripsOfSkewedLoopsAreOrderedByTheirPoints) {
  const Nest nest = analyse(test::skewed_text);
  EXPECT_TRUE(after(nest, {Skew{"j", 1, "i"}, tile(4, 8)}).legal);
  EXPECT_FALSE(after(nest, {tile(4, 8), Skew{"j", 1, "i"}}).legal);
  EXPECT_TRUE(after(nest, {StripMine{"i", 1}, StripMine{"j", 5}}).legal);
}

TEST(SkewForTiling, OfASweepInPlace) {
  const Nest nest = analyse(test::reuse_text);
  EXPECT_THAT(skew_texts(nest, {{"i", "j"}, {0}}), ElementsAre("skew j=1*i"));
  EXPECT_TRUE(after(nest, {Skew{"j", 1, "i"}, tile(8, 8)}).legal);
}

TEST(SkewForTiling, OfThreeLoopsUsesThoseThatAreSkewedAlready) {
  // Gauss-Seidel in two dimensions over time.
  const Nest nest = analyse(R"(
void f(int t, int n, double A[n][n]) {
  for (int s = 0; s < t; s++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] +
                   A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;
})");
  const auto skews = skew_for_tiling(nest, {{"s", "i", "j"}, {0}});
  ASSERT_TRUE(skews);
  std::vector<Step> steps(skews->begin(), skews->end());
  EXPECT_FALSE(steps.empty());
  steps.push_back(Tile{{{"s", 4}, {"i", 4}, {"j", 4}}});
  EXPECT_TRUE(after(nest, steps).legal);
  EXPECT_FALSE(after(nest, {steps.back()}).legal);
}

TEST(SkewForTiling, OfLoopsThatDecrease) {
  // As skewed_text, with i from the last to the first.
  const Nest nest = analyse(R"(
void f(int n, int m, float A[n + 1][m], float B[m]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = 1; j < m; j++)
      A[i][j - 1] = A[i + 1][j] + B[j];
})");
  EXPECT_FALSE(after(nest, {tile(4, 4)}).legal);
  EXPECT_THAT(skew_texts(nest, {{"i", "j"}, {0}}), ElementsAre("skew j=1*i"));
  EXPECT_TRUE(after(nest, {Skew{"j", 1, "i"}, tile(4, 4)}).legal);
}

TEST(SkewForTiling, FindsNoneWhereTheDistanceGrowsWithTheSize) {
  EXPECT_THAT(skew_texts(analyse(R"(
void f(int n, int m, float A[n + 1][m], float B[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) A[i + 1][m - 1 - j] = A[i][j] + B[j];
})"),
                         {{"i", "j"}, {0}}),
              ElementsAre("none"));
}

TEST(EmitC, GivesResultsThroughPointers) {
  const Nest nest = analyse(
      "float f(int n, float a[n]) { float s = 0; for (int i = 0; i < n; i++) s = s + a[i]; return s; }");
  const std::string text = emit_c(nest, Schedule::of_source(nest).code());
  EXPECT_THAT(text, HasSubstr("float f(int n, float a[restrict n])"));  // as the source returns it
  EXPECT_THAT(text, HasSubstr("  return s;\n}"));
  EXPECT_THAT(nest.remarks(), testing::Contains(HasSubstr("s is a result")));
  const Nest global =
      analyse("float s; void f(int n, float a[n]) { for (int i = 0; i < n; i++) s = s + a[i]; }");
  const std::string with_pointer = emit_c(global, Schedule::of_source(global).code());
  EXPECT_THAT(with_pointer, HasSubstr("void f(int n, float a[restrict n], float *restrict s)"));
  EXPECT_THAT(with_pointer, HasSubstr("(*s) = (*s) + a[i];"));
}

}  // namespace
}  // namespace warploom::tile
