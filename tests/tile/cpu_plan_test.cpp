// What --auto makes of nests for a CPU: the same bits, and the shapes that it is there for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "example_nests.hpp"
#include "random_nest.hpp"
#include "random_stencil.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/interpret.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Nest nest_of(const std::string& text, std::vector<SizeRange> sizes = {}) {
  return Nest::analyse(read_source(text, "nest.c", {}).at(0), std::move(sizes));
}

std::string text_after(const Nest& nest, const std::vector<Step>& steps) {
  return to_text(transform(nest, steps).code());
}

std::map<std::string, std::int64_t> sizes_from(const Nest& nest, std::int64_t least) {
  std::map<std::string, std::int64_t> wanted;
  for (const std::string& name : nest.region().sizes) wanted[name] = least++;
  return sizes_near(nest, wanted);
}

/// Runs both on the same values; `code` may be of a nest with further arrays.
void expect_same_memory(const Nest& nest, const Nest& other, const Node& code,
                        const std::map<std::string, std::int64_t>& sizes, const std::string& what) {
  Memory want = make_memory(nest.region(), sizes, 1), got = make_memory(other.region(), sizes, 1);
  interpret(nest.region(), nest.region().body, want);
  interpret(other.region(), code, got);
  for (const auto& [name, values] : want.arrays) {
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    ASSERT_TRUE(std::ranges::equal(got.arrays.at(name), values, same)) << what << " changes " << name << "\n"
                                                                       << to_text(code);
  }
  for (const Variable& variable : nest.region().variables) {
    if (!variable.is_result) continue;
    ASSERT_EQ(got.scalars.at(variable.name), want.scalars.at(variable.name)) << what << "\n" << to_text(code);
  }
}

class CpuPlans : public testing::TestWithParam<std::string> {};

TEST_P(CpuPlans, GiveTheSourcesBits) {
  const Nest nest = example(GetParam());
  const CpuPlan plan = plan_for_cpu(nest);
  const Node code = transform(plan.nest, plan.steps).code();
  for (const std::int64_t least : {2, 13})
    expect_same_memory(nest, plan.nest, code, sizes_from(nest, least), GetParam());
}

/// All of PolyBench are compiled and compared by cases_test.cpp.
std::vector<std::string> examples() {
  std::vector<std::string> names{"polybench/doitgen",   "polybench/floyd-warshall", "polybench/gemm",
                                 "polybench/jacobi-2d", "polybench/seidel-2d",      "polybench/syrk"};
  for (const auto& entry : std::filesystem::directory_iterator(example_folder() / "lecture")) {
    const std::string name = "lecture/" + entry.path().stem().string();
    // Sizes of their own that an interpreter does not get through.
    if (name != "lecture/long_signal" && name != "lecture/signal") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(, CpuPlans, testing::ValuesIn(examples()), [](const auto& nest) {
  std::string name;
  for (const char c : nest.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(Jam, WritesFullStripsOutAndJoinsTheirSums) {
  const Nest nest = nest_of(
      "void f(int n, double C[n][n], double A[n][n], double B[n][n]) {\n"
      "  for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++)\n"
      "    C[i][j] += A[i][k] * B[k][j];\n}\n");
  const std::string text = text_after(nest, {Jam{{{"i", 2}, {"k", 2}}}});
  EXPECT_THAT(text, HasSubstr("C[ii][j] = C[ii][j] + A[ii][kk] * B[kk][j] + A[ii][kk + 1] * B[kk + 1][j];"));
  EXPECT_THAT(text, HasSubstr("C[ii + 1][j] = C[ii + 1][j] + A[ii + 1][kk] * B[kk][j]"));
  const std::string c = emit_c(nest, transform(nest, {Jam{{{"i", 2}, {"k", 2}}}}).code());
  EXPECT_THAT(c, HasSubstr("#pragma GCC ivdep\n"));
}

TEST(Jam, IsWrittenOutInLoopsThatFall) {
  const Nest nest = nest_of(
      "void f(int n, double A[n][n]) {\n"
      "  for (int i = 0; i < n; i++) for (int j = n - 2; j >= 0; j--)\n    A[i][j] += A[i][j + 1];\n}\n");
  const Schedule schedule = transform(nest, {Jam{{{"i", 2}}}});
  EXPECT_THAT(to_text(schedule.code()), HasSubstr("A[ii + 1][j] += A[ii + 1][j + 1];"));
  for (const std::int64_t n : {1, 2, 3, 8, 9})
    expect_same_memory(nest, nest, schedule.code(), {{"n", n}}, "j falls");
}

TEST(Jam, KeepsSumsApartWhereATermMayBeTheSumOrIsWider) {
  const std::string head =
      "  for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++)\n";
  const Nest wider =
      nest_of("void f(int n, float C[n][n], double A[n][n]) {\n" + head + "    C[i][j] += A[k][j];\n}\n");
  EXPECT_THAT(text_after(wider, {Jam{{{"k", 2}}}}),
              AllOf(HasSubstr("+= A[kk + 1][j];"), Not(HasSubstr("C[i][j] = "))));
  const Nest itself = nest_of(
      "void f(int n, double A[n][n]) {\n  for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++)\n"
      "    A[i][j] += A[k][j];\n}\n");
  EXPECT_THAT(text_after(itself, {Jam{{{"k", 2}}}}), HasSubstr("+= A[kk + 1][j];"));
}

TEST(Jam, IsRefusedWhereRowsWaitForEachOther) {
  const Nest nest = nest_of(
      "void f(int n, double A[n][n]) {\n  for (int i = 1; i < n; i++) for (int j = 0; j < n - 1; j++)\n"
      "    A[i][j] = A[i - 1][j + 1];\n}\n");
  EXPECT_THROW(transform(nest, {Jam{{{"i", 2}}}}), BadInput);
  const Schedule skewed = transform(nest, {Skew{"j", 2, "i"}, Jam{{{"i", 4}}}});
  for (const std::int64_t n : {1, 2, 3, 9, 14})
    expect_same_memory(nest, nest, skewed.code(), {{"n", n}}, "skew and jam");
}

TEST(TimeTile, FollowsValuesThroughTimeAndMakesWaves) {
  const Nest nest = example("polybench/jacobi-2d");
  const std::string loop = nest.statements().front().loops.front();
  const Schedule schedule = transform(nest, {TimeTile{loop, {3, 4, 5}}});
  EXPECT_THAT(to_text(schedule.code()), HasSubstr("wave"));
  for (const std::int64_t least : {3, 9})
    expect_same_memory(nest, nest, schedule.code(), sizes_from(nest, least), "time-tile");
  // Every tile of a wave may run at once.
  const std::string c = emit_c(nest, schedule.code());
  EXPECT_LT(c.find("int wave"), c.find("#pragma omp parallel for"));
  EXPECT_THROW(transform(nest, {TimeTile{"none", {3, 4, 5}}}), BadInput);
  EXPECT_THROW(transform(nest, {TimeTile{loop, {3, 4}}}), BadInput);
  EXPECT_THROW(transform(nest, {TimeTile{loop, {3, 0, 5}}}), BadInput);
}

TEST(TimeTile, IsTakenByAutoForStencils) {
  for (const char* name : {"jacobi-1d", "fdtd-2d"}) {
    const std::vector<Step> steps = plan_for_cpu(example(std::string("polybench/") + name)).steps;
    EXPECT_TRUE(std::ranges::any_of(steps, [](const Step& step) {
      return std::holds_alternative<TimeTile>(step);
    })) << name;
  }
  // Planes of three dimensions are for threads as they are.
  const Nest heat = example("polybench/heat-3d");
  EXPECT_TRUE(plan_for_cpu(heat).steps.empty());
  EXPECT_THAT(emit_c(heat, Schedule::of_source(heat).code()), HasSubstr("#pragma omp parallel for"));
}

TEST(TimeTile, RandomStencilsKeepTheirResults) {
  std::mt19937 random(7);
  int taken = 0;
  for (int trial = 0; trial < 16; ++trial) {
    const std::string text = RandomStencil(random).text("f");
    const Nest nest = nest_of(text);
    const std::string loop = nest.statements().front().loops.front();
    const auto size = [&] { return std::uniform_int_distribution<std::int64_t>(1, 4)(random); };
    try {
      const Schedule schedule = Schedule::of_source(nest).then(TimeTile{loop, {size(), size(), size()}});
      if (!schedule.verdict().legal) continue;
      ++taken;
      expect_same_memory(nest, nest, schedule.code(), {{"n", 9}, {"m", 8}}, text);
    } catch (const BadInput&) {
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(taken, 2);
}

TEST(Threads, GetTheOutermostTilesAndEnoughWork) {
  // Rows wait for rows below: only columns are apart.
  const Nest nest = nest_of(
      "void f(int n, int m, double A[n][n], double B[n][m]) {\n"
      "  for (int i = 0; i < n; i++) for (int k = i + 1; k < n; k++) for (int j = 0; j < m; j++)\n"
      "    B[i][j] += A[k][i] * B[k][j];\n}\n");
  const CpuPlan plan = plan_for_cpu(nest);
  const Node code = transform(plan.nest, plan.steps).code();
  const std::string c = emit_c(plan.nest, code);
  EXPECT_THAT(c, HasSubstr("  #pragma omp parallel for schedule(dynamic)"));
  EXPECT_LT(c.find("for (int jj = 0"), c.find("for (int ii = 0"));
  expect_same_memory(nest, plan.nest, code, {{"n", 13}, {"m", 7}}, "tiles for threads");
}

TEST(Threads, ShareALoopOnlyWhereItHasEnoughToDo) {
  const auto text_of = [](const std::string& function) {
    const Nest nest = nest_of(function);
    return emit_c(nest, Schedule::of_source(nest).code());
  };
  EXPECT_THAT(text_of("void f(int n, int m, double A[n][m]) {\n"
                      "  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 1;\n}\n"),
              HasSubstr("#pragma omp parallel for if(parallel: (long)n * m > 100000)\n"));
  // Triangles count half, loops around not at all, numbers at once.
  EXPECT_THAT(text_of("void f(int n, double A[n][n]) {\n"
                      "  for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) A[i][j] = 1;\n}\n"),
              HasSubstr("if(parallel: (long)(n - 1) * ((n + 1) / 2) > 100000)"));
  EXPECT_THAT(text_of("void f(int n, double A[n][500]) {\n  for (int i = 1; i < n; i++)\n"
                      "    for (int j = 0; j < 500; j++) A[i][j] += A[i - 1][j];\n}\n"),
              Not(HasSubstr("omp")));
  EXPECT_THAT(text_of("void f(double A[2000][500]) {\n  for (int i = 0; i < 2000; i++)\n"
                      "    for (int j = 0; j < 500; j++) A[i][j] = 1;\n}\n"),
              HasSubstr("#pragma omp parallel for\n"));
}

TEST(Threads, TakeRowsOfShortestPathsBesideTheOneThatAllRead) {
  const Nest nest = example("polybench/floyd-warshall");
  const CpuPlan plan = plan_for_cpu(nest);
  EXPECT_EQ(plan.nest.statements().size(), 9U);
  const std::string c = emit_c(plan.nest, transform(plan.nest, plan.steps).code());
  EXPECT_THAT(
      c, AllOf(HasSubstr("for (int ii = 0; ii < k; ii += 4)"), HasSubstr("for (int j = k + 1; j < n; j++)"),
               HasSubstr("#pragma omp parallel for if(parallel: ")));
  EXPECT_THAT(c, HasSubstr("const int path_0 = path[ii][k]"));  // in a vector's loop
  // More than one iteration is in the way, or none.
  for (const char* text :
       {"A[i][j] = A[i][k + 1] + A[k + 1][j];", "A[i][j] = A[i][j] + B[i][k] * B[k][j];"}) {
    const Nest other = nest_of(
        std::string("void f(int n, float A[n + 1][n + 1], float B[n][n]) { for (int k = 0; k < n; k++)"
                    " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) ") +
        text + " }");
    EXPECT_EQ(plan_for_cpu(other).nest.statements().size(), 1U) << text;
  }
}

TEST(Threads, TakeColumnsOfSumsDownThem) {
  const Nest nest = nest_of(
      "void f(int n, int m, double y[m], double A[n][m]) { for (int i = 0; i < n; i++)"
      " for (int j = 0; j < m; j++) y[j] += A[i][j]; }");
  const CpuPlan plan = plan_for_cpu(nest);
  const Node code = transform(plan.nest, plan.steps).code();
  const std::string c = emit_c(plan.nest, code);
  EXPECT_THAT(c, HasSubstr("#pragma omp parallel for schedule(dynamic) if(parallel: "));
  EXPECT_LT(c.find("for (int jj"), c.find("for (int ii")) << c;
  for (const std::int64_t least : {1, 150})
    expect_same_memory(nest, plan.nest, code, sizes_from(nest, least), "columns");
}

/// A function that threads run is another one to compilers, where `restrict` does not reach.
TEST(Threads, ReadBeforeALoopWhatAllItsIterationsRead) {
  const Nest nest = example("polybench/gemm");
  const CpuPlan plan = plan_for_cpu(nest);
  const std::string c = emit_c(plan.nest, transform(plan.nest, plan.steps).code());
  EXPECT_THAT(c, HasSubstr("const float A_0 = A[iii][kkk], A_1 = A[iii][kkk + 1]"));
  EXPECT_THAT(c, HasSubstr("C[iii][j] = C[iii][j] + alpha * A_0 * B[kkk][j] + "));
  EXPECT_THAT(c, Not(HasSubstr("if (jj <")));  // it has an iteration
  // Where the loop may have none nothing is read.
  const Nest triangle = nest_of(
      "void f(int n, float C[n][n], float A[n][n], float x[n]) { for (int i = 0; i < n; i++)"
      " for (int j = i + 1; j < n; j++) C[i][j] += A[i][0] * x[j]; }");
  EXPECT_THAT(emit_c(triangle, Schedule::of_source(triangle).code()),
              AllOf(HasSubstr("if (i + 1 < n) {"), HasSubstr("const float A_0 = A[i][0];")));
}

TEST(TimeTile, IsLeftOutWhereAllStaysInACache) {
  const auto steps = [](const char* n) {
    return steps_for_cpu(nest_of(
        std::string("void f(int t, double A[") + n + "], double B[" + n +
        "]) { for (int s = 0; s < t; s++) { for (int i = 1; i < 1999; i++) B[i] = A[i - 1] + A[i + 1];"
        " for (int i = 1; i < 1999; i++) A[i] = B[i - 1] + B[i + 1]; } }"));
  };
  EXPECT_TRUE(steps("2000").empty());
  EXPECT_FALSE(steps("2000000").empty());
}

TEST(TransposedCopies, MakeRankUpdatesRunAlongRows) {
  const CpuPlan plan = plan_for_cpu(example("polybench/syrk"));
  const std::string c = emit_c(plan.nest, transform(plan.nest, plan.steps).code());
  EXPECT_THAT(c, AllOf(HasSubstr("(*restrict A_transposed)[n] = __builtin_malloc("),
                       HasSubstr("__builtin_free(A_transposed);"), HasSubstr("A_transposed[")));
  // A matrix that the nest writes is no operand to copy, and a product along rows needs none.
  const Nest written = nest_of(
      "void f(int n, double A[n][n]) {\n  for (int i = 0; i < n; i++) for (int k = 0; k < n; k++)\n"
      "    for (int j = 0; j < n; j++) A[i][j] += A[j][k];\n}\n");
  const CpuPlan in_place = plan_for_cpu(written);
  EXPECT_THAT(emit_c(in_place.nest, transform(in_place.nest, in_place.steps).code()),
              Not(HasSubstr("_transposed")));
  EXPECT_EQ(plan_for_cpu(example("polybench/gemm")).nest.statements().size(), 2u);
}

TEST(ExpandedScalars, KeepTheLastValueAndNothingWhereNothingRuns) {
  const Nest nest = nest_of(
      "double last;\nvoid f(int n, double A[n][n], double B[n][n]) {\n  double s = 7;\n#pragma scop\n"
      "  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {\n    s = 0;\n"
      "    for (int k = 0; k < i; k++) { B[k][j] += A[i][k]; s += A[k][j]; }\n    B[i][j] = s;\n  }\n#pragma endscop\n"
      "  last = s;\n}\n");
  const CpuPlan plan = plan_for_cpu(nest);
  const Node code = transform(plan.nest, plan.steps).code();
  EXPECT_THAT(to_text(code), HasSubstr("s_each[i][j] = s_each[i][j] + A[kk][j]"));
  for (const std::int64_t n : {0, 1, 2, 5, 13})
    expect_same_memory(nest, plan.nest, code, {{"n", n}}, "expansion");
}

TEST(ExpandedScalars, HaveOneElementAtLeastWhereNothingRuns) {
  const Nest nest = nest_of(
      "void f(int n, double A[n][n], double B[n][n]) {\n"
      "  for (int i = 0; i < n - 2; i++) for (int j = 0; j < n - 2; j++) {\n    double s = 0;\n"
      "    for (int k = 0; k < i; k++) { B[k][j] += A[i][k]; s += A[k][j]; }\n    B[i][j] = s;\n  }\n}\n");
  const CpuPlan plan = plan_for_cpu(nest);
  EXPECT_THAT(emit_c(plan.nest, transform(plan.nest, plan.steps).code()),
              HasSubstr("sizeof(double[n - 2 > 0 ? n - 2 : 1][n - 2 > 0 ? n - 2 : 1])"));
}

TEST(ExpandedScalars, LeaveThoseThatAnIterationReadsFirst) {
  const Nest nest = nest_of(
      "void f(int n, double A[n][n], double x[1]) {\n  double s = x[0];\n  for (int i = 0; i < n; i++) {\n"
      "    A[i][0] = s;\n    s = 0;\n    for (int k = 0; k < n; k++) s += A[i][k];\n  }\n  x[0] = s;\n}\n");
  const CpuPlan plan = plan_for_cpu(nest);
  EXPECT_EQ(plan.nest.statements().size(), nest.statements().size());
}

TEST(CpuPlan, RandomNestsKeepTheirResults) {
  std::mt19937 random(11);
  int changed = 0;
  for (int trial = 0; trial < 25 && !HasFatalFailure(); ++trial) {
    const RandomNest made = random_nest(random);
    const Nest nest = nest_of(made.text(), {{"n", made.n, made.n}});
    const CpuPlan plan = plan_for_cpu(nest);
    changed += plan.steps.empty() ? 0 : 1;
    expect_same_memory(nest, plan.nest, transform(plan.nest, plan.steps).code(), {{"n", made.n}, {"s", 3}},
                       made.text());
  }
  EXPECT_GT(changed, 5);
}

}  // namespace
}  // namespace warploom::tile::test
