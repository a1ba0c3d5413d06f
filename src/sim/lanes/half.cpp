#include "sim/lanes/float_bits.hpp"
#include "sim/lanes/float_format.hpp"
#include "sim/lanes/lane_loop.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/lanes/rounding_mode.hpp"

// Arithmetic of f16 and bf16 is done in double and rounded once more. That is right: products of two halves
// are exact in double, sums have 53 >= 2 * 11 + 2 bits, and a fused sum is rounded to odd.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

struct Add {
  static double of(double a, double b) { return a + b; }
};
struct Subtract {
  static double of(double a, double b) { return a - b; }
};
struct Multiply {
  static double of(double a, double b) { return a * b; }
};
struct MultiplyAdd {
  /// Of the two neighbours of an inexact sum that whose last bit is 1, so that rounding to fewer bits is
  /// right.
  static double of(double a, double b, double c) {
    const double product = a * b, sum = product + c;
    const double added = sum - product;
    const double error = (product - (sum - added)) + (c - added);
    const std::uint64_t bits = bits_of(sum);
    // Neither holds where the sum is infinite or NaN.
    const std::uint64_t above = (error > 0) == (sum > 0) ? 1 : -1ull;
    const std::uint64_t inexact = ((error > 0) | (error < 0)) ? ~bits & 1 : 0;
    return double_from(bits + (above & (0 - inexact)));
  }
};
struct Exp2 {
  static double of(double x) { return __builtin_exp2(x); }
};
struct Tanh {
  static double of(double x) { return __builtin_tanh(x); }
};

/// F of numbers of format B.
template <typename F, typename B, bool kFlush, Clamp kClamp>
struct Arithmetic {
  using Bits = typename B::Bits;
  template <typename... A>
  static Bits of(A... a) {
    double x = F::of(static_cast<double>(value_of<B>(kFlush ? flush_bits<B>(a) : a))...);
    // What would round to less than the least normal number if the exponent went on below.
    constexpr double kLeast = value_of<B>(B::kLeastNormal) * (1 - 0.25 / (1 << B::kMantissa));
    if constexpr (kFlush) x = __builtin_fabs(x) < kLeast ? __builtin_copysign(0.0, x) : x;
    x = rounded<B, Rounding::rn>(x);
    return bits_in<B>(clamped<kClamp>(x));
  }
};

/// f16x2, bf16x2: each half by itself.
struct Pair {
  std::uint16_t low, high;
};
template <typename F>
struct Packed {
  template <typename... A>
  static Pair of(A... a) {
    return {F::of(a.low...), F::of(a.high...)};
  }
};

template <int kArguments, typename F, typename T>
constexpr Handler loop_over() {
  if constexpr (kArguments == 1) return unary<F, T, T>;
  if constexpr (kArguments == 2) return binary<F, T, T, T>;
  if constexpr (kArguments == 3) return ternary<F, T, T, T, T>;
}

template <int kArguments, typename F>
Handler loop(const Form& form) {
  return form.type.packed == 2 ? loop_over<kArguments, Packed<F>, Pair>()
                               : loop_over<kArguments, F, std::uint16_t>();
}

template <int kArguments, typename F, typename B, bool kFlush>
Handler with_clamp(const Form& form) {
  if (form.sat) return loop<kArguments, Arithmetic<F, B, kFlush, Clamp::sat>>(form);
  if (form.relu) return loop<kArguments, Arithmetic<F, B, kFlush, Clamp::relu>>(form);
  return loop<kArguments, Arithmetic<F, B, kFlush, Clamp::none>>(form);
}

template <int kArguments, typename F, typename B>
Handler arithmetic(const Form& form) {
  if (form.rounding != Rounding::none && form.rounding != Rounding::rn) return nullptr;
  return form.ftz ? with_clamp<kArguments, F, B, true>(form) : with_clamp<kArguments, F, B, false>(form);
}

template <typename F, typename B>
Handler approximate(const Form& form) {
  if (!form.approx) return nullptr;
  return form.ftz ? loop<1, Arithmetic<F, B, true, Clamp::none>>(form)
                  : loop<1, Arithmetic<F, B, false, Clamp::none>>(form);
}

template <typename B, bool kNegate>
Handler sign_change(const Form& form) {
  return form.ftz ? loop<1, SignChange<B, true, kNegate>>(form)
                  : loop<1, SignChange<B, false, kNegate>>(form);
}

template <typename B, bool kGreater, bool kFlush, bool kNan>
Handler extreme_of(const Form& form) {
  if (form.xorsign) return loop<2, Extreme<B, kGreater, kFlush, kNan, true, true>>(form);
  return loop<2, Extreme<B, kGreater, kFlush, kNan, false, false>>(form);
}

template <typename B, bool kGreater>
Handler extreme(const Form& form) {
  if (form.nan)
    return form.ftz ? extreme_of<B, kGreater, true, true>(form) : extreme_of<B, kGreater, false, true>(form);
  return form.ftz ? extreme_of<B, kGreater, true, false>(form) : extreme_of<B, kGreater, false, false>(form);
}

template <typename B>
Handler of_format(const Form& form) {
  switch (form.op) {
    case ptx::Op::add:
      return arithmetic<2, Add, B>(form);
    case ptx::Op::sub:
      return arithmetic<2, Subtract, B>(form);
    case ptx::Op::mul:
      return arithmetic<2, Multiply, B>(form);
    case ptx::Op::fma:
      return arithmetic<3, MultiplyAdd, B>(form);
    case ptx::Op::abs_:
      return sign_change<B, false>(form);
    case ptx::Op::neg:
      return sign_change<B, true>(form);
    case ptx::Op::min_:
      return extreme<B, false>(form);
    case ptx::Op::max_:
      return extreme<B, true>(form);
    case ptx::Op::ex2:
      return approximate<Exp2, B>(form);
    case ptx::Op::tanh_:
      return approximate<Tanh, B>(form);
    default:
      return nullptr;
  }
}

// Mixed precision: f32 arithmetic with sources of a half type, whose values f32 has.

template <typename B, bool kSaturate>
struct MixedMultiplyAdd {
  static float of(typename B::Bits a, typename B::Bits b, float c) {
    const float x = __builtin_fmaf(value_of<B>(a), value_of<B>(b), c);
    return kSaturate ? saturate(x) : is_nan(x) ? float_from(Ieee<float>::kNan) : x;
  }
};
template <typename B, bool kSaturate, bool kSubtract>
struct MixedAdd {
  static float of(typename B::Bits a, float c) {
    const float x = kSubtract ? value_of<B>(a) - c : value_of<B>(a) + c;
    return kSaturate ? saturate(x) : is_nan(x) ? float_from(Ieee<float>::kNan) : x;
  }
};

template <typename B, bool kSaturate>
Handler mixed(const Form& form) {
  using Bits = typename B::Bits;
  switch (form.op) {
    case ptx::Op::fma:
      return rounded_as<ternary<MixedMultiplyAdd<B, kSaturate>, float, Bits, Bits, float>>(form.rounding);
    case ptx::Op::add:
      return rounded_as<binary<MixedAdd<B, kSaturate, false>, float, Bits, float>>(form.rounding);
    case ptx::Op::sub:
      return rounded_as<binary<MixedAdd<B, kSaturate, true>, float, Bits, float>>(form.rounding);
    default:
      return nullptr;
  }
}

}  // namespace

Handler half(const Form& form) {
  const Type type = form.type, from = form.from;
  if (type.is(Type::f, 32)) {
    if (from.is(Type::f, 16)) return form.sat ? mixed<F16, true>(form) : mixed<F16, false>(form);
    if (from.is(Type::bf, 16)) return form.sat ? mixed<Bf16, true>(form) : mixed<Bf16, false>(form);
    return nullptr;
  }
  if (type.bits != 16 || type.packed > 2 || from != type) return nullptr;
  if (type.kind == Type::f) return of_format<F16>(form);
  if (type.kind == Type::bf) return of_format<Bf16>(form);
  return nullptr;
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
