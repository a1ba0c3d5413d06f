#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// A cursor over PTX text. There is no token list: what a dot or a digit means depends on where it
/// stands (`%r1.x`, `ld.shared.v4.f32`, `.L2::128B`, `0f3F800000`), so the parser asks for what it expects.
class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Skips white space and comments; afterwards `at()` is a token or the end.
  void skip() {
    if (at_ < text_.size() && !(class_of(text_[at_]) & kSkippable)) return;
    skip_slowly();
  }
  bool done() {
    skip();
    return at_ >= text_.size();
  }
  /// The next character that is no white space, 0 at the end.
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool starts_with(std::string_view s) {
    skip();
    return text_.substr(at_, s.size()) == s;
  }
  /// Takes `c` if it comes next.
  bool take(char c);
  void expect(char c, std::string_view context);

  static bool is_digit(char c) { return class_of(c) & kDigit; }
  static bool is_name_start(char c) { return class_of(c) & kNameStart; }
  static bool is_name(char c) { return class_of(c) & kName; }
  /// [A-Za-z_$%][A-Za-z0-9_$]*
  std::string_view name(std::string_view what);
  /// `.word`, without white space in front of the word; the text includes the dot.
  std::string_view directive();
  /// A name and all that is glued to it with dots: `ld.shared::cta.v4.f32`.
  std::string_view dotted();
  /// Glued suffix `.x` after a name, if any; without the dot.
  std::string_view suffix();
  /// "..." on one line; PTX knows no escapes, a backslash is a character.
  std::string_view string_literal();

  struct Number {
    bool real = false, single = false;
    std::uint64_t bits = 0;  ///< integer, or IEEE bit pattern (of float if `single`, else of double)
  };
  Number number();
  std::uint64_t integer(std::string_view what);
  std::int64_t signed_integer(std::string_view what);

  std::uint32_t at() const { return static_cast<std::uint32_t>(at_); }
  std::uint32_t line() const { return line_; }
  /// End of what was consumed last, before white space.
  std::uint32_t end() const { return static_cast<std::uint32_t>(end_); }
  std::string_view text(std::uint32_t begin, std::uint32_t end) const {
    return text_.substr(begin, end - begin);
  }
  void skip_line();
  /// Past the next `stop` outside strings and comments, whatever stands before it.
  void skip_past(char stop, std::string_view context);
  /// Past one character, whatever it is.
  void advance() {
    ++at_;
    end_ = at_;
  }
  /// Back to an earlier position on the same or an earlier line.
  void rewind(std::uint32_t at, std::uint32_t line) {
    at_ = end_ = at;
    line_ = line;
  }

  /// "expected `what`, found 'x'", at the present position.
  [[noreturn]] void fail_expected(std::string_view what);
  [[noreturn]] void fail(std::uint32_t at, const std::string& message) const;

 private:
  enum : std::uint8_t { kSkippable = 1, kDigit = 2, kName = 4, kNameStart = 8 };
  static constexpr std::array<std::uint8_t, 256> kClasses = [] {
    std::array<std::uint8_t, 256> classes{};
    for (const unsigned char c : {' ', '\t', '\r', '\n', '\f', '\v', '/'}) classes[c] = kSkippable;
    for (unsigned char c = '0'; c <= '9'; ++c) classes[c] = kDigit | kName;
    for (unsigned char c = 'a'; c <= 'z'; ++c) classes[c] = kName | kNameStart;
    for (unsigned char c = 'A'; c <= 'Z'; ++c) classes[c] = kName | kNameStart;
    for (const unsigned char c : {'_', '$'}) classes[c] = kName | kNameStart;
    classes['%'] = kNameStart;
    return classes;
  }();
  static constexpr std::uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

  void skip_slowly();
  Number number_slowly();

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, end_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace warploom::ptx
