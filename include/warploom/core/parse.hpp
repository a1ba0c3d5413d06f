#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace warploom {

/// The number that a text is, a whole number or a decimal, and nothing else: no blanks, no plus sign.
/// @return false, and `value` is unspecified, when it is not one or the type does not hold it
template <typename Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// The same for hexadecimal digits, without a prefix.
template <typename Number>
bool parse_hexadecimal(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace warploom
