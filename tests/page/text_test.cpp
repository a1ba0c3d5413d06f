#include "warploom/page/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace warploom::page {
namespace {

TEST(Grouped, PutsACommaBetweenThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Grouped, HasAMinusSign) {
  EXPECT_EQ(grouped(-16896), "\u221216,896");
  EXPECT_EQ(grouped(-1), "\u22121");
}

TEST(Escaped, MayStandBetweenTagsAndInAttributesOfBothQuotes) {
  EXPECT_EQ(escaped("<a title=\"x\" b='y'>&amp;"), "&lt;a title=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
}

TEST(Escaped, LeavesLinesAndLettersAndNoControlCharacters) {
  EXPECT_EQ(escaped("\u00B5m\nx"), "\u00B5m\nx");
  EXPECT_EQ(escaped(std::string_view("a\0b\x1B\x7F", 5)), "a\uFFFDb\uFFFD\uFFFD");
}

TEST(JsonString, IsAStringOfJsonThatCannotEndAScript) {
  EXPECT_EQ(json_string("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(json_string("</script>\n"), R"("\u003c/script>\u000a")");
  EXPECT_EQ(json_string(""), "\"\"");
}

TEST(JsonString, KeepsUtf8AndReplacesWhatIsNone) {
  for (const std::string text : {"\u00B5", "\u20AC", "\U0001F600", "\uD7FF", "\uE000", "\U0010FFFF"})
    EXPECT_EQ(json_string(text), '"' + text + '"');
  const std::string replaced = "\uFFFD";
  EXPECT_EQ(json_string("a\xFFz"), "\"a" + replaced + "z\"");
  EXPECT_EQ(json_string("\xC3"), '"' + replaced + '"');                                // cut off
  EXPECT_EQ(json_string("\xC0\xAF"), '"' + replaced + replaced + '"');                 // too long for '/'
  EXPECT_EQ(json_string("\xED\xA0\x80"), '"' + replaced + replaced + replaced + '"');  // a surrogate
  EXPECT_EQ(json_string("\xF4\x90\x80\x80"),
            '"' + replaced + replaced + replaced + replaced + '"');  // past the last
}

}  // namespace
}  // namespace warploom::page
