#pragma once

#include <cstdint>

namespace warploom::io {

/// Bytes that one of deflate's may become: 258 by two codes of one bit each.
inline constexpr std::uint64_t kMostExpansion = 1032;

}  // namespace warploom::io
