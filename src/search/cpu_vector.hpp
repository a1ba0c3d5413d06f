#pragma once

// For sources that are compiled for several instruction sets (core/instruction_sets.hpp). Nothing with a body
// from elsewhere, and nothing here that is not of one source's own: one copy would be linked, and it could be
// the one that was compiled for a processor that is not there. Vectors are GCC's, whose length in bytes is
// that of the registers.

#include <cstdint>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "search/cpu_dtw.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Vector [[gnu::vector_size(4 * kLanes)]] = float;
using Mask [[gnu::vector_size(4 * kLanes)]] = std::int32_t;
constexpr float kInfinity = __builtin_huge_valf();

inline Vector load(const float* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline void store(float* to, const Vector& v) { __builtin_memcpy(to, &v, sizeof v); }
inline Vector all(float x) { return Vector{} + x; }
inline Vector lesser(const Vector& a, const Vector& b) { return a < b ? a : b; }
inline Vector greater(const Vector& a, const Vector& b) { return a > b ? a : b; }

/// Bit l says what lane l says.
inline unsigned bits(const Mask& mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#elif defined(__x86_64__)
  return static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
#else
  unsigned result = 0;
  for (int l = 0; l < kLanes; ++l) result |= mask[l] != 0 ? 1U << l : 0;
  return result;
#endif
}

/// Calls f.operator()<k>() for each k of [0, kCount): a loop whose counter is a constant.
template <int kCount, class F>
inline void for_each(const F& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) { (f.template operator()<k>(), ...); }
  (std::make_integer_sequence<int, kCount>{});
}

/// Rows become columns: blocks off the diagonal change places, of one lane, then of two, four...
inline void transpose(Vector (&rows)[kLanes]) {
  constexpr int kSteps = kLanes == 16 ? 4 : kLanes == 8 ? 3 : 2;
  for_each<kSteps>([&]<int kStep>() {
    constexpr int kBlock = 1 << kStep;
    [&]<int... l>(std::integer_sequence<int, l...>) {
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if ((i & kBlock) != 0) continue;
        const Vector a = rows[i], b = rows[i + kBlock];
        rows[i] = __builtin_shufflevector(a, b, ((l & kBlock) != 0 ? kLanes + l - kBlock : l)...);
        rows[i + kBlock] = __builtin_shufflevector(a, b, ((l & kBlock) != 0 ? kLanes + l : l + kBlock)...);
      }
    }
    (std::make_integer_sequence<int, kLanes>{});
  });
}

/// ((x - mean) - rest) * scale with one rounding less; of a sample and of an envelope alike, and never
/// decreasing with x.
struct Normalizer {
  Vector mean, scale, rest;

  explicit Normalizer(const LaneMoments& moments) : mean(load(moments.mean)), scale(load(moments.scale)) {
    scale = scale == scale ? scale : Vector{};
    rest = -load(moments.rest) * scale;
  }
  Vector operator()(const Vector& x) const { return (x - mean) * scale + rest; }
};

}  // namespace
}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
