#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::io {

/// Numbers in rows of equal length.
template <class T>
struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<T> values;            ///< [rows, columns], row-major
  std::vector<unsigned> lines;      ///< [rows] where each stands in the text, from 1
  std::vector<std::string> header;  ///< [columns], or empty
  bool whole = true;  ///< all but inf and nan are written as whole numbers, without point or exponent

  /// Unchecked, for inner loops: row and column are there, and `values` is as long as they say.
  const T& operator()(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Reads a text of numbers, a row a line. Of the first line that is not empty the separator is taken: commas
/// if it has one, else semicolons if it has one, else blanks and tabs; blanks around commas and semicolons do
/// not count. That line is a header if each of its fields begins with a letter, '_' or a quotation mark and
/// none is inf or nan. '#' begins a comment; empty lines are skipped; lines may end in CR LF; a byte order
/// mark is skipped. Numbers are decimal, perhaps with a sign, in floating point perhaps with an exponent,
/// rounded to the nearest; inf and nan are values.
///
/// @tparam T        double, or std::int64_t, which fractions are an error for
/// @param name      for messages
/// @param infinity  what inf stands for in a table of integers (-inf: its negative), where it is an error
/// without
/// @throws ParseError, naming line and column: no number, one beyond the type's range, an empty field, a row
/// that
///         is longer or shorter than the first; BadInput: no numbers at all, the least
///         integer as `infinity`
/// Cost: one pass.
template <class T>
Table<T> parse_table(std::string_view text, const std::string& name,
                     std::optional<T> infinity = std::nullopt);

/// The same numbers in one row, in the order in which they stand, however many are in each line. @throws as
/// parse_table
template <class T>
Table<T> parse_list(std::string_view text, const std::string& name, std::optional<T> infinity = std::nullopt);

}  // namespace warploom::io
