#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/lanes.hpp"

namespace warploom::sim::testing {
namespace {

const auto kComparisons = builds(baseline::comparison, avx2::comparison);

enum class Order { less, equal, greater, unordered };

template <typename T>
Order order_of(T a, T b) {
  return a < b ? Order::less : a == b ? Order::equal : a > b ? Order::greater : Order::unordered;
}

/// The meaning of a comparison's name, of an order.
bool holds(const std::string& name, Order order) {
  using enum Order;
  if (name == "num") return order != unordered;
  if (name == "nan") return order == unordered;
  if (order == unordered) return name.size() == 3;  // equ neu ltu leu gtu geu
  const std::string base = name.substr(0, 2);
  if (base == "eq") return order == equal;
  if (base == "ne") return order != equal;
  if (base == "lt" || base == "lo") return order == less;
  if (base == "le" || base == "ls") return order != greater;
  if (base == "gt" || base == "hi") return order == greater;
  return order != less;  // ge, hs
}

bool combine(const std::string& how, bool result, bool c) {
  return how == ".and" ? result && c : how == ".or" ? result || c : how == ".xor" ? result != c : result;
}

/// A half-precision number, from its fields.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}
double flushed(double value, double least_normal) {
  return std::fabs(value) < least_normal ? 0 * value : value;
}

const std::vector<std::string> kInOrder = {"eq", "ne", "lt", "le", "gt", "ge"};
const std::vector<std::string> kOfUnsigned = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
const std::vector<std::string> kOfFloating = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

/// setp of one type, every comparison and combination: p and its complement q. `T` as the test draws it.
template <typename T>
void check_setp(const std::string& type, const std::vector<std::string>& comparisons,
                const std::vector<std::tuple<T, T>>& tuples, const std::function<Order(T, T)>& order) {
  for (const auto comparison : kComparisons) {
    for (const std::string& name : comparisons) {
      for (const std::string how : {"", ".and", ".or", ".xor"}) {
        for (const bool negated : {false, true}) {
          for (const bool second : {false, true}) {
            const std::string text = "setp." + name + how + "." + type;
            const Handler handler = comparison(form(text));
            ASSERT_NE(handler, nullptr) << text;
            for (std::size_t first = 0; first < tuples.size(); first += kLanes) {
              Warp warp;
              Lanes<T> a, b;
              Lanes<bool> c;
              for (unsigned lane = 0; lane < kLanes; ++lane) {
                std::tie(a[lane], b[lane]) = tuples[(first + lane) % tuples.size()];
                c[lane] = (lane * 2654435761u + first) >> 16 & 1;
              }
              warp.set_source(0, a);
              warp.set_source(1, b);
              warp.set_source(2, c);
              if (negated) warp.step.negated = 4;
              const Lanes<bool> before = warp.second();
              if (!second) warp.step.second = kNoSlot;
              const Mask lanes = first / kLanes % 2 == 0 ? kAllLanes : 0x0ff0f00fu;
              warp.run<bool>(handler, lanes);
              const Lanes<bool> p = warp.destination<bool>(), q = warp.second();
              for (unsigned lane = 0; lane < kLanes; ++lane) {
                if ((lanes >> lane & 1) == 0) continue;
                const bool result = holds(name, order(a[lane], b[lane])), other = c[lane] != negated;
                EXPECT_EQ(p[lane], combine(how, result, other))
                    << text << " of " << +a[lane] << ", " << +b[lane];
                EXPECT_EQ(q[lane], second ? combine(how, !result, other) : before[lane])
                    << text << " |q of " << +a[lane] << ", " << +b[lane];
              }
            }
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

template <typename T>
std::vector<std::tuple<T, T>> integer_pairs() {
  const std::vector<T> edges = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(),
                                std::numeric_limits<T>::max()};
  auto pairs = product<T, T>(edges, edges);
  const auto more = random_tuples<T, T>(71);
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

template <typename T>
void check_integer_setp(const std::string& type, const std::vector<std::string>& comparisons) {
  check_setp<T>(type, comparisons, integer_pairs<T>(), order_of<T>);
}

TEST(Setp, OrdersUnsignedIntegers) {
  check_integer_setp<std::uint16_t>("u16", kOfUnsigned);
  check_integer_setp<std::uint32_t>("u32", kOfUnsigned);
  check_integer_setp<std::uint64_t>("u64", kOfUnsigned);
}

TEST(Setp, OrdersSignedIntegers) {
  check_integer_setp<std::int16_t>("s16", kInOrder);
  check_integer_setp<std::int32_t>("s32", kInOrder);
  check_integer_setp<std::int64_t>("s64", kInOrder);
}

TEST(Setp, ComparesBitsForEqualityAlone) {
  check_integer_setp<std::uint16_t>("b16", {"eq", "ne"});
  check_integer_setp<std::uint32_t>("b32", {"eq", "ne"});
  check_integer_setp<std::uint64_t>("b64", {"eq", "ne"});
  for (const auto comparison : kComparisons) {
    EXPECT_EQ(comparison(form("setp.lt.b32")), nullptr);
    EXPECT_EQ(comparison(form("setp.lo.s32")), nullptr);
    EXPECT_EQ(comparison(form("setp.equ.u32")), nullptr);
    EXPECT_EQ(comparison(form("setp.lo.f32")), nullptr);
  }
}

template <typename T>
std::vector<std::tuple<T, T>> floating_pairs() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges = {0,
                          1,
                          Limits::min(),
                          Limits::denorm_min(),
                          Limits::max(),
                          Limits::infinity(),
                          Limits::quiet_NaN(),
                          Limits::min() / 2,
                          std::nextafter(T{1}, T{2})};
  for (std::size_t i = 0, n = edges.size(); i < n; ++i) edges.push_back(-edges[i]);
  auto pairs = product<T, T>(edges, edges);
  const auto more = random_tuples<T, T>(60);
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

TEST(Setp, OrdersFloats) { check_setp<float>("f32", kOfFloating, floating_pairs<float>(), order_of<float>); }

TEST(Setp, OrdersDoubles) {
  check_setp<double>("f64", kOfFloating, floating_pairs<double>(), order_of<double>);
}

TEST(Setp, FlushesSubnormalFloatsToZero) {
  const auto order = [](float a, float b) { return order_of(flushed(a, 0x1p-126), flushed(b, 0x1p-126)); };
  check_setp<float>("ftz.f32", kOfFloating, floating_pairs<float>(), order);
}

using Pair16 = std::tuple<std::uint16_t, std::uint16_t>;
std::vector<Pair16> half_pairs() {
  const std::vector<std::uint16_t> edges = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400,
                                            0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0xffff,
                                            0x007f, 0x0080, 0x7f7f, 0x7f80, 0xff80, 0x7f81};
  auto pairs = product<std::uint16_t, std::uint16_t>(edges, edges);
  const auto more = random_tuples<std::uint16_t, std::uint16_t>(112);
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

Order half_order(std::uint16_t a, std::uint16_t b) { return order_of(value_of(a, 5), value_of(b, 5)); }
Order flushed_half_order(std::uint16_t a, std::uint16_t b) {
  return order_of(flushed(value_of(a, 5), 0x1p-14), flushed(value_of(b, 5), 0x1p-14));
}
Order bfloat_order(std::uint16_t a, std::uint16_t b) { return order_of(value_of(a, 8), value_of(b, 8)); }

TEST(Setp, OrdersHalfPrecision) {
  check_setp<std::uint16_t>("f16", kOfFloating, half_pairs(), half_order);
  check_setp<std::uint16_t>("ftz.f16", kOfFloating, half_pairs(), flushed_half_order);
  check_setp<std::uint16_t>("bf16", kOfFloating, half_pairs(), bfloat_order);
}

/// Packs pairs into halves: pair i is the low one, another the high one.
std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> packed_pairs() {
  const auto halves = half_pairs();
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> packed;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto [a0, b0] = halves[i];
    const auto [a1, b1] = halves[i * 37 % halves.size()];
    packed.emplace_back(a0 | std::uint32_t{a1} << 16, b0 | std::uint32_t{b1} << 16, i % 3 == 0);
  }
  return packed;
}

struct PackedType {
  std::string type;
  Order (*order)(std::uint16_t, std::uint16_t);
  std::uint32_t one;
};
const PackedType kPacked[] = {{"f16x2", half_order, 0x3c00},
                              {"ftz.f16x2", flushed_half_order, 0x3c00},
                              {"bf16x2", bfloat_order, 0x3f80}};

TEST(Setp, OfPackedTypesGivesAPredicateForEachHalf) {
  const auto tuples = packed_pairs();
  for (const auto comparison : kComparisons) {
    for (const auto& [type, order, one] : kPacked) {
      for (const std::string& name : kOfFloating) {
        const std::string text = "setp." + name + ".xor." + type;
        const Handler handler = comparison(form(text));
        ASSERT_NE(handler, nullptr) << text;
        for (std::size_t first = 0; first + kLanes <= tuples.size(); first += kLanes) {
          Warp warp;
          Lanes<std::uint32_t> a, b;
          Lanes<bool> c;
          for (unsigned lane = 0; lane < kLanes; ++lane) {
            std::tie(a[lane], b[lane], c[lane]) = tuples[first + lane];
          }
          warp.set_source(0, a);
          warp.set_source(1, b);
          warp.set_source(2, c);
          warp.run<bool>(handler, 0xfffeffffu);
          const Lanes<bool> p = warp.destination<bool>(), q = warp.second();
          for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (lane == 16) continue;
            const auto low = order(static_cast<std::uint16_t>(a[lane]), static_cast<std::uint16_t>(b[lane]));
            const auto high =
                order(static_cast<std::uint16_t>(a[lane] >> 16), static_cast<std::uint16_t>(b[lane] >> 16));
            EXPECT_EQ(p[lane], holds(name, low) != c[lane]) << text;
            EXPECT_EQ(q[lane], holds(name, high) != c[lane]) << text;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Setp, ReadsItsThirdSourceBeforeWritingIt) {
  for (const auto comparison : kComparisons) {
    Warp warp;
    Lanes<std::int32_t> a{}, b{};
    Lanes<bool> c;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      a[lane] = static_cast<int>(lane) % 3;
      b[lane] = 1;
      c[lane] = lane % 2 == 0;
    }
    warp.set_source(0, a);
    warp.set_source(1, b);
    warp.set_source(2, c);
    warp.set_destination_as_source(2);
    warp.run<bool>(comparison(form("setp.lt.and.s32")));
    const Lanes<bool> p = warp.destination<bool>(), q = warp.second();
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(p[lane], a[lane] < 1 && c[lane]);
      EXPECT_EQ(q[lane], a[lane] >= 1 && c[lane]);
    }
  }
}

/// set of one pair of types, every comparison; true gives `one`.
template <typename D, typename T>
void check_set(const std::string& to, const std::string& from, const std::vector<std::string>& comparisons,
               const std::vector<std::tuple<T, T>>& pairs, const std::function<Order(T, T)>& order, D one) {
  std::vector<std::tuple<T, T, bool>> tuples;
  for (const auto& [a, b] : pairs) tuples.emplace_back(a, b, tuples.size() % 3 == 1);
  for (const auto comparison : kComparisons) {
    for (const std::string& name : comparisons) {
      for (const std::string how : {"", ".and", ".or", ".xor"}) {
        const std::string text = "set." + name + how + "." + to + "." + from;
        Step step;
        step.negated = 4;
        for_lanes<D>(
            comparison(form(text)), tuples,
            [&](D result, T a, T b, bool c) {
              const bool wanted = combine(how, holds(name, order(a, b)), !c);
              EXPECT_EQ(result, wanted ? one : D{0}) << text << " of " << +a << ", " << +b;
            },
            step);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Set, GivesOnesOrOneByTheDestinationsType) {
  const auto floats = floating_pairs<float>();
  check_set<std::uint32_t, float>("u32", "f32", kOfFloating, floats, order_of<float>, 0xffffffff);
  check_set<std::uint32_t, float>("s32", "f32", kOfFloating, floats, order_of<float>, 0xffffffff);
  check_set<std::uint32_t, float>("f32", "f32", kOfFloating, floats, order_of<float>, 0x3f800000);
  check_set<std::uint16_t, float>("f16", "f32", kOfFloating, floats, order_of<float>, 0x3c00);
  check_set<std::uint16_t, float>("bf16", "f32", kOfFloating, floats, order_of<float>, 0x3f80);
}

TEST(Set, ComparesSourcesOfEveryType) {
  check_set<std::uint32_t, std::int32_t>("f32", "s32", kInOrder, integer_pairs<std::int32_t>(),
                                         order_of<std::int32_t>, 0x3f800000);
  check_set<std::uint32_t, std::uint64_t>("u32", "u64", kOfUnsigned, integer_pairs<std::uint64_t>(),
                                          order_of<std::uint64_t>, 0xffffffff);
  check_set<std::uint32_t, std::int16_t>("s32", "s16", kInOrder, integer_pairs<std::int16_t>(),
                                         order_of<std::int16_t>, 0xffffffff);
  check_set<std::uint32_t, double>("u32", "f64", kOfFloating, floating_pairs<double>(), order_of<double>,
                                   0xffffffff);
  check_set<std::uint16_t, std::uint16_t>("u16", "f16", kOfFloating, half_pairs(), half_order, 0xffff);
  check_set<std::uint16_t, std::uint16_t>("f16", "f16", kOfFloating, half_pairs(), half_order, 0x3c00);
  check_set<std::uint16_t, std::uint16_t>("bf16", "bf16", kOfFloating, half_pairs(), bfloat_order, 0x3f80);
}

TEST(Set, OfPackedTypesGivesAResultForEachHalf) {
  const auto tuples = packed_pairs();
  for (const auto comparison : kComparisons) {
    for (const auto& [type, order, one] : kPacked) {
      for (const std::string& name : kOfFloating) {
        for (const std::string& to : {std::string("u32"), type.substr(type.rfind('.') + 1)}) {
          const std::string ftz = type[0] == 'f' && type[1] == 't' ? ".ftz" : "";
          const std::string text =
              "set." + name + ".or" + ftz + "." + to + "." + type.substr(type.rfind('.') + 1);
          const std::uint32_t yes = to == "u32" ? 0xffff : one;
          for_lanes<std::uint32_t>(
              comparison(form(text)), tuples,
              [&, order = order](std::uint32_t d, std::uint32_t a, std::uint32_t b, bool c) {
                std::uint32_t wanted = 0;
                for (int shift = 0; shift < 32; shift += 16) {
                  const auto x = static_cast<std::uint16_t>(a >> shift),
                             y = static_cast<std::uint16_t>(b >> shift);
                  if (holds(name, order(x, y)) || c) wanted |= yes << shift;
                }
                EXPECT_EQ(d, wanted) << text;
              });
        }
      }
    }
  }
}

TEST(Selp, ChoosesByThePredicate) {
  const auto check = [&]<typename T>(const std::vector<std::string>& types, T) {
    for (const auto comparison : kComparisons) {
      for (const std::string& type : types) {
        for (const bool negated : {false, true}) {
          Step step;
          step.negated = negated ? 4 : 0;
          for_lanes<T>(
              comparison(form("selp." + type)), random_tuples<T, T, bool>(320),
              [&](T d, T a, T b, bool c) { EXPECT_EQ(d, c != negated ? a : b) << type; }, step);
        }
      }
    }
  };
  check({"b16", "u16", "s16", "f16"}, std::uint16_t{});
  check({"b32", "u32", "s32", "f32", "f16x2"}, std::uint32_t{});
  check({"b64", "u64", "s64", "f64"}, std::uint64_t{});
}

TEST(Slct, ChoosesByTheSignOfAnInteger) {
  const auto check = [&]<typename T>(const std::string& type, T) {
    for (const auto comparison : kComparisons) {
      for_lanes<T>(
          comparison(form("slct." + type + ".s32")), random_tuples<T, T, std::int32_t>(320),
          [&](T d, T a, T b, std::int32_t c) { EXPECT_EQ(d, c >= 0 ? a : b) << type << " by " << c; });
    }
  };
  check("u16", std::uint16_t{});
  check("f32", std::uint32_t{});
  check("b64", std::uint64_t{});
}

TEST(Slct, OfAFloatTakesMinusZeroAsZeroAndNanAsNegative) {
  const std::vector<std::uint32_t> values = {1, 2};
  const std::vector<float> choosers = {0.0f, -0.0f, 1.0f, -1.0f, NAN, INFINITY, -INFINITY, 1e-40f, -1e-40f};
  for (const auto comparison : kComparisons) {
    for (const bool ftz : {false, true}) {
      for_lanes<std::uint32_t>(comparison(form(ftz ? "slct.ftz.u32.f32" : "slct.u32.f32")),
                               product<std::uint32_t, std::uint32_t, float>(values, {7, 8}, choosers),
                               [&](std::uint32_t d, std::uint32_t a, std::uint32_t b, float c) {
                                 const bool first = c >= 0 || (ftz && c == -1e-40f);
                                 EXPECT_EQ(d, first ? a : b) << c;
                               });
    }
  }
}

TEST(Testp, TellsTheClassesOfNumbers) {
  const auto check = [&]<typename T>(const std::string& type, T) {
    const std::map<std::string, std::function<bool(T)>> classes = {
        {"finite", [](T x) { return std::isfinite(x); }},
        {"infinite", [](T x) { return std::isinf(x); }},
        {"number", [](T x) { return !std::isnan(x); }},
        {"notanumber", [](T x) { return std::isnan(x); }},
        {"normal", [](T x) { return std::isnormal(x) || x == 0; }},
        {"subnormal", [](T x) { return std::fpclassify(x) == FP_SUBNORMAL; }}};
    for (const auto comparison : kComparisons) {
      for (const auto& [name, is] : classes) {
        for_lanes<bool>(
            comparison(form("testp." + name + "." + type)), floating_pairs<T>(),
            [&, &is = is, &name = name](bool d, T a, T) { EXPECT_EQ(d, is(a)) << name << " of " << a; });
      }
    }
  };
  check("f32", float{});
  check("f64", double{});
}

}  // namespace
}  // namespace warploom::sim::testing
