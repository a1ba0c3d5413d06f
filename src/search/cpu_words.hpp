#pragma once

// Vectors of 16-bit numbers, for sources that are compiled for several instruction sets (cpu_vector.hpp).

#include "search/cpu_vector.hpp"

#if defined(__AVX2__)

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

using Ints = Mask;  // of 32 bits
using Words [[gnu::vector_size(4 * kLanes)]] = std::uint16_t;
constexpr int kWords = 2 * kLanes;

#if defined(__AVX512F__)
using Raw = __m512i;
#define WARPLOOM_OF_WORDS(name) _mm512_##name
inline Ints rounded(const Vector& x) {
  return reinterpret_cast<Ints>(_mm512_maskz_cvtps_epi32(0xFFFF, reinterpret_cast<__m512>(x)));
}
inline Vector root(const Vector& x) {
  return reinterpret_cast<Vector>(_mm512_maskz_sqrt_ps(0xFFFF, reinterpret_cast<__m512>(x)));
}
/// Bit w: word w does not exceed the limit.
inline std::uint32_t within(const Words& words, const Words& limit) {
  return _mm512_cmple_epu16_mask(reinterpret_cast<Raw>(words), reinterpret_cast<Raw>(limit));
}
#else
using Raw = __m256i;
#define WARPLOOM_OF_WORDS(name) _mm256_##name
inline Ints rounded(const Vector& x) {
  return reinterpret_cast<Ints>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(x)));
}
inline Vector root(const Vector& x) {
  return reinterpret_cast<Vector>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
}
/// Bit w: word w does not exceed the limit.
inline std::uint32_t within(const Words& words, const Words& limit) {
  const Raw is =
      _mm256_cmpeq_epi16(_mm256_min_epu16(reinterpret_cast<Raw>(words), reinterpret_cast<Raw>(limit)),
                         reinterpret_cast<Raw>(words));
  return static_cast<std::uint32_t>(
      _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(is), _mm256_extracti128_si256(is, 1))));
}
#endif

inline Words lesser(const Words& a, const Words& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(min_epu16)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// At most the largest number.
inline Words sum(const Words& a, const Words& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(adds_epu16)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// At least 0.
inline Words difference(const Words& a, const Words& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(subs_epu16)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// a b / 2^15 of signed numbers, to the nearest; modulo 2^16.
inline Words product(const Words& a, const Words& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(mulhrs_epi16)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// Squares of signed numbers of a and b, added up: in the order in which packed() had them.
struct Squares {
  Ints first, second;
};
inline Squares squares(const Words& a, const Words& b) {
  const Raw x = reinterpret_cast<Raw>(a), y = reinterpret_cast<Raw>(b);
  const Raw first = WARPLOOM_OF_WORDS(unpacklo_epi16)(x, y), second = WARPLOOM_OF_WORDS(unpackhi_epi16)(x, y);
  return {reinterpret_cast<Ints>(WARPLOOM_OF_WORDS(madd_epi16)(first, first)),
          reinterpret_cast<Ints>(WARPLOOM_OF_WORDS(madd_epi16)(second, second))};
}
/// Signed numbers; what is too large or too small becomes the largest or the least. Four of a and four of b
/// in turns: see word_of().
inline Words packed(const Ints& a, const Ints& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(packs_epi32)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
/// The same of numbers that are not negative afterwards.
inline Words packed_not_negative(const Ints& a, const Ints& b) {
  return reinterpret_cast<Words>(
      WARPLOOM_OF_WORDS(packus_epi32)(reinterpret_cast<Raw>(a), reinterpret_cast<Raw>(b)));
}
#undef WARPLOOM_OF_WORDS

/// Where what packed() takes from lane l of a, or from lane l - kLanes of b, is.
constexpr int word_of(int l) { return l % kLanes / 4 * 8 + l / kLanes * 4 + l % 4; }

inline Words most_words() { return Words{} - 1; }

}  // namespace
}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET

#endif
