#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warploom::tool {

/// A number of bytes above 0, with K, M or G (of 1024) behind it if wanted, as 2G.
/// @throws BadInput naming the option, "--memory-cap"
std::uint64_t parse_byte_size(std::string_view option, const std::string& text);

}  // namespace warploom::tool
