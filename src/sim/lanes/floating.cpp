#include "sim/lanes/approximate.hpp"
#include "sim/lanes/float_bits.hpp"
#include "sim/lanes/float_format.hpp"
#include "sim/lanes/lane_loop.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/lanes/rounding_mode.hpp"

// Arithmetic that IEEE 754 defines. The processor computes it, in the rounding mode asked for; what GPUs add
// is done on the bits: f32 has one NaN, f64 keeps the payload of an operand's. Which one's was measured on an
// H100: of add, sub, mul, fma, min and max the NaN of b before that of c before that of a; of div, a's first.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

/// Step::flags of min and max of f32 with three sources.
constexpr std::uint16_t kThreeSources = 1;

/// The least normal f32 is also what some values round to that .ftz makes 0: those that would be less if
/// f32's exponent went on below. F::scaled tells: it is F's value 2^64 times as large, of arguments for which
/// F's value is near the least normal number. Sums, differences and roots that small are exact and have no
/// scaled().
constexpr float kScale = 0x1p64f;
constexpr float kLeastScaled = 0x1p-62f;

struct Add {
  template <typename T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  static T of(T a, T b) {
    return a * b;
  }
  static float scaled(float a, float b) {
    return with_scale(a, b, [](float x, float y) { return x * y; });
  }
  /// use(a, b) with the lesser one scaled.
  template <typename Use>
  static float with_scale(float a, float b, Use use) {
    return __builtin_fabsf(a) < __builtin_fabsf(b) ? use(a * kScale, b) : use(a, b * kScale);
  }
};
struct Divide {
  template <typename T>
  static T of(T a, T b) {
    return a / b;
  }
  static float scaled(float a, float b) { return a * kScale / b; }
};
struct MultiplyAdd {
  static float of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double of(double a, double b, double c) { return __builtin_fma(a, b, c); }
  static float scaled(float a, float b, float c) {
    return Multiply::with_scale(a, b, [=](float x, float y) { return __builtin_fmaf(x, y, c * kScale); });
  }
};
struct Reciprocal {
  template <typename T>
  static T of(T a) {
    return 1 / a;
  }
  static float scaled(float a) { return kScale / a; }
};
struct SquareRoot {
  static float of(float a) { return __builtin_sqrtf(a); }
  static double of(double a) { return __builtin_sqrt(a); }
};

/// The NaN of f64: the first operand's that is one, made quiet; if none is, a fresh one.
inline double nan_from(double first) {
  using B = Ieee<double>;
  return double_from(is_nan(first) ? bits_of(first) | B::kQuiet : B::kNan);
}
template <typename... Rest>
inline double nan_from(double first, Rest... rest) {
  return is_nan(first) ? nan_from(first) : nan_from(rest...);
}

/// F with the NaN and .sat of a GPU, and its .ftz but for the values that F::scaled tells of.
template <typename F, typename T, bool kFlush, bool kSaturate>
struct Arithmetic {
  static T in(T x) {
    if constexpr (kFlush) return flush(x);
    return x;
  }
  template <typename... A>
  static T of(A... a) {
    T x = F::of(in(a)...);
    if constexpr (sizeof(T) == 8) return is_nan(x) ? nan_of(a...) : x;
    if constexpr (kFlush) x = flush(x);
    if constexpr (kSaturate) return saturate(x);
    return is_nan(x) ? from_bits<T>(Ieee<T>::kNan) : x;
  }
  /// of(a...), given that it is the least normal number or its negative.
  template <typename... A>
  static T of_least(T result, A... a) {
    const T least = from_bits<T>(kSaturate ? 0 : bits_of(result) & Ieee<T>::kSign);
    return __builtin_fabsf(F::scaled(in(a)...)) < kLeastScaled ? least : result;
  }
  static double nan_of(double a) { return nan_from(a); }
  static double nan_of(double a, double b) { return __is_same(F, Divide) ? nan_from(a, b) : nan_from(b, a); }
  static double nan_of(double a, double b, double c) { return nan_from(b, c, a); }
};

/// f32x2: each half by itself.
struct Pair {
  float low, high;
};
template <typename F>
struct Packed {
  template <typename... A>
  static Pair of(A... a) {
    return {F::of(a.low...), F::of(a.high...)};
  }
};

/// The loop over lanes for a function of that many arguments of one type.
template <int kArguments, typename F, typename T>
constexpr Handler loop() {
  if constexpr (kArguments == 1) return unary<F, T, T>;
  if constexpr (kArguments == 2) return binary<F, T, T, T>;
  if constexpr (kArguments == 3) return ternary<F, T, T, T, T>;
}

/// The loop over lanes of G, an Arithmetic that flushes, of kElements a lane (2: f32x2). All is computed as
/// if no value were one that F::scaled tells of, which is almost always so.
template <typename G, int kElements, typename... Sources>
void flushing(Registers& r, const Step& s, Mask lanes, Sources... sources) {
  struct Lane {
    float element[kElements];
  };
  constexpr unsigned kAll = kLanes * kElements;
  alignas(64) float to[kAll];
  std::uint32_t least = 0;
  for (unsigned i = 0; i < kAll; ++i) {
    to[i] = G::of(sources[i]...);
    least |= (bits_of(to[i]) & 0x7fffffffu) == Ieee<float>::kLeastNormal ? 1u : 0u;
  }
  if (least != 0) {
    for (unsigned i = 0; i < kAll; ++i) {
      if ((bits_of(to[i]) & 0x7fffffffu) == Ieee<float>::kLeastNormal)
        to[i] = G::of_least(to[i], sources[i]...);
    }
  }
  store(r.write<Lane>(s.destination), reinterpret_cast<const Lane*>(to), lanes);
}
template <int kArguments, typename G, int kElements>
void flushing_loop(Registers& r, const Step& s, Mask lanes) {
  const float *a = r.read<float>(s.a), *b = r.read<float>(s.b), *c = r.read<float>(s.c);
  if constexpr (kArguments == 1) flushing<G, kElements>(r, s, lanes, a);
  if constexpr (kArguments == 2) flushing<G, kElements>(r, s, lanes, a, b);
  if constexpr (kArguments == 3) flushing<G, kElements>(r, s, lanes, a, b, c);
}

template <int kArguments, typename F, bool kFlush, bool kSaturate>
Handler of_f32(const Form& form) {
  using G = Arithmetic<F, float, kFlush, kSaturate>;
  constexpr bool kMayScale = requires { &F::scaled; };
  const bool packed = form.type.packed == 2;
  if constexpr (kFlush && kMayScale) {
    return packed ? rounded_as<flushing_loop<kArguments, G, 2>>(form.rounding)
                  : rounded_as<flushing_loop<kArguments, G, 1>>(form.rounding);
  }
  return packed ? rounded_as<loop<kArguments, Packed<G>, Pair>()>(form.rounding)
                : rounded_as<loop<kArguments, G, float>()>(form.rounding);
}

template <int kArguments, typename F>
Handler arithmetic(const Form& form) {
  if (form.type.bits == 64) {
    return rounded_as<loop<kArguments, Arithmetic<F, double, false, false>, double>()>(form.rounding);
  }
  if (form.sat)
    return form.ftz ? of_f32<kArguments, F, true, true>(form) : of_f32<kArguments, F, false, true>(form);
  return form.ftz ? of_f32<kArguments, F, true, false>(form) : of_f32<kArguments, F, false, false>(form);
}

template <bool kNegate>
Handler sign_change(const Form& form) {
  if (form.type.bits == 64) {
    return unary<SignChange<Ieee<double>, false, kNegate>, std::uint64_t, std::uint64_t>;
  }
  return form.ftz ? unary<SignChange<Ieee<float>, true, kNegate>, std::uint32_t, std::uint32_t>
                  : unary<SignChange<Ieee<float>, false, kNegate>, std::uint32_t, std::uint32_t>;
}

template <typename B>
struct CopySign {
  using Bits = typename B::Bits;
  static Bits of(Bits sign, Bits magnitude) { return (sign & B::kSign) | (magnitude & ~B::kSign); }
};

template <typename F, typename T>
void extreme_of_two_or_three(Registers& r, const Step& s, Mask lanes) {
  s.flags == kThreeSources ? ternary<F, T, T, T, T>(r, s, lanes) : binary<F, T, T, T>(r, s, lanes);
}

template <bool kGreater, bool kFlush, bool kNan>
Handler extreme_f32(const Form& form) {
  using B = Ieee<float>;
  if (form.xorsign) return binary<Extreme<B, kGreater, kFlush, kNan, true, true>, B::Bits, B::Bits, B::Bits>;
  if (form.abs) return extreme_of_two_or_three<Extreme<B, kGreater, kFlush, kNan, true, false>, B::Bits>;
  return extreme_of_two_or_three<Extreme<B, kGreater, kFlush, kNan, false, false>, B::Bits>;
}

template <bool kGreater>
Handler extreme(const Form& form) {
  using B = Ieee<double>;
  if (form.type.bits == 64) {
    return binary<Extreme<B, kGreater, false, false, false, false>, B::Bits, B::Bits, B::Bits>;
  }
  if (form.nan)
    return form.ftz ? extreme_f32<kGreater, true, true>(form) : extreme_f32<kGreater, false, true>(form);
  return form.ftz ? extreme_f32<kGreater, true, false>(form) : extreme_f32<kGreater, false, false>(form);
}

}  // namespace

Handler floating(const Form& form) {
  const Type type = form.type;
  const bool packed = type.is(Type::f, 32, 2);
  if (!type.is(Type::f, 32) && !type.is(Type::f, 64) && !packed) return nullptr;
  if (form.from != type || (type.bits == 64 && form.sat)) return nullptr;
  switch (form.op) {
    case ptx::Op::add:
      return arithmetic<2, Add>(form);
    case ptx::Op::sub:
      return arithmetic<2, Subtract>(form);
    case ptx::Op::mul:
      return arithmetic<2, Multiply>(form);
    case ptx::Op::mad:
    case ptx::Op::fma:
      return arithmetic<3, MultiplyAdd>(form);
    default:
      break;
  }
  if (packed) return nullptr;
  if (Handler found = approximate(form)) return found;
  if (form.approx || form.full) return nullptr;
  switch (form.op) {
    case ptx::Op::div:
      return arithmetic<2, Divide>(form);
    case ptx::Op::rcp:
      return arithmetic<1, Reciprocal>(form);
    case ptx::Op::sqrt_:
      return arithmetic<1, SquareRoot>(form);
    case ptx::Op::abs_:
      return sign_change<false>(form);
    case ptx::Op::neg:
      return sign_change<true>(form);
    case ptx::Op::min_:
      return extreme<false>(form);
    case ptx::Op::max_:
      return extreme<true>(form);
    case ptx::Op::copysign:
      return type.bits == 64 ? binary<CopySign<Ieee<double>>, std::uint64_t, std::uint64_t, std::uint64_t>
                             : binary<CopySign<Ieee<float>>, std::uint32_t, std::uint32_t, std::uint32_t>;
    default:
      return nullptr;
  }
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
