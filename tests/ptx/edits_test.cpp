#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warploom/core/error.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::ptx {
namespace {

TEST(Edits, NoneLeavesTheText) {
  EXPECT_TRUE(Edits().empty());
  EXPECT_EQ(Edits().apply("ret;"), "ret;");
}

TEST(Edits, ReplacementsApplyInTheOrderOfTheTextNotOfTheCalls) {
  Edits edits;
  edits.replace({4, 5}, "E");
  edits.replace({0, 2}, "first");
  EXPECT_FALSE(edits.empty());
  EXPECT_EQ(edits.apply("abcdef"), "firstcdEf");
}

TEST(Edits, InsertionsAtOnePlaceKeepTheOrderOfTheCalls) {
  Edits edits;
  edits.insert(1, "1");
  edits.insert(1, "2");
  edits.insert(0, "0");
  edits.insert(2, "3");
  EXPECT_EQ(edits.apply("ab"), "0a12b3");
}

TEST(Edits, AnInsertionBeforeAReplacementStandsBeforeIt) {
  Edits edits;
  edits.replace({1, 2}, "X");
  edits.insert(1, "+");
  edits.insert(2, "-");
  EXPECT_EQ(edits.apply("abc"), "a+X-c");
}

TEST(Edits, AReplacementMayBeEmpty) {
  Edits edits;
  edits.replace({0, 3}, "");
  EXPECT_EQ(edits.apply("abc"), "");
}

TEST(Edits, OverlappingReplacementsAreAnInternalError) {
  Edits edits;
  edits.replace({0, 2}, "x");
  edits.replace({1, 3}, "y");
  EXPECT_THROW(edits.apply("abc"), Internal);
}

TEST(Edits, AnInsertionInsideAReplacementIsAnInternalError) {
  Edits edits;
  edits.replace({0, 3}, "x");
  edits.insert(1, "y");
  EXPECT_THROW(edits.apply("abc"), Internal);
}

TEST(Edits, ASpanOutsideTheTextIsAnInternalError) {
  Edits past, backwards;
  past.replace({2, 4}, "x");
  backwards.replace({2, 1}, "x");
  EXPECT_THROW(past.apply("abc"), Internal);
  EXPECT_THROW(backwards.apply("abc"), Internal);
}

TEST(Edits, ChangeOnlyWhatTheyNameOfAModule) {
  const Module m = parse(
      ".version 8.0 .target sm_90\n.shared .b8 tile[64]; // kept\n.entry k() { .reg .b32 %r; mov.b32 %r, "
      "tile; ret; }");
  const Function& f = m.functions[0];
  Edits edits;
  edits.replace(m.variables[0].declaration, ".shared .b8 pool[32];");
  edits.replace(f.operands_of(f.instructions[0])[1].span, "pool+16");
  edits.insert(f.instructions[1].span.begin, "bar.sync 0; ");
  EXPECT_EQ(edits.apply(print(m)),
            ".version 8.0 .target sm_90\n.shared .b8 pool[32]; // kept\n"
            ".entry k() { .reg .b32 %r; mov.b32 %r, pool+16; bar.sync 0; ret; }");
}

}  // namespace
}  // namespace warploom::ptx
