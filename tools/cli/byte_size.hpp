#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "command.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {

/// A number of bytes above 0, with K, M or G (of 1024) behind it if wanted, as 2G.
/// @throws BadInput naming the option, "--memory-cap"
std::uint64_t parse_byte_size(std::string_view option, const std::string& text);

/// `--max-memory SIZE`. @param help  what is refused, and the default in brackets
void add_max_memory(Command& command, std::uint64_t& size, std::string help);

/// read_input() of at most so many bytes, and of what is available.
std::string read_input(const std::string& path, std::uint64_t max_bytes);

/// work(), whose errors of files that are larger than `limit`, or ask for more memory, then name the option.
template <class Work>
decltype(auto) naming_max_memory(std::uint64_t limit, const Work& work) {
  try {
    return work();
  } catch (const BadInput& error) {
    const std::string says = error.what();
    const bool larger = says.find(" " + std::to_string(limit)) != says.npos;
    if (!larger && (says.find("of memory") == says.npos || says.find("the limit is") == says.npos)) throw;
    throw BadInput(says + " (--max-memory)");
  }
}

}  // namespace warploom::tool
