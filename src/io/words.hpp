#pragma once

/// Blanks of text files.

#include <algorithm>
#include <string_view>

namespace warploom::io {

inline constexpr std::string_view kBlank = " \t\r";
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Without blanks at either end.
inline std::string_view trimmed(std::string_view text, std::string_view blank = kBlank) {
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

}  // namespace warploom::io
