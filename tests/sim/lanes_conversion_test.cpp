#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "exact_number.hpp"
#include "lanes.hpp"

namespace warploom::sim::testing {
namespace {

using std::bit_cast;

template <typename To, typename From>
std::vector<Handler> handlers(const std::string& name) {
  std::vector<Handler> found;
  for (auto* find : builds(baseline::conversion, avx2::conversion)) {
    found.push_back(find(form(name), sizeof(To), sizeof(From)));
  }
  return found;
}

/// Checks every tuple; To and From are the registers.
template <typename To, typename From, typename... Rest, typename Expected>
void expect_all(const std::string& name, const std::vector<std::tuple<From, Rest...>>& tuples,
                const Expected& expected) {
  for (const Handler handler : handlers<To, From>(name)) {
    for_lanes<To>(handler, tuples, [&](To result, From from, Rest... rest) {
      EXPECT_EQ(result, static_cast<To>(expected(from, rest...)))
          << name << std::hex << ' ' << +from << " -> " << +result;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

using H = std::uint16_t;
using U = std::uint32_t;
using V = std::uint64_t;
constexpr std::pair<const char*, Rounding> kModes[] = {
    {"rn", Rounding::rn}, {"rz", Rounding::rz}, {"rm", Rounding::rm}, {"rp", Rounding::rp}};
constexpr std::pair<const char*, Rounding> kIntegerModes[] = {
    {"rni", Rounding::rni}, {"rzi", Rounding::rzi}, {"rmi", Rounding::rmi}, {"rpi", Rounding::rpi}};

std::vector<std::tuple<H>> all_halves() {
  std::vector<std::tuple<H>> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) all.emplace_back(static_cast<H>(bits));
  return all;
}
/// Bits of f32 or f64: those of its own interesting values and of a narrower format's ones and their
/// neighbours.
template <typename T>
std::vector<std::tuple<T>> reals(BinaryFormat format, BinaryFormat narrower) {
  std::mt19937_64 random(9);
  std::vector<std::tuple<T>> found;
  for (int i = 0; i < 20000; ++i) {
    found.emplace_back(static_cast<T>(interesting(format, random)));
    const V bits = interesting(narrower, random);
    if (!narrower.is_finite(bits)) continue;
    const V value = ExactNumber::of(narrower, bits).in(format, Rounding::rn);
    const V half = 1ull << (format.mantissa - narrower.mantissa - 1);
    found.emplace_back(static_cast<T>(value + random() % 2 * half + random() % 3 - 1));
  }
  return found;
}

TEST(LanesConversion, HalvesToWiderFormatsAreExact) {
  const auto widen = [](BinaryFormat from, BinaryFormat to, H bits, V nan) {
    if (from.is_nan(bits)) return nan;
    if (!from.is_finite(bits)) return to.infinity() | (bits & 0x8000 ? to.sign() : 0);
    return ExactNumber::of(from, bits).in(to, Rounding::rn);
  };
  expect_all<U>("cvt.f32.f16", all_halves(), [&](H a) { return widen(kF16, kF32, a, 0x7fffffff); });
  expect_all<V>("cvt.f64.f16", all_halves(), [&](H a) {
    // The NaN is made quiet and keeps its payload.
    return widen(kF16, kF64, a, (V{a} & 0x8000) << 48 | 0x7ff8000000000000 | (V{a} & 0x3ff) << 42);
  });
  expect_all<U>("cvt.f32.bf16", all_halves(), [](H a) { return U{a} << 16; });
}

TEST(LanesConversion, NarrowsInEveryRoundingMode) {
  for (const auto& [mode, rounding] : kModes) {
    for (const auto& [type, format] : {std::pair{".f16", kF16}, {".bf16", kBf16}}) {
      expect_all<H>(std::string("cvt.") + mode + type + ".f32", reals<U>(kF32, format),
                    [&, f = format, r = rounding](U a) -> V {
                      if (kF32.is_nan(a)) return 0x7fff;
                      if (!kF32.is_finite(a)) return f.infinity() | a >> 31 << 15;
                      return ExactNumber::of(kF32, a).in(f, r);
                    });
    }
    for (const bool flush : {false, true}) {
      expect_all<U>(std::string("cvt.") + mode + (flush ? ".ftz" : "") + ".f32.f64", reals<V>(kF64, kF32),
                    [&, r = rounding](V a) -> V {
                      const V sign = a >> 63 << 31;
                      if (kF64.is_nan(a)) return sign | 0x7fc00000 | (a << 12 >> 41);
                      if (!kF64.is_finite(a)) return sign | kF32.infinity();
                      return ExactNumber::of(kF64, a).in(kF32, r, flush);
                    });
    }
    expect_all<H>(std::string("cvt.") + mode + ".f16.f64", reals<V>(kF64, kF16), [&, r = rounding](V a) -> V {
      if (!kF64.is_finite(a)) return a >> 63 << 15 | 0x7c00 | (kF64.is_nan(a) ? 0x200 : 0) | (a << 12 >> 54);
      return ExactNumber::of(kF64, a).in(kF16, r);
    });
  }
}

TEST(LanesConversion, WidensSingleToDouble) {
  expect_all<V>("cvt.f64.f32", reals<U>(kF32, kF16), [](U a) -> V {
    if (kF32.is_nan(a)) return (V{a} >> 31 << 63) | 0x7ff8000000000000 | (V{a} & 0x7fffff) << 29;
    return bit_cast<V>(static_cast<double>(bit_cast<float>(a)));
  });
  expect_all<V>("cvt.ftz.f64.f32",
                std::vector<std::tuple<U>>{{1u}, {0x80000001u}, {0x3f800000u}, {0xff800001u}}, [](U a) -> V {
                  return a == 1            ? 0
                         : a == 0x80000001 ? 1ull << 63
                         : a == 0x3f800000 ? 0x3ff0000000000000
                                           : 0x7fffffffe0000000;
                });
}

TEST(LanesConversion, ClampsReluAndSatfinite) {
  const std::vector<std::tuple<U>> values = {{0x80000000u}, {0xbf800000u}, {0x3f000000u}, {0x40000000u},
                                             {0x7f800000u}, {0xff800000u}, {0x7fc00000u}, {0x48000000u}};
  const auto pick = [](U a, std::initializer_list<V> results) {
    const U order[] = {0x80000000u, 0xbf800000u, 0x3f000000u, 0x40000000u,
                       0x7f800000u, 0xff800000u, 0x7fc00000u, 0x48000000u};
    for (std::size_t i = 0; i < 8; ++i)
      if (order[i] == a) return results.begin()[i];
    return V{0xbad};
  };
  expect_all<H>("cvt.rn.sat.f16.f32", values, [&](U a) {
    return pick(a, {0, 0, 0x3800, 0x3c00, 0x3c00, 0, 0, 0x3c00});
  });
  expect_all<H>("cvt.rn.relu.f16.f32", values, [&](U a) {
    return pick(a, {0, 0, 0x3800, 0x4000, 0x7c00, 0, 0x7fff, 0x7c00});
  });
  expect_all<H>("cvt.rn.satfinite.f16.f32", values, [&](U a) {
    return pick(a, {0x8000, 0xbc00, 0x3800, 0x4000, 0x7bff, 0xfbff, 0x7fff, 0x7bff});
  });
  expect_all<H>("cvt.rz.relu.satfinite.bf16.f32", values, [&](U a) {
    return pick(a, {0, 0, 0x3f00, 0x4000, 0x7f7f, 0, 0x7fff, 0x4800});
  });
  expect_all<U>("cvt.sat.f32.f32", values, [&](U a) {
    return pick(a, {0, 0, 0x3f000000, 0x3f800000, 0x3f800000, 0, 0, 0x3f800000});
  });
  expect_all<V>("cvt.sat.f64.f32", values, [&](U a) {
    return pick(a,
                {0, 0, 0x3fe0000000000000, 0x3ff0000000000000, 0x3ff0000000000000, 0, 0, 0x3ff0000000000000});
  });
}

/// The integer that an exact number rounds to, clamped to To.
template <typename To>
To clamped_integer(const ExactNumber& exact, Rounding rounding) {
  constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  if (bit_width(exact.magnitude) + exact.exponent > 64) return exact.negative ? low : high;
  const Wide magnitude = exact.rounded(0, rounding);
  if (exact.negative) {
    if (std::is_unsigned_v<To>) return 0;
    return magnitude > static_cast<Wide>(high) + 1 ? low : static_cast<To>(0 - static_cast<V>(magnitude));
  }
  return magnitude > static_cast<Wide>(high) ? high : static_cast<To>(magnitude);
}

template <typename To, typename From>
void expect_integers(const std::string& to, const std::string& from, BinaryFormat format,
                     const std::vector<std::tuple<From>>& values) {
  using Register = std::conditional_t<sizeof(To) == 1, H, std::make_unsigned_t<To>>;
  for (const auto& [mode, rounding] : kIntegerModes) {
    const auto expected = [&, r = rounding](From a) -> V {
      const bool high_bit = sizeof(From) == 8 || sizeof(To) == 8;
      if (format.is_nan(a))
        return static_cast<V>(high_bit ? static_cast<To>(1ull << (8 * sizeof(To) - 1)) : To{0});
      const To high = std::numeric_limits<To>::max(), low = std::numeric_limits<To>::min();
      if (!format.is_finite(a)) return static_cast<V>((a & format.sign()) != 0 ? low : high);
      return static_cast<V>(clamped_integer<To>(ExactNumber::of(format, a), r));
    };
    expect_all<Register>(std::string("cvt.") + mode + "." + to + "." + from, values, expected);
  }
}

template <typename To>
void expect_integers(const std::string& to) {
  expect_integers<To>(to, "f16", kF16, all_halves());
  expect_integers<To>(to, "bf16", kBf16, all_halves());
  auto singles = reals<U>(kF32, kBf16);
  auto doubles = reals<V>(kF64, kF32);
  for (int power = -2; power <= 65; ++power) {
    for (int step = -3; step <= 3; ++step) {
      for (const double offset : {0.0, 0.25, 0.5, 0.75}) {
        const double value = std::ldexp(1.0, power) + step + offset;
        for (const double x : {value, -value, std::nextafter(value, 0.0)}) {
          doubles.emplace_back(bit_cast<V>(x));
          singles.emplace_back(bit_cast<U>(static_cast<float>(x)));
        }
      }
    }
  }
  expect_integers<To>(to, "f32", kF32, singles);
  expect_integers<To>(to, "f64", kF64, doubles);
}

TEST(LanesConversion, RealsToUnsigned) {
  expect_integers<std::uint8_t>("u8");
  expect_integers<std::uint16_t>("u16");
  expect_integers<std::uint32_t>("u32");
  expect_integers<std::uint64_t>("u64");
}

TEST(LanesConversion, RealsToSigned) {
  expect_integers<std::int8_t>("s8");
  expect_integers<std::int16_t>("s16");
  expect_integers<std::int32_t>("s32");
  expect_integers<std::int64_t>("s64");
}

TEST(LanesConversion, FlushesBeforeRoundingToAnInteger) {
  const std::vector<std::tuple<U>> subnormal = {{1u}};
  expect_all<U>("cvt.rpi.ftz.s32.f32", subnormal, [](U) { return 0; });
  expect_all<U>("cvt.rpi.s32.f32", subnormal, [](U) { return 1; });
}

TEST(LanesConversion, RoundsRealsToIntegralOnes) {
  for (const auto& [mode, rounding] : kIntegerModes) {
    expect_all<U>(std::string("cvt.") + mode + ".f32.f32", reals<U>(kF32, kF16), [r = rounding](U a) -> V {
      if (kF32.is_nan(a)) return 0x7fffffff;
      const float x = bit_cast<float>(a);
      const float y = r == Rounding::rni   ? std::nearbyint(x)
                      : r == Rounding::rzi ? std::trunc(x)
                      : r == Rounding::rmi ? std::floor(x)
                                           : std::ceil(x);
      return bit_cast<U>(y);
    });
    expect_all<V>(std::string("cvt.") + mode + ".f64.f64", reals<V>(kF64, kF32), [r = rounding](V a) -> V {
      if (kF64.is_nan(a)) return a | 1ull << 51;
      const double x = bit_cast<double>(a);
      return bit_cast<V>(r == Rounding::rni   ? std::nearbyint(x)
                         : r == Rounding::rzi ? std::trunc(x)
                         : r == Rounding::rmi ? std::floor(x)
                                              : std::ceil(x));
    });
    expect_all<H>(std::string("cvt.") + mode + ".f16.f16", all_halves(), [r = rounding](H a) -> V {
      if (kF16.is_nan(a)) return 0x7fff;
      if (!kF16.is_finite(a)) return a;
      const ExactNumber exact = ExactNumber::of(kF16, a);
      return ExactNumber{exact.negative, exact.rounded(0, r), 0, false}.in(kF16, Rounding::rn);
    });
  }
}

template <typename From>
ExactNumber exact_of(From from) {
  const bool negative = from < 0;
  return {negative, negative ? 0 - static_cast<V>(from) : static_cast<V>(from), 0, false};
}

template <typename From>
void expect_from_integer(const std::string& from) {
  using Register = std::conditional_t<sizeof(From) == 1, H, std::make_unsigned_t<From>>;
  auto values = random_tuples<Register>(20000);
  for (const int i : {-2, -1, 0, 1, 2}) {
    values.emplace_back(static_cast<Register>(i));
    values.emplace_back(static_cast<Register>(static_cast<V>(i) + (V{1} << (8 * sizeof(From) - 1))));
  }
  for (const auto& [mode, rounding] : kModes) {
    const std::string prefix = std::string("cvt.") + mode;
    const auto in = [&, r = rounding](BinaryFormat format) {
      return [=](Register a) { return exact_of(static_cast<From>(a)).in(format, r); };
    };
    expect_all<H>(prefix + ".f16." + from, values, in(kF16));
    expect_all<H>(prefix + ".bf16." + from, values, in(kBf16));
    expect_all<U>(prefix + ".f32." + from, values, in(kF32));
    expect_all<V>(prefix + ".f64." + from, values, in(kF64));
  }
}

TEST(LanesConversion, IntegersToReals) {
  expect_from_integer<std::uint8_t>("u8");
  expect_from_integer<std::int8_t>("s8");
  expect_from_integer<std::uint16_t>("u16");
  expect_from_integer<std::int16_t>("s16");
  expect_from_integer<std::uint32_t>("u32");
  expect_from_integer<std::int32_t>("s32");
  expect_from_integer<std::uint64_t>("u64");
  expect_from_integer<std::int64_t>("s64");
}

/// Register: what a T is kept in.
template <typename To, typename ToRegister, typename From, typename FromRegister>
void expect_integer_pair(const std::string& to, const std::string& from) {
  const auto values = random_tuples<FromRegister>(4000);
  const auto extended = [](To x) { return static_cast<ToRegister>(x); };
  expect_all<ToRegister>("cvt." + to + "." + from, values,
                         [&](FromRegister a) { return extended(static_cast<To>(static_cast<From>(a))); });
  expect_all<ToRegister>("cvt.sat." + to + "." + from, values, [&](FromRegister a) {
    const auto x = static_cast<Signed>(static_cast<From>(a));
    const Signed low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return extended(static_cast<To>(x < low ? low : x > high ? high : x));
  });
}

template <typename From, typename FromRegister>
void expect_integers_from(const std::string& from) {
  expect_integer_pair<std::uint8_t, H, From, FromRegister>("u8", from);
  expect_integer_pair<std::int8_t, H, From, FromRegister>("s8", from);
  expect_integer_pair<std::int8_t, U, From, FromRegister>("s8", from);
  expect_integer_pair<std::uint16_t, H, From, FromRegister>("u16", from);
  expect_integer_pair<std::int16_t, U, From, FromRegister>("s16", from);
  expect_integer_pair<std::uint32_t, U, From, FromRegister>("u32", from);
  expect_integer_pair<std::int32_t, V, From, FromRegister>("s32", from);
  expect_integer_pair<std::uint64_t, V, From, FromRegister>("u64", from);
  expect_integer_pair<std::int64_t, V, From, FromRegister>("s64", from);
}

TEST(LanesConversion, IntegersToIntegersWrapOrSaturate) {
  expect_integers_from<std::uint8_t, H>("u8");
  expect_integers_from<std::int8_t, H>("s8");
  expect_integers_from<std::int8_t, U>("s8");
  expect_integers_from<std::uint16_t, H>("u16");
  expect_integers_from<std::int16_t, V>("s16");
  expect_integers_from<std::uint32_t, U>("u32");
  expect_integers_from<std::int32_t, U>("s32");
  expect_integers_from<std::uint64_t, V>("u64");
  expect_integers_from<std::int64_t, V>("s64");
}

TEST(LanesConversion, PairsPutTheFirstSourceHigh) {
  const auto values = reals<U>(kF32, kF16);
  std::vector<std::tuple<U, U>> pairs;
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    pairs.emplace_back(std::get<0>(values[i]), std::get<0>(values[i + 1]));
  for (const char* type : {"f16", "bf16"}) {
    for (const char* mode : {"rn", "rz", "rn.relu", "rn.satfinite"}) {
      const std::string name = std::string("cvt.") + mode + "." + type;
      const auto found = handlers<U, U>(name + "x2.f32"), singles = handlers<H, U>(name + ".f32");
      for (std::size_t i = 0; i < found.size(); ++i) {
        std::vector<H> expected;
        for (const U a : {0, 1}) {
          for_lanes<H>(singles[i], std::vector<std::tuple<U>>{{std::get<0>(pairs[a])}},
                       [&](H result, U) { expected.push_back(result); });
        }
        for_lanes<U>(
            found[i], std::vector<std::tuple<U, U>>{{std::get<0>(pairs[0]), std::get<0>(pairs[1])}},
            [&](U result, U, U) { EXPECT_EQ(result, U{expected.front()} << 16 | expected.back()) << name; });
      }
    }
  }
}

TEST(LanesConversion, Tf32HasTenBitsOfMantissa) {
  const BinaryFormat tf32{10, 8};
  for (const auto& [mode, rounding] :
       {std::pair{"rn", Rounding::rn}, {"rz", Rounding::rz}, {"rna", Rounding::rna}}) {
    expect_all<U>(std::string("cvt.") + mode + ".tf32.f32", reals<U>(kF32, tf32),
                  [&, r = rounding](U a) -> V {
                    if (kF32.is_nan(a)) return r == Rounding::rna ? a & 0xffffe000 : 0x7fffe000;
                    if (!kF32.is_finite(a)) return a;
                    return ExactNumber::of(kF32, a).in(tf32, r) << 13;
                  });
  }
}

/// e4m3 has finite numbers where other formats have infinity.
double value_of_e4m3(unsigned bits) {
  const double magnitude = (bits & 0x78) != 0
                               ? std::ldexp(8 + (bits & 7), static_cast<int>(bits >> 3 & 15) - 10)
                               : std::ldexp(bits & 7, -9);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}
double value_of_e5m2(unsigned bits) {
  const double magnitude = (bits & 0x7c) != 0
                               ? std::ldexp(4 + (bits & 3), static_cast<int>(bits >> 2 & 31) - 17)
                               : std::ldexp(bits & 3, -16);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

/// The nearest of all values, of even bits in a tie.
template <typename Value>
unsigned nearest(const Value& value_of, unsigned largest, double x) {
  const double magnitude = std::fmin(std::fabs(x), value_of(largest));
  unsigned best = 0;
  for (unsigned bits = 0; bits <= largest; ++bits) {
    const double error = std::fabs(value_of(bits) - magnitude), least = std::fabs(value_of(best) - magnitude);
    if (error < least || (error == least && bits % 2 == 0)) best = bits;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

TEST(LanesConversion, EightBitFormatsRoundToTheNearestFiniteValue) {
  std::vector<std::tuple<U, U>> pairs;
  std::mt19937_64 random(13);
  for (int i = 0; i < 2000; ++i) {
    const auto draw = [&] {
      return bit_cast<U>(static_cast<float>(value_of_e4m3(random() & 0xff) *
                                            (0.9 + 0.1 * static_cast<double>(random() % 4))));
    };
    pairs.emplace_back(draw(), draw());
  }
  pairs.emplace_back(0x7f800000u, 0xff800000u);
  pairs.emplace_back(0x37000000u, 0x36800000u);
  const auto check = [&](const char* name, const auto& value_of, unsigned largest) {
    expect_all<H>(name, pairs, [&](U a, U b) {
      return nearest(value_of, largest, bit_cast<float>(a)) << 8 |
             nearest(value_of, largest, bit_cast<float>(b));
    });
  };
  check("cvt.rn.satfinite.e4m3x2.f32", value_of_e4m3, 0x7e);
  check("cvt.rn.satfinite.e5m2x2.f32", value_of_e5m2, 0x7b);
}

TEST(LanesConversion, EightBitFormatsThroughHalf) {
  std::vector<std::tuple<H>> all;
  for (unsigned bits = 0; bits < 0x100; ++bits) all.emplace_back(static_cast<H>(bits << 8 | (bits ^ 0x80)));
  expect_all<U>("cvt.rn.f16x2.e4m3x2", all, [](H pair) {
    const auto half = [](unsigned bits) -> U {
      if ((bits & 0x7f) == 0x7f) return 0x7fff;
      const ExactNumber exact = ExactNumber::of(kF64, bit_cast<V>(value_of_e4m3(bits)));
      return static_cast<U>(exact.in(kF16, Rounding::rn));
    };
    return half(pair >> 8) << 16 | half(pair & 0xff);
  });
  // e5m2 is the upper half of f16.
  expect_all<U>("cvt.rn.f16x2.e5m2x2", all, [](H pair) {
    const auto half = [](U bits) { return (bits & 0x7f) > 0x7c ? 0x7fffu : bits << 8; };
    return half(pair >> 8) << 16 | half(pair & 0xff);
  });
  expect_all<H>("cvt.rn.satfinite.e5m2x2.f16x2", std::vector<std::tuple<U>>{{0x7c004900u}, {0x7e01c980u}},
                [](U pair) { return pair == 0x7c004900u ? 0x7b49 : 0x7fca; });
}

TEST(LanesConversion, KnowsNoOtherForms) {
  for (const char* name :
       {"cvt.rzi.pred.f32", "cvt.rn.s32.f32", "cvt.f32.s32", "cvt.rna.f32.s32", "cvt.rz.sat.tf32.f32"}) {
    for (const Handler handler : handlers<U, U>(name)) EXPECT_EQ(handler, nullptr) << name;
  }
  // A source register narrower than its type.
  for (const Handler handler : handlers<U, H>("cvt.u32.u32")) EXPECT_EQ(handler, nullptr);
}

}  // namespace
}  // namespace warploom::sim::testing
