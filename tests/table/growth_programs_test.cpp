// Random programs of two threads over growth, in every order with two pre-emptions: WARPLOOM_GROWTH_PROGRAMS
// of them. WARPLOOM_MODEL_PREEMPTIONS in the environment: that many, for a longer run.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {
namespace {

TEST(GrowthPrograms, OfTwoThreadsOfThreeOperationsNeverGetAWrongAnswer) {
  const char* wanted = std::getenv("WARPLOOM_MODEL_PREEMPTIONS");
  const int preemptions = wanted != nullptr ? std::atoi(wanted) : 2;
  std::uint64_t states = 0, incomplete = 0;
  for (std::uint32_t seed = 0; seed < WARPLOOM_GROWTH_PROGRAMS; ++seed) {
    // Of one doubling or two, with pairs of one word or two.
    const Variant& variant = seed % 3 == 0   ? kGrowing<1, 2>
                             : seed % 3 == 1 ? kGrowing<1>
                                             : kGrowing<1, 1, true>;
    const Result result = check(random_growth_program(2, 3, seed), variant, {.preemptions = preemptions});
    ASSERT_FALSE(result.violation) << *result.violation;
    states += result.states;
    incomplete += !result.complete;
  }
  std::cout << WARPLOOM_GROWTH_PROGRAMS << " programs, " << states << " states, " << incomplete
            << " programs not to the end\n";
  EXPECT_EQ(incomplete, 0u);
}

}  // namespace
}  // namespace warploom::table::model
