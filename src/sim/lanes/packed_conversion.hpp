#pragma once

#include "sim/lanes/float_format.hpp"
#include "sim/lanes/lane_loop.hpp"

// cvt of pairs and of tf32.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

template <typename B, Rounding kRounding, bool kRelu, bool kFinite>
struct Narrow {
  static constexpr unsigned kBits = 8 * sizeof(typename B::Bits);
  static std::uint32_t of(float x) {
    const double y = rounded<B, kRounding, kFinite>(x);
    return bits_in<B>(kRelu ? relu(y) : y);
  }
  /// The first source is the upper half.
  static std::uint32_t of(float high, float low) { return of(high) << kBits | of(low); }
};

/// An 8-bit pair from f16x2.
template <typename B, bool kRelu>
struct NarrowPair {
  static std::uint32_t of(std::uint32_t pair) {
    using N = Narrow<B, Rounding::rn, kRelu, true>;
    return N::of(value_of<F16>(static_cast<std::uint16_t>(pair >> 16)),
                 value_of<F16>(static_cast<std::uint16_t>(pair)));
  }
};

/// f16x2 from an 8-bit pair, exact.
template <typename B, bool kRelu>
struct WidenPair {
  static std::uint32_t half(std::uint8_t bits) {
    const double x = value_of<B>(bits);
    return bits_in<F16>(kRelu ? relu(x) : x);
  }
  static std::uint32_t of(std::uint16_t pair) {
    return half(static_cast<std::uint8_t>(pair >> 8)) << 16 | half(static_cast<std::uint8_t>(pair));
  }
};

/// tf32: the upper 19 bits of f32. rna is done on the bits, and cuts a NaN off; rn and rz make the one NaN.
template <Rounding kRounding, bool kRelu, bool kFinite>
struct ToTf32 {
  static std::uint32_t of(float x) {
    if (kRounding == Rounding::rna && is_nan(x)) return bits_of(x) & 0xffffe000u;
    const double y = rounded<Tf32, kRounding, kFinite>(x);
    return bits_in<Tf32>(kRelu ? relu(y) : y) << 13;
  }
};

template <typename B, Rounding kRounding>
Handler halves_from_f32(const Form& form) {
  if (form.relu) {
    return form.satfinite ? binary<Narrow<B, kRounding, true, true>, std::uint32_t, float, float>
                          : binary<Narrow<B, kRounding, true, false>, std::uint32_t, float, float>;
  }
  return form.satfinite ? binary<Narrow<B, kRounding, false, true>, std::uint32_t, float, float>
                        : binary<Narrow<B, kRounding, false, false>, std::uint32_t, float, float>;
}

template <Rounding kRounding>
Handler tf32_from_f32(const Form& form) {
  if (form.relu) {
    return form.satfinite ? unary<ToTf32<kRounding, true, true>, std::uint32_t, float>
                          : unary<ToTf32<kRounding, true, false>, std::uint32_t, float>;
  }
  return form.satfinite ? unary<ToTf32<kRounding, false, true>, std::uint32_t, float>
                        : unary<ToTf32<kRounding, false, false>, std::uint32_t, float>;
}

/// e4m3x2 or e5m2x2 from two f32 or f16x2.
template <typename B>
Handler narrowed(const Form& form) {
  if (!form.satfinite || form.rounding != Rounding::rn) return nullptr;
  if (form.from.is(Type::f, 32)) {
    return form.relu ? binary<Narrow<B, Rounding::rn, true, true>, std::uint16_t, float, float>
                     : binary<Narrow<B, Rounding::rn, false, true>, std::uint16_t, float, float>;
  }
  if (!form.from.is(Type::f, 16, 2)) return nullptr;
  return form.relu ? unary<NarrowPair<B, true>, std::uint16_t, std::uint32_t>
                   : unary<NarrowPair<B, false>, std::uint16_t, std::uint32_t>;
}

template <typename B>
Handler widened(const Form& form) {
  return form.relu ? unary<WidenPair<B, true>, std::uint32_t, std::uint16_t>
                   : unary<WidenPair<B, false>, std::uint32_t, std::uint16_t>;
}

/// nullptr: not one of these conversions.
Handler packed_conversion(const Form& form) {
  const Type type = form.type, from = form.from;
  if (form.sat || form.ftz) return nullptr;
  if (type.is(Type::tf, 32) && from.is(Type::f, 32)) {
    switch (form.rounding) {
      case Rounding::rn:
        return tf32_from_f32<Rounding::rn>(form);
      case Rounding::rz:
        return tf32_from_f32<Rounding::rz>(form);
      case Rounding::rna:
        return tf32_from_f32<Rounding::rna>(form);
      default:
        return nullptr;
    }
  }
  if (type.is(Type::e4m3, 8, 2)) return narrowed<E4m3>(form);
  if (type.is(Type::e5m2, 8, 2)) return narrowed<E5m2>(form);
  if (type.is(Type::f, 16, 2) && from.is(Type::e4m3, 8, 2)) return widened<E4m3>(form);
  if (type.is(Type::f, 16, 2) && from.is(Type::e5m2, 8, 2)) return widened<E5m2>(form);
  if (!from.is(Type::f, 32) || type.bits != 16 || type.packed != 2) return nullptr;
  const bool nearest = form.rounding == Rounding::rn;
  if (!nearest && form.rounding != Rounding::rz) return nullptr;
  if (type.kind == Type::f) {
    return nearest ? halves_from_f32<F16, Rounding::rn>(form) : halves_from_f32<F16, Rounding::rz>(form);
  }
  if (type.kind == Type::bf) {
    return nearest ? halves_from_f32<Bf16, Rounding::rn>(form) : halves_from_f32<Bf16, Rounding::rz>(form);
  }
  return nullptr;
}

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
