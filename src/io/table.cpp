#include "warploom/io/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <utility>

#include "io/printable.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::io {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

enum class Word { number, infinity, no_number, out_of_range };

/// Infinity of integers is for the caller to replace: `value` is then 1 or -1.
template <class T>
Word read_word(std::string_view word, T& value) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-' && word[1] != '+') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc::invalid_argument && end == word.data() + word.size())
    return error == std::errc{} ? Word::number : Word::out_of_range;
  if constexpr (std::integral<T>) {
    double real = 0;
    if (read_word(word, real) == Word::number && real - real != 0 && real == real) {
      value = real > 0 ? 1 : -1;
      return Word::infinity;
    }
  }
  return Word::no_number;
}

bool is_name(std::string_view field) {
  double value = 0;
  return !field.empty() && (is_letter(field[0]) || field[0] == '_' || field[0] == '"' || field[0] == '\'') &&
         std::ranges::none_of(field, [](char c) { return c >= 0 && c < ' '; }) &&
         read_word(field, value) == Word::no_number;
}

template <class T>
class TableReader {
 public:
  TableReader(std::string_view text, const std::string& name, std::optional<T> infinity)
      : text_(text), name_(name), infinity_(infinity) {
    if constexpr (std::integral<T>)
      if (infinity == std::numeric_limits<T>::min())
        throw BadInput(fmt::format("{}: infinity is to stand for {}, whose negative no 64-bit integer is",
                                   name, *infinity));
  }

  Table<T> read(bool list) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    bool first = true;
    while (!text_.empty()) {
      if (++line_ % 4096 == 0) check_interrupt();
      const std::string_view whole_line = text_.substr(0, text_.find('\n'));
      text_.remove_prefix(std::min(whole_line.size() + 1, text_.size()));
      const std::string_view line = whole_line.substr(0, whole_line.find('#'));
      if (line.find_first_not_of(kBlank) == line.npos) continue;
      begin_ = line.data();
      if (first) separator_ = line.find(',') != line.npos ? ',' : line.find(';') != line.npos ? ';' : ' ';
      if (!std::exchange(first, false) || !take_header(line)) take_row(line, list);
    }
    if (table_.values.empty())
      throw BadInput(fmt::format("{}: no numbers{}", name_, first ? "" : ", only a header line"));
    if (list) {
      table_.columns = static_cast<std::int64_t>(table_.values.size());
      table_.rows = 1;
      table_.lines.resize(1);
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(std::string_view at, const std::string& what) const {
    throw ParseError({name_, line_, static_cast<unsigned>(at.data() - begin_ + 1)}, what);
  }

  /// Takes the next field off the line. @return false after the last one
  bool next(std::string_view& line, std::string_view& field) {
    if (separator_ == ' ') {
      const std::size_t begin = line.find_first_not_of(kBlank);
      if (begin == line.npos) return false;
      line.remove_prefix(begin);
      field = line.substr(0, line.find_first_of(kBlank));
      line.remove_prefix(field.size());
      return true;
    }
    if (line.data() == nullptr) return false;  // the last field was taken
    const std::size_t end = line.find(separator_);
    field = line.substr(0, end);
    line = end == line.npos ? std::string_view() : line.substr(end + 1);
    if (const std::string_view inner = trimmed(field); !inner.empty())
      field = inner;
    else
      fail(field, fmt::format("a field is empty; there is a number between two '{}'", separator_));
    return true;
  }

  bool take_header(std::string_view line) {
    std::vector<std::string> names;
    for (std::string_view field; next(line, field);) {
      if (!is_name(field)) return false;
      const bool quoted = field.size() > 1 && !is_letter(field[0]) && field.front() == field.back();
      names.emplace_back(quoted ? field.substr(1, field.size() - 2) : field);
    }
    table_.header = std::move(names);
    return true;
  }

  void take_row(std::string_view line, bool list) {
    const std::size_t before = table_.values.size();
    for (std::string_view field; next(line, field);) table_.values.push_back(number(field));
    const auto count = static_cast<std::int64_t>(table_.values.size() - before);
    if (table_.rows++ == 0) {
      table_.columns = count;
      if (const std::size_t names = table_.header.size();
          !list && names > 0 && std::cmp_not_equal(names, count))
        fail({begin_, 0}, fmt::format("{} number{} in this row; the header names {} columns", count,
                                      count == 1 ? "" : "s", names));
    }
    if (!list && count != table_.columns)
      fail({begin_, 0}, fmt::format("{} number{} in this row; the first row, in line {}, has {}", count,
                                    count == 1 ? "" : "s", table_.lines.front(), table_.columns));
    table_.lines.push_back(line_);
  }

  T number(std::string_view field) {
    T value{};
    const Word word = read_word(field, value);
    if (word == Word::out_of_range)
      fail(field, fmt::format("{} is beyond the range of {}", printable(field),
                              std::integral<T> ? "64-bit integers" : "float64"));
    if (word == Word::infinity && infinity_) return value * *infinity_;
    if (word != Word::number)
      fail(field, fmt::format("'{}' is no {}number", printable(field), std::integral<T> ? "whole " : ""));
    if constexpr (std::floating_point<T>)
      if (table_.whole && field.find_first_of(".eE") != field.npos) table_.whole = false;
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  const std::optional<T> infinity_;
  Table<T> table_;
  unsigned line_ = 0;
  const char* begin_ = nullptr;  // of the line
  char separator_ = ' ';
};

}  // namespace

template <class T>
Table<T> parse_table(std::string_view text, const std::string& name, std::optional<T> infinity) {
  return TableReader<T>(text, name, infinity).read(false);
}
template <class T>
Table<T> parse_list(std::string_view text, const std::string& name, std::optional<T> infinity) {
  return TableReader<T>(text, name, infinity).read(true);
}

#define WARPLOOM_INSTANTIATE(T)                                                             \
  template Table<T> parse_table<T>(std::string_view, const std::string&, std::optional<T>); \
  template Table<T> parse_list<T>(std::string_view, const std::string&, std::optional<T>);
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(std::int64_t)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::io
