#include "warploom/page/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warploom::page {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string change(std::uint64_t before, std::uint64_t after) {
  if (before == after || before == 0) return before == after ? "the same" : "new";
  const double percent = 100.0 * (static_cast<double>(after) / static_cast<double>(before) - 1.0);
  return fmt::format("{:.1f} % {}", percent < 0 ? -percent : percent, percent < 0 ? "less" : "more");
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of("/\\") + 1); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string wrapped(const std::string& first, std::string_view text) {
  constexpr std::size_t kWidth = 96;
  std::string out, line = first;
  const auto finish = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    line.assign(first.size(), ' ');
  };
  bool empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      finish();
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  finish();
  return out;
}

namespace {

constexpr std::string_view kReplacement = "\uFFFD";

/// How many bytes the UTF-8 character takes that `text` begins with; 0: it begins with none.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xC0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || !follows(1)) return 0;
  if (byte(0) < 0xE0) return 2;
  if (!follows(2)) return 0;
  const unsigned code = byte(0) << 8 | byte(1);  // tells characters that were too long or are surrogates
  if (byte(0) < 0xF0) return code < 0xE0A0 || (code >= 0xEDA0 && code < 0xEE80) ? 0 : 3;
  return follows(3) && code >= 0xF090 && code < 0xF490 ? 4 : 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text[0];
    if (size == 0)
      out += kReplacement;
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (size == 1 && (c < 0x20 || c == '<'))  // '<' could begin "</script>"
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out + '"';
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f ? kReplacement
                                                                                : std::string_view(&c, 1);
    }
  return out;
}

int hue(std::size_t object) {
  return static_cast<int>(std::fmod(205.0 + 137.508 * static_cast<double>(object), 360.0));
}

}  // namespace warploom::page
