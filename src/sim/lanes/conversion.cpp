#include "sim/lanes/float_bits.hpp"
#include "sim/lanes/float_format.hpp"
#include "sim/lanes/lane_loop.hpp"
#include "sim/lanes/lanes.hpp"
#include "sim/lanes/packed_conversion.hpp"

// cvt of single numbers runs in three stages, over 64-bit values of all lanes: load extends an integer or
// turns a float into double, both exactly; change makes the result's bits; store writes the register's part
// of them. So the pairs of types need a few stages each and no loop of their own.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

using Load = void (*)(const Registers&, Source, std::uint64_t* values);
using Change = void (*)(std::uint64_t* values);
using Store = void (*)(const Registers&, std::uint32_t destination, const std::uint64_t* values, Mask lanes);

template <Load kLoad, Change kChange, Store kStore>
void stages(Registers& r, const Step& s, Mask lanes) {
  alignas(64) std::uint64_t values[kLanes];
  kLoad(r, s.a, values);
  kChange(values);
  kStore(r, s.destination, values, lanes);
}

// Loads and stores.

/// An integer T in a register R as wide or wider.
template <typename T, typename R>
[[gnu::noinline]] void load_integer(const Registers& r, Source source, std::uint64_t* values) {
  const R* from = r.read<R>(source);
  for (unsigned i = 0; i < kLanes; ++i) values[i] = static_cast<std::uint64_t>(static_cast<T>(from[i]));
}

template <typename B, bool kFlush>
[[gnu::noinline]] void load_float(const Registers& r, Source source, std::uint64_t* values) {
  if constexpr (sizeof(typename B::Bits) == 8) {
    const auto* from = r.read<std::uint64_t>(source);
    for (unsigned i = 0; i < kLanes; ++i) values[i] = from[i];
  } else {
    const auto* from = r.read<typename B::Bits>(source);
    for (unsigned i = 0; i < kLanes; ++i) {
      float x = value_of<B>(from[i]);
      if constexpr (kFlush) x = is_nan(x) ? float_from(Ieee<float>::kNan) : flush(x);
      values[i] = bits_of(static_cast<double>(x));
    }
  }
}

template <typename R>
[[gnu::noinline]] void store_integer(const Registers& r, std::uint32_t destination,
                                     const std::uint64_t* values, Mask lanes) {
  alignas(64) R result[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) result[i] = static_cast<R>(values[i]);
  store(r.write<R>(destination), result, lanes);
}

// Changes.

template <typename F>
[[gnu::noinline]] void each(std::uint64_t* values) {
  for (unsigned i = 0; i < kLanes; ++i) values[i] = F::of(values[i]);
}

template <typename T>
constexpr T kLargest = static_cast<T>(-1) > 0 ? static_cast<T>(-1)
                                              : static_cast<T>((1ull << (8 * sizeof(T) - 1)) - 1);
template <typename T>
constexpr T kSmallest = static_cast<T>(-1) > 0 ? T{0} : static_cast<T>(1ull << (8 * sizeof(T) - 1));

template <typename To>
struct Wrap {
  static std::uint64_t of(std::uint64_t x) { return static_cast<std::uint64_t>(static_cast<To>(x)); }
};

/// .sat. Wide is int64 or uint64 by the signedness of the source.
template <typename To, typename Wide>
struct Saturate {
  static std::uint64_t of(std::uint64_t bits) {
    const Wide x = static_cast<Wide>(bits);
    const bool negative = static_cast<Wide>(-1) < 0 && static_cast<std::int64_t>(bits) < 0;
    const bool below = negative && static_cast<std::int64_t>(bits) < static_cast<std::int64_t>(kSmallest<To>);
    const bool above = !negative && static_cast<std::uint64_t>(x) > static_cast<std::uint64_t>(kLargest<To>);
    return static_cast<std::uint64_t>(below ? kSmallest<To> : above ? kLargest<To> : static_cast<To>(bits));
  }
};

/// Rounds to an integer, in double.
template <Rounding kRounding>
inline double integral(double x) {
  switch (kRounding) {
    case Rounding::rzi:
      return __builtin_trunc(x);
    case Rounding::rmi:
      return __builtin_floor(x);
    case Rounding::rpi:
      return __builtin_ceil(x);
    default:
      return __builtin_rint(x);
  }
}

/// To the nearest integer in range. NaN becomes 0, or, kHighBit, the integer with the highest bit alone.
template <typename To, Rounding kRounding, bool kHighBit>
struct ToInteger {
  static std::uint64_t of(std::uint64_t bits) {
    constexpr double kLow = static_cast<double>(kSmallest<To>);
    constexpr double kBeyond = 2.0 * static_cast<double>(static_cast<std::uint64_t>(kLargest<To>) / 2 + 1);
    const double x = integral<kRounding>(double_from(bits));
    const bool inside = x >= kLow && x < kBeyond;
    // Where To is u64, the upper half of its range is moved into that of int64.
    const bool upper = sizeof(To) == 8 && x >= 0x1p63;
    const double safe = inside ? (upper ? x - 0x1p63 : x) : 0.0;
    const auto integer =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(safe)) + (upper ? 1ull << 63 : 0);
    const std::uint64_t high = static_cast<std::uint64_t>(static_cast<To>(1ull << (8 * sizeof(To) - 1)));
    const std::uint64_t outside =
        is_nan(x) ? (kHighBit ? high : 0) : static_cast<std::uint64_t>(x < 0 ? kSmallest<To> : kLargest<To>);
    return inside ? integer : outside;
  }
};

/// The bits of a double in format B, which has the value.
template <typename B>
inline std::uint64_t encoded(double x) {
  if constexpr (sizeof(typename B::Bits) == 8) {
    return bits_of(x);
  } else {
    return bits_in<B>(x);
  }
}

/// An integer to a float, exactly rounded.
template <typename B, typename Wide, Rounding kRounding, Clamp kClamp>
struct FromInteger {
  static std::uint64_t of(std::uint64_t bits) {
    const bool negative = static_cast<Wide>(-1) < 0 && static_cast<std::int64_t>(bits) < 0;
    const std::uint64_t magnitude = negative ? 0 - bits : bits;
    double x;
    if constexpr (sizeof(typename B::Bits) == 8) {
      x = as_double(magnitude, negative);
    } else {
      const double sticky = sticky_double(magnitude);
      x = rounded<B, kRounding>(negative ? -sticky : sticky);
    }
    return encoded<B>(clamped<kClamp>(x));
  }
  static double as_double(std::uint64_t magnitude, bool negative) {
    const double high = static_cast<double>(magnitude >> 32) * 0x1p32;
    const double low = static_cast<double>(static_cast<std::uint32_t>(magnitude));
    const double sum = high + low;
    const double error = low - (sum - high);  // exact
    bool down = kRounding == Rounding::rz, up = false;
    if constexpr (kRounding == Rounding::rm) down = !negative, up = negative;
    if constexpr (kRounding == Rounding::rp) down = negative, up = !negative;
    const std::uint64_t bits = bits_of(sum) + (up && error > 0 ? 1 : 0) - (down && error < 0 ? 1 : 0);
    return negative ? -double_from(bits) : double_from(bits);
  }
};

/// A float, as double, to a format of the same or less precision. The NaN of a double keeps sign and the
/// leading payload, kPayload; kFlush: .ftz, of f32 from f64.
template <typename B, Rounding kRounding, Clamp kClamp, bool kFinite, bool kFlush, bool kPayload>
struct ToFloat {
  static std::uint64_t of(std::uint64_t bits) {
    constexpr bool kIntegral = kRounding == Rounding::rni || kRounding == Rounding::rzi ||
                               kRounding == Rounding::rmi || kRounding == Rounding::rpi;
    double x = double_from(bits);
    if constexpr (kFlush) {
      // What would round to less than the least normal number if the exponent went on below.
      x = __builtin_fabs(rounded<B, kRounding>(x * 0x1p64)) < 0x1p-62 ? __builtin_copysign(0.0, x) : x;
    }
    if constexpr (kIntegral) {
      x = integral<kRounding>(x);
      if constexpr (sizeof(typename B::Bits) < 8) x = rounded<B, Rounding::rn>(x);
    } else if constexpr (sizeof(typename B::Bits) < 8) {
      x = rounded<B, kRounding, kFinite>(x);
    }
    x = clamped<kClamp>(x);
    std::uint64_t result = encoded<B>(x);
    if constexpr (sizeof(typename B::Bits) == 8) {
      result |= is_nan(x) ? Ieee<double>::kQuiet : 0;
    } else if constexpr (kPayload && kClamp == Clamp::none) {
      const std::uint64_t payload = (bits & (Ieee<double>::kLeastNormal - 1)) >> (52 - B::kMantissa);
      const std::uint64_t nan = (bits >> 63) * B::kSign | B::kInfinity | 1u << (B::kMantissa - 1) | payload;
      result = is_nan(x) ? nan : result;
    }
    return result;
  }
};

struct Widen {
  static std::uint32_t of(std::uint16_t bits) { return static_cast<std::uint32_t>(bits) << 16; }
};
template <typename T>
struct Copy {
  static T of(T x) { return x; }
};
struct HalfToFloat {
  static float of(std::uint16_t bits) {
    const float x = value_of<F16>(bits);
    return is_nan(x) ? float_from(Ieee<float>::kNan) : x;
  }
};
struct FloatToHalf {
  static std::uint16_t of(float x) { return bits_in<F16>(rounded<F16, Rounding::rn>(x)); }
};
/// To the nearest T of a 32-bit integer, which double has.
template <typename T>
struct Nearest {
  template <typename Integer>
  static T of(Integer x) {
    return static_cast<T>(static_cast<double>(x));
  }
};

// From a Form to the stages.

/// use.operator()<T>() for the integer type; nullptr: not one.
template <typename Use>
Handler with_integer(Type type, Use use) {
  if (!type.integer() || type.packed != 1) return nullptr;
  const bool is_signed = type.kind == Type::s;
  switch (type.bits) {
    case 8:
      return is_signed ? use.template operator()<std::int8_t>() : use.template operator()<std::uint8_t>();
    case 16:
      return is_signed ? use.template operator()<std::int16_t>() : use.template operator()<std::uint16_t>();
    case 32:
      return is_signed ? use.template operator()<std::int32_t>() : use.template operator()<std::uint32_t>();
    case 64:
      return is_signed ? use.template operator()<std::int64_t>() : use.template operator()<std::uint64_t>();
    default:
      return nullptr;
  }
}

/// use.operator()<B>() for the format.
template <typename Use>
Handler with_format(Type type, Use use) {
  if (type.is(Type::f, 16)) return use.template operator()<F16>();
  if (type.is(Type::bf, 16)) return use.template operator()<Bf16>();
  if (type.is(Type::f, 32)) return use.template operator()<F32>();
  if (type.is(Type::f, 64)) return use.template operator()<Ieee<double>>();
  return nullptr;
}

template <Rounding... kRoundings, typename Use>
Handler with_rounding(Rounding rounding, Use use) {
  Handler found = nullptr;
  ((found = rounding == kRoundings ? use.template operator()<kRoundings>() : found), ...);
  return found;
}

/// use.operator()<R>() for the register of so many bytes, which holds a T.
template <typename T, typename Use>
Handler with_register(unsigned bytes, Use use) {
  if constexpr (sizeof(T) <= 2) {
    if (bytes == 2) return use.template operator()<std::uint16_t>();
  }
  if constexpr (sizeof(T) <= 4) {
    if (bytes == 4) return use.template operator()<std::uint32_t>();
  }
  if (bytes == 8) return use.template operator()<std::uint64_t>();
  return nullptr;
}

/// The type of a loaded T: 64 bits of the same signedness.
template <bool kSigned>
struct Loaded {
  using type = std::uint64_t;
};
template <>
struct Loaded<true> {
  using type = std::int64_t;
};

template <Load kLoad, typename To, typename F>
Handler into_integer(unsigned to_bytes) {
  return with_register<To>(to_bytes,
                           []<typename R>() -> Handler { return stages<kLoad, each<F>, store_integer<R>>; });
}

template <Load kLoad, typename B, typename F>
Handler into_float() {
  return stages<kLoad, each<F>, store_integer<typename B::Bits>>;
}

template <typename T, typename R>
Handler from_integer(const Form& form, unsigned to_bytes) {
  using W = typename Loaded<(static_cast<T>(-1) < 0)>::type;
  constexpr Load kLoad = load_integer<T, R>;
  if (form.type.integer()) {
    return with_integer(form.type, [&]<typename To>() {
      return form.sat ? into_integer<kLoad, To, Saturate<To, W>>(to_bytes)
                      : into_integer<kLoad, To, Wrap<To>>(to_bytes);
    });
  }
  return with_format(form.type, [&]<typename B>() -> Handler {
    if (to_bytes != sizeof(typename B::Bits)) return nullptr;
    return with_rounding<Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp>(
        form.rounding, [&]<Rounding kRounding>() {
          return form.sat ? into_float<kLoad, B, FromInteger<B, W, kRounding, Clamp::sat>>()
                          : into_float<kLoad, B, FromInteger<B, W, kRounding, Clamp::none>>();
        });
  });
}

/// .relu and .satfinite are of halves from f32.
template <Load kLoad, typename B, Rounding kRounding>
Handler half_from_f32(const Form& form) {
  if (form.relu && form.satfinite) {
    return into_float<kLoad, B, ToFloat<B, kRounding, Clamp::relu, true, false, false>>();
  }
  if (form.relu) return into_float<kLoad, B, ToFloat<B, kRounding, Clamp::relu, false, false, false>>();
  return into_float<kLoad, B, ToFloat<B, kRounding, Clamp::none, true, false, false>>();
}

template <Load kLoad, typename From, typename To, Rounding kRounding>
Handler float_from_float(const Form& form) {
  constexpr bool kPayload = sizeof(typename From::Bits) == 8;
  if constexpr (__is_same(From, F32) && sizeof(typename To::Bits) == 2 &&
                (kRounding == Rounding::rn || kRounding == Rounding::rz)) {
    if (form.relu || form.satfinite) return half_from_f32<kLoad, To, kRounding>(form);
  }
  if (form.relu || form.satfinite) return nullptr;
  if constexpr (kPayload && __is_same(To, F32)) {
    if (form.ftz) {
      return form.sat ? into_float<kLoad, To, ToFloat<To, kRounding, Clamp::sat, false, true, kPayload>>()
                      : into_float<kLoad, To, ToFloat<To, kRounding, Clamp::none, false, true, kPayload>>();
    }
  }
  return form.sat ? into_float<kLoad, To, ToFloat<To, kRounding, Clamp::sat, false, false, kPayload>>()
                  : into_float<kLoad, To, ToFloat<To, kRounding, Clamp::none, false, false, kPayload>>();
}

/// Those that only move bits, where a NaN stays what it is, and the most frequent ones in a loop of their
/// own.
Handler direct(const Form& form) {
  const Type f32{Type::f, 32}, f64{Type::f, 64}, f16{Type::f, 16};
  const Type type = form.type, from = form.from;
  if (form.ftz || form.sat || form.relu || form.satfinite) return nullptr;
  if (type == f32 && from.is(Type::bf, 16)) return unary<Widen, std::uint32_t, std::uint16_t>;
  if (form.rounding == Rounding::none) {
    if (type == f32 && from == f32) return unary<Copy<std::uint32_t>, std::uint32_t, std::uint32_t>;
    if (type == f64 && from == f64) return unary<Copy<std::uint64_t>, std::uint64_t, std::uint64_t>;
    if (type == f32 && from == f16) return unary<HalfToFloat, float, std::uint16_t>;
  }
  if (form.rounding == Rounding::rn) {
    if (type == f16 && from == f32) return unary<FloatToHalf, std::uint16_t, float>;
    if (type == f32 && from.is(Type::s, 32)) return unary<Nearest<float>, float, std::int32_t>;
    if (type == f32 && from.is(Type::u, 32)) return unary<Nearest<float>, float, std::uint32_t>;
    if (type == f64 && from.is(Type::s, 32)) return unary<Nearest<double>, double, std::int32_t>;
    if (type == f64 && from.is(Type::u, 32)) return unary<Nearest<double>, double, std::uint32_t>;
  }
  return nullptr;
}

template <typename From, Load kLoad>
Handler from_float(const Form& form, unsigned to_bytes) {
  if (form.type.integer()) {
    return with_integer(form.type, [&]<typename To>() {
      constexpr bool kHighBit = sizeof(typename From::Bits) == 8 || sizeof(To) == 8;
      return with_rounding<Rounding::rni, Rounding::rzi, Rounding::rmi, Rounding::rpi>(
          form.rounding, [&]<Rounding kRounding>() {
            return into_integer<kLoad, To, ToInteger<To, kRounding, kHighBit>>(to_bytes);
          });
    });
  }
  return with_format(form.type, [&]<typename To>() -> Handler {
    if (to_bytes != sizeof(typename To::Bits)) return nullptr;
    if constexpr (__is_same(From, To)) {
      const auto found = with_rounding<Rounding::rni, Rounding::rzi, Rounding::rmi, Rounding::rpi>(
          form.rounding,
          [&]<Rounding kRounding>() { return float_from_float<kLoad, From, To, kRounding>(form); });
      if (found != nullptr) return found;
    }
    constexpr unsigned kTo = sizeof(typename To::Bits), kFrom = sizeof(typename From::Bits);
    constexpr bool kExact = kTo == 8 || (kTo == 4 && kFrom <= 4) || __is_same(From, To);
    if constexpr (kExact) {
      return float_from_float<kLoad, From, To, Rounding::rn>(form);
    } else {
      return with_rounding<Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp>(
          form.rounding == Rounding::none ? Rounding::rn : form.rounding,
          [&]<Rounding kRounding>() { return float_from_float<kLoad, From, To, kRounding>(form); });
    }
  });
}

}  // namespace

Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes) {
  if (to_bytes == form.type.bytes() && from_bytes == form.from.bytes()) {
    if (Handler found = packed_conversion(form)) return found;
    if (Handler found = direct(form)) return found;
  }
  if (form.from.integer()) {
    return with_integer(form.from, [&]<typename T>() {
      return with_register<T>(from_bytes, [&]<typename R>() { return from_integer<T, R>(form, to_bytes); });
    });
  }
  return with_format(form.from, [&]<typename From>() -> Handler {
    if (from_bytes != sizeof(typename From::Bits)) return nullptr;
    // Measured: f16 from f32 is not flushed, in spite of .ftz.
    if constexpr (sizeof(typename From::Bits) < 8) {
      if (form.ftz && !form.type.is(Type::f, 16))
        return from_float<From, load_float<From, true>>(form, to_bytes);
    }
    return from_float<From, load_float<From, false>>(form, to_bytes);
  });
}

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
