#include "search/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warploom::search {
namespace {

using testing::DoubleNear;
using testing::Optional;

TEST(Units, OfOneQuantityAreConverted) {
  EXPECT_THAT(factor_between("g", "m/s^2"), Optional(DoubleNear(9.80665, 1e-9)));
  EXPECT_THAT(factor_between("m/s\u00b2", "mg"), Optional(DoubleNear(1000 / 9.80665, 1e-9)));
  EXPECT_THAT(factor_between("rad/s", "deg/s"), Optional(DoubleNear(57.29577951, 1e-6)));
  EXPECT_THAT(factor_between("mV", "uV"), Optional(DoubleNear(1000, 1e-9)));
}

TEST(Units, WrittenAlikeAreTheSameWhateverTheyAre) {
  EXPECT_THAT(factor_between("counts", " Counts"), Optional(1));
}

TEST(Units, ThatAreNotKnownOrOfAnotherQuantityAreNotConverted) {
  EXPECT_EQ(factor_between("", "g"), std::nullopt);
  EXPECT_EQ(factor_between("", ""), std::nullopt);
  EXPECT_EQ(factor_between("counts", "g"), std::nullopt);
  EXPECT_EQ(factor_between("deg/s", "m/s^2"), std::nullopt);
}

}  // namespace
}  // namespace warploom::search
