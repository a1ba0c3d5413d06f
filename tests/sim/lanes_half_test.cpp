#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "exact_number.hpp"
#include "lanes.hpp"

namespace warploom::sim::testing {
namespace {

using H = std::uint16_t;
using Pair = std::uint32_t;
constexpr H kNan = 0x7fff, kMinusZero = 0x8000;

struct Half {
  const char* name;
  BinaryFormat format;
  H one;
  bool flushes;  // whether its arithmetic has .ftz
};
constexpr Half kHalves[] = {{"f16", kF16, 0x3c00, true}, {"bf16", kBf16, 0x3f80, false}};

std::vector<Handler> handlers(const std::string& name) {
  std::vector<Handler> found;
  for (auto* find : builds(baseline::half, avx2::half)) found.push_back(find(form(name)));
  return found;
}

std::vector<std::tuple<H>> all_halves() {
  std::vector<std::tuple<H>> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) all.emplace_back(static_cast<H>(bits));
  return all;
}

std::vector<std::tuple<H, H, H>> triples(BinaryFormat format) {
  std::mt19937_64 random(11);
  std::vector<std::tuple<H, H, H>> found(40000);
  for (auto& [a, b, c] : found) {
    a = static_cast<H>(interesting(format, random));
    b = static_cast<H>(interesting(format, random));
    c = static_cast<H>(interesting(format, random));
  }
  return found;
}

/// .sat and .relu of a result.
H clamped(const Half& half, H bits, const std::string& suffix) {
  const bool negative = (bits & 0x8000) != 0;
  if (suffix == ".sat")
    return half.format.is_nan(bits) || negative ? H{0} : bits > half.one ? half.one : bits;
  if (suffix == ".relu") return half.format.is_nan(bits) ? kNan : negative ? H{0} : bits;
  return bits;
}

/// Finite operands against the oracle, which takes three.
template <typename Oracle>
void expect_rounded(const Half& half, const std::string& op, const std::vector<std::string>& suffixes,
                    const Oracle& oracle) {
  for (const std::string& suffix : suffixes) {
    for (const bool flush : {false, true}) {
      if (flush && !half.flushes) continue;
      const std::string name = op + (flush ? ".ftz" : "") + suffix + "." + half.name;
      for (const Handler handler : handlers(name)) {
        for_lanes<H>(handler, triples(half.format), [&](H result, H a, H b, H c) {
          const BinaryFormat f = half.format;
          if (!f.is_finite(a) || !f.is_finite(b) || !f.is_finite(c)) return;
          const auto in = [&](H bits) {
            return ExactNumber::of(f, flush && f.is_subnormal(bits) ? bits & f.sign() : bits);
          };
          const auto expected = static_cast<H>(oracle(in(a), in(b), in(c)).in(f, Rounding::rn, flush));
          EXPECT_EQ(result, clamped(half, expected, suffix))
              << name << std::hex << ' ' << a << ' ' << b << ' ' << c;
        });
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(LanesHalf, AddsSubtractsAndMultiplies) {
  for (const Half& half : kHalves) {
    const std::vector<std::string> suffixes =
        half.flushes ? std::vector<std::string>{"", ".sat"} : std::vector<std::string>{""};
    expect_rounded(half, "add", suffixes, [](ExactNumber a, ExactNumber b, ExactNumber) { return a + b; });
    expect_rounded(half, "sub", suffixes, [](ExactNumber a, ExactNumber b, ExactNumber) { return a + -b; });
    expect_rounded(half, "mul", suffixes, [](ExactNumber a, ExactNumber b, ExactNumber) { return a * b; });
  }
}

TEST(LanesHalf, FusedMultiplyAddRoundsOnce) {
  for (const Half& half : kHalves) {
    const std::vector<std::string> suffixes =
        half.flushes ? std::vector<std::string>{"", ".sat", ".relu"} : std::vector<std::string>{"", ".relu"};
    expect_rounded(half, "fma.rn", suffixes,
                   [](ExactNumber a, ExactNumber b, ExactNumber c) { return a * b + c; });
  }
}

TEST(LanesHalf, FusedMultiplyAddSeesWhatDoubleWouldLose) {
  // 1.0625^2 lies halfway between two of bf16, and the addend is far below the last bit of it in double.
  const H root = 0x3f88;
  const std::vector<std::tuple<H, H, H>> cases = {{root, root, H{0x0080}}, {root, root, H{0x8080}}};
  for (const Handler handler : handlers("fma.rn.bf16")) {
    for_lanes<H>(handler, cases,
                 [](H result, H, H, H c) { EXPECT_EQ(result, c == 0x0080 ? 0x3f91 : 0x3f90); });
  }
}

TEST(LanesHalf, NanIsCanonicalAndInfinityOverflows) {
  for (const Half& half : kHalves) {
    const H inf = static_cast<H>(half.format.infinity()), largest = static_cast<H>(inf - 1);
    const std::string type = std::string(".") + half.name;
    const std::vector<std::tuple<H, H>> cases = {
        {static_cast<H>(inf + 1), half.one}, {inf, static_cast<H>(inf | 0x8000)}, {largest, largest}};
    for (const Handler handler : handlers("add" + type)) {
      for_lanes<H>(handler, cases, [&](H result, H a, H) { EXPECT_EQ(result, a == largest ? inf : kNan); });
    }
  }
}

TEST(LanesHalf, SignOperationsOfEveryValue) {
  for (const Half& half : kHalves) {
    const std::string type = std::string(".") + half.name;
    for (const Handler handler : handlers("abs" + type)) {
      for_lanes<H>(handler, all_halves(),
                   [&](H result, H a) { EXPECT_EQ(result, half.format.is_nan(a) ? kNan : a & 0x7fff); });
    }
    for (const Handler handler : handlers("neg" + type)) {
      for_lanes<H>(handler, all_halves(),
                   [&](H result, H a) { EXPECT_EQ(result, half.format.is_nan(a) ? kNan : a ^ 0x8000); });
    }
  }
  for (const Handler handler : handlers("neg.ftz.f16")) {
    for_lanes<H>(handler, std::vector<std::tuple<H>>{{H{1}}, {H{0x83ff}}, {H{0x0400}}}, [&](H result, H a) {
      EXPECT_EQ(result, a == 1 ? 0x8000 : a == 0x83ff ? 0 : 0x8400);
    });
  }
}

TEST(LanesHalf, MinAndMax) {
  for (const Half& half : kHalves) {
    const BinaryFormat f = half.format;
    const std::string type = std::string(".") + half.name;
    // The order of finite numbers and infinities, with -0 below +0.
    const auto order = [](H bits) {
      return (bits & 0x8000) != 0 ? -(bits & 0x7fff) - 1 : static_cast<int>(bits);
    };
    for (const bool greater : {false, true}) {
      for (const bool nan : {false, true}) {
        for (const bool xorsign : {false, true}) {
          const std::string name = std::string(greater ? "max" : "min") + (nan ? ".NaN" : "") +
                                   (xorsign ? ".xorsign.abs" : "") + type;
          for (const Handler handler : handlers(name)) {
            for_lanes<H>(handler, triples(f), [&](H result, H a, H b, H) {
              const H sign = (a ^ b) & 0x8000;
              H expected = kNan;
              const H x = xorsign ? a & 0x7fff : a, y = xorsign ? b & 0x7fff : b;
              if (f.is_nan(a) || f.is_nan(b)) {
                if (!nan && !f.is_nan(a)) expected = x;
                if (!nan && !f.is_nan(b)) expected = y;
              } else {
                expected = (order(x) < order(y)) != greater ? x : y;
              }
              if (xorsign && !f.is_nan(expected)) expected = static_cast<H>((expected & 0x7fff) | sign);
              EXPECT_EQ(result, expected) << name << std::hex << ' ' << a << ' ' << b;
            });
          }
        }
      }
    }
  }
}

TEST(LanesHalf, PairsAreTwoHalves) {
  for (const char* type : {"f16", "bf16"}) {
    for (const char* op : {"add.rn.", "fma.rn.relu.", "max.", "neg."}) {
      const std::string name = std::string(op) + type;
      const auto pairs = handlers(name + "x2"), singles = handlers(name);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        for_lanes<Pair>(
            pairs[i], random_tuples<Pair, Pair, Pair>(2000), [&](Pair result, Pair a, Pair b, Pair c) {
              for (const unsigned shift : {0u, 16u}) {
                const std::vector<std::tuple<H, H, H>> one = {
                    {static_cast<H>(a >> shift), static_cast<H>(b >> shift), static_cast<H>(c >> shift)}};
                for_lanes<H>(singles[i], one, [&](H expected, H, H, H) {
                  EXPECT_EQ(static_cast<H>(result >> shift), expected);
                });
              }
            });
      }
    }
  }
}

double value(BinaryFormat format, H bits) {
  const ExactNumber exact = ExactNumber::of(format, bits);
  const double magnitude =
      std::ldexp(static_cast<double>(static_cast<std::uint64_t>(exact.magnitude)), exact.exponent);
  return exact.negative ? -magnitude : magnitude;
}

TEST(LanesHalf, ApproximationsOfEveryValue) {
  for (const auto& [name, function, format] :
       {std::tuple{"ex2.approx.f16", static_cast<double (*)(double)>(std::exp2), kF16},
        {"tanh.approx.f16", static_cast<double (*)(double)>(std::tanh), kF16},
        {"tanh.approx.bf16", static_cast<double (*)(double)>(std::tanh), kBf16}}) {
    const auto f = function;
    const BinaryFormat b = format;
    for (const Handler handler : handlers(name)) {
      for_lanes<H>(handler, all_halves(), [&](H result, H a) {
        if (b.is_nan(a)) {
          EXPECT_EQ(result, kNan);
          return;
        }
        if (!b.is_finite(a)) {
          const bool exponential = f(0) == 1;
          const H unit = b.mantissa == 10 ? 0x3c00 : 0x3f80;
          EXPECT_EQ(result, exponential ? (a == 0xfc00 ? 0 : 0x7c00) : unit | (a & 0x8000));
          return;
        }
        const double expected = f(value(b, a));
        if (!b.is_finite(result)) {
          EXPECT_GT(expected, 65504);
          return;
        }
        EXPECT_LE(std::fabs(value(b, result) - expected),
                  std::fabs(expected) * std::ldexp(1, -b.mantissa) + 0x1p-25)
            << a;
      });
    }
  }
}

TEST(LanesHalf, MixedPrecisionIsThatOfSingle) {
  const std::vector<std::tuple<H, H, float>> cases = {{H{0x3c01}, H{0x3c01}, 0x1p-30f},
                                                      {H{0x4000}, H{0xc200}, 7.5f}};
  for (const Handler handler : handlers("fma.rn.f32.f16")) {
    for_lanes<float>(handler, cases, [&](float result, H a, H b, float c) {
      EXPECT_EQ(result, std::fmaf(static_cast<float>(value(kF16, a)), static_cast<float>(value(kF16, b)), c));
    });
  }
  const std::vector<std::tuple<H, float>> sums = {{H{0x3f81}, 0x1p-30f}, {H{0xc000}, 2.5f}};
  for (const Handler handler : handlers("sub.rn.f32.bf16")) {
    for_lanes<float>(handler, sums, [&](float result, H a, float c) {
      EXPECT_EQ(result, static_cast<float>(value(kBf16, a)) - c);
    });
  }
}

TEST(LanesHalf, KnowsNoOtherForms) {
  for (const char* name : {"add.f32", "div.f16", "add.rz.f16", "ex2.f16", "add.s16"}) {
    for (const Handler handler : handlers(name)) EXPECT_EQ(handler, nullptr) << name;
  }
}

}  // namespace
}  // namespace warploom::sim::testing
