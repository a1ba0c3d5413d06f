// Scalars of which iterations have their own, in steps, in C and for kernels; conditions on data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel_order.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSobel = R"(
void sobel(int n, int m, float out[n][m], const float in[n][m]) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++) {
      float gx = in[i - 1][j + 1] - in[i - 1][j - 1] + 2 * in[i][j + 1];
      float gy = in[i + 1][j - 1] - in[i - 1][j - 1];
      float g = gx * gx + gy * gy;
      out[i][j] = sqrtf(g);
    }
})";

constexpr const char* kSoftmax = R"(
void softmax(int n, int m, float x[n][m]) {
  for (int i = 0; i < n; i++) {
    float s = 0;
    for (int j = 0; j < m; j++)
      s += x[i][j];
    for (int j = 0; j < m; j++)
      x[i][j] = x[i][j] / s;
  }
})";

/// The code computes what the source does, whatever order its parallel loops take.
void expect_same(const Nest& nest, const Node& code) {
  for (const Order order : {Order::as_written, Order::backwards, Order::odd_first}) {
    const auto sizes = sizes_from(nest.region(), 7);
    const Memory start = make_memory(nest.region(), sizes, 7);
    Memory expected = start, memory = start;
    interpret(nest.region(), nest.region().body, expected);
    interpret(nest.region(), reordered(code, order), memory);
    for (const Variable& variable : nest.region().variables) {
      if (!variable.is_parameter) continue;
      if (variable.extents.empty())
        EXPECT_EQ(memory.scalars.at(variable.name), expected.scalars.at(variable.name)) << variable.name;
      else
        EXPECT_EQ(memory.arrays.at(variable.name), expected.arrays.at(variable.name))
            << variable.name << " in\n"
            << to_text(code);
    }
  }
}

std::string refusal_after(const Nest& nest, const std::vector<Step>& steps) {
  try {
    transform(nest, steps);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Locals, TheLoopThatDeclaresThemHoldsThem) {
  const Region region = region_of(kSobel);
  const Node& i = region.body.children.at(0);
  EXPECT_THAT(i.locals, IsEmpty());
  EXPECT_THAT(i.children.at(0).locals, ElementsAre("gx", "gy", "g"));
}

TEST(Locals, WhatAnotherIterationLeftIsNotThere) {
  const Region region = region_of(R"(
void f(int n, float a[n]) {
  for (int i = 0; i < n; i++) {
    float t;
    if (i == 0) t = 1;
    a[i] = t;
  }
})");
  Memory memory = make_memory(region, {{"n", 2}}, 1);
  interpret(region, region.body, memory);
  EXPECT_EQ(memory.arrays.at("a")[0], 1);
  EXPECT_TRUE(std::isnan(memory.arrays.at("a")[1]));
}

TEST(Locals, StepsAndParallelLoopsOfSobel) {
  const Nest nest = nest_of(kSobel);
  EXPECT_THAT(dependences(nest), testing::Each(testing::Field(&Dependence::level, 2)));  // carried by no loop
  for (const std::vector<Step>& steps : {std::vector<Step>{},
                                         {Permute{{"j", "i"}}},
                                         {Tile{{{"i", 2}, {"j", 3}}}},
                                         {StripMine{"j", 2}},
                                         {Skew{"j", 1, "i"}, Permute{{"j", "i"}}}}) {
    const Schedule schedule = transform(nest, steps);
    expect_same(nest, schedule.code());
  }
  EXPECT_EQ(permutable_bands(nest).front().loops, (std::vector<std::string>{"i", "j"}));
}

TEST(Locals, CDeclaresThemWhereTheyLive) {
  const Nest nest = nest_of(kSobel);
  const std::string text = emit_c(nest, transform(nest, {Tile{{{"i", 2}, {"j", 3}}}}).code());
  EXPECT_THAT(text, testing::ContainsRegex("#pragma omp parallel for[^\n]*\n  for .int ii"));
  EXPECT_THAT(text, HasSubstr("float gx = in"));
  EXPECT_THAT(text, Not(HasSubstr("  float gx;\n")));
}

TEST(Locals, ScalarsOfTheFunctionThatEachIterationWritesFirst) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n], float c[n]) {
  float t;
  for (int i = 0; i < n; i++) {
    t = a[i] + b[i];
    c[i] = t * t;
  }
  for (int i = 0; i < n; i++) {
    t = a[i] - c[i];
    b[i] = t * t;
  }
})");
  const Node code = Schedule::of_source(nest).code();
  EXPECT_EQ(skeleton(code), "[i S0 S1] [i S2 S3]");
  const std::string text = emit_c(nest, code);
  EXPECT_THAT(text, HasSubstr("    float t = a[i] + b[i];"));
  EXPECT_THAT(text, HasSubstr("    float t = a[i] - c[i];"));
  EXPECT_THAT(text, Not(HasSubstr("  float t;")));
  expect_same(nest, code);
}

TEST(Locals, ASumOfARowIsARowsOwn) {
  const Nest nest = nest_of(kSoftmax);
  const Schedule schedule = transform(nest, {StripMine{"i", 4}});
  EXPECT_EQ(skeleton(schedule.code()), "[ii i S0 (j S1) [j S2]]");
  expect_same(nest, schedule.code());
  EXPECT_THAT(emit_c(nest, schedule.code()), HasSubstr("float s = 0;"));
}

TEST(Locals, ASumThatGoesOnIsNobodysOwn) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n]) {
  float s = 0;
  for (int i = 0; i < n; i++) {
    s += a[i];
    b[i] = s;
  }
})");
  EXPECT_EQ(skeleton(Schedule::of_source(nest).code()), "S0 (i S1 S2)");
  EXPECT_THAT(refusal_after(nest_of(R"(
void f(int n, float a[n][n], float b[n][n]) {
  float s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      s += a[i][j];
      b[i][j] = s;
    }
})"),
                            {Permute{{"j", "i"}}}),
              HasSubstr("S1"));
}

TEST(Locals, ValuesOfTwoIterationsDoNotFitIntoOne) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n][n], float c[n]) {
  for (int i = 0; i < n; i++) {
    float t = sqrtf(a[i]);
    for (int j = 0; j < n; j++)
      b[i][j] *= t;
    c[i] = t;
  }
})");
  EXPECT_THAT(
      refusal_after(nest, {Permute{{"j", "i"}}}),
      HasSubstr("would let S0 overwrite t between S0(0), which writes it, and S1(0, 0), which reads it"));
  expect_same(nest, transform(nest, {Tile{{{"i", 2}}}}).code());
}

TEST(Locals, KernelsAfterStepsHaveCopies) {
  const Nest nest = nest_of(kSobel);
  const Schedule schedule = transform(nest, {Permute{{"j", "i"}}});
  const ParallelNest parallel = parallelise(schedule);
  ASSERT_EQ(parallel.privatised.size(), 3u);
  EXPECT_EQ(first_race(parallel, {{"n", 5}, {"m", 6}}), "");
  const GpuProgram program = map_to_gpu(nest, parallel, {});
  EXPECT_EQ(program.kernels.front().pattern, "pointwise");
  EXPECT_THAT(program.kernels.front().text, HasSubstr("float gx;"));
}

TEST(Propagation, AProductThatOnlyGoesIntoALoopStandsThere) {
  const Nest nest = nest_of(R"(
void gemm_nn(int M, int N, int K, float ALPHA, const float A[M][K], const float B[K][N], float C[M][N]) {
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) {
      float A_PART = ALPHA * A[i][k];
      for (int j = 0; j < N; ++j)
        C[i][j] += A_PART * B[k][j];
    }
})");
  ASSERT_EQ(nest.statements().size(), 1u);
  EXPECT_EQ(to_text(nest.statements()[0].assignment.value), "ALPHA * A[i][k] * B[k][j]");
  EXPECT_TRUE(transform(nest, {Permute{{"i", "j", "k"}}}).verdict().legal);
  EXPECT_EQ(map_to_gpu(nest, parallelise(nest), {}).kernels.front().pattern, "contraction");
}

TEST(Propagation, NotWhereAnOperandChangesOrTheValueIsRounded) {
  for (const char* statement :
       {"float t = 2.0f * A[i][0]; for (int j = 0; j < n; ++j) A[i][j] += t * B[i];",   // writes its operand
        "float t = 2.0 * B[i]; for (int j = 0; j < n; ++j) A[i][j] += t;",              // a double, rounded
        "float t = sqrtf(B[i]); for (int j = 0; j < n; ++j) A[i][j] += t;",             // costs too much
        "float t = 2.0f * B[i]; for (int j = 0; j < n; ++j) A[i][j] += t; C[i] = t;"})  // has other uses
    EXPECT_EQ(nest_of("void f(int n, float A[n][n], float B[n], float C[n]) { for (int i = 0; i < n; ++i) {" +
                      std::string(statement) + "} }")
                  .statements()[0]
                  .assignment.target.text,
              "t")
        << statement;
}

std::vector<std::string> assignments(const Nest& nest) {
  std::vector<std::string> texts;
  for (const Statement& statement : nest.statements()) texts.push_back(to_text(statement.assignment));
  return texts;
}

/// A triangle of LU factors, with a scalar for the element.
Nest triangle(const std::string& inner, const std::string& store, const std::string& type = "float") {
  return nest_of("void f(int n, float A[n][n], float B[n]) {\n  " + type +
                 " w;\n  for (int i = 0; i < n; i++)\n    for (int j = 0; j < i; j++) {\n"
                 "      w = A[i][j];\n      for (int k = 0; k < j; k++) w -= " +
                 inner + ";\n      " + store + "\n    }\n}");
}

TEST(ValuesInPlace, AScalarThatGoesBackIntoItsElementIsTheElement) {
  const Nest nest = triangle("A[i][k] * A[k][j]", "A[i][j] = w / A[j][j];");
  EXPECT_THAT(assignments(nest),
              testing::ElementsAre("A[i][j] -= A[i][k] * A[k][j];\n", "A[i][j] = A[i][j] / A[j][j];\n"));
  EXPECT_EQ(find_variable(nest.region(), "w"), nullptr);
  EXPECT_EQ(assignments(triangle("B[k]", "A[i][j] = w;")).size(), 1u);
  EXPECT_THAT(skeleton(parallelise(nest).code), HasSubstr("["));  // one scalar for all forbids that
}

TEST(ValuesInPlace, NotWhereTheElementIsTouchedOrTheValueGoesOn) {
  EXPECT_EQ(assignments(triangle("A[i][k] * A[k][j]", "A[i][j] = w / A[j][j];", "double")).size(), 3u);
  EXPECT_EQ(assignments(triangle("A[i][j] * A[k][j]", "A[i][j] = w;")).size(), 3u);  // reads it
  EXPECT_EQ(assignments(triangle("A[i][2 * k]", "A[i][j] = w;")).size(), 3u);        // may read it
  EXPECT_EQ(assignments(triangle("A[i][k]", "A[i][j] = w + A[i][j];")).size(), 3u);  // reads it at last
  EXPECT_EQ(assignments(triangle("A[i][k]", "A[i][j] = w; B[j] = w;")).size(), 4u);  // goes on
  EXPECT_EQ(assignments(triangle("A[i][k]", "A[j][i] = w;")).size(), 3u);            // another element
}

// --- conditions on data

TEST(Conditions, StatementsAskByThemselves) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n], float c[n]) {
  for (int i = 0; i < n; i++)
    if (a[i] > 1) {
      b[i] = 2 * a[i];
      c[i] += b[i];
    } else
      c[i] = 0;
})");
  ASSERT_EQ(nest.statements().size(), 3u);
  EXPECT_EQ(to_text(nest.statements()[2].conditions.at(0)), "!(a[i] > 1)");
  const Node code = transform(nest, {StripMine{"i", 3}}).code();
  EXPECT_EQ(skeleton(code), "[ii i S0 S1 S2]");
  expect_same(nest, code);
  EXPECT_THAT(emit_c(nest, code), HasSubstr("if (a[i] > 1) {"));
  expect_same(nest, parallelise(nest).code);
}

TEST(Conditions, ThatTheBranchChangesAreKept) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n]) {
  for (int i = 0; i < n; i++)
    if (a[i] > 1) {
      a[i] = 0;
      b[i] = 1;
    } else
      a[i] = 2;
})");
  ASSERT_EQ(nest.statements().size(), 4u);
  EXPECT_EQ(to_text(nest.statements()[0].assignment), "holds = a[i] > 1;\n");
  const Node code = transform(nest, {Tile{{{"i", 2}}}}).code();
  expect_same(nest, code);
  EXPECT_THAT(emit_c(nest, code), HasSubstr("int holds = a[i] > 1;"));
  EXPECT_EQ(skeleton(parallelise(nest).code), "[i S0 S1 S2 S3]");
}

TEST(Conditions, WhatIsKnownWithoutDataIsAskedFirst) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n]) {
  for (int i = 0; i < n; i++)
    if (a[i] > 1 && i > 0 && a[i - 1] < 1) b[i] = 1;
})");
  EXPECT_THAT(nest.remarks(), testing::Each(Not(HasSubstr("assumes"))));  // a[-1] is not read
  expect_same(nest, Schedule::of_source(nest).code());
}

TEST(Conditions, AWriteThatMayNotHappenHidesNothing) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n], float c[n]) {
  float t = 0;
  for (int i = 0; i < n; i++) {
    if (a[i] > 1) t = a[i];
    b[i] = t;
  }
})");
  EXPECT_EQ(skeleton(Schedule::of_source(nest).code()), "S0 (i S1 S2)");
  EXPECT_EQ(skeleton(parallelise(nest).code), "S0 (i S1 S2)");
}

TEST(Conditions, AScalarOfABranchIsAnIterationsOwn) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], float b[n], float c[n]) {
  float s;
  for (int i = 0; i < n; i++)
    if (a[i] > b[i]) {
      s = a[i] - b[i];
      c[i] += s;
      b[i] = s;
    }
})");
  EXPECT_EQ(skeleton(Schedule::of_source(nest).code()).front(), '[');
  expect_same(nest, transform(nest, {StripMine{"i", 2}}).code());
  EXPECT_EQ(skeleton(parallelise(nest).code).front(), '[');
}

TEST(Conditions, ElementsThatDataChooses) {
  const Nest nest = nest_of(R"(
void f(int n, float a[n], const float b[n + 8], const int at[n]) {
  for (int i = 0; i < n; i++)
    a[i] += b[at[i]];
})");
  EXPECT_EQ(nest.statements()[0].references.size(), 4u);
  EXPECT_FALSE(nest.statements()[0].references[1].is_exact);
  EXPECT_EQ(skeleton(transform(nest, {StripMine{"i", 2}}).code()), "[ii i S0]");
  expect_same(nest, transform(nest, {StripMine{"i", 2}}).code());
  // Which element it writes nobody knows.
  EXPECT_EQ(skeleton(Schedule::of_source(nest_of(R"(
void f(int n, float a[n], const float b[n], const int at[n]) {
  for (int i = 0; i < n; i++)
    a[at[i]] = b[i];
})"))
                         .code()),
            "(i S0)");
}

// --- reductions

constexpr const char* kDot = R"(
float dot(int n, const float a[n], const float b[n]) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
})";

TEST(Reductions, InAnyOrderWherePermitted) {
  const Nest nest = nest_of(kDot);
  const Schedule schedule = Schedule::of_source(nest);
  EXPECT_EQ(skeleton(schedule.code(Reassociate::integers)), "S0 (i S1)");
  const Node code = schedule.code(Reassociate::everything);
  EXPECT_EQ(skeleton(code), "S0 [i S1]");
  EXPECT_EQ(emit_c(nest, code), R"(float dot(int n, const float a[restrict n], const float b[restrict n]) {
  float s;
  s = 0;
  #pragma omp parallel for reduction(+: s) if(parallel: n > 100000)
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}
)");
}

TEST(Reductions, GreatestValuesOfBothForms) {
  for (const char* statement :
       {"if (a[i] > *m) *m = a[i];", "*m = *m < a[i] ? a[i] : *m;", "*m = fmaxf(*m, a[i]);"}) {
    const Nest nest = nest_of("void f(int n, const float a[n], float *m) { for (int i = 0; i < n; i++) " +
                              std::string(statement) + " }");
    EXPECT_EQ(nest.statements()[0].reduction, "max") << statement;
    EXPECT_THAT(emit_c(nest, Schedule::of_source(nest).code(Reassociate::everything)),
                HasSubstr("#pragma omp parallel for reduction(max: m[:1])"));
  }
}

TEST(Reductions, IntegersWrapAround) {
  const Nest nest = nest_of(R"(
int count(int n, const int a[n]) {
  int s = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > 3) s += a[i];
  return s;
})");
  const Node code = Schedule::of_source(nest).code(Reassociate::integers);
  EXPECT_EQ(emit_c(nest, code),
            "#pragma omp declare reduction(wrapping_sum : int : omp_out = (int)((unsigned)omp_out + "
            "(unsigned)omp_in)) initializer(omp_priv = 0)\n"
            R"(
int count(int n, const int a[restrict n]) {
  int s;
  s = 0;
  #pragma omp parallel for reduction(wrapping_sum: s) if(parallel: n > 100000)
  for (int i = 0; i < n; i++) {
    if (a[i] > 3)
      s = (int)((unsigned)s + (unsigned)a[i]);
  }
  return s;
}
)");
  expect_same(nest, code);
}

TEST(Reductions, NotWhereTheSumIsReadOnTheWay) {
  const Nest nest = nest_of(R"(
void f(int n, int a[n], int *s) {
  for (int i = 0; i < n; i++) {
    *s += a[i];
    a[i] = *s;
  }
})");
  EXPECT_EQ(skeleton(Schedule::of_source(nest).code(Reassociate::everything)), "(i S0 S1)");
}

TEST(Reductions, StepsMayTakeAnotherOrderOnRequest) {
  const Nest nest = nest_of(R"(
float sum(int n, const float a[n][n]) {
  float s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      s += a[i][j];
  return s;
})");
  EXPECT_THAT(refusal_after(nest, {Permute{{"j", "i"}}}), HasSubstr("S1 -> S1"));
  EXPECT_TRUE(transform(nest, {Permute{{"j", "i"}}}, true).verdict(true).legal);
}

}  // namespace
}  // namespace warploom::tile
