#include "ptx/lex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "warploom/core/error.hpp"

namespace warploom::ptx {
namespace {

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::skip_slowly() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      skip_line();
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const std::size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) fail(at(), "comment is never closed, expected '*/'");
      line_ += static_cast<std::uint32_t>(std::count(text_.begin() + at_, text_.begin() + close, '\n'));
      at_ = close + 2;
    } else {
      return;
    }
  }
}

void Lexer::skip_line() {
  const std::size_t newline = text_.find('\n', at_);
  at_ = newline == std::string_view::npos ? text_.size() : newline;
}

bool Lexer::take(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  advance();
  return true;
}

void Lexer::expect(char c, std::string_view context) {
  if (!take(c)) fail_expected(fmt::format("'{}' {}", c, context));
}

std::string_view Lexer::name(std::string_view what) {
  if (!is_name_start(peek())) fail_expected(what);
  const std::size_t begin = at_++;
  while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  end_ = at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::directive() {
  if (peek() != '.') fail_expected("a directive");
  const std::size_t begin = at_++;
  while (at_ < text_.size() && (is_name(text_[at_]) || (text_[at_] == ':' && at_ + 1 < text_.size() &&
                                                        text_[at_ + 1] == ':' && ++at_)))
    ++at_;
  if (at_ == begin + 1) fail_expected("a directive's name after '.'");
  end_ = at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::dotted() {
  if (const char first = peek(); !is_name_start(first) || first == '%') fail_expected("an instruction");
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (is_name(c))
      ++at_;
    else if ((c == '.' && is_name(next)) || (c == ':' && next == ':'))
      at_ += 2;
    else
      break;
  }
  end_ = at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::suffix() {
  if (at_ + 1 >= text_.size() || text_[at_] != '.' || !is_name(text_[at_ + 1])) return {};
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  end_ = at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::string_literal() {
  if (peek() != '"') fail_expected("a string");
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
  if (at_ >= text_.size() || text_[at_] != '"')
    fail(static_cast<std::uint32_t>(begin - 1), "string is never closed, expected '\"' on the same line");
  ++at_;
  end_ = at_;
  return text_.substr(begin, at_ - 1 - begin);
}

Lexer::Number Lexer::number() {
  if (!is_digit(peek())) fail_expected("a number");
  // Nearly all are short and decimal.
  std::uint64_t value = 0;
  std::size_t last = at_;
  while (last < text_.size() && is_digit(text_[last]))
    value = value * 10 + static_cast<unsigned>(text_[last++] - '0');
  const char next = last < text_.size() ? text_[last] : '\0';
  if (is_name(next) || next == '.' || last - at_ > 18 || (text_[at_] == '0' && last - at_ > 1))
    return number_slowly();
  at_ = end_ = last;
  return {.bits = value};
}

Lexer::Number Lexer::number_slowly() {
  Number n;
  const std::size_t begin = at_;
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  const auto hex_digits = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      const int digit = at_ < text_.size() ? hex_value(text_[at_]) : -1;
      if (digit < 0)
        fail(static_cast<std::uint32_t>(begin), fmt::format("expected {} hexadecimal digits", count));
      n.bits = n.bits << 4 | static_cast<unsigned>(digit);
    }
  };
  if (text_[at_] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    n.real = true;
    n.single = second == 'f' || second == 'F';
    at_ += 2;
    hex_digits(n.single ? 8 : 16);
  } else {
    std::size_t last = at_;
    while (last < text_.size() &&
           (is_name(text_[last]) || text_[last] == '.' ||
            ((text_[last] == '-' || text_[last] == '+') &&
             (text_[last - 1] == 'e' || text_[last - 1] == 'E') && second != 'x' && second != 'X')))
      ++last;
    std::string_view digits = text_.substr(at_, last - at_);
    if (digits.ends_with('U') || digits.ends_with('u')) digits.remove_suffix(1);
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
      if (second == 'x' || second == 'X')
        base = 16, digits.remove_prefix(2);
      else if (second == 'b' || second == 'B')
        base = 2, digits.remove_prefix(2);
      else if (is_digit(second))
        base = 8, digits.remove_prefix(1);
    }
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n.bits, base);
    if (error == std::errc() && stop != digits.data() + digits.size() && base == 10) {
      double value = 0;
      const auto real = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      stop = real.ptr;
      error = real.ec;
      n.real = true;
      std::memcpy(&n.bits, &value, sizeof value);
    }
    if (error != std::errc() || stop != digits.data() + digits.size())
      fail(static_cast<std::uint32_t>(begin),
           fmt::format("'{}' is not a number of 64 bits", text_.substr(begin, last - begin)));
    at_ = last;
  }
  end_ = at_;
  return n;
}

std::uint64_t Lexer::integer(std::string_view what) {
  if (!is_digit(peek())) fail_expected(what);
  const std::uint32_t begin = at();
  const Number n = number();
  if (n.real) fail(begin, fmt::format("expected {}, found a floating-point number", what));
  return n.bits;
}

std::int64_t Lexer::signed_integer(std::string_view what) {
  bool negative = false;
  while (peek() == '-' || peek() == '+') {
    negative ^= peek() == '-';
    advance();
  }
  const std::uint64_t magnitude = integer(what);
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

void Lexer::skip_past(char stop, std::string_view context) {
  for (;;) {
    const char c = peek();
    if (at_ >= text_.size()) fail_expected(fmt::format("'{}' {}", stop, context));
    if (c == '"') {
      string_literal();
      continue;
    }
    advance();
    if (c == stop) return;
  }
}

void Lexer::fail_expected(std::string_view what) {
  skip();
  if (at_ >= text_.size()) fail(at(), fmt::format("expected {}, found the end of the text", what));
  const char c = text_[at_];
  if (is_name(c) || c == '%' || c == '.') {
    std::size_t last = at_ + 1;
    while (last < text_.size() && last - at_ < 40 && is_name(text_[last])) ++last;
    fail(at(), fmt::format("expected {}, found '{}'", what, text_.substr(at_, last - at_)));
  }
  if (c < 0x20 || c == 0x7f)
    fail(at(), fmt::format("expected {}, found byte 0x{:02x}", what, static_cast<unsigned char>(c)));
  fail(at(), fmt::format("expected {}, found '{}'", what, c));
}

void Lexer::fail(std::uint32_t at, const std::string& message) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = static_cast<unsigned>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t newline = before.rfind('\n');
  const auto column = static_cast<unsigned>(at - (newline == std::string_view::npos ? 0 : newline + 1)) + 1;
  throw ParseError({file_, line, column}, message);
}

}  // namespace warploom::ptx
