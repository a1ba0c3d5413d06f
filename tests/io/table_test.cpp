#include "warploom/io/table.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "child.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Table<double> table(std::string_view text) { return parse_table<double>(text, "t.txt"); }
std::string table_refusal(std::string_view text) {
  return message_of([&] { table(text); });
}

TEST(Table, CommasSemicolonsTabsAndBlanksSeparate) {
  for (const std::string_view text :
       {"1,2.5,-3\n4,5e2,+6\n", "1;2.5;-3\n4;5e2;+6\n", "1\t2.5\t-3\n4\t5e2\t+6\n", "1 2.5 -3\n4 5e2 +6\n",
        "  1 , 2.5,\t-3 \r\n 4 ,5e2, +6", "1  2.5 \t-3\r\n\r\n  4 5e2 +6  \r\n"}) {
    const Table<double> t = table(text);
    EXPECT_EQ(t.rows, 2) << text;
    EXPECT_EQ(t.columns, 3) << text;
    EXPECT_THAT(t.values, ElementsAre(1, 2.5, -3, 4, 500, 6)) << text;
    EXPECT_EQ(t(1, 2), 6) << text;
  }
}

TEST(Table, CommentsAndEmptyLinesAreSkippedAndLinesCounted) {
  const Table<double> t = table("# points\n\n1 2 # the first\n   # nothing\n3 4\n");
  EXPECT_THAT(t.values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(t.lines, ElementsAre(3u, 5u));
  EXPECT_THAT(t.header, IsEmpty());
}

TEST(Table, AFirstLineOfNamesIsAHeader) {
  EXPECT_THAT(table("x,y\n1,2\n").header, ElementsAre("x", "y"));
  EXPECT_THAT(table("\xef\xbb\xbf\"p i\",_q\r\n1,2\r\n").header, ElementsAre("p i", "_q"));
  EXPECT_THAT(table("# comment\np\tq\n1\t2\n").values, ElementsAre(1, 2));
  EXPECT_THAT(table("inf nan\n1 2\n").header, IsEmpty());  // values
}

TEST(Table, OnlyNamesAreAHeader) {
  EXPECT_EQ(table_refusal("1x 2\n3 4\n"), "t.txt:1:1: '1x' is no number");
  EXPECT_EQ(table_refusal("x 2\n3 4\n"), "t.txt:1:1: 'x' is no number");
  EXPECT_EQ(table_refusal("x y\nz w\n"), "t.txt:2:1: 'z' is no number");
  EXPECT_EQ(table_refusal("x y\n1 2 3\n"), "t.txt:2:1: 3 numbers in this row; the header names 2 columns");
  EXPECT_EQ(table_refusal("x y\n"), "t.txt: no numbers, only a header line");
}

TEST(Table, InfinityAndNanAreValues) {
  const Table<double> t = table("inf -inf nan\nInf +INF Infinity\n");
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(t(0, 0), kInf);
  EXPECT_EQ(t(0, 1), -kInf);
  EXPECT_TRUE(std::isnan(t(0, 2)));
  for (const std::int64_t column : {0, 1, 2}) EXPECT_EQ(t(1, column), kInf);
}

TEST(Table, WholeTellsWhetherNumbersHaveFractionsOrExponents) {
  EXPECT_TRUE(table("1 -2\n+3 inf\n").whole);
  EXPECT_FALSE(table("1 -2\n3. 4\n").whole);
  EXPECT_FALSE(table("1 2e3\n").whole);
}

TEST(Table, IntegersAreExact) {
  const Table<std::int64_t> t =
      parse_table<std::int64_t>("9223372036854775807 -9223372036854775808\n+5 -0\n", "t");
  EXPECT_THAT(t.values, ElementsAre(INT64_MAX, INT64_MIN, 5, 0));
}

TEST(Table, IntegersHaveTheInfinityThatTheCallerSays) {
  EXPECT_THAT(parse_table<std::int64_t>("1 inf -inf +inf\n", "t", 99).values, ElementsAre(1, 99, -99, 99));
  EXPECT_EQ(message_of([] { parse_table<std::int64_t>("1 inf\n", "t"); }), "t:1:3: 'inf' is no whole number");
}

TEST(Table, IntegersRefuseFractionsNanAndWhatIsTooLarge) {
  const auto refused = [](std::string_view text) {
    return message_of([&] { parse_table<std::int64_t>(text, "t", 99); });
  };
  EXPECT_EQ(refused("1 2.0\n"), "t:1:3: '2.0' is no whole number");
  EXPECT_EQ(refused("1\n1e3\n"), "t:2:1: '1e3' is no whole number");
  EXPECT_EQ(refused("1 nan\n"), "t:1:3: 'nan' is no whole number");
  EXPECT_EQ(refused("9223372036854775808\n"),
            "t:1:1: 9223372036854775808 is beyond the range of 64-bit integers");
}

TEST(Table, ARaggedRowIsNamedByItsLine) {
  EXPECT_EQ(table_refusal("1 2\n3 4\n\n5\n"),
            "t.txt:4:1: 1 number in this row; the first row, in line 1, has 2");
  EXPECT_EQ(table_refusal("1,2\n3,4,5\n"),
            "t.txt:2:1: 3 numbers in this row; the first row, in line 1, has 2");
}

TEST(Table, AnEmptyFieldIsNamedByItsColumn) {
  EXPECT_EQ(table_refusal("1,2,3\n4,,6\n"), "t.txt:2:3: a field is empty; there is a number between two ','");
  EXPECT_THAT(table_refusal("1,2\n3,\n"), HasSubstr("t.txt:2:3: a field is empty"));
  EXPECT_THAT(table_refusal("1;2\n ; 4\n"), HasSubstr("t.txt:2:1: a field is empty"));
}

TEST(Table, DecimalCommasAreNotTakenForTwoNumbers) {
  EXPECT_EQ(table_refusal("1,5;2,5\n"), "t.txt:1:3: '5;2' is no number");
  EXPECT_EQ(table_refusal("1 2\n1,5 2\n"), "t.txt:2:1: '1,5' is no number");
}

TEST(Table, WhatIsNoNumberIsShownPrintable) {
  EXPECT_EQ(table_refusal("1 2\n3 a\x01\xff\n"), "t.txt:2:3: 'a?\?' is no number");
  EXPECT_THAT(table_refusal(std::string_view("\x00\x01\x02", 3)),
              HasSubstr("t.txt:1:1: '?\?\?' is no number"));
  EXPECT_THAT(table_refusal("\x93NUMPY\x01"), HasSubstr("is no number"));
  for (const std::string_view word : {"--1", "+-1", "++1", "+", "-", "0x10", "1_000", "1e"})
    EXPECT_THAT(table_refusal("1\n" + std::string(word)),
                HasSubstr("t.txt:2:1: '" + std::string(word) + "' is no number"));
}

TEST(Table, NumbersBeyondTheTypeAreRefused) {
  EXPECT_EQ(table_refusal("1 1e999\n"), "t.txt:1:3: 1e999 is beyond the range of float64");
  EXPECT_EQ(table("4.9e-324\n").values.front(), std::numeric_limits<double>::denorm_min());
}

TEST(Table, NoNumbersAreRefused) {
  for (const std::string_view text : {"", "\n\r\n", "# only\n", " \t\n"})
    EXPECT_EQ(table_refusal(text), "t.txt: no numbers") << text;
}

TEST(List, LinesMayHaveAnyLength) {
  const Table<std::int64_t> t = parse_list<std::int64_t>("# dimensions\n30 35\n15 5 10 20\n25\n", "t");
  EXPECT_EQ(t.rows, 1);
  EXPECT_EQ(t.columns, 7);
  EXPECT_THAT(t.values, ElementsAre(30, 35, 15, 5, 10, 20, 25));
  EXPECT_THAT(parse_list<double>("p\n0.1\n0.2\n", "t").values, ElementsAre(0.1, 0.2));
}

TEST(Table, AMillionNumbersComeBackAsTheyWere) {
  std::string text;
  std::vector<double> wanted;
  std::uint64_t state = 1;
  for (int row = 0; row < 10000; ++row)
    for (int column = 0; column < 100; ++column) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      wanted.push_back(std::ldexp(static_cast<double>(state >> 11), static_cast<int>(state >> 60) - 60));
      char word[32];
      text.append(word, static_cast<std::size_t>(std::snprintf(word, sizeof word, "%.17g%c", wanted.back(),
                                                               column == 99 ? '\n' : ' ')));
    }
  const Table<double> t = table(text);
  EXPECT_EQ(t.rows, 10000);
  EXPECT_EQ(t.values, wanted);
}

}  // namespace
}  // namespace warploom::io
