#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Words, numbers and colours for people: what reports, pages and the tool's text have in common.
namespace warploom::page {

/// 16896 -> "16,896".
std::string grouped(std::uint64_t number);
/// -16896 -> "\u221216,896", with a minus sign.
template <std::signed_integral Number>
std::string grouped(Number number) {
  return (number < 0 ? "\u2212" : "") +
         grouped(number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number));
}

/// "65.1 % less", "12.5 % more", "the same".
std::string change(std::uint64_t before, std::uint64_t after);

/// A path without its directories.
std::string file_name(const std::string& path);

/// "a, b and c".
std::string listed(const std::vector<std::string>& words);

/// `first`, then `text` broken between words into lines of at most 96 columns, all of which start
/// under the first letter of `text`. Ends with a line feed.
std::string wrapped(const std::string& first, std::string_view text);

/// Text as it may stand in HTML, in attributes too; control characters but the line feed become U+FFFD.
std::string escaped(std::string_view text);

/// Text as a string of JSON, between quotation marks, which may stand in a <script>. What is no UTF-8 becomes
/// U+FFFD.
std::string json_string(std::string_view text);

/// The colour of object i as a CSS hue [degrees]; neighbours differ by the golden angle.
int hue(std::size_t object);

}  // namespace warploom::page
