#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile_cases.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/dependence.hpp"

namespace warploom::tile {
namespace {

using test::analyse;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string parsing_refusal(const std::string& text, std::vector<SizeRange> sizes = {}) {
  try {
    analyse(text, std::move(sizes));
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

std::string in_loop(const std::string& statement) {
  return "void f(int n, float A[n][n], float B[n], int C[n]) {\n  for (int i = 0; i < n; i++)\n    " +
         statement + "\n}";
}

TEST(Analyse, ListsReadsThenTheWrite) {
  const Nest nest = analyse(in_loop("A[i][0] += B[i] * B[n - 1 - i];"));
  const Statement& statement = nest.statements().at(0);
  EXPECT_EQ(statement.label, "S0");
  EXPECT_THAT(statement.loops, ElementsAre("i"));
  std::vector<std::string> references;
  for (const Reference& reference : statement.references)
    references.push_back(to_text(reference.element) + (reference.is_write ? " written" : ""));
  EXPECT_THAT(references, ElementsAre("B[i]", "B[n - 1 - i]", "A[i][0]", "A[i][0] written"));
}

TEST(Analyse, GivesSubscriptsAsAffineForms) {
  const Nest nest = analyse(in_loop("A[i][0] = B[n - 1 - i];"));
  const Reference& read = nest.statements().at(0).references.at(0);
  EXPECT_THAT(read.coefficients, ElementsAre(ElementsAre(-1)));
  EXPECT_THAT(read.size_coefficients, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(read.constants, ElementsAre(-1));
}

TEST(Analyse, HasNoAffineFormOfQuotients) {
  const Nest nest = analyse(in_loop("A[i][0] = B[i / 2];"));
  EXPECT_THAT(nest.statements().at(0).references.at(0).coefficients, ElementsAre(IsEmpty()));
}

std::string reduction(const std::string& statement) {
  return analyse(in_loop(statement)).statements().at(0).reduction;
}

TEST(Reduction, IsKnownByItsForm) {
  EXPECT_EQ(reduction("B[0] += A[i][i];"), "+");
  EXPECT_EQ(reduction("B[0] -= A[i][i];"), "+");
  EXPECT_EQ(reduction("B[0] *= A[i][i];"), "*");
  EXPECT_EQ(reduction("B[0] = B[0] + A[i][i];"), "+");
  EXPECT_EQ(reduction("B[0] = A[i][i] + B[0];"), "+");
  EXPECT_EQ(reduction("B[0] = A[i][i] + B[0] - A[0][i];"), "+");
  EXPECT_EQ(reduction("B[0] = A[i][i] * B[0];"), "*");
  EXPECT_EQ(reduction("B[0] = fminf(B[0], A[i][i]);"), "min");
  EXPECT_EQ(reduction("B[0] = B[0] > A[i][i] ? B[0] : A[i][i];"), "max");
  EXPECT_EQ(reduction("B[0] = A[i][i] > B[0] ? B[0] : A[i][i];"), "min");
}

TEST(Reduction, IsNoneWhereTheElementEntersOtherwise) {
  EXPECT_EQ(reduction("B[0] = A[i][i];"), "");
  EXPECT_EQ(reduction("B[0] /= A[i][i];"), "");
  EXPECT_EQ(reduction("B[0] = A[i][i] - B[0];"), "");
  EXPECT_EQ(reduction("B[0] = B[0] * A[i][i] + A[0][i];"), "");
  EXPECT_EQ(reduction("B[0] += B[0] * A[i][i];"), "");
  EXPECT_EQ(reduction("B[0] = B[0] + B[0];"), "");
  EXPECT_EQ(reduction("B[0] += B[i];"), "");  // i = 0
}

TEST(Reduction, MayReadOtherElementsOfItsArray) {
  const Nest nest = analyse(R"(
void f(int n, float A[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
})");
  EXPECT_EQ(nest.statements().at(0).reduction, "+");
}

TEST(Analyse, RefusesWhatIsNotAffine) {
  EXPECT_EQ(parsing_refusal(in_loop("B[i] = B[(i * i) % 4];")),
            "nest.c:3:15: subscript 'i * i % 4': 'i * i' is a product of two variables, which is not affine");
  EXPECT_THAT(parsing_refusal(in_loop("B[B[i]] = 0.0f;")), AllOf(StartsWith("nest.c:3:"), HasSubstr("B[i]")));
  EXPECT_THAT(parsing_refusal(in_loop("B[i / n] = 0.0f;")),
              HasSubstr("divides by what is no positive constant"));
  EXPECT_THAT(parsing_refusal(in_loop("for (int j = 0; j < i * n; j++) B[i] = 0.0f;")),
              AllOf(StartsWith("nest.c:3:"), HasSubstr("i * n")));
}

TEST(Analyse, TakesPointersToReachAsFarAsTheNest) {
  const auto extent = [](const std::string& parameters, const std::string& body) {
    const Nest nest = analyse("void f(int n, int m, " + parameters + ") { " + body + " }");
    return to_text(find_variable(nest.region(), "A")->extents.at(0));
  };
  const std::string loop = "for (int i = 0; i < n; i++) ";
  EXPECT_EQ(extent("float *A", loop + "A[i] = 0.0f;"), "n");
  EXPECT_EQ(extent("float A[][9]", loop + "A[i][0] = 0.0f;"), "n");
  EXPECT_EQ(extent("float *A", loop + "A[2 * i + 1] = A[0];"), "2 * n");
  EXPECT_EQ(extent("float *A", loop + "A[i] = 0.0f; for (int j = 0; j < m; j++) A[j] = 1.0f;"), "max(n, m)");
  EXPECT_EQ(extent("float *A", "for (int i = 0; i < n; i += 2) A[i] = 0.0f;"), "n");
  EXPECT_EQ(extent("float *A", "for (int i = 0; i < 8; i++) A[7 - i] = 0.0f;"), "8");
  EXPECT_NE(parsing_refusal("void f(int n, float A[n]) { for (int i = 0; i < n; i++) A[i][0] = 0.0f; }"), "");
}

TEST(Analyse, RefusesSizesThatNoRegionHas) {
  EXPECT_EQ(parsing_refusal(test::sum_text, {{"k", 1, 2}}),
            "nest.c: f: size 'k' is given, but the sizes are: n, m");
}

TEST(Analyse, RefusesEmptyRanges) {
  EXPECT_EQ(parsing_refusal(test::sum_text, {{"n", 5, 2}}),
            "nest.c: f: size 'n' is to be from 5 to 2: the range is empty");
}

TEST(Analyse, RefusesSubscriptsThatLeaveTheArrayForAllSizes) {
  EXPECT_EQ(
      parsing_refusal(in_loop("B[i] = B[i + 1];")),
      "nest.c:3:12: 'B[i + 1]': subscript 1 is 1 for n = 1 at i = 0, outside of the extent n, and no sizes that are "
      "allowed avoid that; correct the subscript, the bounds of the loops or the extent");
}

TEST(Analyse, AssumesSizesForWhichSubscriptsFit) {
  const Nest nest = analyse(R"(
void f(int n, int m, float A[m]) {
  A[1] = 0.0f;
  for (int i = 0; i < n; i++) A[i] = 1.0f;
})");
  EXPECT_THAT(nest.remarks(), Contains("nest.c:3:3: 'A[1]': assumes m >= 2: other sizes leave the array"));
  EXPECT_THAT(nest.remarks(), Contains("nest.c:4:31: 'A[i]': assumes m >= n: other sizes leave the array"));
}

TEST(Analyse, AssumesNoMoreThanThatTheSubscriptFits) {
  // Whether the loops run does not matter.
  EXPECT_THAT(analyse(R"(
void f(int t, int n, int m, float A[n][m]) {
  for (int s = 0; s < t; s++)
    for (int j = 0; j < m; j++) A[0][j] += 1.0f;
})")
                  .remarks(),
              Contains("nest.c:4:33: 'A[0][j]': assumes n > 0: other sizes leave the array"));
}

TEST(Analyse, ReadsBoundsAndConditionsOfEveryForm) {
  // Runs for i = 9, 7, 5, 3 and, of these, where i % 4 == 1 or i == 3: 9, 5, 3.
  const Nest nest = analyse(R"(
void f(float A[10], float B[10]) {
  for (int i = 9; i >= (2 * 3 > 5 ? 2 : 0); i -= 2) {
    if (i % 4 == 1 || !(i != 3)) A[i / 2] = B[i];
    if (i < 5 && i > 3) A[9] = 0.0f;
  }
})");
  EXPECT_EQ(dependences(nest).size(), 0U);  // elements 4, 2, 1; the second never runs
  const Nest same =
      analyse("void f(float A[10], float B[10]) { for (int i = 9; i >= 2; i--) A[i / 2] = B[i]; }");
  EXPECT_EQ(dependences(same).size(), 1U);
}

TEST(Analyse, SizesThatAreGivenContradictTheSubscripts) {
  EXPECT_THAT(parsing_refusal("void f(int n, int m, float A[m]) { for (int i = 0; i < n; i++) A[i] = 1.0f; }",
                              {{"n", 9, 9}, {"m", 8, 8}}),
              HasSubstr("subscript 1 is 8 for n = 9, m = 8 at i = 8, outside of the extent m"));
}

TEST(Analyse, RemarksOnLoopsThatNeverRun) {
  const auto remarks = [](const std::string& bounds, std::vector<SizeRange> sizes = {}) {
    return analyse("void f(int n, float A[n + 9]) {\n  for (int i = " + bounds + "; i++) A[i] = 1.0f;\n}",
                   std::move(sizes))
        .remarks();
  };
  EXPECT_THAT(remarks("5; i < 5"),
              Contains("nest.c:2:3: loop 'i': it never runs for the sizes that are allowed"));
  EXPECT_THAT(remarks("5; i < n", {{"n", 1, 5}}), Contains(HasSubstr("never runs")));
  EXPECT_THAT(remarks("5; i < n", {{"n", 1, 6}}), Not(Contains(HasSubstr("never runs"))));
}

TEST(Analyse, RefusesArraysBeyond63Bits) {
  const std::string text = "void f(long n, float A[n][n]) { for (long i = 0; i < n; i++) A[i][i] = 1.0f; }";
  EXPECT_THAT(parsing_refusal(text, {{"n", 1, 4'000'000'000}}),
              HasSubstr("array 'A': the sizes that are allowed make it larger than 2^63 bytes"));
  EXPECT_EQ(parsing_refusal(text, {{"n", 1, 1'000'000'000}}), "");
}

TEST(Analyse, RemarksOnArraysThatMayNotOverlap) {
  EXPECT_THAT(analyse(test::gemm_text).remarks(), ElementsAre("C, A, B are assumed not to overlap"));
}

TEST(Analyse, RefusesLoopsWithoutStatements) {
  EXPECT_NE(parsing_refusal("void f(int n) { for (int i = 0; i < n; i++) ; }"), "");
}

TEST(Analyse, RefusesAssignmentsToWhatIsNoVariable) {
  for (const char* name : {"n", "i", "nothing"}) {
    std::vector<Region> regions =
        read_source("void f(int n, float a[n]) {\n  for (int i = 0; i < n; i++) a[i] = 1;\n}\n", "t.c", {});
    regions.at(0).body.children.at(0).children.at(0).target = Expression::name(name);
    EXPECT_THROW(Nest::analyse(regions[0]), BadInput) << name;
  }
}

}  // namespace
}  // namespace warploom::tile
