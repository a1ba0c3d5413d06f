#include "warploom/io/sequences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "warploom/core/error.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

using Records = std::vector<SequenceRecord>;

TEST(Sequences, OfFastaKeepWhatTheLettersAre) {
  EXPECT_EQ(parse_sequences(";old\n>a b  c\nAC GU\nX-9\n\n>\n>d\nA\r\n", "f"),
            (Records{{"a", "b  c", "ACGUX-9", 2}, {"", "", "", 6}, {"d", "", "A", 7}}));
}
TEST(Sequences, OfFastaMayStandBeforeTheFirstHeader) {
  EXPECT_EQ(parse_sequences(";c\nAC\n>d\nG\n", "f"), (Records{{"", "", "AC", 2}, {"d", "", "G", 3}}));
}
TEST(Sequences, OfPlainTextAreLines) {
  EXPECT_EQ(parse_sequences("\xEF\xBB\xBF"
                            "ACGU\r\rGG\n",
                            "f"),
            (Records{{"", "", "ACGU", 1}, {"", "", "GG", 3}}));
  EXPECT_EQ(parse_sequences(gzip("AC\n", 6), "f"), (Records{{"", "", "AC", 1}}));
  EXPECT_EQ(parse_sequences("\n \n", "f"), Records{});
}
TEST(Sequences, OfFastqLoseTheirQualities) {
  EXPECT_EQ(parse_sequences("@r 1\nACG\n+\n@II\n\n@s\nA\n+s\nI", "f"),
            (Records{{"r", "1", "ACG", 1}, {"s", "", "A", 6}}));
}
TEST(Sequences, OfABrokenFastqAreRefusedWithTheLine) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_sequences(text, "f");
    } catch (const ParseError& error) {
      return error.what();
    }
    return "read";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal("@r\nACG\n+\nII\n"), HasSubstr("f:4:1: 2 qualities of 3 letters"));
  EXPECT_THAT(refusal("@r\nACG\n"), HasSubstr("the file ends before the '+'"));
  EXPECT_THAT(refusal("@r\nACG\nIII\n+\n"), HasSubstr("f:3:1: the third line"));
  EXPECT_THAT(refusal("@r\nA\n+\nI\nACG\n"), HasSubstr("f:5:1: a FASTQ record begins with '@'"));
}

}  // namespace
}  // namespace warploom::io
