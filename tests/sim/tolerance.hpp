#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/sim/element_type.hpp"

/// Two runs of one kernel, element by element.
namespace warploom::sim {

/// How far apart two elements may be; without a bound, not a bit.
struct Tolerance {
  enum class Unit : std::uint8_t { ulp, relative, absolute };
  struct Bound {
    Unit unit;
    std::vector<double> rows;  ///< one for all elements, or one for each of so many equal parts of the buffer
  };
  std::vector<Bound> bounds;  ///< elements within any of them agree
  bool any_order = false;     ///< buffers agree that hold the same elements
};

/// `2 ulp`, `1e-5 relative`, `3e-7 absolute`, `1 2 2 ulp` (a bound a row), several joined by ` or `, or
/// `any order`; what follows a semicolon is the reason. Integers agree bit by bit or by `any order` alone.
/// @throws BadInput naming the text
Tolerance parse_tolerance(std::string_view text);

struct Comparison {
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;     ///< whose bits differ; two NaNs are equal
  std::uint64_t nan_payloads = 0;  ///< NaNs with different bits
  std::uint64_t outside = 0;       ///< that are farther apart than the tolerance allows
  double largest_ulp = 0;          ///< over all real elements; a NaN is infinitely far from a number
  std::string first_outside;       ///< "element 17: 0.5 and 0.75 (4194304 ulp)"
};
/// @param a, b  of equal size
Comparison compare(const ElementType& type, std::span<const std::byte> a, std::span<const std::byte> b,
                   const Tolerance& tolerance);

}  // namespace warploom::sim
