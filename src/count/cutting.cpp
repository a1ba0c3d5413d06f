#include "count/cutting.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "count/cutting_vectors.hpp"

#if defined(__clang__)
#define WARPLOOM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WARPLOOM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace warploom::table::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr std::size_t kVector = 64;

#if !defined(__AVX512BW__)
/// Bit k of bits[at]: whether marks[64 * at + k], 0 or 1, is.
void to_bits(const std::uint8_t* marks, std::size_t count, std::uint64_t* bits) {
  for (std::size_t at = 0; at < count / 64; ++at) {
#if defined(__AVX2__)
    const auto half = [&](std::size_t begin) {
      const auto* from = reinterpret_cast<const __m256i*>(marks + 64 * at + begin);
      return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(_mm256_loadu_si256(from), 7)));
    };
    bits[at] = half(0) | std::uint64_t{half(32)} << 32;
#else
    std::uint64_t all = 0;
    for (unsigned byte = 0; byte < 8; ++byte) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, marks + 64 * at + 8 * byte, 8);
      all |= (eight * 0x0102040810204080) >> 56 << (8 * byte);
    }
    bits[at] = all;
#endif
  }
}

void encode(CutBlock& block, std::size_t count) {
  const char* letters = block.letters;
  std::uint8_t *bases = block.bases, *marks = block.marks;
  for (std::size_t at = 0; at < count; ++at) {
    const auto letter = static_cast<std::uint8_t>(letters[at]);
    const auto capital = static_cast<std::uint8_t>(letter & 0xdf);
    // A, C, G, T and U differ in these bits.
    bases[at] = static_cast<std::uint8_t>((letter >> 1 ^ letter >> 2) & 3);
    marks[at] = capital != 'A' && capital != 'C' && capital != 'G' && capital != 'T' && capital != 'U';
  }
  to_bits(marks, count, block.no_base);
  std::uint8_t *four = block.four, *turned = block.turned;
  for (std::size_t at = 0; at < count; ++at) {
    four[at] =
        static_cast<std::uint8_t>(bases[at] | bases[at + 1] << 2 | bases[at + 2] << 4 | bases[at + 3] << 6);
    turned[at] =
        static_cast<std::uint8_t>(bases[at] << 6 | bases[at + 1] << 4 | bases[at + 2] << 2 | bases[at + 3]);
  }
  for (std::size_t at = 0; at < count / 4; ++at) {
    std::uint32_t first = 0;
    std::memcpy(&first, four + 4 * at, 4);
    block.strands[0][at] = static_cast<std::uint8_t>(first);
  }
  for (std::size_t at = 0; at < count / 4; ++at)
    block.strands[1][count / 4 - 1 - at] = static_cast<std::uint8_t>(~turned[4 * at]);
  block.complement_bases = count;
}

/// least[at]: the order of the word of m bases that begins there, in an order that looks random. The lowest
/// bit tells which of both strands has the lesser one.
void order(CutBlock& block, std::size_t count, int m) {
  const std::uint32_t mask = (std::uint32_t{1} << (2 * m)) - 1;
  const unsigned shift = 24 - 2 * static_cast<unsigned>(m);
  const std::uint8_t *four = block.four, *turned = block.turned;
  std::uint32_t* orders = block.least;
  std::uint8_t *fours = block.fours, *least = block.least_four, *later = block.marks;
  std::memset(later, 0, count);
  if (m == kSyncmer) {
    for (std::size_t at = 0; at < count; ++at)
      fours[at] = std::min<std::uint8_t>(turned[at], static_cast<std::uint8_t>(~four[at])) ^ kFourXor;
    std::memcpy(least, fours, count);
    for (int ahead = 1; ahead < kFoursOfSyncmer; ++ahead)
      for (std::size_t at = 0; at < count; ++at) least[at] = std::min(least[at], fours[at + ahead]);
    for (std::size_t at = 0; at < count; ++at) later[at] = fours[at + kFoursOfSyncmer / 2] != least[at];
  }
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint32_t low = four[at] | std::uint32_t{four[at + 4]} << 8 | std::uint32_t{four[at + 8]} << 16;
    const std::uint32_t high =
        std::uint32_t{turned[at]} << 16 | std::uint32_t{turned[at + 4]} << 8 | turned[at + 8];
    const std::uint32_t forward = high >> shift, reverse = ~low & mask;
    const std::uint32_t hash = (std::min(forward, reverse) ^ kOrderXor) * kOrderFactor;
    // What is its own reverse complement has no direction, and comes last.
    const std::uint32_t order =
        forward == reverse ? ~std::uint32_t{0} : hash >> 1 | std::uint32_t{later[at]} << 31;
    orders[at] = (order & ~std::uint32_t{1}) | (reverse < forward ? 1u : 0u);
  }
}

/// values[at] becomes the least of values[at] to values[at + window - 1]. What is ahead is read before it
/// changes.
void slide(std::uint32_t* values, std::size_t count, std::size_t window) {
  for (std::size_t have = 1; have < window;) {
    const std::size_t step = std::min(have, window - have);
    const std::uint32_t* ahead = values + step;
    WARPLOOM_INDEPENDENT
    for (std::size_t at = 0; at < count; ++at) values[at] = std::min(values[at], ahead[at]);
    have += step;
  }
}

#endif

void find_changes(CutBlock& block, std::size_t count) {
#if defined(__AVX512BW__)
  for (std::size_t at = 0; at < count; at += 64) {
    std::uint64_t bits = 0;
    for (std::size_t some = 0; some < 64; some += 16) {
      const std::uint32_t* least = block.least + at + some;
      const __mmask16 differ =
          _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(least), _mm512_loadu_si512(least + 1));
      bits |= std::uint64_t{differ} << some;
    }
    block.changes[at / 64] = bits;
  }
#else
  for (std::size_t at = 0; at < count; ++at) block.marks[at] = block.least[at] != block.least[at + 1];
  to_bits(block.marks, count, block.changes);
#endif
}

/// The places of bits that are set, in order; up to 63 more are written. @return how many
std::size_t places_of(const std::uint64_t* bits, std::size_t words, std::uint16_t* places) {
#if defined(__AVX512BW__)
  static const bool compresses = __builtin_cpu_supports("avx512vbmi2");
  if (compresses) return places_by_compressing(bits, words, places);
#endif
  std::size_t found = 0;
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t left = bits[word];
    const auto count = static_cast<std::size_t>(std::popcount(left));
    std::uint16_t* to = places + found;
    const auto put = [&](std::size_t at) {
      to[at] = static_cast<std::uint16_t>(64 * word + static_cast<unsigned>(std::countr_zero(left)));
      left &= left - 1;
    };
    // Eight at once: how many there are is nothing that a processor could guess.
    if (count > 0)
      for (std::size_t at = 0; at < 10; ++at) put(at);
    for (std::size_t at = 10; at < count; ++at) put(at);
    found += count;
  }
  return found;
}

/// Runs of words that have bases only and share a minimiser.
void find_runs(CutBlock& block, std::size_t words, std::size_t k) {
  std::uint64_t *none = block.no_base, *changes = block.changes;
  none[words] = ~std::uint64_t{0};
  for (std::size_t have = 1; have < k;) {
    const std::size_t step = std::min(have, k - have);
    for (std::size_t word = 0; word < words; ++word)
      none[word] |= none[word] >> step | none[word + 1] << (64 - step);
    have += step;
  }
  std::uint64_t first[CutBlock::kRoom / 64], last[CutBlock::kRoom / 64], before = 0, changed = 0;
  for (std::size_t word = 0; word < words; ++word) {
    const std::uint64_t whole = ~none[word], next = ~(none[word] >> 1 | none[word + 1] << 63),
                        next_changes = changes[word];
    first[word] = whole & (next_changes << 1 | changed | ~(whole << 1 | before));
    last[word] = whole & (next_changes | ~next);
    before = whole >> 63;
    changed = next_changes >> 63;
  }
  block.runs = places_of(first, words, block.firsts);
  block.firsts[block.runs] = CutBlock::kNowhere;
  block.ends[0] = CutBlock::kNowhere;
  places_of(last, words, block.ends + 1);
}

void of_letters(CutBlock& block, std::size_t count, int k, int m) {
  const std::size_t whole = (count + kVector - 1) / kVector * kVector;
  std::memset(block.letters + count, 'N', whole + kVector - count);
  // What lies behind is read by the last letters' vectors, and no word's.
#if defined(__AVX512BW__)
  encode_vectors(block, whole);
  find_least_vectors(block, whole, k, m);
#else
  encode(block, whole);
  order(block, whole, m);
  slide(block.least, whole, static_cast<std::size_t>(k - m + 1));
#endif
  find_changes(block, whole);
  find_runs(block, whole / 64, static_cast<std::size_t>(k));
}

/// The least number of bits that hold so many bases, or none; at most 64.
std::uint64_t mask_of(std::size_t bases) {
  return bases == 0 ? 0 : ~std::uint64_t{0} >> (64 - 2 * std::min<std::size_t>(bases, 32));
}

void pack_one(CutBlock& block, std::size_t run, std::size_t k, bool canonical) {
  const std::size_t begin = block.firsts[run], end = block.ends[run + 1] + std::size_t{1},
                    words = end - begin;
  const std::size_t bases = std::min(words + k - 1, CutBlock::kPacked);
  const std::uint32_t least = block.least[begin];
  block.numbers[run] = least >> 1;
  // Half of them are turned, so that a branch would be guessed wrongly half of the time.
  const std::size_t turned = canonical ? least & 1 : 0;
  const std::size_t at = begin + turned * (block.complement_bases - bases - 2 * begin);
  const std::uint8_t* from = block.strands[turned] + at / 4;
  const unsigned shift = 2 * (at % 4);
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, from, 8);
  std::memcpy(&second, from + 7, 8);
  const std::size_t cuts[2] = {begin != block.ends[run] + std::size_t{1}, end != block.firsts[run + 1]};
  const std::size_t cut = (cuts[0] | cuts[1]) * kCut | cuts[turned] * kCutBefore;
  block.low[run] = (first >> shift & mask_of(std::min<std::size_t>(bases, 28))) << 8 | cut | words;
  block.high[run] = second >> shift & mask_of(bases > 28 ? bases - 28 : 0);
}

#if defined(__AVX512BW__)
/// Eight runs.
void pack_some(CutBlock& block, std::size_t run, std::size_t k, bool canonical) {
  const auto places = [&](const std::uint16_t* from) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + run)));
  };
  const auto all = [](std::size_t value) { return _mm256_set1_epi32(static_cast<int>(value)); };
  const auto least_of = [](__m256i a, __m256i b) { return _mm256_min_epi32(a, b); };
  const __m256i begin = places(block.firsts);
  const __m256i last = places(block.ends + 1);
  const __m256i words = _mm256_add_epi32(_mm256_sub_epi32(last, begin), all(1));
  const __m256i bases = least_of(_mm256_add_epi32(words, all(k - 1)), all(CutBlock::kPacked));
  const std::size_t left = block.runs - run;
  // Behind the last run is anything: nothing is read from there.
  const auto here = static_cast<__mmask8>(left >= 8 ? 0xff : (1U << left) - 1);
  const __m256i least = _mm256_mmask_i32gather_epi32(_mm256_setzero_si256(), here, begin, block.least, 4);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.numbers + run), _mm256_srli_epi32(least, 1));
  const __mmask8 turned = canonical ? _mm256_test_epi32_mask(least, all(1)) : 0;
  const __m256i past = _mm256_add_epi32(begin, bases);
  const __m256i at = _mm256_mask_sub_epi32(begin, turned, all(block.complement_bases), past);
  __m256i from = _mm256_srli_epi32(at, 2);
  from = _mm256_mask_add_epi32(from, turned, from, all(sizeof block.strands[0]));
  const __m512i shift = _mm512_cvtepu32_epi64(_mm256_slli_epi32(_mm256_and_si256(at, all(3)), 1));
  const auto bits = [&](std::size_t behind) {
    return _mm512_srlv_epi64(
        _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), here, from, block.strands[0] + behind, 1), shift);
  };
  // Of so many bases; a shift by 64 leaves nothing.
  const auto masked = [](__m512i of, __m256i count) {
    const __m512i unused =
        _mm512_cvtepu32_epi64(_mm256_sub_epi32(_mm256_set1_epi32(64), _mm256_slli_epi32(count, 1)));
    return _mm512_and_si512(of, _mm512_srlv_epi64(_mm512_set1_epi64(-1), unused));
  };
  const __m512i low = masked(bits(0), least_of(bases, all(28)));
  const __m256i rest = _mm256_max_epi32(_mm256_sub_epi32(bases, all(28)), all(0));
  const __mmask8 cut_begin = _mm256_cmpneq_epi32_mask(begin, _mm256_add_epi32(places(block.ends), all(1)));
  const __mmask8 cut_end = _mm256_cmpneq_epi32_mask(places(block.firsts + 1), _mm256_add_epi32(last, all(1)));
  const __mmask8 cut_before = static_cast<__mmask8>((cut_begin & ~turned) | (cut_end & turned));
  __m256i head = _mm256_mask_add_epi32(words, cut_begin | cut_end, words, all(kCut));
  head = _mm256_mask_add_epi32(head, cut_before, head, all(kCutBefore));
  _mm512_storeu_si512(block.low + run,
                      _mm512_or_si512(_mm512_slli_epi64(low, 8), _mm512_cvtepu32_epi64(head)));
  _mm512_storeu_si512(block.high + run, masked(bits(7), rest));
}
#endif

void pack(CutBlock& block, int k, bool canonical) {
  const auto bases = static_cast<std::size_t>(k);
  std::size_t run = 0;
#if defined(__AVX512BW__)
  for (; run < block.runs; run += 8) pack_some(block, run, bases, canonical);
#endif
  for (; run < block.runs; ++run) pack_one(block, run, bases, canonical);
}

}  // namespace

const CutLoops cut_loops{of_letters, pack};

}  // namespace warploom::table::WARPLOOM_INSTRUCTION_SET
