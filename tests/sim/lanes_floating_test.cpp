#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
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

constexpr std::uint32_t kNan = 0x7fffffffu;
constexpr std::uint64_t kNan64 = 0xfff8000000000000u;
constexpr std::pair<const char*, Rounding> kModes[] = {
    {".rn", Rounding::rn}, {".rz", Rounding::rz}, {".rm", Rounding::rm}, {".rp", Rounding::rp}};

std::vector<Handler> handlers(const std::string& name) {
  std::vector<Handler> found;
  for (auto* find : builds(baseline::floating, avx2::floating)) found.push_back(find(form(name)));
  return found;
}

template <typename T, std::size_t... I>
auto tuple_of(BinaryFormat format, std::mt19937_64& random, std::index_sequence<I...>) {
  return std::make_tuple((static_cast<void>(I), static_cast<T>(interesting(format, random)))...);
}
/// Tuples of interesting bits.
template <std::size_t n, typename T>
auto bits_tuples(BinaryFormat format, std::size_t count = 20000) {
  std::mt19937_64 random(3);
  std::vector<decltype(tuple_of<T>(format, random, std::make_index_sequence<n>()))> tuples;
  for (std::size_t i = 0; i < count; ++i) {
    tuples.push_back(tuple_of<T>(format, random, std::make_index_sequence<n>()));
  }
  return tuples;
}

/// A sum of opposite numbers is -0 where rounding is towards -infinity.
ExactNumber with_zero_of(Rounding rounding, ExactNumber sum, bool signs_differ) {
  if (sum.zero() && signs_differ) sum.negative = rounding == Rounding::rm;
  return sum;
}

/// Checks finite operands of finite results' formats against the oracle.
template <typename T, std::size_t n, typename Oracle>
void expect_rounded(const std::string& op, const std::string& type, BinaryFormat format,
                    const Oracle& oracle) {
  const auto tuples = bits_tuples<n, T>(format);
  for (const auto& [suffix, rounding] : kModes) {
    for (const bool flush : {false, true}) {
      if (flush && sizeof(T) == 8) continue;
      const std::string name = op + suffix + (flush ? ".ftz" : "") + type;
      for (const Handler handler : handlers(name)) {
        for_lanes<T>(handler, tuples, [&, r = rounding](T result, auto... source) {
          if (!(format.is_finite(source) && ...)) return;
          const auto in = [&](std::uint64_t bits) {
            return ExactNumber::of(format, flush && format.is_subnormal(bits) ? bits & format.sign() : bits);
          };
          bool known = true;
          const ExactNumber exact = oracle(r, known, in(source)...);
          if (!known) return;
          EXPECT_EQ(result, static_cast<T>(exact.in(format, r, flush))) << name;
        });
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

template <std::size_t n, typename Oracle>
void expect_rounded(const std::string& op, const Oracle& oracle) {
  expect_rounded<std::uint32_t, n>(op, ".f32", kF32, oracle);
  expect_rounded<std::uint64_t, n>(op, ".f64", kF64, oracle);
}

TEST(LanesFloating, AddsInEveryRoundingMode) {
  expect_rounded<2>("add", [](Rounding r, bool&, ExactNumber a, ExactNumber b) {
    return with_zero_of(r, a + b, a.negative != b.negative);
  });
}

TEST(LanesFloating, SubtractsInEveryRoundingMode) {
  expect_rounded<2>("sub", [](Rounding r, bool&, ExactNumber a, ExactNumber b) {
    return with_zero_of(r, a + -b, a.negative == b.negative);
  });
}

TEST(LanesFloating, MultipliesInEveryRoundingMode) {
  expect_rounded<2>("mul", [](Rounding, bool&, ExactNumber a, ExactNumber b) { return a * b; });
}

TEST(LanesFloating, FusedMultiplyAddRoundsOnce) {
  expect_rounded<3>("fma", [](Rounding r, bool&, ExactNumber a, ExactNumber b, ExactNumber c) {
    const ExactNumber product = a * b;
    return with_zero_of(r, product + c, product.negative != c.negative);
  });
}

TEST(LanesFloating, DividesInEveryRoundingMode) {
  expect_rounded<2>("div", [](Rounding, bool& known, ExactNumber a, ExactNumber b) {
    known = !b.zero();
    return known ? a / b : a;
  });
}

TEST(LanesFloating, ReciprocalInEveryRoundingMode) {
  expect_rounded<1>("rcp", [](Rounding, bool& known, ExactNumber a) {
    known = !a.zero();
    return known ? ExactNumber{false, 1, 0, false} / a : a;
  });
}

TEST(LanesFloating, SquareRootInEveryRoundingMode) {
  expect_rounded<1>("sqrt", [](Rounding, bool& known, ExactNumber a) {
    known = a.zero() || !a.negative;
    return a.zero() || !known ? a : ExactNumber::square_root(a);
  });
}

TEST(LanesFloating, FlushesWhatRoundsUpToTheLeastNormalOnlyInItsSubnormalUnits) {
  // 2^-126 (1 - 2^-24) would be a float if exponents went on; 2^-126 (1 - 2^-26) rounds to 2^-126.
  const std::vector<std::tuple<float, float>> products = {{0x1p-126f, 1 - 0x1p-24f},
                                                          {0x1p-126f * (1 + 0x1p-13f), 1 - 0x1p-13f}};
  for (const Handler handler : handlers("mul.ftz.f32")) {
    for_lanes<float>(handler, products, [](float result, float, float b) {
      EXPECT_EQ(result, b == 1 - 0x1p-24f ? 0.0f : 0x1p-126f);
    });
  }
}

TEST(LanesFloating, RestoresTheRoundingMode) {
  for (const Handler handler : handlers("add.rp.f32")) {
    for_lanes<float>(handler, random_tuples<float, float>(32), [](float, float, float) {});
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
}

/// Results of one-lane examples, in bits.
template <typename T, typename... S>
void expect_bits(const std::string& name, const std::vector<std::tuple<T, S...>>& examples) {
  for (const Handler handler : handlers(name)) {
    for (const auto& example : examples) {
      std::apply(
          [&](T expected, S... source) {
            for_lanes<T>(handler, std::vector<std::tuple<S...>>{{source...}}, [&](T result, S...) {
              EXPECT_EQ(result, expected) << name << std::hex << " result " << +result;
            });
          },
          example);
    }
  }
}
using U = std::uint32_t;
using V = std::uint64_t;
constexpr U kInf = 0x7f800000, kOne = 0x3f800000, kMinusZero = 0x80000000;

TEST(LanesFloating, SingleHasOneNan) {
  expect_bits<U, U, U>("add.f32",
                       {{kNan, 0x7f800001, kOne}, {kNan, kOne, 0xffc12345}, {kNan, kInf, 0xff800000}});
  expect_bits<U, U, U>("mul.f32", {{kNan, kInf, 0}, {kNan, 0xff812345, 0}});
  expect_bits<U, U, U, U>("fma.rn.f32", {{kNan, kInf, 0, kOne}, {kNan, kOne, kInf, 0xff800000}});
  expect_bits<U, U, U>("div.rn.f32",
                       {{kNan, 0, 0}, {kNan, kInf, kInf}, {kInf, kOne, 0}, {0xff800000, kOne, kMinusZero}});
  expect_bits<U, U>("sqrt.rn.f32", {{kNan, 0xbf800000}, {kMinusZero, kMinusZero}, {kInf, kInf}});
  expect_bits<U, U>("rcp.rn.f32", {{0xff800000, kMinusZero}, {kMinusZero, 0xff800000}});
  expect_bits<U, U>("neg.f32", {{kNan, 0x7f800001}, {kMinusZero, 0}, {0x00000001, 0x80000001}});
  expect_bits<U, U>("abs.f32", {{kNan, 0xff800001}, {0, kMinusZero}, {1, 0x80000001}});
}

TEST(LanesFloating, DoubleKeepsThePayloadOfANan) {
  constexpr V a = 0x7ff0000000000001, b = 0xfff0000000000002, c = 0x7ff0000000000003, quiet = 1ull << 51;
  constexpr V one = 0x3ff0000000000000, inf = 0x7ff0000000000000;
  expect_bits<V, V, V>("add.f64", {{b | quiet, a, b}, {a | quiet, a, one}, {kNan64, inf, inf | 1ull << 63}});
  expect_bits<V, V, V>("div.rn.f64", {{a | quiet, a, b}, {b | quiet, one, b}, {kNan64, 0, 0}});
  expect_bits<V, V, V, V>("fma.rn.f64",
                          {{b | quiet, a, b, c}, {c | quiet, a, one, c}, {kNan64, inf, 0, one}});
  expect_bits<V, V>("sqrt.rn.f64", {{kNan64, one | 1ull << 63}, {a | quiet, a}});
  expect_bits<V, V>("neg.f64", {{a | quiet, a}, {one | 1ull << 63, one}});
  expect_bits<V, V, V>("min.f64", {{b | quiet, a, b}, {one, a, one}, {one, one, b}});
}

TEST(LanesFloating, SaturatesToTheUnitInterval) {
  expect_bits<U, U, U>("add.sat.f32", {{kOne, kOne, kOne},
                                       {0, kOne, 0xc0000000},
                                       {0, kNan, kOne},
                                       {0, kMinusZero, kMinusZero},
                                       {0x3f000000, 0x3f000000, 0},
                                       {kOne, kInf, kOne}});
  expect_bits<U, U, U>("mul.ftz.sat.f32", {{0, 0x00400000, kOne}, {0, kNan, kOne}});
}

TEST(LanesFloating, MinAndMaxOrderZerosAndDropNans) {
  expect_bits<U, U, U>("min.f32", {{kMinusZero, 0, kMinusZero},
                                   {kMinusZero, kMinusZero, 0},
                                   {kOne, kNan, kOne},
                                   {kOne, kOne, 0xffc00000},
                                   {kNan, 0x7f800001, 0x7fc00000},
                                   {1, 1, 2}});
  expect_bits<U, U, U>("max.f32", {{0, 0, kMinusZero}, {0, kMinusZero, 0}, {kInf, kInf, kOne}, {2, 1, 2}});
  expect_bits<U, U, U>("min.NaN.f32",
                       {{kNan, 0xffc00000, kOne}, {kNan, kOne, 0x7f800001}, {kOne, kOne, kInf}});
  expect_bits<U, U, U>("max.ftz.f32", {{0, 1, 0x80000001}, {kMinusZero, 0x80000001, 0xbf800000}});
  // The result has the product of the signs.
  expect_bits<U, U, U>("min.xorsign.abs.f32", {{0xbf800000, 0xbf800000, 0x40000000},
                                               {kOne, 0xc0000000, 0xbf800000},
                                               {0xbf800000, 0xffc00000, kOne},
                                               {kNan, kNan, 0xffc00000}});
}

TEST(LanesFloating, MinAgreesWithItsDefinitionOnAllPairs) {
  const auto tuples = bits_tuples<2, U>(kF32, 5000);
  for (const Handler handler : handlers("min.f32")) {
    for_lanes<U>(handler, tuples, [](U result, U a, U b) {
      if (kF32.is_nan(a) || kF32.is_nan(b)) return;
      EXPECT_EQ(bit_cast<float>(result), std::fmin(bit_cast<float>(a), bit_cast<float>(b)));
    });
  }
}

TEST(LanesFloating, MaxOfThree) {
  Step step;
  step.flags = 1;
  const std::vector<std::tuple<float, float, float>> tuples = {
      {1, -5, 3}, {-7, 2, std::nanf("")}, {4, 4, -8}};
  for (const auto& [name, absolute] : {std::pair{"max.f32", false}, {"max.abs.f32", true}}) {
    for (const Handler handler : handlers(name)) {
      for_lanes<float>(
          handler, tuples,
          [absolute = absolute](float result, float a, float b, float c) {
            if (absolute) a = std::fabs(a), b = std::fabs(b), c = std::fabs(c);
            EXPECT_EQ(result, std::fmax(std::fmax(a, b), c));
          },
          step);
    }
  }
}

TEST(LanesFloating, SignOperations) {
  expect_bits<U, U, U>("copysign.f32", {{0xbf800000, kMinusZero, kOne}, {0x7fc12345, kOne, 0xffc12345}});
  expect_bits<V, V, V>("copysign.f64", {{1, 0, (1ull << 63) | 1}});
  expect_bits<U, U>("neg.ftz.f32", {{kMinusZero, 0x00000001}, {0, 0x807fffff}, {0x80800000, 0x00800000}});
  expect_bits<U, U>("abs.ftz.f32", {{0, 0x80000001}});
}

TEST(LanesFloating, PackedPairsAreTwoSingles) {
  for (const char* name : {"add.rn.f32x2", "mul.rz.f32x2", "add.rn.ftz.f32x2", "mul.rn.ftz.f32x2"}) {
    std::string single = name;
    single.resize(single.size() - 2);
    const auto found = handlers(name), scalar = handlers(single);
    for (std::size_t i = 0; i < found.size(); ++i) {
      for_lanes<V>(found[i], bits_tuples<2, V>(kF64, 3000), [&](V result, V a, V b) {
        for (const unsigned half : {0u, 32u}) {
          const std::vector<std::tuple<U, U>> one = {{static_cast<U>(a >> half), static_cast<U>(b >> half)}};
          for_lanes<U>(scalar[i], one,
                       [&](U expected, U, U) { EXPECT_EQ(static_cast<U>(result >> half), expected); });
        }
      });
    }
  }
}

/// |result - value| <= relative |value| + absolute for inputs in [low, high].
void expect_near(const std::string& name, double (*function)(double), double low, double high,
                 double relative, double absolute) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<std::tuple<float>> tuples;
  for (int i = 0; i < 10000; ++i) tuples.emplace_back(static_cast<float>(draw(random)));
  for (const Handler handler : handlers(name)) {
    for_lanes<float>(handler, tuples, [&](float result, float a) {
      const double value = function(a);
      EXPECT_LE(std::fabs(result - value), relative * std::fabs(value) + absolute) << name << ' ' << a;
    });
  }
}

TEST(LanesFloating, ApproximationsAreWithinTheDocumentedErrors) {
  expect_near(
      "rcp.approx.f32", [](double x) { return 1 / x; }, 0.001, 1000, 0x1p-23, 0);
  expect_near(
      "sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0, 1000, 0x1p-23, 0);
  expect_near(
      "rsqrt.approx.ftz.f32", [](double x) { return 1 / std::sqrt(x); }, 0.001, 1000, 0x1p-22, 0);
  expect_near(
      "sin.approx.f32", [](double x) { return std::sin(x); }, -6.28, 6.28, 0, 0x1p-20);
  expect_near(
      "cos.approx.f32", [](double x) { return std::cos(x); }, -6.28, 6.28, 0, 0x1p-20);
  expect_near(
      "lg2.approx.f32", [](double x) { return std::log2(x); }, 0.01, 100, 0x1p-22, 0);
  expect_near(
      "ex2.approx.ftz.f32", [](double x) { return std::exp2(x); }, -100, 100, 0x1p-22, 0);
  expect_near(
      "tanh.approx.f32", [](double x) { return std::tanh(x); }, -5, 5, 0x1p-11, 0);
}

TEST(LanesFloating, ApproximationsOfSpecialValues) {
  constexpr U minus_inf = 0xff800000;
  expect_bits<U, U>("ex2.approx.f32",
                    {{0, minus_inf}, {kOne, 0}, {kOne, kMinusZero}, {kInf, kInf}, {kNan, 0x7f800001}});
  expect_bits<U, U>("lg2.approx.f32",
                    {{minus_inf, 0}, {minus_inf, kMinusZero}, {kNan, 0xbf800000}, {kInf, kInf}});
  expect_bits<U, U>("lg2.approx.ftz.f32", {{minus_inf, 1}});
  expect_bits<U, U>("rsqrt.approx.f32", {{minus_inf, kMinusZero}, {kInf, 0}, {0, kInf}, {kNan, 0xbf800000}});
  expect_bits<U, U>("rcp.approx.ftz.f32", {{minus_inf, 0x80000001}, {0, kInf}, {0, 0x7f000000}});
  expect_bits<U, U>("sqrt.approx.f32", {{kMinusZero, kMinusZero}, {kNan, minus_inf}});
  expect_bits<U, U>("sin.approx.f32", {{kNan, kInf}, {kMinusZero, kMinusZero}});
  expect_bits<U, U>("cos.approx.f32", {{kNan, minus_inf}, {kOne, kMinusZero}});
  expect_bits<U, U>("tanh.approx.f32", {{0xbf800000, minus_inf}, {kMinusZero, kMinusZero}});
  // The quotient by what exceeds 2^126 is 0, and NaN of an infinity.
  expect_bits<U, U, U>("div.approx.f32",
                       {{0, 0x7f000000, 0x7f000001}, {kNan, kInf, 0x7f000001}, {kOne, kOne, kOne}});
  expect_bits<U, U, U>("div.full.f32", {{kOne, 0x7f000001, 0x7f000001}, {kInf, kInf, 0x7f000001}});
  expect_bits<V, V>("rcp.approx.ftz.f64", {{0x3fe0000000000000, 0x40000000ffffffff},
                                           {0xfff0000000000000, 0x8000000000000001},
                                           {0x7fffffff00000000, 0x7ff8000000000000}});
  expect_bits<V, V>("rsqrt.approx.ftz.f64",
                    {{0x3fe0000000000000, 0x4010000000000001}, {0xfff0000000000000, 1ull << 63}});
}

TEST(LanesFloating, BuildsAgreeOnApproximations) {
  for (const char* name : {"sin.approx.f32", "cos.approx.ftz.f32", "ex2.approx.f32", "lg2.approx.f32",
                           "tanh.approx.f32", "rsqrt.approx.f32"}) {
    std::vector<U> first;
    for (const Handler handler : handlers(name)) {
      std::vector<U> results;
      for_lanes<U>(handler, bits_tuples<1, U>(kF32, 4096), [&](U result, U) { results.push_back(result); });
      if (first.empty()) first = results;
      EXPECT_EQ(first, results) << name;
    }
  }
}

TEST(LanesFloating, KnowsNoOtherForms) {
  for (const char* name : {"add.s32", "add.f16", "rsqrt.f32", "sin.f32", "div.f32x2", "add.sat.f64"}) {
    for (const Handler handler : handlers(name)) EXPECT_EQ(handler, nullptr) << name;
  }
}

}  // namespace
}  // namespace warploom::sim::testing
