#pragma once

#include <cstdint>

#include "sim/step.hpp"

namespace warploom::sim {

/// Step::immediate of a scalar video instruction. Parts of a word: 0 to 3 a byte, 4 and 5 a half, 6 all of
/// it.
struct VideoFlags {
  enum Shift : unsigned { first = 0, second = 3, merged = 6, finish = 9, comparison = 12, shift = 23 };
  /// What becomes of the result and c.
  enum Finish : std::uint32_t { none, add, least, most, merge };
  enum Bit : std::uint32_t {
    a_signed = 1u << 16,
    b_signed = 1u << 17,
    d_signed = 1u << 18,
    sat = 1u << 19,
    minus_product = 1u << 20,
    minus_c = 1u << 21,
    plus_one = 1u << 22
  };
};

/// A SIMD video instruction that names elements of its operands.
struct SelectedVideo {
  Handler run = nullptr;                            ///< of the same without
  std::uint32_t first = 0, second = 0;              ///< registers of the elements of a and of b
  std::uint32_t mask = 0;                           ///< elements of d that are written
  std::uint32_t idle_a = 0, idle_b = 0;             ///< of the others
  std::uint8_t bits = 8;                            ///< of an element
  std::uint8_t select_a[4] = {}, select_b[4] = {};  ///< of the elements of a and then b
  bool adds_up = false;
};

}  // namespace warploom::sim
