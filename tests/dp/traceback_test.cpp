// The decisions behind an optimum.

#include <pthread.h>

#include <functional>

#include "every_device.hpp"

namespace warploom::dp {
namespace {

/// As text, so that a failure shows the first decision that differs.
std::string text(const Split& split) {
  return "(" + std::to_string(split.i) + ", " + std::to_string(split.k) + ", " + std::to_string(split.j) +
         ")";
}

std::string first_difference(const std::vector<Split>& got, const std::vector<Split>& want) {
  for (std::size_t n = 0; n < std::min(got.size(), want.size()); ++n)
    if (got[n] != want[n])
      return "decision " + std::to_string(n) + " is " + text(got[n]) + " instead of " + text(want[n]);
  return got.size() == want.size()
             ? ""
             : std::to_string(got.size()) + " decisions instead of " + std::to_string(want.size());
}

template <Value T>
void traces_of_every_kind(Device device) {
  const std::vector<Kind> kinds = every_kind();
  for (std::uint32_t seed = 1; seed <= kinds.size(); seed += std::uint32_t{kOneOf}) {
    const Kind& kind = kinds[seed - 1];
    const std::int64_t points = 2 + seed * 29 % 200;
    SCOPED_TRACE(std::to_string(points) + " points: " + dp::text(kind));
    const auto problem = random_problem<T>(kind, points, seed);
    const std::vector<Options> ways = every_way(device, Storage::plain);
    const auto solution = solve(problem, ways[seed % ways.size()]);
    const std::vector<Split> trace = solution.trace();
    EXPECT_EQ(first_difference(trace, oracle::fill<T>(problem).trace()), "");
    if (solution.optimum() == unreachable<T>(kind.optimum)) {
      EXPECT_TRUE(trace.empty());
    } else {
      // A tree over all leaves whose terms add up to the optimum, to the bit.
      const auto sum = oracle::evaluate<T>(problem, trace);
      ASSERT_TRUE(sum) << "no tree";
      EXPECT_TRUE(same_bits(T(*sum + T(0)), solution.optimum())) << *sum << " and " << solution.optimum();
    }
  }
}

TEST_P(EngineOn, TracesAreTheOraclesOfInt32) { traces_of_every_kind<std::int32_t>(GetParam()); }
TEST_P(EngineOn, TracesAreTheOraclesOfInt64) { traces_of_every_kind<std::int64_t>(GetParam()); }
TEST_P(EngineOn, TracesAreTheOraclesOfFloat) { traces_of_every_kind<float>(GetParam()); }
TEST_P(EngineOn, TracesAreTheOraclesOfDouble) { traces_of_every_kind<double>(GetParam()); }

TEST_P(EngineOn, TracesOfNarrowCellsAreTheOracles) {
  for (const std::int64_t leaves : {1, 2, 5, 63, 64, 65, 129, 400}) {
    const auto problem = random_base_pairs<std::int32_t>(leaves, 4);
    Options with = options();
    with.storage = Storage::narrow;
    EXPECT_EQ(first_difference(solve(problem, with).trace(), oracle::fill<std::int32_t>(problem).trace()), "")
        << leaves << " leaves";
  }
}

TEST_P(EngineOn, OfEqualSplitsTheLeastIsTaken) {
  Problem<float> problem;
  problem.leaves.assign(100, 0.0F);
  const std::vector<Split> trace = solve(problem, options()).trace();
  ASSERT_EQ(trace.size(), 99u);
  for (std::int64_t i = 0; i < 99; ++i) EXPECT_EQ(trace[std::size_t(i)], (Split{i, i + 1, 100}));
}

TEST_P(EngineOn, OfAPairAndASplitThatAreEqualThePairIsTaken) {
  Problem<std::int32_t> problem;
  problem.leaves.assign(40, 0);
  problem.pairing = Pairing<std::int32_t>{
      .codes = std::vector<std::uint8_t>(40, 0), .letters = 1, .scores = {0}, .minimum_span = 2};
  const std::vector<Split> trace = solve(problem, options()).trace();
  ASSERT_EQ(trace.size(), 20u);
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(trace[std::size_t(i)], (Split{i, i, 40 - i}));
}

// Candidates that differ, until a large weight is added to them.
TEST_P(EngineOn, WhatRoundingMakesEqualIsATie) {
  auto problem = random_problem<float>({.weights = true, .pairing = true, .style = Style::two_sided}, 150, 2);
  for (float& weight : problem.row_weight) weight *= 0x1p16F;
  EXPECT_EQ(first_difference(solve(problem, options()).trace(), oracle::fill<float>(problem).trace()), "");
}

/// Left-deep: a tree over an interval that does not begin at 0 costs 1, so that each k is j - 1. Otherwise
/// right-deep, by the ties.
Problem<std::int32_t> chain(std::int64_t leaves, bool left_deep) {
  Problem<std::int32_t> problem;
  problem.leaves.assign(std::size_t(leaves), 0);
  if (left_deep) {
    problem.row_weight.assign(std::size_t(leaves) + 1, 1);
    problem.row_weight[0] = 0;
    problem.column_weight.assign(std::size_t(leaves) + 1, 0);
  }
  return problem;
}

/// Runs `body` on a stack of so many bytes.
void on_a_stack_of(std::size_t bytes, const std::function<void()>& body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* body_pointer) -> void* {
    (*static_cast<const std::function<void()>*>(body_pointer))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// 20,000 leaves on a GPU. That many would take minutes of a CPU: there 1,500, on a stack that holds no 1,500
// calls, and under a sanitizer, whose calls take more of it, 500.
TEST_P(EngineOn, AChainIsTracedWithoutRecursion) {
  const std::int64_t leaves = on_gpu() ? 20'000 : kOneOf > 1 ? 500 : 1'500;
  for (const bool left_deep : {true, false})
    for (const Storage storage : {Storage::plain, Storage::narrow}) {
      Options with = options();
      with.storage = storage;
      const auto solution = solve(chain(leaves, left_deep), with);
      std::vector<Split> trace;
      on_a_stack_of(std::size_t{on_gpu() ? 1024u : 64u} << 10, [&] { trace = solution.trace(); });
      EXPECT_EQ(solution.optimum(), 0);
      ASSERT_EQ(std::int64_t(trace.size()), leaves - 1);
      for (std::int64_t n = 0; n < leaves - 1; ++n)
        ASSERT_EQ(trace[std::size_t(n)],
                  left_deep ? (Split{0, leaves - 1 - n, leaves - n}) : (Split{n, n + 1, leaves}));
    }
}

}  // namespace
}  // namespace warploom::dp
