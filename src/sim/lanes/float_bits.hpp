#pragma once

#include <cstdint>

// Operations on the bits of a floating-point number, one for all formats. A format B is Ieee<float>,
// Ieee<double> or a Format; it tells Bits, kSign, kInfinity, kLeastNormal and the NaN a GPU makes, kNan.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

template <typename B>
constexpr bool bits_are_nan(typename B::Bits bits) {
  return (bits & (B::kSign - 1)) > B::kInfinity;
}

/// The NaN that results from the NaN given: of f64 its own payload, of other formats the only one.
template <typename B>
constexpr typename B::Bits result_nan([[maybe_unused]] typename B::Bits nan) {
  if constexpr (sizeof(typename B::Bits) == 8) {
    return nan | B::kQuiet;
  } else {
    return B::kNan;
  }
}

/// .ftz: a subnormal becomes a zero of its sign.
template <typename B>
constexpr typename B::Bits flush_bits(typename B::Bits bits) {
  using Bits = typename B::Bits;
  return (bits & (B::kSign - 1)) < B::kLeastNormal ? static_cast<Bits>(bits & B::kSign) : bits;
}

/// neg, or abs. GPUs pass the number through the adder: NaN becomes a result's NaN.
template <typename B, bool kFlush, bool kNegate>
struct SignChange {
  using Bits = typename B::Bits;
  static Bits of(Bits a) {
    if constexpr (kFlush) a = flush_bits<B>(a);
    const Bits changed = static_cast<Bits>(kNegate ? a ^ B::kSign : a & (B::kSign - 1));
    return bits_are_nan<B>(a) ? result_nan<B>(a) : changed;
  }
};

/// The lesser or the greater of two, where -0 is less than +0; of a NaN and a number the number, or, kNan,
/// NaN. kMagnitude compares the absolute values; kXorSign gives the result the product of the signs.
template <typename B, bool kGreater, bool kFlush, bool kNan, bool kMagnitude, bool kXorSign>
struct Extreme {
  using Bits = typename B::Bits;
  /// Orders numbers as signed integers.
  static auto key(Bits bits) {
    if constexpr (sizeof(Bits) == 8) {
      const auto value = static_cast<std::int64_t>(bits);
      return value ^ ((value >> 63) & 0x7fffffffffffffff);
    } else if constexpr (sizeof(Bits) == 4) {
      const auto value = static_cast<std::int32_t>(bits);
      return value ^ ((value >> 31) & 0x7fffffff);
    } else {
      const auto value = static_cast<std::int16_t>(bits);
      return static_cast<std::int16_t>(value ^ ((value >> 15) & 0x7fff));
    }
  }
  static Bits of(Bits a, Bits b) {
    if constexpr (kFlush) a = flush_bits<B>(a), b = flush_bits<B>(b);
    [[maybe_unused]] const Bits sign = (a ^ b) & B::kSign;
    if constexpr (kMagnitude) a &= B::kSign - 1, b &= B::kSign - 1;
    const bool a_nan = bits_are_nan<B>(a), b_nan = bits_are_nan<B>(b);
    Bits chosen = (key(a) < key(b)) != kGreater ? a : b;
    chosen = a_nan ? b : chosen;
    chosen = b_nan ? a : chosen;
    if constexpr (kXorSign) chosen = static_cast<Bits>((chosen & (B::kSign - 1)) | sign);
    const bool nan = kNan ? a_nan || b_nan : a_nan && b_nan;
    return nan ? result_nan<B>(b) : chosen;
  }
  static Bits of(Bits a, Bits b, Bits c) { return of(of(a, b), c); }
};

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
