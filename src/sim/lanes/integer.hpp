#pragma once

#include "sim/lanes/lane_loop.hpp"
#include "sim/lanes/lanes.hpp"

// What the integer handlers share. Arithmetic is done in unsigned types, which wrap.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {

/// Logic, shifts, bit fields, permutations and copies, of predicates too: a part of integer().
Handler integer_bits(const Form& form);
/// The SIMD video instructions: a part of integer().
Handler integer_video(const Form& form);

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

template <typename T>
constexpr bool kSigned = static_cast<T>(-1) < T{0};
template <typename T>
constexpr unsigned kBits = 8 * sizeof(T);
template <typename T>
using Unsigned = typename Bits<sizeof(T)>::type;

/// The type twice as wide.
template <typename T>
struct Twice;
// clang-format off
template <> struct Twice<u16> { using type = u32; };
template <> struct Twice<s16> { using type = s32; };
template <> struct Twice<u32> { using type = u64; };
template <> struct Twice<s32> { using type = s64; };
template <> struct Twice<u64> { using type = u128; };
template <> struct Twice<s64> { using type = s128; };
// clang-format on
template <typename T>
using Wide = typename Twice<T>::type;

template <typename T>
constexpr T kLargest = static_cast<T>(kSigned<T> ? static_cast<Unsigned<T>>(-1) >> 1
                                                 : static_cast<Unsigned<T>>(-1));
template <typename T>
constexpr T kSmallest = static_cast<T>(~kLargest<T>);

/// choose.template operator()<T>() of the C++ type of 16, 32 or 64 bits; nullptr for any other.
template <typename Choose>
Handler for_integer(Type type, Choose choose) {
  if (!type.integer() || type.packed != 1) return nullptr;
  const bool is_signed = type.kind == Type::s;
  switch (type.bits) {
    case 16:
      return is_signed ? choose.template operator()<s16>() : choose.template operator()<u16>();
    case 32:
      return is_signed ? choose.template operator()<s32>() : choose.template operator()<u32>();
    case 64:
      return is_signed ? choose.template operator()<s64>() : choose.template operator()<u64>();
    default:
      return nullptr;
  }
}
/// The same with unsigned types alone, where signs do not matter; floating types count too.
template <typename Choose>
Handler for_bits(unsigned bits, Choose choose) {
  switch (bits) {
    case 16:
      return choose.template operator()<u16>();
    case 32:
      return choose.template operator()<u32>();
    case 64:
      return choose.template operator()<u64>();
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
