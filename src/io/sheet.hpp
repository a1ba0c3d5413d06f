#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/table.hpp"

namespace warploom::io {

/// UTF-8 of text that is UTF-8 or UTF-16, by its byte order mark or, without one, by zeros in every other of
/// the first bytes. @throws BadInput (half a character at the end, half a surrogate pair)
std::string to_utf8(std::string&& bytes, const std::string& name);

/// A field that is no number and not empty.
struct Word {
  std::int64_t row = 0;
  unsigned at = 1;             ///< column of the text's line
  std::string_view text = {};  ///< without quotation marks and blanks around
};

/// What spreadsheets and recorders write: columns of numbers, words, dates.
struct Sheet {
  Table<double> numbers = {};                 ///< NaN where a field is empty or a word
  std::vector<std::string> units = {};        ///< [columns] of a row below the header, or empty
  std::vector<std::vector<Word>> words = {};  ///< [columns], by row; they point into the text
};

/// Reads a row a line. More is understood than by parse_table(), for what is no exact input but somebody's
/// export:
/// * fields are parted by semicolons, tabs, commas or blanks, the first of these that the first line has; a
/// tab only where
///   it parts fields that are not empty; in quotation marks they part nothing;
/// * of fields that are not parted by commas, "1,5" is 1.5, unless others have points;
/// * empty fields and NA, N/A, nan, null, none, -, ? are missing;
/// * an empty last column, from separators at the ends of lines, is left out;
/// * the first line is a header if all its fields are words, or if one is a word where the second line has a
/// number; a
///   line of words below it holds units;
/// * '#' begins a comment; empty lines are skipped.
/// @param text  UTF-8; stays with the caller, for words point into it
/// @throws ParseError (a row longer or shorter than the first, a quotation mark without its second, decimal
/// commas beside
///         points), BadInput (no numbers)
Sheet read_sheet(std::string_view text, const std::string& name);

}  // namespace warploom::io
