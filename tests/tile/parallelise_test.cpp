// Orders of loops for threads: what is expected of small nests.
#include <algorithm>

#include "parallel_order.hpp"

namespace warploom::tile {
namespace {

std::string order_of(const std::string& text) { return skeleton(parallelise(nest_of(text)).code); }

// --- order

TEST(Parallelise, MovesParallelLoopsOutsideAndTheContiguousOneInnermost) {
  const std::string text = R"(
    void f(int n, float C[n][n], float A[n][n], float B[n][n]) {
      for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++)
          for (int i = 0; i < n; i++)
            C[i][j] += A[i][k] * B[k][j];
    })";
  EXPECT_EQ(order_of(text), "[i j (k S0)]");
}

TEST(Parallelise, NamesTheDependenceThatALoopCarries) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float A[n][n]) {
      for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
          for (int k = 1; k < n; k++)
            A[i][k] = A[i - 1][k] + A[i][k - 1];
    })"));
  EXPECT_TRUE(mentions(parallel.reasons, "i carries the flow dependence S0 -> S0 on A, distance (1, "))
      << testing::PrintToString(parallel.reasons);
}

TEST(Parallelise, SplitsStatementsThatNeedDifferentLoops) {
  EXPECT_EQ(order_of(R"(
    void f(int n, float s[n], float q[n], float A[n][n], float r[n], float p[n]) {
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          s[j] += r[i] * A[i][j];
          q[i] += A[i][j] * p[j];
        }
    })"),
            "[j (i S0)] [i (j S1)]");
}

TEST(Parallelise, FusesLoopsOfDifferentNamesOverOneRange) {
  EXPECT_EQ(order_of(R"(
    void f(int n, float x[n], float y[n]) {
      for (int i = 0; i < n; i++) x[i] = 2.0f * y[i];
      for (int j = 0; j < n; j++) y[j] = x[j] + 1.0f;
    })"),
            "[i S0 S1]");
}

TEST(Parallelise, GivesAFusedLoopTheNameThatHidesNone) {
  EXPECT_EQ(order_of(R"(
    void f(int n, int m, float y[n], float A[m][n], float t[m]) {
      for (int i = 0; i < n; i++) y[i] = 0.0f;
      for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) y[j] += A[i][j] * t[i];
    })"),
            "[j S0 (i S1)]");
}

TEST(Parallelise, LeavesLoopsApartThatDifferInRangeOrShareNothing) {
  EXPECT_EQ(order_of(R"(
    void f(int n, int m, float x[n], float y[n], float z[n]) {
      for (int i = 0; i < n; i++) x[i] = 2.0f * y[i];
      for (int i = 1; i < n; i++) y[i] = x[i] + 1.0f;
      for (int i = 0; i < n; i++) z[i] = 1.0f;
    })"),
            "[i S0] [i S1] [i S2]");
}

TEST(Parallelise, DoesNotFuseWhereTheSharedLoopWouldCarry) {
  EXPECT_EQ(order_of(R"(
    void f(int n, float x[n], float y[n]) {
      for (int i = 0; i < n; i++) x[i] = 2.0f * y[i];
      for (int i = 0; i < n; i++) y[i] = x[n - 1 - i];
    })"),
            "[i S0] [i S1]");
}

TEST(Parallelise, KeepsOneSequentialLoopInsideOfAThread) {
  EXPECT_EQ(order_of(R"(
    void f(int n, float t[n], float y[n], float A[n][n], float B[n][n], float x[n]) {
      for (int i = 0; i < n; i++) {
        t[i] = 0.0f;
        y[i] = 0.0f;
        for (int j = 0; j < n; j++) {
          t[i] = A[i][j] * x[j] + t[i];
          y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = t[i] + y[i];
      }
    })"),
            "[i S0 S1 (j S2 S3) S4]");
}

TEST(Parallelise, TakesASequentialLoopThatLeavesAParallelOneInside) {
  // Distances (0, 1) and (1, 1): i outside leaves none parallel, j outside leaves i.
  EXPECT_EQ(order_of(R"(
    void f(int n, float A[n][n]) {
      for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) A[i][j] = A[i][j - 1] + A[i - 1][j - 1];
    })"),
            "(j [i S0])");
}

TEST(Parallelise, RunsLoopsBackwardsThatRanBackwards) {
  const Nest nest = nest_of(R"(
    void f(int n, float A[n][n]) {
      for (int i = n - 2; i >= 0; i--)
        for (int j = 0; j < n; j++) A[i][j] += A[i + 1][j];
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), "[j (i S0)]");
  expect_same_results(nest, parallel, {1, 2, 5});
}

TEST(Parallelise,
     UpdatesOfOtherStatementsGetNoCopies) {  // each reads what it writes: a copy would hold nothing
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float s[1], float A[n][n]) {
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          s[0] += A[i][j];
          s[0] *= 0.5f;
        }
    })"));
  EXPECT_EQ(skeleton(parallel.code), "(i j S0 S1)");
  EXPECT_TRUE(parallel.privatised.empty());
}

TEST(Parallelise, SumsThatAreAssignedFirstGetCopies) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float r[n], float A[n][n]) {
      float s[1];
      for (int i = 0; i < n; i++) {
        s[0] = 0.0f;
        for (int j = 0; j < n; j++) s[0] += A[i][j];
        r[i] = s[0];
      }
    })"));
  EXPECT_EQ(skeleton(parallel.code), "[i S0 (j S1) S2]");
}

// --- sizes that are asked whether they are 0

TEST(Parallelise, SizesThatAreAskedWhetherTheyAre0HaveAnyValue) {
  const Nest nest = nest_of(R"(
    void f(int n, int t, int u, float A[n][n], float B[n][n]) {
      for (int i = 1; i < n; i++)
        for (int j = 0; j < n - 1; j++) {
          if (t && !u) A[i][j] = A[i - 1][j + 1] + B[i][j];
          if (t || u) B[i][j] = A[i][j] * 2.0f;
          else B[i][j] = A[i][j] - 1.0f;
        }
    })");
  const ParallelNest parallel = parallelise(nest);
  for (const std::int64_t t : {-7, 0, 1, 3})
    for (const std::int64_t u : {-2, 0, 5})
      for (const Order order : {Order::as_written, Order::backwards})
        expect_same_result(nest, parallel, {{"n", 6}, {"t", t}, {"u", u}}, order);
}

// --- snapshots

TEST(Parallelise, ReadsOldValuesFromASnapshot) {
  const Nest nest = nest_of(R"(
    void f(int n, float A[n], float B[n]) {
      for (int i = 0; i < n - 1; i++) A[i] = A[i + 1] * B[i];
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), "[i S0]");
  ASSERT_EQ(parallel.snapshots.size(), 1u);
  EXPECT_EQ(parallel.snapshots[0].array, "A");
  EXPECT_EQ(parallel.snapshots[0].copy, "A_before");
  EXPECT_TRUE(parallel.privatised.empty());
  expect_same_results(nest, parallel, {1, 2, 9});
}

TEST(Parallelise, MakesNoSnapshotThatMakesNoLoopParallel) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float A[n]) {
      for (int i = 1; i < n - 1; i++) A[i] = A[i] + A[i + 1] + A[i - 1];
    })"));
  EXPECT_EQ(skeleton(parallel.code), "(i S0)");
  EXPECT_TRUE(parallel.snapshots.empty());
}

TEST(Parallelise, MakesNoSnapshotOfValuesThatAnEarlierSweepWrote) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, int steps, float A[n]) {
      for (int t = 0; t < steps; t++)
        for (int i = 0; i < n - 1; i++) A[i] = A[i + 1];
    })"));
  EXPECT_EQ(skeleton(parallel.code), "(wave [t S0])");
  EXPECT_TRUE(parallel.snapshots.empty());
}

// --- copies for each iteration

TEST(Parallelise, GivesEachIterationItsOwnScalar) {
  const Nest nest = nest_of(R"(
    void f(int n, float A[n], float B[n]) {
      for (int i = 0; i < n; i++) {
        float t = A[i] * 2.0f;
        A[i] = B[i];
        B[i] = t;
      }
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), "[i S0 S1 S2]");
  ASSERT_EQ(parallel.privatised.size(), 1u);
  EXPECT_EQ(parallel.privatised[0].variable, "t");
  EXPECT_EQ(parallel.privatised[0].loops, std::vector<std::string>{"i"});
  EXPECT_EQ(parallel.privatised[0].statements, (std::vector<int>{0, 2}));
  EXPECT_FALSE(parallel.privatised[0].last_value);
  expect_same_results(nest, parallel, {1, 2, 9});
}

TEST(Parallelise, KeepsTheLastValueOfAnArrayThatLivesOn) {
  const Nest nest = nest_of(R"(
    void f(int n, int m, float t[m], float A[n][m], float B[n][m]) {
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
          t[j] = A[i][j] * 2.0f;
          B[i][j] = t[j];
        }
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), "[i j S0 S1]");
  ASSERT_EQ(parallel.privatised.size(), 1u);
  EXPECT_EQ(parallel.privatised[0].variable, "t");
  EXPECT_EQ(parallel.privatised[0].loops, std::vector<std::string>{"i"});
  EXPECT_TRUE(parallel.privatised[0].last_value);
  expect_same_results(nest, parallel, {1, 2, 6});
}

TEST(Parallelise, SharesAScalarWhoseValueCrossesIterations) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float A[n], float B[n]) {
      float t;
      t = 0.0f;
      for (int i = 0; i < n; i++) {
        A[i] = t;
        t = B[i];
      }
    })"));
  EXPECT_TRUE(parallel.privatised.empty());
  EXPECT_EQ(skeleton(parallel.code), "S0 (i S1 S2)");
}

TEST(Parallelise, GivesCopiesToTheLoopsOnlyWithinWhichValuesStay) {
  const Nest nest = nest_of(R"(
    void f(int n, float A[n][n], float B[n][n]) {
      float t;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          if (j == 0) t = 0.0f;
          B[i][j] = t;
          t = A[i][j];
        }
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), "[i S0 (j S1 S2)]");
  ASSERT_EQ(parallel.privatised.size(), 1u);
  EXPECT_EQ(parallel.privatised[0].loops, std::vector<std::string>{"i"});
  expect_same_results(nest, parallel, {1, 2, 5});
}

TEST(Parallelise, SharesAVariableOfWhichAnIterationReadsTheOldValue) {
  const Nest nest = nest_of(R"(
    void f(int n, int m, float t[1], float A[n], float B[n]) {
      float w;
      for (int i = 0; i < n; i++) {
        if (i < m) w = t[0];
        if (i >= m) t[0] = A[i];
        if (i >= m) w = t[0];
        B[i] = w;
      }
    })");
  const ParallelNest parallel = parallelise(nest);
  for (const Privatised& copy : parallel.privatised) EXPECT_NE(copy.variable, "t");
  expect_same_result(nest, parallel, {{"n", 6}, {"m", 3}}, Order::as_written);
}

TEST(Parallelise, SharesAnArrayOfWhichAnIterationFillsMoreThanAnElement) {
  const ParallelNest parallel = parallelise(nest_of(R"(
    void f(int n, float t[n], float A[n][n]) {
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) t[j] = A[i][j];
        for (int j = 0; j < n; j++) A[i][j] = t[n - 1 - j];
      }
    })"));
  EXPECT_TRUE(parallel.privatised.empty());
  EXPECT_EQ(skeleton(parallel.code), "(i [j S0] [j S1])");
}

TEST(Parallelise, SharesAVariableWhoseLastValueAnotherIterationWrites) {
  // The last iteration does not write t: t keeps what the second last wrote.
  const Nest nest = nest_of(R"(
    void f(int n, float t[1], float A[n]) {
      for (int i = 0; i < n; i++) {
        if (i < n - 1) t[0] = A[i] * 2.0f;
        if (i < n - 1) A[i] = t[0];
        A[i] += 1.0f;
      }
    })");
  const ParallelNest parallel = parallelise(nest);
  expect_same_results(nest, parallel, {1, 2, 5});
}

TEST(Parallelise, SharesAVariableThatIsReadAfterTheLoop) {
  const Nest nest = nest_of(R"(
    void f(int n, float A[n], float B[n]) {
      float t;
      for (int i = 0; i < n; i++) {
        t = A[i];
        B[i] = t;
      }
      for (int i = 0; i < n; i++) A[i] = t;
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_TRUE(parallel.privatised.empty());
  EXPECT_EQ(skeleton(parallel.code), "(i S0 S1) [i S2]");
}

TEST(Code, AsksSizesWhetherTheyAre0) {
  // "Not 0" is two pieces of a set, of two such sizes four.
  const Nest nest = nest_of(R"(
void f(int n, int left, int right, float A[n], float B[n]) {
  for (int t = 0; t < 3; t++) {
    if (!left && !right) { for (int i = 0; i < n; i++) A[i] += B[i]; }
    else if (left && !right) { for (int i = 0; i < n; i++) A[i] *= B[i]; }
    else if (!left && right) { for (int i = 0; i < n; i++) A[i] -= B[i]; }
    else { for (int i = 0; i < n; i++) A[i] = B[i]; }
  }
})");
  const Node code = Schedule::of_source(nest).code();
  const std::string text = tile::to_text(code);
  const auto count = [&](const std::string& part) {
    int all = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++all;
    return all;
  };
  EXPECT_EQ(count("A[i]"), 4) << text;
  EXPECT_EQ(count("> 0"), 0) << text;
  for (const std::int64_t left : {-3, 0, 1, 5})
    for (const std::int64_t right : {-1, 0, 1, 2}) {
      const Memory start = make_memory(nest.region(), {{"n", 4}, {"left", left}, {"right", right}}, 5);
      Memory source = start, memory = start;
      interpret(nest.region(), nest.region().body, source);
      interpret(nest.region(), code, memory);
      EXPECT_EQ(memory.arrays, source.arrays) << left << ", " << right << "\n" << text;
    }
}

TEST(Code, TakesSizesThatBoundLoopsAsTheyAre) {
  const Nest nest = nest_of(R"(
void f(int n, int left, float A[n + left], float B[n]) {
  for (int t = 0; t < 3; t++) {
    if (left) { for (int i = 0; i < n; i++) A[i] += B[i]; }
    else { for (int i = 0; i < n; i++) A[i] = B[i]; }
    for (int i = 0; i < left; i++) A[n + i] = 2;
  }
})");
  const Node code = Schedule::of_source(nest).code();
  for (const std::int64_t left : {0, 1, 4}) {
    const Memory start = make_memory(nest.region(), {{"n", 4}, {"left", left}}, 5);
    Memory source = start, memory = start;
    interpret(nest.region(), nest.region().body, source);
    interpret(nest.region(), code, memory);
    EXPECT_EQ(memory.arrays, source.arrays) << left << "\n" << tile::to_text(code);
  }
}

}  // namespace
}  // namespace warploom::tile
