#pragma once

#include <bit>
#include <cstdint>

#include "sim/form.hpp"

// An oracle for floating-point arithmetic: numbers as integers times powers of two, and rounding by the
// definition, in integer arithmetic alone.
namespace warploom::sim::testing {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): `using` would warn
__extension__ typedef __int128 Signed;         // NOLINT(modernize-use-using)

inline int bit_width(Wide x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  const auto low = static_cast<std::uint64_t>(x);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

/// A binary format: bits of mantissa and exponent.
struct BinaryFormat {
  int mantissa, exponent;
  int bias() const { return (1 << (exponent - 1)) - 1; }
  std::uint64_t infinity() const { return ((1ull << exponent) - 1) << mantissa; }
  std::uint64_t sign() const { return 1ull << (mantissa + exponent); }
  std::uint64_t magnitude(std::uint64_t bits) const { return bits & (sign() - 1); }
  bool is_nan(std::uint64_t bits) const { return magnitude(bits) > infinity(); }
  bool is_finite(std::uint64_t bits) const { return magnitude(bits) < infinity(); }
  bool is_subnormal(std::uint64_t bits) const { return magnitude(bits) < 1ull << mantissa; }
};
inline constexpr BinaryFormat kF16{10, 5}, kBf16{7, 8}, kF32{23, 8}, kF64{52, 11};

/// (-1)^negative * (magnitude + something in (0, 1) if more) * 2^exponent.
struct ExactNumber {
  bool negative = false;
  Wide magnitude = 0;
  int exponent = 0;
  bool more = false;

  bool zero() const { return magnitude == 0 && !more; }

  static ExactNumber of(BinaryFormat format, std::uint64_t bits) {
    const std::uint64_t fraction = bits & ((1ull << format.mantissa) - 1);
    const int field = static_cast<int>(format.magnitude(bits) >> format.mantissa);
    const std::uint64_t leading = field != 0 ? 1ull << format.mantissa : 0;
    return {(bits & format.sign()) != 0, fraction | leading,
            (field != 0 ? field : 1) - format.bias() - format.mantissa, false};
  }

  ExactNumber operator-() const { return {!negative, magnitude, exponent, more}; }

  friend ExactNumber operator*(ExactNumber a, ExactNumber b) {
    return {a.negative != b.negative, a.magnitude * b.magnitude, a.exponent + b.exponent, false};
  }

  friend ExactNumber operator/(ExactNumber a, ExactNumber b) {
    const int up = a.magnitude == 0 ? 0 : 127 - bit_width(a.magnitude);
    const Wide numerator = a.magnitude << up;
    return {a.negative != b.negative, numerator / b.magnitude, a.exponent - up - b.exponent,
            numerator % b.magnitude != 0};
  }

  /// Of operands of at most 106 bits. A zero sum has the sign of rounding to nearest.
  friend ExactNumber operator+(ExactNumber a, ExactNumber b) {
    if (a.magnitude == 0 && b.magnitude == 0) return {a.negative && b.negative, 0, 0, false};
    if (a.magnitude == 0) return b;
    if (b.magnitude == 0) return a;
    if (bit_width(a.magnitude) + a.exponent < bit_width(b.magnitude) + b.exponent) return b + a;
    const int up = 125 - bit_width(a.magnitude);
    a.magnitude <<= up, a.exponent -= up;
    const int down = a.exponent - b.exponent;
    bool cut = false;
    if (down >= 128) {
      b.magnitude = 0, cut = true;
    } else if (down > 0) {
      cut = (b.magnitude & ((Wide{1} << down) - 1)) != 0;
      b.magnitude >>= down;
    } else {
      b.magnitude <<= -down;
    }
    if (a.negative == b.negative) return {a.negative, a.magnitude + b.magnitude, a.exponent, cut};
    if (a.magnitude == b.magnitude && !cut) return {false, 0, 0, false};
    if (a.magnitude >= b.magnitude + (cut ? 1 : 0)) {
      return {a.negative, a.magnitude - b.magnitude - (cut ? 1 : 0), a.exponent, cut};
    }
    return {b.negative, b.magnitude - a.magnitude, a.exponent, cut};
  }

  static ExactNumber square_root(ExactNumber a) {
    const int up = (a.exponent & 1) + 2 * ((126 - bit_width(a.magnitude)) / 2);
    const Wide square = a.magnitude << up;
    Wide root = 0;
    for (int bit = 63; bit >= 0; --bit) {
      const Wide next = root | Wide{1} << bit;
      if (next * next <= square) root = next;
    }
    return {false, root, (a.exponent - up) / 2, root * root != square};
  }

  /// The least bit, 2^unit, being given: magnitude / 2^unit rounded to an integer.
  Wide rounded(int unit, Rounding rounding) const {
    const int down = unit - exponent;
    if (down <= 0) return magnitude << -down;
    const Wide kept = down >= 128 ? 0 : magnitude >> down;
    const Wide lost = down >= 128 ? magnitude : magnitude & ((Wide{1} << down) - 1);
    const bool inexact = lost != 0 || more;
    const Wide half = down > 128 ? 0 : Wide{1} << (down - 1);
    const bool above = down <= 128 && (lost > half || (lost == half && more));
    const bool tie = down <= 128 && lost == half && !more;
    bool increment = false;
    switch (rounding) {
      case Rounding::rna:
        increment = above || tie;
        break;
      case Rounding::rz:
      case Rounding::rzi:
        break;
      case Rounding::rm:
      case Rounding::rmi:
        increment = inexact && negative;
        break;
      case Rounding::rp:
      case Rounding::rpi:
        increment = inexact && !negative;
        break;
      default:
        increment = above || (tie && (kept & 1) != 0);
        break;
    }
    return kept + (increment ? 1 : 0);
  }

  /// Bits in the format. `flush`: what is less than the least normal number when rounded with an unbounded
  /// exponent becomes 0.
  std::uint64_t in(BinaryFormat format, Rounding rounding, bool flush = false) const {
    const std::uint64_t sign = negative ? format.sign() : 0;
    if (zero()) return sign;
    const int least_unit = 1 - format.bias() - format.mantissa;
    const int unit = bit_width(magnitude) + exponent - (format.mantissa + 1);
    if (flush && unit < least_unit) {
      const Wide unbounded = rounded(unit, rounding);  // may have become a power of two
      if (unit + 1 < least_unit || bit_width(unbounded) == format.mantissa + 1) return sign;
    }
    const int used = unit < least_unit ? least_unit : unit;
    const Wide integer = rounded(used, rounding);
    // The carry out of the mantissa moves into the exponent by itself.
    const Wide exponent_field = static_cast<Wide>(used - least_unit) << format.mantissa;
    const Wide bits = integer + exponent_field;
    if (bits < format.infinity()) return static_cast<std::uint64_t>(bits) | sign;
    const bool clamped = rounding == Rounding::rz || (rounding == Rounding::rm && !negative) ||
                         (rounding == Rounding::rp && negative);
    return (format.infinity() - (clamped ? 1 : 0)) | sign;
  }
};

/// Values at which formats change their behaviour, and random ones near them.
template <typename Random>
std::uint64_t interesting(BinaryFormat format, Random& random) {
  const std::uint64_t mantissa = (1ull << format.mantissa) - 1, top = (1ull << format.exponent) - 1;
  const std::uint64_t bias = static_cast<std::uint64_t>(format.bias());
  std::uint64_t field = random() % (top + 1), fraction = random() & mantissa;
  switch (random() % 8) {
    case 0:
      field = 0;
      break;
    case 1:
      field = top - random() % 2;
      break;
    case 2:
      field = 1 + random() % 2;
      break;
    case 3:
      field = bias + random() % 4 - 2;
      break;
    case 4:
      field = bias + random() % static_cast<std::uint64_t>(format.mantissa + 2);
      break;
    default:
      break;
  }
  if (field > top) field = top;
  switch (random() % 6) {
    case 0:
      fraction = random() % 3;
      break;
    case 1:
      fraction = mantissa - random() % 3;
      break;
    case 2:
      fraction &= ~mantissa | mantissa << random() % static_cast<std::uint64_t>(format.mantissa);
      break;
    default:
      break;
  }
  return (random() & 1) * format.sign() | field << format.mantissa | (fraction & mantissa);
}

}  // namespace warploom::sim::testing
