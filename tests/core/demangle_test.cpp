#include "warploom/core/demangle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace warploom {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(std::vector<std::string> symbols) { return object_names(symbols); }

TEST(FunctionName, LeavesOutReturnTypeAndParameters) {
  EXPECT_EQ(function_name("_Z4demoILi256ELi8EEvPKiPiS2_"), "demo<256, 8>");
}

TEST(FunctionName, OfAnOrdinaryFunctionHasNoParameters) { EXPECT_EQ(function_name("_Z2stPi"), "st"); }

TEST(FunctionName, KeepsNamespacesTheAnonymousOneIncluded) {
  EXPECT_EQ(function_name("_ZN36_GLOBAL__N__d1a01ae8_4_s_cu__Z1hPiPf4anonEPi"),
            "(anonymous namespace)::anon");
}

TEST(FunctionName, OfExternCIsTheSymbol) { EXPECT_EQ(function_name("rank_keys"), "rank_keys"); }

TEST(FunctionName, OfATemplateWithFunctionTypeArgumentEndsAtItsOwnParameters) {
  // template <class F> void apply(F, int*), with F = void (*)(int)
  EXPECT_EQ(function_name("_Z5applyIPFviEEvT_Pi"), "apply<void (*)(int)>");
}

TEST(FunctionName, OfCallOperatorKeepsBothPairsOfItsBrackets) {
  EXPECT_EQ(function_name("_ZNK1SclEi"), "S::operator()");
}

TEST(FunctionName, OfShiftOperatorIsNotTakenForATemplate) {
  EXPECT_EQ(function_name("_ZlsR1SS0_"), "operator<<");
}

TEST(FunctionName, WithoutTheWrappingOfRelocatableCode) {
  EXPECT_EQ(function_name("__nv_static_25__d1a01ae8_4_s_cu__Z1hPiPf__Z2stPi"), "st");
}

TEST(Demangle, GivesBackWhatIsNoMangledName) {
  for (const char* name :
       {"_$_0", "global_smem", "_Z", "_ZZ4demo", "_Zxyzzy", "__nv_static_", "__nv_static_99__a", ""})
    EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, DropsTheNamespaceOfInternalLinkage) {
  EXPECT_EQ(demangle("_ZN34_INTERNAL_d1a01ae8_4_s_cu__Z1hPiPf36_GLOBAL__N__d1a01ae8_4_s_cu__Z1hPiPf6hiddenE"),
            "(anonymous namespace)::hidden");
}

TEST(ObjectNames, LeaveOutTheEnclosingFunction) {
  EXPECT_THAT(names_of({"_ZZ4demoILi256ELi8EEvPKiPiS2_E1a", "_ZZ9rank_keysE4sort"}),
              ElementsAre("a", "sort"));
}

TEST(ObjectNames, OfTwoInlinedFunctionsNameTheFunctionOnlyWhereItIsNeeded) {
  EXPECT_THAT(names_of({"_ZZ1fIfET_S0_E1a", "_ZZ1fIiET_S0_E1a", "_ZZ1kPfE1b"}),
              ElementsAre("f<float>()::a", "f<int>()::a", "b"));
}

TEST(ObjectNames, OfACallOperatorAndALambda) {
  EXPECT_THAT(names_of({"_ZZNK1SclEiE1a", "_ZZ2stPiE1a", "_ZZZ1kI1SEvT_PfENKUliE_clEiE1z"}),
              ElementsAre("S::operator()()::a", "st()::a", "z"));
}

TEST(ObjectNames, OfTwoOverloadsHaveTheParameters) {
  EXPECT_THAT(names_of({"_ZZ1fiE1a", "_ZZ1ffE1a"}), ElementsAre("f(int)::a", "f(float)::a"));
}

TEST(ObjectNames, OfTwoScopesOfOneFunctionAreNumbered) {
  EXPECT_THAT(names_of({"_ZZ2stPiE1b", "_ZZ2stPiE1b_0", "_ZZ2stPiE1a"}), ElementsAre("b#1", "b#2", "a"));
}

TEST(ObjectNames, NumbersGoWithTheFunctionWhereAnotherOneHasThatNameToo) {
  EXPECT_THAT(names_of({"_ZZ2stPiE1b", "_ZZ2stPiE1b_0", "_ZZ2uuPiE1b"}),
              ElementsAre("st()::b#1", "st()::b#2", "uu()::b"));
}

TEST(ObjectNames, KeepTheNamespaceOfAModuleScopeArray) {
  EXPECT_THAT(names_of({"_ZN2ns5tableE", "_ZL5local"}), ElementsAre("ns::table", "local"));
}

TEST(ObjectNames, PassNumberedNamesThrough) {
  EXPECT_THAT(names_of({"_$_0", "_$_1", "global_smem"}), ElementsAre("_$_0", "_$_1", "global_smem"));
}

}  // namespace
}  // namespace warploom
