#include "warploom/core/error.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

TEST(Error, AParseErrorNamesFileLineAndColumn) {
  const ParseError error({"k.ptx", 12, 7}, "expected ';', found '}'");
  EXPECT_STREQ(error.what(), "k.ptx:12:7: expected ';', found '}'");
  EXPECT_EQ(error.where().file, "k.ptx");
  EXPECT_EQ(error.where().line, 12U);
  EXPECT_EQ(error.where().column, 7U);
}

TEST(Error, AParseErrorIsBadInput) { EXPECT_THROW(throw ParseError({"k.ptx", 1, 1}, "bad"), BadInput); }

TEST(Error, AMessageIsNotCutWhereAValueInItHasAZero) {
  EXPECT_STREQ(BadInput(std::string("no file 'a\0b'", 13)).what(), "no file 'a\ufffdb'");
}

}  // namespace
}  // namespace warploom
