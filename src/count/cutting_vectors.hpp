#pragma once

#if defined(__AVX2__)
#if !defined(__clang__)
#pragma GCC diagnostic push
// GCC 12, of what intrinsics leave as it is.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "count/cutting.hpp"

#if defined(__AVX512BW__)

/// What cutting.cpp does, 64 letters at a time.
namespace warploom::table::WARPLOOM_INSTRUCTION_SET {
namespace {

__m512i vector_at(const void* from) { return _mm512_loadu_si512(from); }

void encode_vectors(CutBlock& block, std::size_t count) {
  // A letter's lower four bits tell which capital one it has to be.
  const __m512i wanted =
      _mm512_broadcast_i32x4(_mm_setr_epi8(1, 'A', 0, 'C', 'T', 'U', 0, 'G', 0, 0, 0, 0, 0, 0, 0, 0));
  const __m512i three = _mm512_set1_epi8(3), capitals = _mm512_set1_epi8(static_cast<char>(0xdf));
  for (std::size_t at = 0; at < count; at += 64) {
    const __m512i letters = vector_at(block.letters + at);
    const __m512i one = _mm512_srli_epi16(letters, 1), two = _mm512_srli_epi16(letters, 2);
    constexpr int kXorThenAnd = 0x28;
    _mm512_storeu_si512(block.bases + at, _mm512_ternarylogic_epi32(one, two, three, kXorThenAnd));
    block.no_base[at / 64] =
        _mm512_cmpneq_epi8_mask(_mm512_and_si512(letters, capitals), _mm512_shuffle_epi8(wanted, letters));
  }
  constexpr int kOr = 0xfe;
  const __m128i backwards = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (std::size_t at = 0; at < count; at += 64) {
    const std::uint8_t* bases = block.bases + at;
    const __m512i a = vector_at(bases), b = vector_at(bases + 1), c = vector_at(bases + 2),
                  d = vector_at(bases + 3);
    const __m512i four = _mm512_ternarylogic_epi32(_mm512_or_si512(a, _mm512_slli_epi16(b, 2)),
                                                   _mm512_slli_epi16(c, 4), _mm512_slli_epi16(d, 6), kOr);
    const __m512i turned = _mm512_ternarylogic_epi32(_mm512_or_si512(d, _mm512_slli_epi16(c, 2)),
                                                     _mm512_slli_epi16(b, 4), _mm512_slli_epi16(a, 6), kOr);
    _mm512_storeu_si512(block.four + at, four);
    _mm512_storeu_si512(block.turned + at, turned);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(block.strands[0] + at / 4), _mm512_cvtepi32_epi8(four));
    const __m128i complement = _mm_xor_si128(_mm512_cvtepi32_epi8(turned), _mm_set1_epi8(-1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(block.strands[1] + (count - at) / 4 - 16),
                     _mm_shuffle_epi8(complement, backwards));
  }
  block.complement_bases = count;
}

/// Bit `at`: whether the word that begins there has no least word of four bases in its middle. `fours` of the
/// letters behind are there already.
void put_fours(CutBlock& block, std::size_t count) {
  const __m512i mix = _mm512_set1_epi8(kFourXor), all = _mm512_set1_epi8(-1);
  for (std::size_t at = 0; at < count; at += 64) {
    const __m512i reverse = _mm512_xor_si512(vector_at(block.four + at), all);
    _mm512_storeu_si512(block.fours + at,
                        _mm512_xor_si512(_mm512_min_epu8(vector_at(block.turned + at), reverse), mix));
  }
}
std::uint64_t later_of(const CutBlock& block, std::size_t at) {
  const std::uint8_t* fours = block.fours + at;
  __m512i least = vector_at(fours);
#pragma GCC unroll 8
  for (int ahead = 1; ahead < kFoursOfSyncmer; ++ahead)
    least = _mm512_min_epu8(least, vector_at(fours + ahead));
  return _mm512_cmpneq_epu8_mask(vector_at(fours + kFoursOfSyncmer / 2), least);
}

struct Four {
  __m512i at[4];
};

/// As order() has it, of 64 letters.
__attribute__((always_inline)) inline Four orders_of(const CutBlock& block, std::size_t at, int m) {
  // The fourths of a vector's fourths change places, so that what is interleaved comes in order.
  const __m512i fourths = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto load = [&](const std::uint8_t* from) {
    return _mm512_permutexvar_epi32(fourths, vector_at(from + at));
  };
  /// a | b << 8 | c << 16
  const auto interleaved = [](__m512i a, __m512i b, __m512i c) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i ab = _mm512_unpacklo_epi8(a, b), more_ab = _mm512_unpackhi_epi8(a, b);
    const __m512i c0 = _mm512_unpacklo_epi8(c, zero), more_c0 = _mm512_unpackhi_epi8(c, zero);
    return Four{{_mm512_unpacklo_epi16(ab, c0), _mm512_unpackhi_epi16(ab, c0),
                 _mm512_unpacklo_epi16(more_ab, more_c0), _mm512_unpackhi_epi16(more_ab, more_c0)}};
  };
  const Four low = interleaved(load(block.four), load(block.four + 4), load(block.four + 8));
  Four orders = interleaved(load(block.turned + 8), load(block.turned + 4), load(block.turned));
  const __m128i shift = _mm_cvtsi32_si128(24 - 2 * m);
  const std::uint64_t later = m == kSyncmer ? later_of(block, at) : 0;
  const __m512i first = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
  const __m512i mask = _mm512_set1_epi32((1 << (2 * m)) - 1), one = _mm512_set1_epi32(1);
  for (std::size_t some = 0; some < 4; ++some) {
    const __m512i forward = _mm512_srl_epi32(orders.at[some], shift),
                  reverse = _mm512_andnot_si512(low.at[some], mask);
    const __m512i mixed =
        _mm512_mullo_epi32(_mm512_xor_si512(_mm512_min_epu32(forward, reverse), _mm512_set1_epi32(kOrderXor)),
                           _mm512_set1_epi32(static_cast<int>(kOrderFactor)));
    const __m512i half = _mm512_mask_blend_epi32(_mm512_cmpeq_epi32_mask(reverse, forward),
                                                 _mm512_srli_epi32(mixed, 1), _mm512_set1_epi32(-1));
    const __m512i even = _mm512_andnot_si512(
        one, _mm512_mask_or_epi32(half, static_cast<__mmask16>(later >> (16 * some)), half, first));
    orders.at[some] = _mm512_mask_or_epi32(even, _mm512_cmplt_epu32_mask(reverse, forward), even, one);
  }
  return orders;
}

/// The steps by which slide() doubles its windows, at most a vector's length.
struct Steps {
  static constexpr int kMost = 7;
  int count = 0;
  std::array<int, kMost> step = {};

  explicit Steps(int window) {
    for (int have = 1; have < window; have += step[count++])
      step[count] = std::min({have, 16, window - have});
  }
};

/// block.least: the least of each window of orders. Each doubling waits for the next vector, so that none is
/// stored before the last.
template <int kSteps>
void least_of_windows(CutBlock& block, std::size_t count, int m, const Steps& steps) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i ahead[kSteps + 1] = {}, before[kSteps + 1] = {};
  for (int step = 0; step < kSteps; ++step)
    ahead[step] = _mm512_add_epi32(lanes, _mm512_set1_epi32(steps.step[step]));
  std::ptrdiff_t to = -16 * kSteps;
  const auto push = [&](__m512i values) {
#pragma GCC unroll 8
    for (int step = 0; step < kSteps; ++step) {
      const __m512i last = before[step];
      before[step] = values;
      values = _mm512_min_epu32(last, _mm512_permutex2var_epi32(last, ahead[step], values));
    }
    if (to >= 0) _mm512_storeu_si512(block.least + to, values);
    to += 16;
  };
  for (std::size_t at = 0; at < count; at += 64)
    for (const __m512i& orders : orders_of(block, at, m).at) push(orders);
  for (int step = 0; step < kSteps; ++step) push(_mm512_set1_epi32(-1));
}

void find_least_vectors(CutBlock& block, std::size_t count, int k, int m) {
  const Steps steps(k - m + 1);
  if (m == kSyncmer) put_fours(block, count);
  constexpr std::array<void (*)(CutBlock&, std::size_t, int, const Steps&), Steps::kMost + 1> loops = {
      least_of_windows<0>, least_of_windows<1>, least_of_windows<2>, least_of_windows<3>,
      least_of_windows<4>, least_of_windows<5>, least_of_windows<6>, least_of_windows<7>};
  loops[steps.count](block, count, m, steps);
}

/// As places_of(), which a processor without VBMI2 takes; up to 63 more are written.
__attribute__((target("avx512vbmi2"))) std::size_t places_by_compressing(const std::uint64_t* bits,
                                                                         std::size_t words,
                                                                         std::uint16_t* places) {
  alignas(64) std::uint8_t numbers[64];
  for (std::size_t at = 0; at < 64; ++at) numbers[at] = static_cast<std::uint8_t>(at);
  const __m512i all = vector_at(numbers);
  std::size_t found = 0;
  for (std::size_t word = 0; word < words; ++word) {
    const __m512i some = _mm512_maskz_compress_epi8(bits[word], all);
    const __m512i begin = _mm512_set1_epi16(static_cast<short>(64 * word));
    const auto put = [&](std::size_t to, __m256i half) __attribute__((target("avx512vbmi2"))) {
      _mm512_storeu_si512(places + to, _mm512_add_epi16(_mm512_cvtepu8_epi16(half), begin));
    };
    const auto count = static_cast<std::size_t>(std::popcount(bits[word]));
    put(found, _mm512_castsi512_si256(some));
    if (count > 32) put(found + 32, _mm512_extracti64x4_epi64(some, 1));
    found += count;
  }
  return found;
}

}  // namespace
}  // namespace warploom::table::WARPLOOM_INSTRUCTION_SET

#endif
