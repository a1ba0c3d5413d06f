#pragma once

/// Vectors whose lanes are patches, and the arrays of a batch of them: of patch_lanes.cpp, for one
/// instruction set. Nothing from the standard library with a body, as there.

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "imaging/patch_lanes.hpp"

namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kTile = 4;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kTile = 2;
#else
constexpr int kBytes = 16, kTile = 2;
#endif

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(kBytes)));
  static constexpr int kCount = kBytes / static_cast<int>(sizeof(T));
};
template <class T>
using Vector = typename Lanes<T>::V;

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kEpsilon = 5.9604645e-8F, kFloor = 1e-11F, kTiny = 1e-30F, kHuge = 1e30F;
};
template <>
struct Limits<double> {
  static constexpr double kEpsilon = 1.1102230246251565e-16, kFloor = 1e-20, kTiny = 1e-280, kHuge = 1e280;
};

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void root(const Vector<float>& a, Vector<float>& out) {
#if defined(__AVX512F__)
  out = (Vector<float>)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)a);  // the one without a mask warns in GCC 12
#elif defined(__AVX2__)
  out = (Vector<float>)_mm256_sqrt_ps((__m256)a);
#else
  for (int k = 0; k < Lanes<float>::kCount; ++k) out[k] = __builtin_sqrtf(a[k]);
#endif
}
inline void root(const Vector<double>& a, Vector<double>& out) {
#if defined(__AVX512F__)
  out = (Vector<double>)_mm512_maskz_sqrt_pd(0xFF, (__m512d)a);
#elif defined(__AVX2__)
  out = (Vector<double>)_mm256_sqrt_pd((__m256d)a);
#else
  for (int k = 0; k < Lanes<double>::kCount; ++k) out[k] = __builtin_sqrt(a[k]);
#endif
}

template <class V>
inline V magnitude(const V& a) {
  return a < 0 ? -a : a;
}

template <class Mask>
inline bool any(const Mask& mask) {
  bool set = false;
  for (unsigned k = 0; k < sizeof mask / sizeof mask[0]; ++k) set |= mask[k] != 0;
  return set;
}

inline std::int64_t packed(std::int64_t row) { return row * (row + 1) / 2; }
inline std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// QL needs about 1.3 n^2 rotations.
constexpr std::int64_t kMostRotations = 4;  // times n^2
constexpr std::int64_t kMostSweeps = 16;    // times n

// The arrays of one batch, in the workspace. Without one it only measures.
template <class T>
struct Batch {
  using V = Vector<T>;
  static constexpr int kLanes = Lanes<T>::kCount;

  explicit Batch(const PatchProblem& p, std::byte* workspace)
      : problem(p),
        n(p.channels),
        rows(p.extent[1] * p.extent[2]),
        width(round_up(kLanes + p.extent[0] - 1, kLanes)),
        at(workspace) {
    const std::int64_t most_kept = (n + 1) / 2;
    strip = take<T>(round_up(n, kTile) * rows * width);
    gram = take<V>(packed(n));
    V** const vectors[] = {&diagonal, &beside, &factor, &u, &v, &w, &q, &x, &sorted};
    for (V** vector : vectors) *vector = take<V>(n + 1);
    rotations = take<V>(2 * kMostRotations * n * n);
    sweeps = take<int>(kMostSweeps * n);
    basis = take<V>(most_kept * n);
    partial = take<T>(kTile * kTile * width);
    used = static_cast<std::size_t>(at - workspace);
  }

  template <class Element>
  Element* take(std::int64_t count) {
    auto* const begin = reinterpret_cast<Element*>(at);
    at += round_up(count * static_cast<std::int64_t>(sizeof(Element)), 64);
    return begin;
  }

  const PatchProblem& problem;
  std::int64_t n, rows, width;
  std::byte* at;
  T *strip, *partial;
  V* gram;  // rows of the lower triangle; then Householder's vectors in its columns below the diagonal
  V *diagonal, *beside, *factor, *u, *v, *w, *q, *x, *sorted;
  V* rotations;  // [cosine, sine] of each
  int* sweeps;   // where each ends
  V* basis;      // [component, channel]
  int sweep_count = 0;
  std::size_t used;
};

}  // namespace
}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
