#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warploom/core/error.hpp"

namespace warploom::tool {

/// A number of bytes above 0, with K, M or G (of 1024) behind it if wanted, as 2G.
/// @throws BadInput naming the option, "--memory-cap"
std::uint64_t parse_byte_size(std::string_view option, const std::string& text);

/// work(), whose errors of files that ask for too much memory then name the option.
template <class Work>
decltype(auto) naming_max_memory(const Work& work) {
  try {
    return work();
  } catch (const BadInput& error) {
    const std::string_view says = error.what();
    if (says.find("of memory") == says.npos || says.find("the limit is") == says.npos) throw;
    throw BadInput(std::string(says) + " (--max-memory)");
  }
}

}  // namespace warploom::tool
