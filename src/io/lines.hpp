#pragma once

#include <algorithm>
#include <string_view>

namespace warploom::io {

/// Takes the next line off `rest`, without its end: LF, CRLF or CR.
inline std::string_view next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end);
  rest.remove_prefix(rest.starts_with("\r\n") ? 2 : rest.empty() ? 0 : 1);
  return line;
}

}  // namespace warploom::io
