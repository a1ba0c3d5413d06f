#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/lanes_integer.hpp"

namespace warploom::sim::testing {
namespace {

template <typename Check>
void for_bit_types(const Check& check) {
  check(u16{});
  check(u32{});
  check(u64{});
}

TEST(IntegerBits, CombinesBits) {
  for_bit_types([]<typename T>(T) {
    const auto pairs = with_random(product<T, T>(edges<T>(), edges<T>()));
    const std::string type = ".b" + std::to_string(kBits<T>);
    const auto bitwise = [](T a, T b, const auto& f) {
      u64 d = 0;
      for (int i = 0; i < kBits<T>; ++i) d |= u64{f(bit(a, i), bit(b, i))} << i;
      return d;
    };
    expect<T>("and" + type, pairs,
              [&](T a, T b) { return bitwise(a, b, [](bool x, bool y) { return x && y; }); });
    expect<T>("or" + type, pairs,
              [&](T a, T b) { return bitwise(a, b, [](bool x, bool y) { return x || y; }); });
    expect<T>("xor" + type, pairs,
              [&](T a, T b) { return bitwise(a, b, [](bool x, bool y) { return x != y; }); });
    expect<T>("not" + type, pairs, [&](T a, T) { return bitwise(a, a, [](bool x, bool) { return !x; }); });
    expect<T>("cnot" + type, pairs, [](T a, T) { return a == 0 ? 1 : 0; });
    expect<T>("mov" + type, pairs, [](T a, T) { return a; });
  });
}

TEST(IntegerBits, MovesFloatingAnd128BitValues) {
  const auto words = with_random(product<u32>(edges<u32>()));
  expect<u32>("mov.f32", words, [](u32 a) { return a; });
  for (const auto integer : kBuilds) {
    Warp warp;
    Lanes<std::array<u64, 2>> a;
    for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = {lane, ~u64{lane}};
    warp.set_source(0, a);
    warp.run<std::array<u64, 2>>(integer(form("mov.b128")), 0x7ffffffeu);
    const auto d = warp.destination<std::array<u64, 2>>();
    for (unsigned lane = 1; lane < 31; ++lane) EXPECT_EQ(d[lane], a[lane]);
  }
}

TEST(IntegerBits, CombinesPredicates) {
  const auto tuples = product<bool, bool>({false, true}, {false, true});
  for (const unsigned negated : {0u, 1u, 2u, 3u}) {
    Step step;
    step.negated = static_cast<std::uint8_t>(negated);
    const bool x = negated & 1, y = negated & 2;
    expect<bool>(
        "and.pred", tuples, [=](bool a, bool b) { return (a != x) && (b != y); }, step);
    expect<bool>(
        "or.pred", tuples, [=](bool a, bool b) { return (a != x) || (b != y); }, step);
    expect<bool>(
        "xor.pred", tuples, [=](bool a, bool b) { return (a != x) != (b != y); }, step);
    expect<bool>(
        "not.pred", tuples, [=](bool a, bool) { return a == x; }, step);
    expect<bool>(
        "mov.pred", tuples, [=](bool a, bool) { return a != x; }, step);
  }
}

TEST(IntegerBits, ShiftsClampTheAmount) {
  for_types([]<typename T>(T) {
    const auto tuples = with_random(product<T, u32>(edges<T>(), kAmounts));
    const auto right = [](T a, u32 n) { return n >= 64 ? Big{a < 0 ? -1 : 0} : Big{a} >> n; };
    expect<T>("shr." + type_name<T>(), tuples, right);
    if constexpr (std::is_unsigned_v<T>) {
      expect<T>("shr.b" + std::to_string(kBits<T>), tuples, right);
      expect<T>("shl.b" + std::to_string(kBits<T>), tuples,
                [](T a, u32 n) { return n >= 64 ? 0 : Big{a} << n; });
    }
  });
}

TEST(IntegerBits, FunnelShiftsClampOrWrapTheAmount) {
  const auto tuples = with_random(product<u32, u32, u32>(edges<u32>(), edges<u32>(), kAmounts));
  for (const bool wrap : {false, true}) {
    const auto amount = [=](u32 c) { return wrap ? c % 32 : std::min(c, 32u); };
    const std::string mode = wrap ? "wrap" : "clamp";
    expect<u32>("shf.l." + mode + ".b32", tuples,
                [&](u32 a, u32 b, u32 c) { return ((u64{b} << 32 | a) << amount(c)) >> 32; });
    expect<u32>("shf.r." + mode + ".b32", tuples,
                [&](u32 a, u32 b, u32 c) { return (u64{b} << 32 | a) >> amount(c); });
  }
}

TEST(IntegerBits, ExtractsFields) {
  const auto check = []<typename T>(T) {
    expect<T>("bfe." + type_name<T>(), with_random(product<T, u32, u32>(edges<T>(), kAmounts, kAmounts)),
              [](T a, u32 b, u32 c) {
                const int position = b & 0xff, length = c & 0xff, msb = kBits<T> - 1;
                const bool sign =
                    std::is_signed_v<T> && length != 0 && bit(a, std::min(position + length - 1, msb));
                u64 d = 0;
                for (int i = 0; i <= msb; ++i) {
                  d |= u64{i < length && position + i <= msb ? bit(a, position + i) : sign} << i;
                }
                return d;
              });
  };
  check(u32{});
  check(s32{});
  check(u64{});
  check(s64{});
}

TEST(IntegerBits, InsertsFields) {
  const auto check = []<typename T>(T) {
    expect<T>("bfi.b" + std::to_string(kBits<T>),
              with_random(product<T, T, u32, u32>(edges<T>(), edges<T>(), kAmounts, kAmounts)),
              [](T a, T b, u32 c, u32 length) {
                u64 d = b;
                for (int i = 0; i < static_cast<int>(length & 0xff); ++i) {
                  const int at = static_cast<int>(c & 0xff) + i;
                  if (at >= kBits<T>) break;
                  d = (d & ~(u64{1} << at)) | u64{bit(a, i)} << at;
                }
                return d;
              });
  };
  check(u32{});
  check(u64{});
}

TEST(IntegerBits, FindsTheHighestBit) {
  const auto check = []<typename T>(T) {
    const auto values = with_random(product<T>(edges<T>()));
    const auto highest = [](T a) {
      for (int i = kBits<T> - 1; i >= 0; --i) {
        if (bit(a, i) != (a < 0)) return i;
      }
      return -1;
    };
    expect<u32>("bfind." + type_name<T>(), values, highest);
    expect<u32>("bfind.shiftamt." + type_name<T>(), values,
                [&](T a) { return highest(a) < 0 ? -1 : kBits<T> - 1 - highest(a); });
  };
  check(u32{});
  check(s32{});
  check(u64{});
  check(s64{});
}

TEST(IntegerBits, CountsAndReversesBits) {
  const auto check = []<typename T>(T) {
    const auto values = with_random(product<T>(edges<T>()));
    const std::string type = ".b" + std::to_string(kBits<T>);
    expect<u32>("popc" + type, values, [](T a) {
      u32 d = 0;
      for (int i = 0; i < kBits<T>; ++i) d += bit(a, i);
      return d;
    });
    expect<u32>("clz" + type, values, [](T a) {
      int d = 0;
      while (d < kBits<T> && !bit(a, kBits<T> - 1 - d)) ++d;
      return d;
    });
    expect<T>("brev" + type, values, [](T a) {
      u64 d = 0;
      for (int i = 0; i < kBits<T>; ++i) d |= u64{bit(a, i)} << (kBits<T> - 1 - i);
      return d;
    });
  };
  check(u32{});
  check(u64{});
}

TEST(IntegerBits, FindsTheNthSetBit) {
  const std::vector<u32> bases = {0, 1, 5, 16, 30, 31, 32, 0xffffffff};
  const std::vector<s32> offsets = {0, 1, -1, 2, -2, 5, -5, 32, -32, 33, INT32_MAX, INT32_MIN};
  expect<u32>("fns.b32", with_random(product<u32, u32, s32>(edges<u32>(), bases, offsets)),
              [](u32 mask, u32 base, s32 offset) {
                if (base >= 32) return ~u32{0};
                if (offset == 0) return bit(mask, static_cast<int>(base)) ? base : ~u32{0};
                s64 left = std::abs(s64{offset});
                for (int at = static_cast<int>(base); at >= 0 && at<32; at += offset> 0 ? 1 : -1) {
                  if (bit(mask, at) && --left == 0) return static_cast<u32>(at);
                }
                return ~u32{0};
              });
}

TEST(IntegerBits, MakesBitMasks) {
  const auto tuples = with_random(product<u32, u32>(kAmounts, kAmounts));
  const auto mask = [](u64 from, u64 count) {
    u32 d = 0;
    for (u64 i = from; i < 32 && i < from + count; ++i) d |= 1u << i;
    return d;
  };
  expect<u32>("bmsk.clamp.b32", tuples, [&](u32 a, u32 b) { return mask(a, b); });
  expect<u32>("bmsk.wrap.b32", tuples, [&](u32 a, u32 b) { return mask(a % 32, b % 32); });
}

TEST(IntegerBits, ExtendsFromABit) {
  const auto check = []<typename T>(T) {
    for (const bool clamp : {false, true}) {
      expect<T>(std::string("szext.") + (clamp ? "clamp." : "wrap.") + type_name<T>(),
                with_random(product<T, u32>(edges<T>(), kAmounts)), [=](T a, u32 b) {
                  if (clamp && b >= 32) return a;
                  const int n = b % 32;
                  u32 d = 0;
                  for (int i = 0; i < 32; ++i) {
                    const bool extension = std::is_signed_v<T> && n != 0 && bit(a, n - 1);
                    d |= u32{i < n ? bit(a, i) : extension} << i;
                  }
                  return static_cast<T>(d);
                });
    }
  };
  check(u32{});
  check(s32{});
}

/// Byte i of b:a.
u32 byte_of(u32 a, u32 b, u32 i) { return i < 4 ? a >> 8 * i & 0xff : b >> 8 * (i - 4) & 0xff; }

TEST(IntegerBits, PermutesBytesAndTheirSigns) {
  const auto tuples = with_random(product<u32, u32, u32>({0x03020180, 0x83828100}, {0x07868504, 0x87060584},
                                                         {0x3210, 0x7654, 0xba98, 0xfedc, 0x0f48}));
  expect<u32>("prmt.b32", tuples, [](u32 a, u32 b, u32 c) {
    u32 d = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 selector = c >> 4 * i & 15, byte = byte_of(a, b, selector & 7);
      d |= (selector >= 8 ? (byte >= 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return d;
  });
}

TEST(IntegerBits, PermutesByModes) {
  // Which byte of b:a goes to byte i, for the control c.
  const std::vector<std::pair<std::string, u32 (*)(u32 i, u32 c)>> modes = {
      {"f4e", [](u32 i, u32 c) { return c + i; }},
      {"b4e", [](u32 i, u32 c) { return (c + 8 - i) % 8; }},
      {"rc8", [](u32, u32 c) { return c; }},
      {"ecl", [](u32 i, u32 c) { return std::max(i, c); }},
      {"ecr", [](u32 i, u32 c) { return std::min(i, c); }},
      {"rc16", [](u32 i, u32 c) { return 2 * (c & 1) + (i & 1); }}};
  const auto tuples =
      with_random(product<u32, u32, u32>({0x03020100}, {0x07060504}, {0, 1, 2, 3, 4, 0xfffffffe}));
  for (const auto& [mode, source] : modes) {
    expect<u32>("prmt.b32." + mode, tuples, [source = source](u32 a, u32 b, u32 c) {
      u32 d = 0;
      for (u32 i = 0; i < 4; ++i) d |= byte_of(a, b, source(i, c & 3)) << 8 * i;
      return d;
    });
  }
}

TEST(IntegerBits, LooksUpEveryTableOfThreeInputs) {
  const auto tuples = random_tuples<u32, u32, u32>(64);
  for (int table = 0; table < 256; ++table) {
    Step step;
    step.immediate = table;
    expect<u32>(
        "lop3.b32", tuples,
        [=](u32 a, u32 b, u32 c) {
          u32 d = 0;
          for (int i = 0; i < 32; ++i) d |= u32{bit(table, 4 * bit(a, i) + 2 * bit(b, i) + bit(c, i))} << i;
          return d;
        },
        step);
  }
}

TEST(IntegerBits, LookupTestsItsResult) {
  for (const auto integer : kBuilds) {
    for (const bool is_or : {false, true}) {
      Warp warp;
      Lanes<u32> a;
      Lanes<bool> q;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        a[lane] = lane % 3;
        q[lane] = lane % 2 == 0;
      }
      for (unsigned source = 0; source < 3; ++source) warp.set_source(source, a);
      warp.set_source(3, q);
      warp.step.immediate = 0x80;
      warp.step.negated = 8;
      warp.run<u32>(integer(form(is_or ? "lop3.or.b32" : "lop3.and.b32")), 0x00ffffffu);
      const Lanes<bool> p = warp.second();
      for (unsigned lane = 0; lane < 24; ++lane) {
        EXPECT_EQ(warp.destination<u32>()[lane], a[lane]);
        EXPECT_EQ(p[lane], is_or ? a[lane] != 0 || !q[lane] : a[lane] != 0 && !q[lane]);
      }
    }
  }
}

}  // namespace
}  // namespace warploom::sim::testing
