#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace warploom::io {

/// A word of a file that may be none of ours, for a message: at most 40 characters, '?' for what
/// is no printable ASCII.
inline std::string printable(std::string_view text) {
  std::string out(text.substr(0, 40));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace warploom::io
