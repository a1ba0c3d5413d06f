// Growth in every order of its accesses to memory: chain_split.hpp, see model_checker.hpp.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {
namespace {

std::uint32_t programs(std::uint32_t here) {
  const char* wanted = std::getenv("WARPLOOM_MODEL_PROGRAMS");
  return wanted != nullptr ? static_cast<std::uint32_t>(std::stoul(wanted)) : here;
}

TEST(GrowthModel, One) {
  const Program program{"one", {{Operation::insert, 0, 9}}, {{{Operation::insert, 1, 5},{Operation::find,1},{Operation::find,0}}, {{Operation::find, 1}}}};
  const Result result = check(program, kGrowing<1>);
  EXPECT_FALSE(result.violation) << *result.violation;
  std::cout << result.states << " states, longest " << result.longest << '\n';
}
TEST(GrowthModel, Two) {
  const Program program{"one", {{Operation::insert, 0, 9}}, {{{Operation::insert, 1, 5},{Operation::add,1,3}}, {{Operation::erase, 1},{Operation::insert,1,6}}}};
  const Result result = check(program, kGrowing<1>);
  EXPECT_FALSE(result.violation) << *result.violation;
  std::cout << result.states << " states, longest " << result.longest << '\n';
}
TEST(GrowthModel, Random) {
  for(int pre : {2,3,4}) {
  std::uint64_t states = 0, incomplete = 0;
  for (std::uint32_t seed = 0; seed < programs(30); ++seed) {
    Program p = random_program(2, 3, seed);
    p.pool=1+seed%3;
    p.before={{Operation::insert, seed%2u, 9}};
    if (seed%3==0) p.before.push_back({Operation::insert, 1-seed%2u, 8});
    const Result result = check(p, seed%3==0?kGrowing<2>:kGrowing<1>, {.preemptions=pre});
    ASSERT_FALSE(result.violation) << *result.violation;
    states += result.states; incomplete += !result.complete;
  }
  std::cout << pre << ' ' << states << " states " << incomplete << std::endl;
  }
}

}  // namespace
}  // namespace warploom::table::model
