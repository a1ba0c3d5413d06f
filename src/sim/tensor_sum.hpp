#pragma once

#include <cstdint>
#include <span>

#include "sim/matrix_form.hpp"

/// Sums of products as tensor cores make them.
namespace warploom::sim {

/// A floating-point number taken apart: significand * 2^exponent, whole and of no lost bit.
struct Factor {
  enum Class : std::uint8_t { finite, infinite, nan };
  std::int32_t significand = 0;  ///< with its sign; a zero has lost its own
  std::int16_t exponent = 0;     ///< of the significand's lowest bit
  Class kind = finite;
  bool negative = false;
};
/// Of the low bits of `bits`: f16, bf16, f32, or tf32 (of whose 32 bits the low 13 do not count).
Factor factor(Element element, std::uint32_t bits);
/// The same number as bits of f32.
std::uint32_t float_of(Element element, std::uint32_t bits);

/// Bits of f32 to the nearest f16, ties to even.
std::uint32_t half_of_single(std::uint32_t bits);

/// c + a[0] b[0] + a[1] b[1] + ..., as an H200 adds up.
///
/// The terms are taken `group` at a time; each group is added to the result of the one before, the first to
/// c. Within a group products are exact. Let e be the greatest exponent of a term that is not zero, a
/// product's being the sum of its factors' (of a subnormal factor that of the least normal number). Every
/// term, c too, is cut (toward zero) at 2^(e - 25), what is left is added exactly, and the sum is cut to the
/// precision of f32, or rounded to the nearest f16. So the order within a group does not matter. Subnormal
/// numbers count in full. Any NaN, infinities of both signs, and zero times infinity give NaN (0x7fffffff,
/// 0x7fff).
///
/// Of one group with n products, |result - exact| <= (n + 1) 2^(e - 25) + 2^-23 |exact| (f16: 2^-11 |exact|)
/// while the result is finite and normal; without subnormal factors 2^e <= |c| + sum |a[i] b[i]|.
///
/// Source: measured on an H200, every bit equal (docs/guide/sim.md); the form of the model is that of Fasi,
/// Higham, Mikaitis and Pranesh, PeerJ Computer Science 7:e330, 2021. Other architectures have other groups
/// and cut elsewhere, and are not modelled.
/// @param a, b  of equal size
/// @param c, return  bits of f32, or of f16 if `result` is f16
std::uint32_t tensor_sum(Element element, std::span<const Factor> a, std::span<const Factor> b,
                         unsigned group, std::uint32_t c, Element result);

/// The same with other precisions.
struct SumForm {
  Element first, second, result;  ///< factors and sum
  unsigned group;
  int kept = 25;      ///< bits below the greatest exponent
  unsigned lost = 0;  ///< low bits of an f32 sum that are cut off
};
std::uint32_t tensor_sum(const SumForm& form, std::span<const Factor> a, std::span<const Factor> b,
                         std::uint32_t c);

}  // namespace warploom::sim
