#pragma once

#include <cstdint>

#include "sim/form.hpp"
#include "sim/lanes/float_bits.hpp"

// Floating-point formats and rounding to them, branch-free so that loops over lanes become vector code.
// Everything here expects the processor to round to nearest even.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

/// The bits of float and double, and the NaN that a GPU makes.
template <typename T>
struct Ieee;
template <>
struct Ieee<float> {
  using Bits = std::uint32_t;
  static constexpr Bits kSign = 0x80000000u, kInfinity = 0x7f800000u, kLeastNormal = 0x00800000u;
  static constexpr Bits kNan = 0x7fffffffu;
};
template <>
struct Ieee<double> {
  using Bits = std::uint64_t;
  static constexpr Bits kSign = 1ull << 63, kInfinity = 0x7ffull << 52, kLeastNormal = 1ull << 52;
  static constexpr Bits kNan = 0xfff8000000000000u, kQuiet = 1ull << 51;
};

template <typename T>
constexpr typename Ieee<T>::Bits bits_of(T x) {
  return __builtin_bit_cast(typename Ieee<T>::Bits, x);
}
constexpr float float_from(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
constexpr double double_from(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
template <typename T>
constexpr T from_bits(typename Ieee<T>::Bits bits) {
  return __builtin_bit_cast(T, bits);
}

template <typename T>
constexpr bool is_nan(T x) {
  return x != x;
}

/// .ftz: a subnormal becomes a zero of its sign.
constexpr float flush(float x) { return float_from(flush_bits<Ieee<float>>(bits_of(x))); }

/// .sat: into [0, 1]; NaN and -0 become +0.
template <typename T>
constexpr T saturate(T x) {
  const T above = x > 0 ? x : T{0};
  return above < 1 ? above : T{1};
}

/// .relu: below 0, and -0, become +0; NaN stays.
constexpr double relu(double x) { return x <= 0 ? 0.0 : x; }

enum class Clamp : std::uint8_t { none, sat, relu };
template <Clamp kClamp>
constexpr double clamped(double x) {
  return kClamp == Clamp::sat ? saturate(x) : kClamp == Clamp::relu ? relu(x) : x;
}

/// A format of at most 32 bits: sign, exponent with the bias, `kMantissa` bits; `kMax` is its greatest finite
/// value. The format's bits stand at the top of float's once the biases are made equal.
template <typename Storage, int kMantissaBits, int kExponentBias, std::uint32_t kMaxBits,
          std::uint32_t kNanBits>
struct Format {
  using Bits = Storage;
  static constexpr int kMantissa = kMantissaBits;
  static constexpr int kBias = kExponentBias;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr std::uint32_t kMax = kMaxBits, kNan = kNanBits;
  static constexpr std::uint32_t kInfinity = kMaxBits + 1;  // e4m3, which has none, is always clamped
  static constexpr std::uint32_t kLeastNormal = 1u << kMantissa;
  static constexpr int kSignBit = kMantissa + 1 + __builtin_popcount(kBias);
  static constexpr std::uint32_t kSign = 1u << kSignBit;
};
using F16 = Format<std::uint16_t, 10, 15, 0x7bff, 0x7fff>;
using Bf16 = Format<std::uint16_t, 7, 127, 0x7f7f, 0x7fff>;
using E4m3 = Format<std::uint8_t, 3, 7, 0x7e, 0x7f>;
using E5m2 = Format<std::uint8_t, 2, 15, 0x7b, 0x7f>;
using F32 = Format<std::uint32_t, 23, 127, 0x7f7fffff, 0x7fffffff>;
using Tf32 = Format<std::uint32_t, 10, 127, 0x3fbff, 0x3ffff>;  // PTX keeps its 19 bits at the top of 32

/// 2^exponent.
constexpr float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + exponent) << 23);
}

/// Value of the format's bits, exact; of a NaN, one with the same sign and leading payload.
template <typename F>
constexpr float value_of(typename F::Bits bits) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & (F::kSign - 1));
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & F::kSign) << (31 - F::kSignBit);
  const std::uint32_t scaled = bits_of(float_from(magnitude << F::kShift) * power_of_two(127 - F::kBias));
  const std::uint32_t special = Ieee<float>::kInfinity | magnitude << F::kShift;
  // e4m3 has one NaN and no infinity; what looks special in it is not.
  constexpr std::uint32_t kFirstSpecial = F::kInfinity == F::kNan ? F::kNan : F::kInfinity;
  return float_from((magnitude >= kFirstSpecial ? special : scaled) | sign);
}

/// Bits of a value that the format has, or of infinity; every NaN becomes the format's one.
template <typename F>
constexpr typename F::Bits bits_in(double exact) {
  const float x = static_cast<float>(exact);
  const std::uint32_t sign = bits_of(x) >> 31, magnitude = bits_of(x) & 0x7fffffffu;
  // The product is exact: the format's least subnormal is far above float's.
  std::uint32_t bits = bits_of(float_from(magnitude) * power_of_two(F::kBias - 127)) >> F::kShift;
  if constexpr (F::kBias != 127) bits = magnitude == Ieee<float>::kInfinity ? F::kInfinity : bits;
  bits |= sign * F::kSign;
  return static_cast<typename F::Bits>(magnitude > Ieee<float>::kInfinity ? F::kNan : bits);
}

/// Rounds to a multiple of the format's unit in the last place, at the magnitude of x, and to its range:
/// kFinite: what is beyond it, infinity too, becomes the greatest finite value.
template <typename F, Rounding kRounding, bool kFinite = false>
constexpr double rounded(double x) {
  constexpr std::uint64_t kLeast = 1023 + 1 - F::kBias, kMost = 1023 + F::kBias + 1;
  constexpr double kMax = value_of<F>(static_cast<typename F::Bits>(F::kMax));
  constexpr double kInfinity = __builtin_inf();
  const std::uint64_t sign = bits_of(x) & Ieee<double>::kSign, magnitude = bits_of(x) ^ sign;
  const double m = double_from(magnitude);
  std::uint64_t exponent = magnitude >> 52;
  exponent = exponent < kLeast ? kLeast : exponent;
  exponent = exponent > kMost ? kMost : exponent;
  // Near 1.5 2^52 units a double has no fraction of a unit: the addition rounds to nearest even.
  const double unit = double_from((exponent - F::kMantissa) << 52);
  const double shifter = double_from((exponent - F::kMantissa + 52) << 52 | 1ull << 51);
  double result = (m + shifter) - shifter;
  bool down = kRounding == Rounding::rz, up = false;
  if constexpr (kRounding == Rounding::rm) down = sign == 0, up = sign != 0;
  if constexpr (kRounding == Rounding::rp) down = sign != 0, up = sign == 0;
  if constexpr (kRounding == Rounding::rna) {
    result = m - result == unit / 2 ? result + unit : result;
  } else if constexpr (kRounding != Rounding::rn) {
    const double less = result - unit, more = result + unit;
    result = down && result > m ? less : up && result < m ? more : result;
  }
  if constexpr (kFinite) {
    result = result > kMax ? kMax : result;
  } else {
    const double beyond = down && m < kInfinity ? kMax : kInfinity;
    result = result > kMax ? beyond : result;
  }
  return double_from(bits_of(result) | sign);
}

/// An integer of 64 bits as a double that rounds to any format of at most 32 bits as the integer does: exact
/// where 53 bits hold it, else cut off with the last bit telling that something was.
constexpr double sticky_double(std::uint64_t magnitude) {
  const std::uint64_t cut = (magnitude >> 11 | static_cast<std::uint64_t>((magnitude & 0x7ff) != 0)) << 11;
  return static_cast<double>(magnitude >> 53 != 0 ? cut : magnitude);
}

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
