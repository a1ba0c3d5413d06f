#include "warploom/tile/dependence.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile_cases.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using test::analyse;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> dependence_texts(const Nest& nest) {
  std::vector<std::string> lines;
  for (const Dependence& dependence : dependences(nest)) lines.push_back(to_text(nest, dependence));
  return lines;
}

/// "i, j" for each band
std::vector<std::string> band_texts(const Nest& nest) {
  std::vector<std::string> lines;
  for (const Band& band : permutable_bands(nest)) {
    std::string line;
    for (const std::string& loop : band.loops) line += (line.empty() ? "" : ", ") + loop;
    lines.push_back(line);
  }
  return lines;
}

TEST(Dependence, OfTheLectureAlongRows) {
  const Nest nest = analyse(test::permutable_text);
  EXPECT_THAT(dependence_texts(nest),
              ElementsAre("flow S0 -> S0 on A, distance (0, 1), carried by j: (0, 0) -> (0, 1)"));
  EXPECT_THAT(band_texts(nest), ElementsAre("i, j"));
}

TEST(Dependence, OfTheLectureAgainstTheInnerLoop) {
  const Nest nest = analyse(test::skewed_text);
  EXPECT_THAT(dependence_texts(nest),
              ElementsAre("flow S0 -> S0 on A, distance (1, -1), carried by i: (0, 2) -> (1, 1)"));
  EXPECT_THAT(band_texts(nest), ElementsAre("i", "j"));
}

TEST(Dependence, WitnessHasTheSmallestSizes) {
  const Witness witness = dependences(analyse(test::skewed_text)).at(0).witness;
  EXPECT_THAT(witness.source, ElementsAre(0, 2));
  EXPECT_THAT(witness.sink, ElementsAre(1, 1));
  EXPECT_THAT(witness.sizes, ElementsAre(std::pair<std::string, std::int64_t>("n", 2),
                                         std::pair<std::string, std::int64_t>("m", 3)));
}

TEST(Dependence, OfASweepInPlaceHaveEveryKindAndLevel) {
  // A[j] is read as A[j], as A[j + 1] one iteration of j before and as A[j - 1] one after.
  EXPECT_THAT(dependence_texts(analyse(test::reuse_text)),
              UnorderedElementsAre(
                  // the reads, in the order of the text
                  "anti S0 -> S0 on A, distance (+, 0), carried by i, reduction: (0, 1) -> (1, 1)",
                  "anti S0 -> S0 on A, distance (+, 1), carried by i: (0, 1) -> (1, 2)",
                  "anti S0 -> S0 on A, distance (0, 1), carried by j: (0, 1) -> (0, 2)",
                  "anti S0 -> S0 on A, distance (+, -1), carried by i: (0, 2) -> (1, 1)",
                  "flow S0 -> S0 on A, distance (+, 0), carried by i, reduction: (0, 1) -> (1, 1)",
                  "flow S0 -> S0 on A, distance (+, -1), carried by i: (0, 2) -> (1, 1)",
                  "flow S0 -> S0 on A, distance (+, 1), carried by i: (0, 1) -> (1, 2)",
                  "flow S0 -> S0 on A, distance (0, 1), carried by j: (0, 1) -> (0, 2)",
                  "output S0 -> S0 on A, distance (+, 0), carried by i, reduction: (0, 1) -> (1, 1)"));
}

TEST(Dependence, OfASumAreAReduction) {
  const Nest nest = analyse(test::sum_text);
  EXPECT_THAT(dependence_texts(nest),
              UnorderedElementsAre(
                  "anti S0 -> S0 on D, distance (+, 0), carried by j, reduction: (0, 0) -> (1, 0)",
                  "flow S0 -> S0 on D, distance (+, 0), carried by j, reduction: (0, 0) -> (1, 0)",
                  "output S0 -> S0 on D, distance (+, 0), carried by j, reduction: (0, 0) -> (1, 0)"));
  EXPECT_THAT(band_texts(nest), ElementsAre("j, i"));
}

TEST(Dependence, BetweenStatementsCountsCommonLoops) {
  const Nest nest = analyse(test::gemm_text);
  EXPECT_THAT(
      dependence_texts(nest),
      testing::Contains("flow S0 -> S1 on C, distance (0, 0), carried by no loop: (0, 0) -> (0, 0, 0)"));
  EXPECT_THAT(dependence_texts(nest),
              testing::Contains(
                  "flow S1 -> S1 on C, distance (0, 0, +), carried by k, reduction: (0, 0, 0) -> (0, 0, 1)"));
}

TEST(Dependence, GoesPastAWriteThatMayNotRun) {
  const Nest nest = analyse(R"(
void f(int n, float a[n], float t[n], float b[n]) {
  for (int i = 0; i < n; i++) {
    t[i] = a[i];
    if (a[i] > 0.0f) t[i] = 1.0f;
    b[i] = t[i];
  }
})");
  EXPECT_THAT(dependence_texts(nest), testing::Contains(testing::StartsWith("flow S0 -> S2 on t")));
  EXPECT_THAT(dependence_texts(nest), testing::Contains(testing::StartsWith("flow S1 -> S2 on t")));
}

TEST(Dependence, OfADecreasingLoopIsPositiveWhereLater) {
  const Nest nest = analyse(R"(
void f(int n, float A[n + 1]) {
  for (int i = n - 1; i >= 0; i--) A[i] = A[i + 1];
})");
  EXPECT_THAT(dependence_texts(nest),
              ElementsAre("flow S0 -> S0 on A, distance (1), carried by i: (1) -> (0)"));
}

TEST(Dependence, OfAStepSeesOnlyIterationsThatRun) {
  EXPECT_THAT(dependence_texts(analyse(
                  "void f(int n, float A[n + 1]) { for (int i = 0; i < n; i += 2) A[i] = A[i + 1]; }")),
              IsEmpty());
  EXPECT_THAT(dependence_texts(analyse(
                  "void f(int n, float A[n + 2]) { for (int i = 0; i < n; i += 2) A[i] = A[i + 2]; }")),
              ElementsAre("anti S0 -> S0 on A, distance (2), carried by i: (0) -> (2)"));
}

TEST(Dependence, SeesTheSizesThatAreKnown) {
  const std::string text =
      "void f(int n, float A[n + 1000]) { for (int i = 0; i < n; i++) A[i] = A[i + 1000]; }";
  EXPECT_THAT(dependence_texts(analyse(text, {{"n", {}, 1000}})), IsEmpty());
  EXPECT_THAT(dependence_texts(analyse(text, {{"n", 1001, 1001}})),
              ElementsAre("anti S0 -> S0 on A, distance (1000), carried by i: (0) -> (1000)"));
}

TEST(Dependence, OfQuotientsAndRemainders) {
  // i / 2 stays for two iterations.
  EXPECT_THAT(dependence_texts(analyse(
                  "void f(int n, float A[n], float B[n]) { for (int i = 0; i < n; i++) A[i / 2] = B[i]; }")),
              ElementsAre("output S0 -> S0 on A, distance (1), carried by i: (0) -> (1)"));
  EXPECT_THAT(dependence_texts(analyse(
                  "void f(int n, float A[3], float B[n]) { for (int i = 0; i < n; i++) A[i % 3] = B[i]; }")),
              ElementsAre("output S0 -> S0 on A, distance (+), carried by i: (0) -> (3)"));
}

TEST(Dependence, ComponentsInWords) {
  const auto text = [](std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
    return to_text(Component{least, most});
  };
  EXPECT_EQ(text(1, 1), "1");
  EXPECT_EQ(text(-2, -2), "-2");
  EXPECT_EQ(text(1, {}), "+");
  EXPECT_EQ(text(0, {}), "0+");
  EXPECT_EQ(text({}, -1), "-");
  EXPECT_EQ(text({}, 0), "0-");
  EXPECT_EQ(text(-1, 1), "*");
  EXPECT_EQ(text({}, {}), "*");
}

TEST(PermutableBands, EndWhereTheNestIsImperfect) {
  EXPECT_THAT(band_texts(analyse(test::gemm_text)), ElementsAre("i, j", "k"));
}

TEST(PermutableBands, GoOnWhereAnOuterLoopCarriesWhatIsNegative) {
  // (1, -1, 0), (1, 0, -1): with i outside nothing is left.
  EXPECT_THAT(band_texts(analyse(R"(
void f(int n, float A[n + 1][n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < n; j++)
      for (int k = 1; k < n; k++) A[i + 1][j - 1][k] = A[i][j][k] + A[i][j - 1][k - 1];
})")),
              ElementsAre("i", "j, k"));
}

/// `count` statements of one loop, and in loops of their own.
std::size_t dependences_of(int count, const std::string& statement, bool apart) {
  const std::string loop = "for (int i = 0; i < n; i++) {";
  std::string text = "float f(int n, const float a[n]) {\n  float t = 0;\n";
  if (!apart) text += loop;
  for (int k = 0; k < count; ++k) text += apart ? loop + statement + "}\n" : statement + "\n";
  return dependences(analyse(text + (apart ? "" : "}\n") + "return t;\n}")).size();
}

TEST(Dependences, OfManyWritesOfOneScalarAreAMultipleOfTheWrites) {
  for (const char* statement : {"t = a[i];", "t += a[i];", "t = t * 0.5f + a[i];"})
    for (const bool apart : {false, true}) {
      const std::size_t ten = dependences_of(10, statement, apart),
                        twenty = dependences_of(20, statement, apart);
      EXPECT_LE(twenty - ten, ten + 10) << statement;  // 10 more pairs of neighbours, not 300 pairs
    }
}

TEST(Dependences, OfManyLoopsThatWriteOneArrayAreAMultipleOfTheLoops) {
  const auto loops = [](int count, const std::string& subscript) {
    std::string text = "void f(int n, float a[n + 1], float b[n]) {";
    for (int k = 0; k < count; ++k)
      text += fmt::format(" for (int i{0} = 0; i{0} < n; i{0}++) a[i{0}{1}] += b[i{0}];", k,
                          k % 2 ? subscript : "");
    return analyse(text + " }");
  };
  // Three each with the next, and with the one after it for what the next one leaves.
  EXPECT_EQ(dependences(loops(12, "")).size(), 3u * 11);
  EXPECT_LE(dependences(loops(12, " + 1")).size(), 3u * (11 + 10));
}

TEST(Dependences, OfTooManyMentionsAreRefused) {
  std::string text = "void f(int n, float a[n]) { for (int i = 0; i < n; i++) {";
  for (int k = 0; k < 450; ++k) text += " a[i] += 2;";
  EXPECT_THAT([&] { analyse(text + " } }"); },
              testing::ThrowsMessage<BadInput>(testing::HasSubstr("202500 assignments and mentions")));
}

TEST(Dependences, SizesThatBoundLoopsHaveAnyValueWhereIterationsAreLeftOut) {
  const std::vector<Dependence> all = dependences(analyse(R"(
    void f(int n, int m, float A[n]) {
      for (int i = 1; i < m; i++)
        if (i < 3 || i > 5) A[i] = A[i - 1] + 1.0f;
    })"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, DependenceKind::flow);
  EXPECT_EQ(all[0].witness.source, std::vector<std::int64_t>{1});
}

}  // namespace
}  // namespace warploom::tile
