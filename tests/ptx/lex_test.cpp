#include "ptx/lex.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "warploom/core/error.hpp"

namespace warploom::ptx {
namespace {

const std::string kFile = "lex.ptx";

Lexer lexer(std::string_view text) { return Lexer(text, kFile); }

Lexer::Number number(std::string_view text) {
  Lexer lex = lexer(text);
  const Lexer::Number n = lex.number();
  EXPECT_EQ(lex.end(), text.size()) << text;
  return n;
}

TEST(Lex, SkipsWhiteSpaceAndBothKindsOfComment) {
  Lexer lex = lexer(" \t\r\n\f\v// one } ;\n/* two\n * / three */ x");
  EXPECT_EQ(lex.peek(), 'x');
  EXPECT_EQ(lex.line(), 4u);
}

TEST(Lex, EndsInsideALineCommentWithoutANewline) {
  Lexer lex = lexer("  // nothing else");
  EXPECT_TRUE(lex.done());
  EXPECT_EQ(lex.peek(), '\0');
}

TEST(Lex, ASlashAloneIsAToken) { EXPECT_EQ(lexer(" / 2").peek(), '/'); }

TEST(Lex, ANulByteIsNotTheEnd) {
  Lexer lex = lexer(std::string_view(" \0x", 3));
  EXPECT_EQ(lex.peek(), '\0');
  EXPECT_FALSE(lex.done());
}

TEST(Lex, NamesMayHoldDollarPercentAndUnderscore) {
  for (const std::string_view name : {"%r12", "$L__BB0_4", "_ZN3abcE", "x", "_", "%", "a$b"})
    EXPECT_EQ(lexer(name).name("a name"), name);
  EXPECT_EQ(lexer("%r1.x").name("a name"), "%r1");
  EXPECT_EQ(lexer("a%b").name("a name"), "a");
}

TEST(Lex, AnInstructionsNameHoldsDotsColonsAndDigits) {
  for (const std::string_view name :
       {"ret", "ld.shared::cta.v4.f32", "ld.global.L2::128B.b32", "tcgen05.ld.sync.aligned.16x64b.x1.b32",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"})
    EXPECT_EQ(lexer(name).dotted(), name);
  EXPECT_EQ(lexer("call.uni(a)").dotted(), "call.uni");
  EXPECT_EQ(lexer("mov.b32%r1").dotted(), "mov.b32");
  EXPECT_EQ(lexer("L: ret").dotted(), "L");
}

TEST(Lex, DirectivesHoldNoMoreThanOneWord) {
  EXPECT_EQ(lexer(".b32.v2").directive(), ".b32");
  EXPECT_EQ(lexer(".shared::cta x").directive(), ".shared::cta");
  EXPECT_EQ(lexer(".branchtargets:").directive(), ".branchtargets");
}

TEST(Lex, ASuffixIsGluedToItsName) {
  Lexer glued = lexer("%r1.x"), apart = lexer("%r1 .x");
  glued.name("a name");
  apart.name("a name");
  EXPECT_EQ(glued.suffix(), "x");
  EXPECT_EQ(apart.suffix(), "");
}

TEST(Lex, ABackslashInAStringIsACharacter) {
  EXPECT_EQ(lexer(R"("C:\dir\")").string_literal(), R"(C:\dir\)");
}

TEST(Lex, IntegersOfEveryBase) {
  EXPECT_EQ(number("0").bits, 0u);
  EXPECT_EQ(number("12345").bits, 12345u);
  EXPECT_EQ(number("42U").bits, 42u);
  EXPECT_EQ(number("0x1Fu").bits, 31u);
  EXPECT_EQ(number("0XfF").bits, 255u);
  EXPECT_EQ(number("0b101").bits, 5u);
  EXPECT_EQ(number("017").bits, 15u);
  EXPECT_EQ(number("999999999999999999").bits, 999999999999999999u);
  EXPECT_EQ(number("18446744073709551615").bits, UINT64_MAX);
  EXPECT_EQ(number("0xffffffffffffffffU").bits, UINT64_MAX);
}

TEST(Lex, FloatsAreBitPatterns) {
  const Lexer::Number single = number("0f3F800000"), twice = number("0D3ff0000000000000"),
                      decimal = number("1.5e-3");
  EXPECT_TRUE(single.real && single.single);
  EXPECT_EQ(single.bits, std::bit_cast<std::uint32_t>(1.0f));
  EXPECT_TRUE(twice.real && !twice.single);
  EXPECT_EQ(twice.bits, std::bit_cast<std::uint64_t>(1.0));
  EXPECT_TRUE(decimal.real && !decimal.single);
  EXPECT_EQ(decimal.bits, std::bit_cast<std::uint64_t>(1.5e-3));
  EXPECT_EQ(number("2.").bits, std::bit_cast<std::uint64_t>(2.0));
  EXPECT_EQ(number("1E+2").bits, std::bit_cast<std::uint64_t>(100.0));
}

TEST(Lex, SignsOfAnOffsetAdd) {
  EXPECT_EQ(lexer("+-4").signed_integer("an offset"), -4);
  EXPECT_EQ(lexer("- -4").signed_integer("an offset"), 4);
  EXPECT_EQ(lexer("-9223372036854775808").signed_integer("an offset"), INT64_MIN);
}

TEST(Lex, MalformedNumbersAreRefusedWhereTheyBegin) {
  for (const std::string_view text :
       {"18446744073709551616", "0x", "0xg", "08", "0b2", "1.2.3", "12ab", "0f3F80000", "0d3FF", "1e999"}) {
    Lexer lex = lexer(text);
    try {
      lex.number();
      ADD_FAILURE() << text << " is taken for a number";
    } catch (const ParseError& e) {
      EXPECT_EQ(e.where().column, 1u) << text;
    }
  }
}

TEST(Lex, PositionsCountLinesAndColumnsFromOne) {
  Lexer lex = lexer("a\n\n  ?");
  lex.name("a name");
  try {
    lex.name("another name");
    FAIL();
  } catch (const ParseError& e) {
    EXPECT_EQ(e.where().file, "lex.ptx");
    EXPECT_EQ(e.where().line, 3u);
    EXPECT_EQ(e.where().column, 3u);
    EXPECT_STREQ(e.what(), "lex.ptx:3:3: expected another name, found '?'");
  }
}

}  // namespace
}  // namespace warploom::ptx
