#include "byte_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::tool {

std::uint64_t parse_byte_size(std::string_view option, const std::string& text) {
  const auto refuse = [&] {
    throw BadInput(fmt::format(
        "{} {}: expected a number of bytes above 0 with K, M or G behind it if wanted, as 2G", option, text));
  };
  const std::size_t digits = text.find_first_not_of("0123456789");
  std::uint64_t value = 0;
  if (!parse_whole(std::string_view(text).substr(0, digits), value) || value == 0) refuse();
  if (digits == text.npos) return value;
  const std::string_view unit = std::string_view(text).substr(digits);
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (shift == 0 || value >> (63 - shift) != 0) refuse();
  return value << shift;
}

void add_max_memory(Command& command, std::uint64_t& size, std::string help) {
  command.add(
      "--max-memory SIZE", [&size](const std::string& text) { size = parse_byte_size("--max-memory", text); },
      std::move(help));
}

std::string read_input(const std::string& path, std::uint64_t max_bytes) {
  const std::uint64_t most = std::min(max_bytes, available_memory());
  return path == "-" ? read_standard_input(most) : read_file(path, most);
}

}  // namespace warploom::tool
