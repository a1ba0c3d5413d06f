#include "search/cpu_shared_costs.hpp"

#if defined(__AVX2__)
#include <immintrin.h>

#include <utility>
#endif

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX2__)

constexpr int kCount = AdjacentWindows::kCount;
using Floats = __m256;            // 8
using Words = __m256i;            // 16 unsigned integers of 16 bits, one for each window
constexpr int kRows = 4;          // of a matrix that are in registers at once
constexpr int kChunk = 16;        // rows whose costs are computed at once
constexpr float kLimit = 50'000;  // what the bound is in costs' units

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline Words lesser(const Words& a, const Words& b) { return _mm256_min_epu16(a, b); }
inline Words sum(const Words& a, const Words& b) { return _mm256_adds_epu16(a, b); }
inline Words load(const std::uint16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const Words*>(from));
}
inline void store(std::uint16_t* to, const Words& words) {
  _mm256_storeu_si256(reinterpret_cast<Words*>(to), words);
}
inline Words most() { return _mm256_set1_epi16(-1); }

/// Bit l: word l is within the bound.
inline unsigned within(const Words& words) {
  const Words limit = _mm256_set1_epi16(static_cast<short>(static_cast<std::uint16_t>(kLimit)));
  const Words is = _mm256_cmpeq_epi16(lesser(words, limit), words);
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(is), _mm256_extracti128_si256(is, 1))));
}
/// All ones in the words whose bits are set.
inline Words words_of(unsigned bits) {
  const Words bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                                      static_cast<short>(32768));
  return _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(static_cast<short>(bits)), bit), bit);
}

struct Extremes {
  float least, most;
  float middle() const { return (least + most) / 2; }
  float half() const { return (most - least) / 2; }
};

Extremes extremes(Floats a, Floats b) {
  Floats low = _mm256_min_ps(a, b), high = _mm256_max_ps(a, b);
  float lows[8], highs[8];
  _mm256_storeu_ps(lows, low);
  _mm256_storeu_ps(highs, high);
  Extremes e{lows[0], highs[0]};
  for (int l = 1; l < 8; ++l) {
    e.least = lows[l] < e.least ? lows[l] : e.least;
    e.most = highs[l] > e.most ? highs[l] : e.most;
  }
  return e;
}

/// How a channel of all windows is normalised, and how far each of them is from that: the window's sample is
/// within scale_off * |z| + off of z.
struct Common {
  float mean, rest, scale;
  float scale_off, off;
};

Common common(const LaneMoments& moments, unsigned here) {
  const int first = __builtin_ctz(here);
  const float mean = moments.mean[first], rest = moments.rest[first];
  const Words asked = words_of(here);
  Floats scales[2], means[2];  // means less the first
  for (int half = 0; half < 2; ++half) {
    const __m128i words = half == 0 ? _mm256_castsi256_si128(asked) : _mm256_extracti128_si256(asked, 1);
    const Floats is = _mm256_castsi256_ps(_mm256_cvtepi16_epi32(words));
    scales[half] =
        _mm256_blendv_ps(_mm256_set1_ps(moments.scale[first]), _mm256_loadu_ps(moments.scale + 8 * half), is);
    means[half] = _mm256_and_ps(
        is, _mm256_add_ps(_mm256_sub_ps(_mm256_loadu_ps(moments.mean + 8 * half), _mm256_set1_ps(mean)),
                          _mm256_sub_ps(_mm256_loadu_ps(moments.rest + 8 * half), _mm256_set1_ps(rest))));
  }
  const Extremes scale = extremes(scales[0], scales[1]), shift = extremes(means[0], means[1]);
  constexpr float kRounding = 4e-6F;  // relative, of samples normalised in single precision
  const float middle = scale.middle();
  return {mean, rest + shift.middle(), middle, (middle > 0 ? scale.half() / middle : 1) + kRounding,
          shift.half() * scale.most + kRounding};
}

/// Sample t lies at t + radius.
struct Memory {
  std::int64_t padded, stride;  // floats of a channel, costs of a row, with what is read beyond them
  float *z, *levels;            // [channels][padded]; of each sample what all its costs have in common
  std::uint16_t* costs;         // [kChunk][stride]: of row i and sample t at t - i / kRows * kRows + radius
  std::uint16_t* row;           // [length + 1][kCount]
  char* end;

  Memory(std::int64_t length, std::int64_t radius, std::int64_t channels, void* at)
      : padded((length + 2 * radius + 3 * kCount + kRows + 15) / 16 * 16),
        stride((2 * radius + kCount + kRows + 15) / 16 * 16),
        z(static_cast<float*>(at)),
        levels(z + padded * channels),
        costs(reinterpret_cast<std::uint16_t*>(levels + padded)),
        row(costs + stride * kChunk),
        end(reinterpret_cast<char*>(row + kCount * (length + 1))) {}
};

std::int64_t bytes(std::int64_t length, std::int64_t radius, std::int64_t channels) {
  return Memory(length, radius, channels, nullptr).end - static_cast<char*>(nullptr);
}

/// What the squares of a cost are multiplied by, since sums of them and of twice the products are rounded.
inline float kept_of(std::int64_t channels) { return 1 - static_cast<float>(channels + 4) * 0x1p-21F; }

/// Normalises the samples. @param scale  of costs @param a  of the triangle inequality
void normalise(const AdjacentWindows& p, const Common* channels, float scale, float a, const Memory& memory) {
  const std::int64_t count = p.length + kCount - 1;
  const Floats sign = _mm256_set1_ps(-0.F), less = _mm256_set1_ps(-(1 + a) / a);
  const Floats kept = _mm256_set1_ps(kept_of(p.channels)), scales = _mm256_set1_ps(scale);
  const Floats twice = _mm256_set1_ps(-2 * scale);
  for (std::int64_t t = 0; t < count; t += 8) {
    const std::int64_t from = smaller(t, count - 8);  // the last eight again
    Floats level = _mm256_setzero_ps(), off = level;
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const Common& how = channels[c];
      const Floats of = _mm256_set1_ps(how.scale);
      const Floats x = _mm256_sub_ps(_mm256_loadu_ps(p.samples[c] + from), _mm256_set1_ps(how.mean));
      const Floats z = _mm256_fmadd_ps(x, of, _mm256_set1_ps(-how.rest * how.scale));
      const Floats v =
          _mm256_fmadd_ps(_mm256_andnot_ps(sign, z), _mm256_set1_ps(how.scale_off), _mm256_set1_ps(how.off));
      level = _mm256_fmadd_ps(z, z, level);
      off = _mm256_fmadd_ps(v, v, off);
      _mm256_storeu_ps(memory.z + c * memory.padded + p.radius + from, _mm256_mul_ps(z, twice));
    }
    level = _mm256_fmadd_ps(level, kept, _mm256_mul_ps(off, less));
    _mm256_storeu_ps(memory.levels + p.radius + from, _mm256_mul_ps(level, scales));
  }
}

/// Costs of kRows rows from row i on, from sample i - radius on: (|q|^2 + |z|^2 - 2 q z) * scale, less what
/// is lost.
void costs_of_rows(const AdjacentWindows& p, std::int64_t i, float scale, const Memory& memory,
                   std::uint16_t* to) {
  const float* const query = p.query + i * p.channels;
  const Floats kept = _mm256_set1_ps(scale * kept_of(p.channels));
  for (std::int64_t k = 0; k < memory.stride; k += 16) {
    const float* const z = memory.z + i + k;
    Floats cost[kRows][2];
    for (int half = 0; half < 2; ++half) {
      const Floats level = _mm256_loadu_ps(memory.levels + i + k + 8 * half);
      for (int r = 0; r < kRows; ++r)
        cost[r][half] = _mm256_fmadd_ps(_mm256_set1_ps(p.levels[i + r]), kept, level);
    }
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const Floats z0 = _mm256_loadu_ps(z + c * memory.padded),
                   z1 = _mm256_loadu_ps(z + c * memory.padded + 8);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Floats q = _mm256_set1_ps(query[r * p.channels + c]);
        cost[r][0] = _mm256_fmadd_ps(q, z0, cost[r][0]);
        cost[r][1] = _mm256_fmadd_ps(q, z1, cost[r][1]);
      }
    }
    // What is below 0 or no number becomes 0, what is too large the largest.
    for (int r = 0; r < kRows; ++r)
      store(to + r * memory.stride + k,
            _mm256_permute4x64_epi64(
                _mm256_packus_epi32(_mm256_cvttps_epi32(cost[r][0]), _mm256_cvttps_epi32(cost[r][1])), 0xD8));
  }
}

/// R rows from row i on; see cpu_dtw.cpp. @param costs  of row i at column j, if sample 0 is at 0
/// @return the least of the last of them
template <int R>
inline Words rows(const AdjacentWindows& p, std::int64_t i, const std::uint16_t* costs,
                  const Memory& memory) {
  const std::int64_t begin = larger(0, i - p.radius), inner_end = smaller(p.length, i + p.radius + 1);
  Words left[R], least = most();
  for (int k = 0; k < R; ++k) left[k] = most();
  Words corner = begin > 0 ? load(memory.row + begin * kCount) : i == 0 ? Words{} : most();
  const auto column = [&]<int kFrom, int kTo>(std::int64_t j) {
    Words above = most(), diagonal = corner;
    if constexpr (kFrom == 0)
      corner = above = load(memory.row + (j + 1) * kCount);
    else
      diagonal = left[kFrom - 1];
#pragma GCC unroll 8
    for (int k = kFrom; k < kTo; ++k) {
      const Words best = lesser(lesser(left[k], diagonal), above);
      diagonal = left[k];
      above = left[k] = sum(load(costs + k * memory.stride + j), best);
    }
    if constexpr (kTo == R) {
      store(memory.row + (j + 1) * kCount, above);
      least = lesser(least, above);
    }
  };
  std::int64_t j = begin;
  [&]<int... c>(std::integer_sequence<int, c...>) {
    ((j == i - p.radius + c ? column.template operator()<0, c + 1>(j++) : void()), ...);
  }
  (std::make_integer_sequence<int, R - 1>{});
  for (; j < inner_end; ++j) column.template operator()<0, R>(j);
  [&]<int... c>(std::integer_sequence<int, c...>) {
    ((j == i + p.radius + 1 + c && j < p.length ? column.template operator()<c + 1, R>(j++) : void()), ...);
  }
  (std::make_integer_sequence<int, R - 1>{});
  return least;
}

/// @return windows whose sums are within the bound
unsigned matrices(const AdjacentWindows& p, float scale, const Memory& memory) {
  for (std::int64_t j = 0; j <= p.length; ++j) store(memory.row + j * kCount, most());
  const Words others = _mm256_andnot_si256(words_of(p.here), most());  // windows that are not asked for
  for (std::int64_t chunk = 0; chunk < p.length; chunk += kChunk) {
    for (std::int64_t k = 0; k < kChunk && chunk + k < p.length; k += kRows)
      costs_of_rows(p, chunk + k, scale, memory, memory.costs + k * memory.stride);
    for (std::int64_t i = chunk, end = smaller(p.length, chunk + kChunk); i < end;) {
      const std::int64_t first = i / kRows * kRows;
      const std::uint16_t* const costs = memory.costs + (i - chunk) * memory.stride + p.radius - first;
      const bool all = i + kRows <= end;
      const Words least = all ? rows<kRows>(p, i, costs, memory) : rows<1>(p, i, costs, memory);
      if (within(_mm256_or_si256(least, others)) == 0) return 0;
      i += all ? kRows : 1;
    }
  }
  return p.here & within(load(memory.row + p.length * kCount));
}

unsigned within_bound(const AdjacentWindows& p, void* at) {
  constexpr std::int64_t kMostChannels = 64;
  if (p.here == 0 || !(p.bound > 0) || !(p.bound < 1e30F) || p.channels > kMostChannels) return p.here;
  Common channels[kMostChannels];
  float loss = 0;  // of a cell, on an average
  for (std::int64_t c = 0; c < p.channels; ++c) {
    channels[c] = common(p.moments[c], p.here);
    const float off = channels[c].scale_off + channels[c].off;
    loss += off * off;
  }
  // The best for cells that cost what those of a path at the bound do.
  const float a = __builtin_sqrtf(loss * static_cast<float>(p.length) / p.bound);
  constexpr unsigned kHalf = (1U << kCount / 2) - 1;
  constexpr float kNear = .2F, kWorthIt = .4F;
  if (!(a < kNear) && (p.here & kHalf) != 0 && (p.here & ~kHalf) != 0) {
    // Half as many windows differ half as much.
    AdjacentWindows half = p;
    half.here = p.here & kHalf;
    const unsigned first = within_bound(half, at);
    half.here = p.here & ~kHalf;
    return first | within_bound(half, at);
  }
  if (!(a < kWorthIt)) return p.here;
  const Memory memory(p.length, p.radius, p.channels, at);
  const float scale = kLimit / p.bound / (1 + a);
  normalise(p, channels, scale, a, memory);
  return matrices(p, scale, memory);
}

#endif

}  // namespace

extern const CpuSharedCosts cpu_shared_costs;
#if defined(__AVX2__)
const CpuSharedCosts cpu_shared_costs = {within_bound, bytes};
#else
const CpuSharedCosts cpu_shared_costs = {nullptr, nullptr};
#endif

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
