#include "warploom/page/base64.hpp"

#include <algorithm>

namespace warploom::page {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - k);
    unsigned bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[k + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace warploom::page
