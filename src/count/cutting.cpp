#include "count/cutting.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define WARPLOOM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WARPLOOM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace warploom::table::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr std::size_t kVector = 64;

/// Bit k of bits[at]: whether marks[64 * at + k], 0 or 1, is.
void to_bits(const std::uint8_t* marks, std::size_t count, std::uint64_t* bits) {
  for (std::size_t at = 0; at < count / 64; ++at) {
#if defined(__AVX512BW__)
    const __m512i all = _mm512_loadu_si512(marks + 64 * at);
    bits[at] = _mm512_test_epi8_mask(all, all);
#elif defined(__AVX2__)
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
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint32_t low = four[at] | std::uint32_t{four[at + 4]} << 8 | std::uint32_t{four[at + 8]} << 16;
    const std::uint32_t high =
        std::uint32_t{turned[at]} << 16 | std::uint32_t{turned[at + 4]} << 8 | turned[at + 8];
    const std::uint32_t forward = high >> shift, reverse = ~low & mask;
    const std::uint32_t hash = (std::min(forward, reverse) ^ 0x2d9b6a5) * 0x9e3779b1;
    orders[at] = (hash & ~std::uint32_t{1}) | (reverse < forward ? 1u : 0u);
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

/// The places of bits that are set, in order; up to seven more are written. @return how many
std::size_t places_of(const std::uint64_t* bits, std::size_t words, std::uint16_t* places) {
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
  places_of(last, words, block.lasts);
}

void of_letters(CutBlock& block, std::size_t count, int k, int m) {
  const std::size_t whole = (count + kVector - 1) / kVector * kVector;
  std::memset(block.letters + count, 'N', whole + kVector - count);
  // What lies behind is read by the last letters' vectors, and no word's.
  encode(block, whole);
  order(block, whole, m);
  slide(block.least, whole, static_cast<std::size_t>(k - m + 1));
  find_changes(block, whole);
  find_runs(block, whole / 64, static_cast<std::size_t>(k));
}

}  // namespace

const CutLoops cut_loops{of_letters};

}  // namespace warploom::table::WARPLOOM_INSTRUCTION_SET
