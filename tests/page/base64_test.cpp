#include "warploom/page/base64.hpp"

#include <gtest/gtest.h>

namespace warploom::page {
namespace {

// RFC 4648, section 10.
TEST(Base64, OfTheStandardsExamples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, OfBytesThatAreNoText) { EXPECT_EQ(base64({"\xFF\xEF\x00\xFB", 4}), "/+8A+w=="); }

}  // namespace
}  // namespace warploom::page
