#pragma once

// What sources for blocks of eight adjacent windows share (cpu_vector.hpp).

#include "search/cpu_words.hpp"

#if defined(__AVX2__)

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kBlock = 8;               // windows that are normalised alike
constexpr int kTogether = 4;            // windows that a matrix bounds
constexpr int kOnce = kBlock * kLanes;  // windows of blocks in lanes of 32 bits
constexpr int kRows = 4;                // of matrices that are in registers at once
constexpr int kAhead = 16;              // samples that are normalised at once
constexpr float kLimit = 60'000;        // what the bound is in costs' units at most
constexpr float kWorthIt = .4F;         // the largest a
constexpr float kRounding = 4e-6F;      // relative, of samples normalised in single precision

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// Every other of two vectors.
struct Halves {
  Vector even, odd;
};
inline Halves halves(const Vector& a, const Vector& b) {
  return [&]<int... l>(std::integer_sequence<int, l...>) {
    return Halves{__builtin_shufflevector(a, b, 2 * l...), __builtin_shufflevector(a, b, 2 * l + 1 ...)};
  }
  (std::make_integer_sequence<int, kLanes>{});
}

/// Every eighth of 8 * kLanes floats, from k on.
inline void part_by_eight(const float* from, Vector (&to)[kBlock]) {
  Vector half[2][4];
  for (int k = 0; k < 4; ++k) {
    const auto [even, odd] = halves(load(from + 2 * k * kLanes), load(from + (2 * k + 1) * kLanes));
    half[0][k] = even;
    half[1][k] = odd;
  }
  for (int k = 0; k < 2; ++k) {
    const Halves a = halves(half[k][0], half[k][1]), b = halves(half[k][2], half[k][3]);
    const Halves even = halves(a.even, b.even), odd = halves(a.odd, b.odd);
    to[k] = even.even;
    to[k + 4] = even.odd;
    to[k + 2] = odd.even;
    to[k + 6] = odd.odd;
  }
}

/// Moments of windows that are not asked for become those of one of the block that is.
inline void take_others(const std::uint8_t* asked, float* moments) {
  for (int b = 0; b < kLanes; ++b) {
    float* const of = moments + b * kBlock;
    for (int l = 0; l < kBlock; ++l)
      if ((asked[b] >> l & 1) == 0) of[l] = asked[b] == 0 ? 0 : of[__builtin_ctz(asked[b])];
  }
}

}  // namespace
}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET

#endif
