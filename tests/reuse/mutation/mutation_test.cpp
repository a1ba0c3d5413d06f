// The optimiser made wrong on purpose. Every wrong mutant must be caught by the independent check or by the
// simulator; what the simulator catches, the check must too, since it is to be sound; and what the faultless
// passes allow, the simulator must let pass. WARPLOOM_MUTATIONS=all tries every mutation of every kernel;
// otherwise those of the small kernels and a share of the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "trial.hpp"

namespace warploom::reuse::mutation {
namespace {

bool try_every_mutation() {
  const char* text = std::getenv("WARPLOOM_MUTATIONS");
  return text != nullptr && std::string_view(text) == "all";
}

/// Survivors apart: how many there may be is the caller's question.
void expect_judged_rightly(const CaseResult& result) {
  EXPECT_EQ(result.faultless, "") << result.name << ", faultless";
  for (const Trial& trial : result.trials) {
    if (trial.unchanged) continue;
    if (trial.violation.empty()) {
      EXPECT_EQ(trial.simulator, "") << result.name << ": " << trial.text();
    }
    if (!trial.simulator.empty()) {
      EXPECT_NE(trial.check, "") << result.name << ": " << trial.text();
    }
  }
}

Tally total(const CaseResult& result) {
  Tally sum;
  for (const auto& [fault, row] : tally(result)) sum.add(row);
  return sum;
}

TEST(Mutation, NoMutantOfANamedKernelSurvives) {
  std::vector<std::string> missing;
  const std::vector<Case> cases = named_cases(missing);
  for (const std::string& name : missing) std::cout << name << ": skipped, there is no nvcc\n";
  Tally sum;
  for (const Case& c : cases) {
    const bool large = c.module_text.size() > 10'000;
    const CaseResult result = try_all(c, !large || try_every_mutation() ? 1 : 41);
    EXPECT_EQ(result.skipped, "") << c.name;
    expect_judged_rightly(result);
    for (const Trial& trial : result.trials) EXPECT_FALSE(trial.survives()) << c.name << ": " << trial.text();
    sum.add(total(result));
  }
  EXPECT_GT(sum.check_only + sum.both, 200u);
  EXPECT_GT(sum.both, 100u) << "the simulator hardly catches anything";
}

/// Here the check sometimes proves more than the passes did, and what they would not allow is right after
/// all. Then the simulator has to be content, too.
TEST(Mutation, MutantsOfRandomKernelsAreCaughtOrHarmless) {
  Tally sum;
  std::size_t kernels = 0;
  for (const Case& c : random_cases(1, try_every_mutation() ? 300 : 60)) {
    const CaseResult result = try_all(c, try_every_mutation() ? 1 : 7);
    expect_judged_rightly(result);
    kernels += result.skipped.empty();
    sum.add(total(result));
  }
  EXPECT_GT(kernels, 20u);
  EXPECT_LT(10 * sum.survivors, sum.check_only + sum.both);
  EXPECT_GT(sum.both, 20u);
}

}  // namespace
}  // namespace warploom::reuse::mutation
