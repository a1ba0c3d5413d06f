#include "warploom/fold/formats.hpp"

#include <gtest/gtest.h>

#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

TEST(Formats, EnergiesHaveTwoDigits) {
  EXPECT_EQ(kcal(-1234), "-12.34");
  EXPECT_EQ(kcal(-5), "-0.05");
  EXPECT_EQ(kcal(0), "0.00");
  EXPECT_EQ(kcal(700), "7.00");
}
TEST(Formats, ConnectivityTable) {
  EXPECT_EQ(connectivity_table("GAAAC", "(...)", 560, "x y"),
            "5 ENERGY = 5.60 x y\n1 G 0 2 5 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 A 3 5 0 4\n5 C 4 0 1 5\n");
}
TEST(Formats, Bpseq) { EXPECT_EQ(bpseq("GAAAC", "(...)", "x"), "# x\n1 G 5\n2 A 0\n3 A 0\n4 A 0\n5 C 1\n"); }
TEST(Formats, RefuseAStructureOfAnotherLength) {
  EXPECT_THROW(connectivity_table("GAAAC", "(...).", 0, ""), BadInput);
  EXPECT_THROW(bpseq("GAAAC", "(....", ""), BadInput);
}

}  // namespace
}  // namespace warploom::fold
