#include "tile/c/lex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Walks over a text in which a backslash at a line's end joins it with the next.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { skip_splices(); }

  bool done() const { return at_ >= text_.size(); }
  /// 0 past the end; a NUL of the text is told apart by done().
  char peek() const { return done() ? '\0' : text_[at_]; }
  char peek_next() const {
    Cursor next = *this;
    next.advance();
    return next.peek();
  }
  char peek_third() const {
    Cursor next = *this;
    next.advance();
    next.advance();
    return next.peek();
  }
  void advance() {
    if (done()) return;
    step();
    skip_splices();
  }
  Position at() const { return {line_, column_}; }

 private:
  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
    ++at_;
  }
  void skip_splices() {
    while (at_ < text_.size() && text_[at_] == '\\') {
      if (text_.substr(at_ + 1, 1) == "\n") {
        step();
      } else if (text_.substr(at_ + 1, 2) == "\r\n") {
        step();
        step();
      } else {
        return;
      }
      step();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1, column_ = 1;
};

constexpr std::array<std::string_view, 22> kLongPunctuators{"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                                            "<=",  ">=",  "==",  "!=", "&&", "||", "*=", "/=",
                                                            "%=",  "+=",  "-=",  "&=", "^=", "|="};
constexpr std::string_view kPunctuators = "[](){}.&*+-~!/%<>^|?:;=,#";

constexpr std::size_t kMostTokens = 2'000'000;  // as macros.cpp: what is no C ends early

class Lexer {
 public:
  Lexer(std::string_view text, std::uint16_t file, const std::string& name)
      : cursor_(text), file_(file), name_(name) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    bool line_start = true;
    while (true) {
      Token token;
      token.line_start = skip_space(token.space_before) || line_start;
      token.file = file_;
      token.at = cursor_.at();
      if (cursor_.done()) {
        token.line_start = true;
        tokens.push_back(std::move(token));
        return tokens;
      }
      if (tokens.size() == kMostTokens)
        throw ParseError({name_, token.at.line, token.at.column},
                         fmt::format("more than {} tokens in one file", kMostTokens));
      read(token);
      line_start = false;
      tokens.push_back(std::move(token));
    }
  }

 private:
  /// @return whether a line ended
  bool skip_space(bool& any) {
    bool line_ended = false;
    while (!cursor_.done()) {
      const char c = cursor_.peek();
      if (c == '\n') {
        line_ended = true;
        cursor_.advance();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        cursor_.advance();
      } else if (c == '/' && cursor_.peek_next() == '/') {
        while (!cursor_.done() && cursor_.peek() != '\n') cursor_.advance();
      } else if (c == '/' && cursor_.peek_next() == '*') {
        skip_comment();
      } else {
        break;
      }
      any = true;
    }
    return line_ended;
  }

  void skip_comment() {
    const Position begin = cursor_.at();
    cursor_.advance();
    cursor_.advance();
    while (!cursor_.done()) {
      if (cursor_.peek() == '*' && cursor_.peek_next() == '/') {
        cursor_.advance();
        cursor_.advance();
        return;
      }
      cursor_.advance();
    }
    throw ParseError({name_, begin.line, begin.column}, "comment without end: expected '*/'");
  }

  void take(Token& token) {
    token.text += cursor_.peek();
    cursor_.advance();
  }

  void read(Token& token) {
    const char c = cursor_.peek();
    if (is_name_start(c)) {
      token.kind = Token::Kind::identifier;
      while (is_name_start(cursor_.peek()) || is_digit(cursor_.peek())) take(token);
    } else if (is_digit(c) || (c == '.' && is_digit(cursor_.peek_next()))) {
      token.kind = Token::Kind::number;
      read_number(token);
    } else if (c == '"' || c == '\'') {
      read_quoted(token, c);
    } else {
      read_punctuator(token);
    }
  }

  void read_number(Token& token) {
    while (true) {
      const char c = cursor_.peek();
      if (!is_name_start(c) && !is_digit(c) && c != '.') return;
      take(token);
      const bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
      if (exponent && (cursor_.peek() == '+' || cursor_.peek() == '-')) take(token);
    }
  }

  void read_quoted(Token& token, char quote) {
    token.kind = quote == '"' ? Token::Kind::string : Token::Kind::character;
    take(token);
    while (!cursor_.done() && cursor_.peek() != '\n') {
      const char c = cursor_.peek();
      take(token);
      if (c == quote) return;
      if (c == '\\' && !cursor_.done() && cursor_.peek() != '\n') take(token);
    }
    token.kind = Token::Kind::other;  // an apostrophe in text that no compiler sees is no error
  }

  void read_punctuator(Token& token) {
    const std::array<char, 3> next{cursor_.peek(), cursor_.peek_next(), cursor_.peek_third()};
    const std::string_view ahead(next.data(), next.size());
    token.kind = Token::Kind::punctuator;
    const auto found =
        std::ranges::find_if(kLongPunctuators, [&](std::string_view p) { return ahead.starts_with(p); });
    std::size_t length = found != kLongPunctuators.end() ? found->size() : 1;
    if (ahead.starts_with("##")) length = 2;
    if (length == 1 && (ahead[0] == '\0' || kPunctuators.find(ahead[0]) == std::string_view::npos))
      token.kind = Token::Kind::other;
    for (std::size_t i = 0; i < length; ++i) take(token);
  }

  Cursor cursor_;
  std::uint16_t file_;
  const std::string& name_;
};

}  // namespace

std::vector<Token> tokenise(std::string_view text, std::uint16_t file, const std::string& file_name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Lexer(text, file, file_name).run();
}

bool parse_integer(std::string_view text, bool negated, std::int64_t& value) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  const int base = hexadecimal ? 16 : text.size() > 1 && text[0] == '0' ? 8 : 10;
  std::uint64_t magnitude = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, magnitude, base);
  if (error == std::errc::invalid_argument) return false;
  const std::string_view suffix(end, static_cast<std::size_t>(last - end));
  if (suffix.find_first_not_of("uUlL") != std::string_view::npos || suffix.size() > 3) return false;
  const std::uint64_t limit = std::uint64_t{1} << 63;
  if (error != std::errc{} || magnitude > (negated ? limit : limit - 1))
    throw std::out_of_range("integer beyond 64 bits");
  value = static_cast<std::int64_t>(negated ? 0 - magnitude : magnitude);
  return true;
}

}  // namespace warploom::tile
