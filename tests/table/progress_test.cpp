// Lock-freedom: threads that stop for ever, at any step, do not keep the others from finishing.

#include <gtest/gtest.h>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {

Variant mutant_waits_for_claims(int slots);

namespace {

constexpr Variant lines_of(int slots) {
  return slots == 1 ? kVariant<1> : slots == 2 ? kVariant<2> : kVariant<3>;
}

// Every state of every execution; of three threads, each one and each two of them stop.
TEST(Progress, OthersFinishWhereverThreadsAreStopped) {
  std::uint64_t suspensions = 0;
  for (const Adversary& one : adversaries()) {
    // Larger ones add time and no new situation.
    const Result result = check(one.program, lines_of(one.slots), {.most_states = 10'000, .suspend = true});
    EXPECT_FALSE(result.violation) << *result.violation;
    suspensions += result.suspensions;
  }
  EXPECT_GT(suspensions, 100'000u);
}

// In any schedule, fair or not: a circle of states would be threads that take steps for ever while none
// completes an operation, and check() says so. The larger programs are those of model_test.cpp.
TEST(Progress, NoStateComesTwice) {
  int programs = 0;
  for (const Adversary& one : adversaries()) {
    const Result result = check(one.program, lines_of(one.slots), {.most_states = 50'000});
    EXPECT_FALSE(result.violation) << *result.violation;
    programs += result.complete;
  }
  EXPECT_GE(programs, 12);
}

TEST(Progress, AThreadThatWaitsForAnotherIsNoticed) {
  const Adversary& one = adversary("pending insertion of the key that is inserted");
  const Result alone = check(one.program, mutant_waits_for_claims(one.slots));
  ASSERT_TRUE(alone.violation);
  EXPECT_NE(alone.violation->find("for ever"), std::string::npos) << *alone.violation;
}

}  // namespace
}  // namespace warploom::table::model
