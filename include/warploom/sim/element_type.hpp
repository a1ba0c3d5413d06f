#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace warploom::sim {

/// Type of a scalar argument or of a buffer's elements, as --arg names it.
struct ElementType {
  std::string_view name = {};
  std::string_view dtype = {};  ///< NumPy's name of it; bf16, which NumPy lacks, is kept as its bits, u2
  std::uint32_t bytes = 0;
  bool is_signed = false;  ///< of an integer
  int precision = 0;       ///< bits of the significand, the leading one included; 0: an integer
  int exponent_bits = 0;   ///< of a real

  bool real() const { return precision > 0; }
};

inline constexpr std::array<ElementType, 12> kElementTypes{{
    {"i8", "i1", 1, true},
    {"u8", "u1", 1},
    {"i16", "i2", 2, true},
    {"u16", "u2", 2},
    {"f16", "f2", 2, true, 11, 5},
    {"bf16", "u2", 2, true, 8, 8},
    {"i32", "i4", 4, true},
    {"u32", "u4", 4},
    {"f32", "f4", 4, true, 24, 8},
    {"i64", "i8", 8, true},
    {"u64", "u8", 8},
    {"f64", "f8", 8, true, 53, 11},
}};

/// nullptr when there is none of that name.
constexpr const ElementType* find_element_type(std::string_view name) {
  for (const ElementType& type : kElementTypes)
    if (type.name == name) return &type;
  return nullptr;
}

}  // namespace warploom::sim
