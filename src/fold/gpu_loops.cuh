#pragma once

#include "fold/gpu.hpp"

/// Loops as kernels look them up.
namespace warploom::fold::gpu {

__device__ inline std::int32_t lesser(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
/// What has a part that is no loop is none: kNone again.
__device__ inline std::int32_t whole(std::int32_t v) { return v < kNone / 2 ? v : kNone; }
/// Of the warp's lanes; all call.
__device__ inline std::int32_t warp_least(std::int32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(~0U, value);
#else
  for (int step = 16; step > 0; step /= 2) value = lesser(value, __shfl_xor_sync(~0U, value, step));
  return value;
#endif
}

/// Tables::exterior by outer_place() of b_j and b_(j+1), and of b_i and b_(i-1).
constexpr int kOuterPlaces = kBases * (kBases + 1);
using Exterior = std::int32_t[kOuterPlaces][kOuterPlaces];
__device__ inline int outer_place(int base, int beside) { return base * (kBases + 1) + beside; }
/// Into shared memory. All threads of the block call.
__device__ inline void load_exterior(const Tables& tables, Exterior& exterior) {
  for (int k = static_cast<int>(threadIdx.x); k < kOuterPlaces * kOuterPlaces;
       k += static_cast<int>(blockDim.x)) {
    const int column = k / kOuterPlaces, row = k % kOuterPlaces;
    exterior[column][row] =
        tables.exterior[row / (kBases + 1)][column / (kBases + 1)][row % (kBases + 1)][column % (kBases + 1)];
  }
  __syncthreads();
}

__device__ inline int quad(int a, int b, int c, int d) { return ((a * 5 + b) * 5 + c) * 5 + d; }
__device__ inline int triple(int a, int b, int c) { return (a * 5 + b) * 5 + c; }

/// Of 3 to 6 unpaired bases; i and j pair. `outside` is theirs.
__device__ inline std::int32_t small_hairpin(const Tables& tables, const std::int32_t* hairpin_of,
                                             const std::uint8_t* codes, int i, int j,
                                             const OutsideTerms& outside) {
  const int size = j - i - 1;
  if (outside.end >= kNone) return kNone;  // it closes nothing
  if (size != 5) {
    int letters = 0;
    bool known = true;
    for (int k = i; k <= j; ++k) known = known && codes[k] != 0, letters = letters * 4 + codes[k] - 1;
    if (known) {
      const std::int32_t special = size == 3   ? tables.triloops[letters]
                                   : size == 4 ? tables.tetraloops[letters]
                                               : tables.hexaloops[letters];
      if (special < kNone) return special;
    }
  }
  if (size == 3) return tables.hairpin_of_3[codes[i] * 5 + codes[j]];
  return hairpin_of[size] + outside.hairpin;
}

__device__ inline const OutsideTerms& outside_of(const Tables& tables, const std::uint8_t* codes, int i,
                                                 int j) {
  return tables.outside[quad(codes[j], codes[j - 1], codes[i], codes[i + 1])];
}
__device__ inline const InsideTerms& inside_of(const Tables& tables, const std::uint8_t* codes, int i,
                                               int j) {
  return tables.inside[quad(codes[j], codes[j + 1], codes[i], codes[i - 1])];
}

/// An interior loop of pairs that stand.
__device__ inline std::int32_t interior_loop(const Tables& tables, const LoopConstants& constants,
                                             const std::uint8_t* codes, int i, int j, int p, int q) {
  const int left = p - i - 1, right = j - q - 1, size = left + right;
  const int most = left > right ? left : right, least = size - most;
  const OutsideTerms& outer = outside_of(tables, codes, i, j);
  if (size == 0) return outer.stack;
  if (size == 1) return tables.bulge_one[quad(codes[j], codes[q], codes[i], codes[p])];
  const InsideTerms& inner = inside_of(tables, codes, p, q);
  if (least == 0) return constants.bulge[size] + outer.end + inner.end;
  if (most <= 2) {
    const int r2 = triple(codes[j], codes[j - 1], codes[j - 2]),
              l2 = triple(codes[i], codes[i + 1], codes[i + 2]);
    const int r3 = r2 * 5 + codes[j - 3], l3 = l2 * 5 + codes[i + 3];
    return left == 1 ? (right == 1 ? tables.small.one_one[r2][l2] : tables.small.one_two[r3][l2])
                     : (right == 1 ? tables.small.two_one[r2][l3] : tables.small.two_two[r3][l3]);
  }
  if (least == 1) return constants.one_n[size] + outer.interior_1n + inner.interior_1n;
  if (size == 5) return constants.two_three + outer.interior_23 + inner.interior_23;
  return constants.interior[size] + constants.asymmetry[most - least] + outer.interior + inner.interior;
}

}  // namespace warploom::fold::gpu
