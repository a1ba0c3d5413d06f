#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warploom/fold/scan.hpp"

namespace warploom::fold {

/// shuffled() of capitals with U for T. @param out  of the same length; may not overlap
void shuffle_letters(std::string_view sequence, Shuffle kind, std::uint64_t seed, std::string& out);

/// The seed of a window's shuffle.
std::uint64_t seed_of(std::uint64_t seed, std::int64_t window_begin, std::int64_t shuffle);

}  // namespace warploom::fold
