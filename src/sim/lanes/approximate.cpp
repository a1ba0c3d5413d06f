#include "sim/lanes/approximate.hpp"

#include "sim/lanes/float_format.hpp"
#include "sim/lanes/lane_loop.hpp"

// The functions that PTX specifies by an error bound. They are computed in double and rounded once, which is
// within every bound; a GPU's last bits differ.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

struct Reciprocal {
  static double of(double x) { return 1 / x; }
};
struct SquareRoot {
  static double of(double x) { return __builtin_sqrt(x); }
};
struct ReciprocalRoot {
  static double of(double x) { return 1 / __builtin_sqrt(x); }
};
struct Sine {
  static double of(double x) { return __builtin_sin(x); }
};
struct Cosine {
  static double of(double x) { return __builtin_cos(x); }
};
struct Log2 {
  static double of(double x) { return __builtin_log2(x); }
};
struct Exp2 {
  static double of(double x) { return __builtin_exp2(x); }
};
struct Tanh {
  static double of(double x) { return __builtin_tanh(x); }
};

template <typename F, bool kFlush>
struct OfFloat {
  static float in(float x) { return kFlush ? flush(x) : x; }
  static float out(double x) {
    const float result = in(static_cast<float>(x));
    return is_nan(result) ? float_from(Ieee<float>::kNan) : result;
  }
  static float of(float a) { return out(F::of(in(a))); }
};

/// `kFull` is right for every b; without it, a GPU multiplies by a reciprocal that is 0 for |b| > 2^126.
template <bool kFlush, bool kFull>
struct Quotient {
  static float of(float a, float b) {
    using G = OfFloat<Quotient, kFlush>;
    a = G::in(a), b = G::in(b);
    const double inverse = !kFull && __builtin_fabsf(b) > 0x1p126f ? __builtin_copysign(0.0, b) : 1.0 / b;
    return G::out(kFull ? static_cast<double>(a) / b : a * inverse);
  }
};

template <typename F>
Handler of_float(const Form& form) {
  return form.ftz ? unary<OfFloat<F, true>, float, float> : unary<OfFloat<F, false>, float, float>;
}

/// .approx.ftz.f64: of the upper 32 bits of a and of the result, with subnormals flushed; NaN is 0x7fffffff.
template <typename F>
struct OfUpperHalf {
  static constexpr std::uint64_t kUpper = 0xffffffff00000000u;
  static double upper(double x) {
    const std::uint64_t bits = bits_of(x) & kUpper;
    return double_from((bits & ~Ieee<double>::kSign) < Ieee<double>::kLeastNormal ? bits & Ieee<double>::kSign
                                                                                  : bits);
  }
  static double of(double a) {
    const double result = F::of(upper(a));
    return is_nan(result) ? double_from(0x7fffffff00000000u) : upper(result);
  }
};

/// rsqrt.approx.f64, which is accurate and keeps a NaN's payload.
struct ReciprocalRootOfDouble {
  static double of(double a) {
    const double result = 1 / __builtin_sqrt(a);
    return is_nan(result) ? double_from(is_nan(a) ? bits_of(a) | Ieee<double>::kQuiet : Ieee<double>::kNan)
                          : result;
  }
};

}  // namespace

Handler approximate(const Form& form) {
  if (form.rounding != Rounding::none) return nullptr;
  if (form.type.is(Type::f, 64)) {
    if (!form.approx) return nullptr;
    if (form.op == ptx::Op::rcp && form.ftz) return unary<OfUpperHalf<Reciprocal>, double, double>;
    if (form.op != ptx::Op::rsqrt) return nullptr;
    return form.ftz ? unary<OfUpperHalf<ReciprocalRoot>, double, double>
                    : unary<ReciprocalRootOfDouble, double, double>;
  }
  if (form.op == ptx::Op::div && form.full) {
    return form.ftz ? binary<Quotient<true, true>, float, float, float>
                    : binary<Quotient<false, true>, float, float, float>;
  }
  if (!form.approx) return nullptr;
  switch (form.op) {
    case ptx::Op::div:
      return form.ftz ? binary<Quotient<true, false>, float, float, float>
                      : binary<Quotient<false, false>, float, float, float>;
    case ptx::Op::rcp:
      return of_float<Reciprocal>(form);
    case ptx::Op::sqrt_:
      return of_float<SquareRoot>(form);
    case ptx::Op::rsqrt:
      return of_float<ReciprocalRoot>(form);
    case ptx::Op::sin_:
      return of_float<Sine>(form);
    case ptx::Op::cos_:
      return of_float<Cosine>(form);
    case ptx::Op::lg2:
      return of_float<Log2>(form);
    case ptx::Op::ex2:
      return of_float<Exp2>(form);
    case ptx::Op::tanh_:
      return of_float<Tanh>(form);
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
