// Printing what was parsed gives the text back, and whatever is done to a text, it parses or is refused
// with a position inside it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "ptx/invariants.hpp"
#include "ptx/lex.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::ptx {
namespace {

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(WARPLOOM_TESTS_DIR "/ptx/cases"))
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string case_text(const std::string& name) {
  return read_file(WARPLOOM_TESTS_DIR "/ptx/cases/" + name + ".ptx");
}

/// Whether the text parses; checks what must hold in either case.
bool parses(const std::string& text) {
  try {
    const Module m = parse(text, "case.ptx");
    EXPECT_EQ(print(m), text);
    EXPECT_EQ(broken_invariant(m), "") << text;
    return true;
  } catch (const ParseError& e) {
    const auto lines = static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')) + 1;
    EXPECT_GE(e.where().line, 1u);
    EXPECT_GE(e.where().column, 1u);
    EXPECT_LE(e.where().line, lines) << e.what();
    std::size_t begin = 0;
    for (unsigned line = 1; line < e.where().line; ++line) begin = text.find('\n', begin) + 1;
    EXPECT_LE(begin + e.where().column - 1, text.size()) << e.what();
    return false;
  }
}

/// Where tokens begin: names, numbers, strings and single characters.
std::vector<Span> tokens(const std::string& text) {
  const std::string file = "tokens";
  Lexer lex(text, file);
  std::vector<Span> spans;
  while (!lex.done()) {
    const std::uint32_t begin = lex.at();
    if (Lexer::is_name_start(lex.peek()))
      lex.name("a name");
    else if (lex.peek() == '"')
      lex.string_literal();
    else
      lex.advance();
    spans.push_back({begin, lex.end()});
  }
  return spans;
}

class EveryCase : public testing::TestWithParam<std::string> {};

TEST_P(EveryCase, PrintsAsItCame) { EXPECT_TRUE(parses(case_text(GetParam()))); }

TEST_P(EveryCase, PrintsAsItCameWithCarriageReturns) {
  std::string text;
  for (const char c : case_text(GetParam())) text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_TRUE(parses(text));
}

TEST_P(EveryCase, CutAtAnyByteParsesOrIsRefused) {
  const std::string text = case_text(GetParam());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < text.size(); ++size) refused += !parses(text.substr(0, size));
  EXPECT_GT(refused, 10u);  // at least all up to the version
}

TEST_P(EveryCase, WithoutAnyOneTokenParsesOrIsRefused) {
  const std::string text = case_text(GetParam());
  for (const Span t : tokens(text)) parses(text.substr(0, t.begin) + text.substr(t.end));
}

TEST_P(EveryCase, WithAnyOneTokenTwiceParsesOrIsRefused) {
  const std::string text = case_text(GetParam());
  for (const Span t : tokens(text)) parses(text.substr(0, t.end) + " " + text.substr(t.begin));
}

TEST_P(EveryCase, WithRandomTokensMovedParsesOrIsRefused) {
  const std::string text = case_text(GetParam());
  const std::vector<Span> all = tokens(text);
  std::mt19937 random(1);
  const auto any = [&] { return all[random() % all.size()]; };
  for (int round = 0; round < 500; ++round) {
    std::string changed = text;
    for (int change = 0; change < 3; ++change) {
      const Span from = any();
      const std::size_t to = std::min<std::size_t>(any().begin, changed.size());
      changed.insert(to, text.substr(from.begin, from.end - from.begin) + " ");
      if (round % 2) changed.erase(std::min<std::size_t>(any().begin, changed.size()), 1);
    }
    parses(changed);
  }
}

TEST_P(EveryCase, WithOneByteReplacedParsesOrIsRefused) {
  const std::string text = case_text(GetParam());
  for (const char c : {'\0', '\n', ';', '}', '{', '"', '%', '.', '\xff'})
    for (std::size_t at = 0; at < text.size(); at += 1 + text.size() / 4096) {
      std::string changed = text;
      changed[at] = c;
      parses(changed);
    }
}

INSTANTIATE_TEST_SUITE_P(Ptx, EveryCase, testing::ValuesIn(case_names()),
                         [](const auto& test) { return test.param; });

TEST(Print, SurvivesAMoveOfTheModule) {
  Module first = parse(".version 8.0 .target sm_90 .shared .b8 tile[4];");
  const Module second = std::move(first);
  EXPECT_EQ(print(second), ".version 8.0 .target sm_90 .shared .b8 tile[4];");
  EXPECT_EQ(second.variables[0].name, "tile");
  EXPECT_EQ(second.variables[0].name.data(), second.text.data() + second.variables[0].name_span.begin);
}

TEST(Print, SurvivesAMoveOfAShortModule) {
  Module first = parse(".version 8.0");  // short enough to live inside a std::string
  const Module second = std::move(first);
  EXPECT_EQ(second.version, "8.0");
  EXPECT_EQ(second.version.data(), second.text.data() + 9);
}

}  // namespace
}  // namespace warploom::ptx
