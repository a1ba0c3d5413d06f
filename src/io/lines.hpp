#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/words.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::io {

/// Takes the next line off `rest`, without its end: LF, CRLF or CR.
inline std::string_view next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end);
  rest.remove_prefix(rest.starts_with("\r\n") ? 2 : rest.empty() ? 0 : 1);
  return line;
}

/// Lines of a text with their numbers.
class NumberedLines {
 public:
  explicit NumberedLines(std::string_view text) : rest_(text) {}
  /// @return false at the end @throws Interrupted
  bool next() {
    if (rest_.empty()) return false;
    line_ = next_line(rest_);
    ++number_;
    check_interrupt();
    return true;
  }
  std::string_view line() const { return line_; }
  unsigned number() const { return number_; }  ///< from 1

 private:
  std::string_view rest_, line_ = {};
  unsigned number_ = 0;
};

/// A record, of FASTA or FASTQ, from its header, whose first character is no part of it.
template <class Record>
Record begun_by(std::string_view header, std::int64_t line) {
  const std::string_view text = trimmed(header.substr(1));
  const std::size_t word = std::min(text.find_first_of(kBlank), text.size());
  return {std::string(text.substr(0, word)), std::string(trimmed(text.substr(word))), "", line};
}

}  // namespace warploom::io
