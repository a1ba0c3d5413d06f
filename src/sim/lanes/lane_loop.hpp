#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/step.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define WARPLOOM_SIM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WARPLOOM_SIM_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Loops over the 32 lanes that compilers turn into vector code: all lanes are computed, and those outside the
// mask keep what they had. Values of lanes outside the mask are arbitrary: a function must not trap on them.
//
// A destination may be one of the sources; then it has the same offset and the same width, so that lane i is
// read and written in iteration i alone (WARPLOOM_SIM_INDEPENDENT says that to the compiler).
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

/// The unsigned integer of so many bytes.
template <std::size_t bytes>
struct Bits;
template <>
struct Bits<1> {
  using type = std::uint8_t;
};
template <>
struct Bits<2> {
  using type = std::uint16_t;
};
template <>
struct Bits<4> {
  using type = std::uint32_t;
};
template <>
struct Bits<8> {
  using type = std::uint64_t;
};

/// Bit i, as a table: processors without variable vector shifts load it.
struct LaneBits {
  alignas(64) Mask bit[kLanes];
  constexpr LaneBits() : bit() {
    for (unsigned i = 0; i < kLanes; ++i) bit[i] = Mask{1} << i;
  }
};
constexpr LaneBits kLaneBits;

/// flags[lane] = all ones where the mask has the lane, else 0.
template <typename U>
inline void spread(U* __restrict flags, Mask mask) {
  for (unsigned i = 0; i < kLanes; ++i) {
    flags[i] = (mask & kLaneBits.bit[i]) != 0 ? static_cast<U>(-1) : U{0};
  }
}

/// The mask of the lanes whose flag, all ones or 0, is set.
inline Mask gather(const std::uint8_t* flags) {
#if defined(__AVX2__)
  return static_cast<Mask>(_mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(flags))));
#else
  Mask mask = 0;
  for (unsigned i = 0; i < kLanes; i += 8) {
    std::uint64_t eight;
    __builtin_memcpy(&eight, flags + i, sizeof eight);
    // The product moves bit 0 of byte j to bit 56 + j.
    mask |= static_cast<Mask>((eight & 0x0101010101010101u) * 0x0102040810204080u >> 56) << i;
  }
  return mask;
#endif
}
template <typename U>
inline Mask gather(const U* __restrict flags) {
  alignas(64) std::uint8_t bytes[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) bytes[i] = static_cast<std::uint8_t>(flags[i]);
  return gather(bytes);
}

/// The mask of the lanes for which condition(lane) holds. U: an unsigned integer as wide as what is compared.
template <typename U, typename Condition>
inline Mask lanes_where(Condition condition) {
  alignas(64) U flags[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) flags[i] = condition(i) ? static_cast<U>(-1) : U{0};
  return gather(flags);
}

/// destination[lane] = result[lane] for the lanes of the mask. They may be the same.
template <typename T>
inline void store(T* destination, const T* result, Mask lanes) {
  if (lanes == kAllLanes) {
    WARPLOOM_SIM_INDEPENDENT
    for (unsigned i = 0; i < kLanes; ++i) destination[i] = result[i];
    return;
  }
  using U = typename Bits<sizeof(T)>::type;
  alignas(64) U flags[kLanes];
  spread(flags, lanes);
  U* const to = reinterpret_cast<U*>(destination);
  const U* const from = reinterpret_cast<const U*>(result);
  WARPLOOM_SIM_INDEPENDENT
  for (unsigned i = 0; i < kLanes; ++i) {
    to[i] = static_cast<U>((from[i] & flags[i]) | (to[i] & static_cast<U>(~flags[i])));
  }
}

inline void store(Mask& destination, Mask result, Mask lanes) {
  destination = (destination & ~lanes) | (result & lanes);
}

/// Source `index` (a is 0), a predicate that may be written with '!'.
inline Mask predicate(const Registers& r, const Step& s, Source source, unsigned index) {
  const Mask value = r.predicate(source);
  return (s.negated >> index & 1) != 0 ? ~value : value;
}

/// destination[lane] = result_of(lane) for the lanes of the mask.
template <typename D, typename Result>
inline void for_lanes(const Registers& r, const Step& s, Mask lanes, Result result_of) {
  D* const destination = r.write<D>(s.destination);
  if (lanes == kAllLanes) {
    WARPLOOM_SIM_INDEPENDENT
    for (unsigned i = 0; i < kLanes; ++i) destination[i] = result_of(i);
  } else {
    alignas(64) D result[kLanes];
    for (unsigned i = 0; i < kLanes; ++i) result[i] = result_of(i);
    store(destination, result, lanes);
  }
}

/// A handler D f(A): struct F { static D of(A a); }.
template <typename F, typename D, typename A>
void unary(Registers& r, const Step& s, Mask lanes) {
  const A* const a = r.read<A>(s.a);
  for_lanes<D>(r, s, lanes, [=](unsigned i) { return static_cast<D>(F::of(a[i])); });
}

template <typename F, typename D, typename A, typename B>
void binary(Registers& r, const Step& s, Mask lanes) {
  const A* const a = r.read<A>(s.a);
  const B* const b = r.read<B>(s.b);
  for_lanes<D>(r, s, lanes, [=](unsigned i) { return static_cast<D>(F::of(a[i], b[i])); });
}

template <typename F, typename D, typename A, typename B, typename C>
void ternary(Registers& r, const Step& s, Mask lanes) {
  const A* const a = r.read<A>(s.a);
  const B* const b = r.read<B>(s.b);
  const C* const c = r.read<C>(s.c);
  for_lanes<D>(r, s, lanes, [=](unsigned i) { return static_cast<D>(F::of(a[i], b[i], c[i])); });
}

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
