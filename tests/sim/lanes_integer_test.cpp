#include "sim/lanes_integer.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace warploom::sim::testing {
namespace {

/// name.<type> of two sources of the type.
template <typename T, typename Oracle>
void expect_binary(const std::string& name, const Oracle& oracle) {
  expect<T>(name + "." + type_name<T>(), with_random(product<T, T>(edges<T>(), edges<T>())), oracle);
}
template <typename T, typename Oracle>
void expect_ternary(const std::string& name, const Oracle& oracle) {
  expect<T>(name + "." + type_name<T>(), with_random(product<T, T, T>(edges<T>(), edges<T>(), edges<T>())),
            oracle);
}

Big clamp(Big value, Big low, Big high) { return value < low ? low : value > high ? high : value; }
Big clamp32(Big value) { return clamp(value, INT32_MIN, INT32_MAX); }

TEST(Integer, AddsAndSubtractsModulo2ToTheWidth) {
  for_types([]<typename T>(T) {
    expect_binary<T>("add", [](T a, T b) { return Big{a} + b; });
    expect_binary<T>("sub", [](T a, T b) { return Big{a} - b; });
  });
}

TEST(Integer, SaturatesSumsOfS32) {
  expect_binary<s32>("add.sat", [](s32 a, s32 b) { return clamp32(Big{a} + b); });
  expect_binary<s32>("sub.sat", [](s32 a, s32 b) { return clamp32(Big{a} - b); });
}

TEST(Integer, MultipliesIntoTheLowTheHighAndTheWideProduct) {
  for_types([]<typename T>(T) {
    using Product = std::conditional_t<std::is_signed_v<T>, Big, BigUnsigned>;
    expect_binary<T>("mul.lo", [](T a, T b) { return Product(a) * Product(b); });
    expect_binary<T>("mul.hi", [](T a, T b) { return Product(a) * Product(b) >> kBits<T>; });
    expect_ternary<T>("mad.lo", [](T a, T b, T c) { return Product(a) * Product(b) + Product(c); });
    expect_ternary<T>("mad.hi",
                      [](T a, T b, T c) { return (Product(a) * Product(b) >> kBits<T>)+Product(c); });
  });
  const auto wide = []<typename T, typename W>(T, W) {
    expect<W>("mul.wide." + type_name<T>(), with_random(product<T, T>(edges<T>(), edges<T>())),
              [](T a, T b) { return Big{a} * b; });
    expect<W>("mad.wide." + type_name<T>(), with_random(product<T, T, W>(edges<T>(), edges<T>(), edges<W>())),
              [](T a, T b, W c) { return Big{a} * b + c; });
  };
  wide(u16{}, u32{});
  wide(s16{}, s32{});
  wide(u32{}, u64{});
  wide(s32{}, s64{});
}

TEST(Integer, SaturatesTheSumWithAHighProduct) {
  expect_ternary<s32>("mad.hi.sat", [](s32 a, s32 b, s32 c) { return clamp32((Big{a} * b >> 32) + c); });
}

template <typename T>
Big low24(T a) {
  const Big low = static_cast<u32>(a) & 0xffffff;
  return std::is_signed_v<T> && low >= 0x800000 ? low - 0x1000000 : low;
}

TEST(Integer, MultipliesTheLow24Bits) {
  const auto check = []<typename T>(T) {
    expect_binary<T>("mul24.lo", [](T a, T b) { return low24(a) * low24(b); });
    expect_binary<T>("mul24.hi", [](T a, T b) { return low24(a) * low24(b) >> 16; });
    expect_ternary<T>("mad24.lo", [](T a, T b, T c) { return low24(a) * low24(b) + c; });
    expect_ternary<T>("mad24.hi", [](T a, T b, T c) { return (low24(a) * low24(b) >> 16) + c; });
  };
  check(u32{});
  check(s32{});
  expect_ternary<s32>("mad24.hi.sat",
                      [](s32 a, s32 b, s32 c) { return clamp32((low24(a) * low24(b) >> 16) + c); });
}

TEST(Integer, AddsAbsoluteDifferences) {
  for_types([]<typename T>(T) {
    expect_ternary<T>("sad", [](T a, T b, T c) { return (a < b ? Big{b} - a : Big{a} - b) + c; });
  });
}

// What an H100 gives by zero.
TEST(Integer, DividesWithoutTrappingOnZeroOrOverflow) {
  for_types([]<typename T>(T) {
    expect_binary<T>("div", [](T a, T b) { return b == 0 ? Big{-1} : Big{a} / b; });
    expect_binary<T>("rem", [](T a, T b) { return b == 0 ? Big{-1} : Big{a} % b; });
  });
}

TEST(Integer, NegatesAndTakesAbsoluteValuesModulo2ToTheWidth) {
  const auto check = []<typename T>(T) {
    expect<T>("neg." + type_name<T>(), with_random(product<T>(edges<T>())), [](T a) { return -Big{a}; });
    expect<T>("abs." + type_name<T>(), with_random(product<T>(edges<T>())),
              [](T a) { return a < 0 ? -Big{a} : Big{a}; });
  };
  check(s16{});
  check(s32{});
  check(s64{});
}

TEST(Integer, TakesExtremes) {
  for_types([]<typename T>(T) {
    expect_binary<T>("min", [](T a, T b) { return a < b ? a : b; });
    expect_binary<T>("max", [](T a, T b) { return a > b ? a : b; });
  });
  const auto both = with_random(product<s32, s32>(edges<s32>(), edges<s32>()));
  expect<s32>("min.s32.relu", both, [](s32 a, s32 b) { return std::max(0, std::min(a, b)); });
  expect<s32>("max.s32.relu", both, [](s32 a, s32 b) { return std::max({0, a, b}); });
}

/// f on each half.
template <typename T, typename F>
u32 halves(u32 a, u32 b, const F& f) {
  u32 d = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const Big half = f(Big{static_cast<T>(a >> shift)}, Big{static_cast<T>(b >> shift)});
    d |= static_cast<u32>(static_cast<u16>(half)) << shift;
  }
  return d;
}

TEST(Integer, WorksOnPackedHalves) {
  const std::vector<u32> values = {0, 1, 0x10001, 0x7fff8000, 0x80007fff, 0xffffffff, 0x0000ffff, 0xffff0000};
  const auto pairs = with_random(product<u32, u32>(values, values));
  const auto check = [&]<typename T>(const std::string& name, const auto& f, T) {
    expect<u32>(name, pairs, [&](u32 a, u32 b) { return halves<T>(a, b, f); });
  };
  const auto sum = [](Big a, Big b) { return a + b; };
  const auto least = [](Big a, Big b) { return a < b ? a : b; };
  const auto most = [](Big a, Big b) { return a > b ? a : b; };
  check("add.u16x2", sum, u16{});
  check("add.s16x2", sum, s16{});
  check("min.u16x2", least, u16{});
  check("max.u16x2", most, u16{});
  check("min.s16x2", least, s16{});
  check("max.s16x2", most, s16{});
  check(
      "min.s16x2.relu", [&](Big a, Big b) { return most(0, least(a, b)); }, s16{});
  check(
      "max.s16x2.relu", [&](Big a, Big b) { return most(0, most(a, b)); }, s16{});
}

/// name of three sources with a carry: oracle(a, b, c, carry in) is exact; the carry out is whether it leaves
/// the unsigned range.
template <typename T, typename Oracle>
void expect_carry(const std::string& name, bool carry_out, const Oracle& oracle) {
  using U = std::make_unsigned_t<T>;
  const auto tuples = with_random(product<T, T, T, bool>(edges<T>(), edges<T>(), edges<T>(), {false, true}));
  for (const auto integer : kBuilds) {
    const Handler handler = integer(form(name + "." + type_name<T>()));
    ASSERT_NE(handler, nullptr) << name;
    for (std::size_t first = 0, run = 0; first + kLanes <= tuples.size(); first += kLanes, ++run) {
      Warp warp;
      Lanes<T> a, b, c;
      Lanes<bool> in;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::tie(a[lane], b[lane], c[lane], in[lane]) = tuples[first + lane];
      }
      warp.set_source(0, a);
      warp.set_source(1, b);
      warp.set_source(2, c);
      warp.set_second(in);
      const Mask lanes = run % 2 == 0 ? kAllLanes : 0xf0f0a5a5u;
      warp.run<T>(handler, lanes);
      const Lanes<T> d = warp.destination<T>();
      const Lanes<bool> out = warp.second();
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        const Big exact = oracle(a[lane], b[lane], c[lane], in[lane]);
        EXPECT_EQ(d[lane], static_cast<T>(exact)) << name;
        const bool carried = name.starts_with("sub") ? exact >= 0 : exact > std::numeric_limits<U>::max();
        EXPECT_EQ(out[lane], carry_out ? carried : in[lane]) << name;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// The carry of a difference is the complement of its borrow, as sub.cc followed by addc shows on an H100.
TEST(Integer, CarriesSumsAndDifferences) {
  const auto check = []<typename T>(T) {
    using U = std::make_unsigned_t<T>;
    const auto big = [](T x) { return Big{static_cast<U>(x)}; };
    const auto add = [=](T a, T b, T, bool) { return big(a) + big(b); };
    const auto addc = [=](T a, T b, T, bool in) { return big(a) + big(b) + in; };
    const auto sub = [=](T a, T b, T, bool) { return big(a) - big(b); };
    const auto subc = [=](T a, T b, T, bool in) { return big(a) - big(b) - !in; };
    expect_carry<T>("add.cc", true, add);
    expect_carry<T>("addc", false, addc);
    expect_carry<T>("addc.cc", true, addc);
    expect_carry<T>("sub.cc", true, sub);
    expect_carry<T>("subc", false, subc);
    expect_carry<T>("subc.cc", true, subc);
  };
  check(u32{});
  check(s32{});
  check(u64{});
  check(s64{});
}

TEST(Integer, CarriesSumsWithProducts) {
  const auto check = []<typename T>(T) {
    using U = std::make_unsigned_t<T>;
    using Product = std::conditional_t<std::is_signed_v<T>, Big, BigUnsigned>;
    const auto low = [](T a, T b) { return Big{static_cast<U>(Product(a) * Product(b))}; };
    const auto high = [](T a, T b) { return Big{static_cast<U>(Product(a) * Product(b) >> kBits<T>)}; };
    const auto big = [](T x) { return Big{static_cast<U>(x)}; };
    expect_carry<T>("mad.lo.cc", true, [=](T a, T b, T c, bool) { return low(a, b) + big(c); });
    expect_carry<T>("mad.hi.cc", true, [=](T a, T b, T c, bool) { return high(a, b) + big(c); });
    expect_carry<T>("madc.lo", false, [=](T a, T b, T c, bool in) { return low(a, b) + big(c) + in; });
    expect_carry<T>("madc.hi", false, [=](T a, T b, T c, bool in) { return high(a, b) + big(c) + in; });
    expect_carry<T>("madc.lo.cc", true, [=](T a, T b, T c, bool in) { return low(a, b) + big(c) + in; });
    expect_carry<T>("madc.hi.cc", true, [=](T a, T b, T c, bool in) { return high(a, b) + big(c) + in; });
  };
  check(u32{});
  check(s32{});
  check(u64{});
  check(s64{});
}

Big element(u32 word, int index, int width, bool is_signed) {
  Big value = 0;
  for (int i = 0; i < width; ++i) value += Big{bit(word, index * width + i)} << i;
  return is_signed && bit(word, index * width + width - 1) ? value - (Big{1} << width) : value;
}

TEST(Integer, DotsBytesAndHalves) {
  const std::vector<u32> values = {0, 1, 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x01ff8000, 0x12345678};
  const auto tuples = with_random(product<u32, u32, u32>(values, values, values));
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      const auto dot = [=](u32 a, u32 b, u32 c, int count, int a_width, int b_first) {
        Big sum = c;
        for (int i = 0; i < count; ++i) {
          sum += element(a, i, a_width, a_signed) * element(b, b_first + i, 8, b_signed);
        }
        return sum;
      };
      expect<u32>("dp4a" + types, tuples, [&](u32 a, u32 b, u32 c) { return dot(a, b, c, 4, 8, 0); });
      expect<u32>("dp2a.lo" + types, tuples, [&](u32 a, u32 b, u32 c) { return dot(a, b, c, 2, 16, 0); });
      expect<u32>("dp2a.hi" + types, tuples, [&](u32 a, u32 b, u32 c) { return dot(a, b, c, 2, 16, 2); });
    }
  }
}

TEST(IntegerVideo, WorksOnEveryElement) {
  struct Case {
    std::string name;
    Big (*of)(Big a, Big b);
  };
  const Case cases[] = {{"vadd", [](Big a, Big b) { return a + b; }},
                        {"vsub", [](Big a, Big b) { return a - b; }},
                        {"vavrg", [](Big a, Big b) { return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1; }},
                        {"vabsdiff", [](Big a, Big b) { return a > b ? a - b : b - a; }},
                        {"vmin", [](Big a, Big b) { return a < b ? a : b; }},
                        {"vmax", [](Big a, Big b) { return a > b ? a : b; }}};
  const std::vector<u32> values = {0, 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x01ff8000, 0x7fff8000};
  const auto tuples = with_random(product<u32, u32, u32>(values, values, {0, 0xfffffff0}));
  for (const auto& [name, of] : cases) {
    for (const int count : {2, 4}) {
      for (const std::string to : {"u32", "s32"}) {
        for (const std::string from : {"u32", "s32"}) {
          for (const std::string finish : {"", ".sat", ".add"}) {
            const int width = 32 / count;
            const Big low = to == "s32" ? -(Big{1} << (width - 1)) : 0;
            const Big high = low + (Big{1} << width) - 1;
            expect<u32>(name + std::to_string(count) + "." + to + "." + from + "." + from + finish, tuples,
                        [&, of = of](u32 a, u32 b, u32 c) {
                          Big d = finish == ".add" ? c : 0;
                          for (int i = 0; i < count; ++i) {
                            Big t =
                                of(element(a, i, width, from == "s32"), element(b, i, width, from == "s32"));
                            if (finish == ".add") {
                              d += t;
                              continue;
                            }
                            if (finish == ".sat") t = clamp(t, low, high);
                            for (int j = 0; j < width; ++j) d |= (t >> j & 1) << (i * width + j);
                          }
                          return d;
                        });
          }
        }
      }
    }
  }
}

TEST(IntegerVideo, ComparesEveryElement) {
  const std::vector<u32> values = {0, 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x01ff8000, 0x7fff8000};
  const auto tuples = with_random(product<u32, u32, u32>(values, values, {0, 0xfffffff0}));
  for (const std::string comparison : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (const int count : {2, 4}) {
      for (const std::string type : {"u32", "s32"}) {
        for (const bool add : {false, true}) {
          const int width = 32 / count;
          expect<u32>("vset" + std::to_string(count) + "." + type + "." + type + "." + comparison +
                          (add ? ".add" : ""),
                      tuples, [&](u32 a, u32 b, u32 c) {
                        Big d = add ? c : 0;
                        for (int i = 0; i < count; ++i) {
                          const Big x = element(a, i, width, type == "s32"),
                                    y = element(b, i, width, type == "s32");
                          const bool yes = comparison == "eq"   ? x == y
                                           : comparison == "ne" ? x != y
                                           : comparison == "lt" ? x < y
                                           : comparison == "le" ? x <= y
                                           : comparison == "gt" ? x > y
                                                                : x >= y;
                          d += Big{yes} << (add ? 0 : i * width);
                        }
                        return d;
                      });
        }
      }
    }
  }
}

TEST(Integer, MayOverwriteItsSource) {
  for (const auto integer : kBuilds) {
    for (const Mask lanes : {kAllLanes, Mask{0x0000fff0}}) {
      Warp warp;
      Lanes<u32> a;
      for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = 100 + lane;
      warp.set_source(0, a);
      warp.set_source(1, a);
      warp.set_destination_as_source(0);
      warp.run<u32>(integer(form("add.u32")), lanes);
      const Lanes<u32> d = warp.destination<u32>();
      for (unsigned lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(d[lane], lanes >> lane & 1 ? 2 * a[lane] : a[lane]);
    }
  }
}

TEST(Integer, KnowsNoOtherInstructions) {
  for (const std::string name :
       {"add.f32",     "add.sat.u32",    "mul.u32",      "mul.wide.u64", "mad.hi.sat.u32",   "mul24.lo.u16",
        "neg.u32",     "abs.u32",        "min.relu.u32", "dp4a.u16.u32", "bfe.u16",          "popc.b16",
        "shf.l.b32",   "bmsk.b32",       "and.f32",      "addc.cc.u16",  "vadd.u32.u32.u32", "vset4.u32.u32",
        "setp.eq.u32", "add.nosuch.u32", "ld.global.u32"}) {
    for (const auto integer : kBuilds) EXPECT_EQ(integer(form(name)), nullptr) << name;
  }
}

}  // namespace
}  // namespace warploom::sim::testing
