#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace warploom::io {

/// What stands in a sequence.
constexpr bool is_letter(unsigned char c) {
  return static_cast<unsigned char>((c | 0x20) - 'a') < 26 || c == '*' || c == '-';
}

/// Whether all are letters. In blocks, which compilers turn into vectors.
inline bool all_letters(std::string_view text) {
  constexpr std::size_t kBlock = 32;
  while (text.size() >= kBlock) {
    bool good = true;
    for (std::size_t k = 0; k < kBlock; ++k) good &= is_letter(static_cast<unsigned char>(text[k]));
    if (!good) return false;
    text.remove_prefix(kBlock);
  }
  return std::ranges::all_of(text, [](char c) { return is_letter(static_cast<unsigned char>(c)); });
}

}  // namespace warploom::io
