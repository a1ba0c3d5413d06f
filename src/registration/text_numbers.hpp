#pragma once

/// Numbers in the text files of transforms and points.

#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::registration {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Numbers with blanks between. @throws ParseError naming the word that is none
inline std::vector<double> parse_numbers(std::string_view text, const std::string& file, unsigned line) {
  std::vector<double> out;
  const std::string_view whole = text;
  while (!(text = trimmed(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n\v\f"));
    double value = 0;
    if (!parse_whole(word.starts_with('+') ? word.substr(1) : word, value))
      throw ParseError({file, line, static_cast<unsigned>(word.data() - whole.data()) + 1},
                       "expected a number, found '" + std::string(word.substr(0, 60)) + "'");
    out.push_back(value);
    text.remove_prefix(word.size());
  }
  return out;
}

}  // namespace warploom::registration
