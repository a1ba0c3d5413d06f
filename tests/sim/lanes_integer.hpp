#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sim/lanes.hpp"

// Oracles work in 128-bit integers or bit by bit, after the text of the PTX ISA.
namespace warploom::sim::testing {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ typedef __int128 Big;
__extension__ typedef unsigned __int128 BigUnsigned;

inline const auto kBuilds = builds(baseline::integer, avx2::integer);

template <typename T>
constexpr int kBits = 8 * sizeof(T);

template <typename T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  return {0,
          1,
          2,
          7,
          static_cast<T>(-1),
          static_cast<T>(-2),
          Limits::min(),
          Limits::max(),
          static_cast<T>(Limits::max() - 1),
          static_cast<T>(0x5a5a5a5a5a5a5a5a)};
}
inline const std::vector<u32> kAmounts = {0,  1,  5,  15, 16,  17,  31,          32,
                                          33, 63, 64, 65, 255, 256, 0x80000000u, 0xffffffffu};

template <typename... S>
std::vector<std::tuple<S...>> with_random(std::vector<std::tuple<S...>> tuples) {
  const auto more = random_tuples<S...>(320);
  tuples.insert(tuples.end(), more.begin(), more.end());
  return tuples;
}

template <typename T>
bool bit(T value, int i) {
  return static_cast<u64>(value) >> i & 1;
}

/// Checks that `name` gives `oracle` on these sources, in both builds.
template <typename D, typename... S, typename Oracle>
void expect(const std::string& name, const std::vector<std::tuple<S...>>& tuples, const Oracle& oracle,
            const Step& step = {}) {
  for (const auto integer : kBuilds) {
    SCOPED_TRACE(name);
    for_lanes<D>(
        integer(form(name)), tuples,
        [&](D result, const S&... sources) {
          const D wanted = static_cast<D>(oracle(sources...));
          if (result == wanted) return;
          std::string text;
          ((text += " " + std::to_string(sources)), ...);
          ADD_FAILURE() << "of" << text << ": " << +result << ", not " << +wanted;
        },
        step);
    if (::testing::Test::HasFailure()) return;
  }
}

template <typename T>
std::string type_name() {
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(kBits<T>);
}

/// Calls check(T{}) for every integer type of 16, 32, 64 bits.
template <typename Check>
void for_types(const Check& check) {
  check(u16{});
  check(s16{});
  check(u32{});
  check(s32{});
  check(u64{});
  check(s64{});
}

}  // namespace warploom::sim::testing
