#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// Extents of a launch as a person writes them: X, X,Y or X,Y,Z, within CUDA's limits; what is left out is 1.
namespace warploom::ptx {

/// [blocks] @throws BadInput with `called`, the text and the limits
std::array<std::uint32_t, 3> parse_grid(std::string_view text, std::string_view called = "`grid`");
/// [threads] @throws BadInput with `called`, the text and the limits
std::array<std::uint32_t, 3> parse_block(std::string_view text, std::string_view called = "`block`");

}  // namespace warploom::ptx
