#pragma once

/// Eigenvalues of 32 patches by a warp, a lane each, in step as on the CPU: see patch_lanes.cpp. Rotations
/// are the same number in all lanes, so that reading and writing them is coalesced.

#include <cstddef>
#include <cstdint>

#include "series_denoise_kernels.hpp"

namespace warploom::imaging {

template <class T>
struct PatchLimits;
template <>
struct PatchLimits<float> {
  static constexpr float kEpsilon = 5.9604645e-8F, kFloor = 1e-11F, kTiny = 1e-30F;
};
template <>
struct PatchLimits<double> {
  static constexpr double kEpsilon = 1.1102230246251565e-16, kFloor = 1e-20, kTiny = 1e-280;
};

template <class T>
struct PatchSpectrum {
  using Limits = PatchLimits<T>;
  static constexpr int kLanes = 32;

  int n, lane;
  T *diagonal, *beside, *vector;  // [n, kLanes], from this lane on
  T* rotations;                   // [room(n), kLanes] tan(angle / 2), from this lane on
  int* sweeps;                    // [kPatchSweeps n] where each ends
  int sweep_count, rotation_count;

  static constexpr int kAhead = 8;  // rotations that are loaded together, before any store

  static __host__ __device__ int room(int n) { return kPatchRotations * n * n + 16 * n; }
  static __host__ __device__ std::size_t array_bytes(int n) { return 3 * sizeof(T) * kLanes * n; }
  static __host__ __device__ std::size_t scratch_bytes(int n) {
    return sizeof(T) * kLanes * static_cast<std::size_t>(room(n)) +
           (sizeof(int) * kPatchSweeps * n + 15) / 16 * 16;
  }

  __device__ static bool negligible(T here, T next, T between) {
    return abs(between) <= Limits::kEpsilon * (abs(here) + abs(next)) + Limits::kFloor;
  }
  __device__ bool negligible(int i) const {
    return negligible(diagonal[i * kLanes], diagonal[(i + 1) * kLanes], beside[i * kLanes]);
  }

  __device__ T shift(int l) const {
    const T here = diagonal[l * kLanes], e = beside[l * kLanes];
    const T g = (diagonal[(l + 1) * kLanes] - here) / (2 * e), r = sqrt(g * g + 1);
    return e == 0 ? here : here - e / (g + (g < 0 ? -r : r));
  }

  /// false: a lane did not converge
  /// @tparam kCarry  the vector goes to the eigenbasis on the way
  template <bool kCarry>
  __device__ bool find_eigenvalues() {
    sweep_count = rotation_count = 0;
    for (int l = 0; l + 1 < n; ++l)
      for (;;) {
        const bool done = negligible(l);
        if (__all_sync(0xffffffffU, done)) break;
        if (rotation_count + n > room(n) || sweep_count == kPatchSweeps * n) return false;
        if (done) beside[l * kLanes] = 0;  // and work on the next one already
        const T sigma = done && l + 2 < n ? shift(l + 1) : shift(l);
        sweep<kCarry>(l, sigma);
      }
    return true;
  }

  // The root has the sign that makes the cosine positive, so that half the angle's tangent tells all.
  template <bool kCarry>
  __device__ void sweep(int l, T sigma) {
    T s = 1, c = 1, p = 0, g = 0, next = diagonal[(n - 1) * kLanes], coupling = 0;
    T above = diagonal[(n - 2) * kLanes], element = beside[(n - 2) * kLanes];
    T carried = 0, carried_above = 0;
    if (kCarry) carried = vector[(n - 1) * kLanes], carried_above = vector[(n - 2) * kLanes];
    T* rotation = rotations + static_cast<std::int64_t>(rotation_count) * kLanes;
    for (int i = n - 2; i >= l; --i, rotation += kLanes) {
      const int ahead = (i > l ? i - 1 : l) * kLanes;  // loaded before this step's stores
      const T above_ahead = diagonal[ahead], element_ahead = beside[ahead];
      const T carried_ahead = kCarry ? vector[ahead] : T{0};
      const T e = negligible(above, next, element) ? 0 : element;
      const bool begins = coupling == 0;
      if (begins) s = 1, c = 1, p = 0, g = next - sigma;
      const T f = s * e, h = c * e, square = f * f + g * g;
      const T r = g < 0 ? -sqrt(square) : sqrt(square), inverse = 1 / r;
      const bool idle = f == 0 || square <= Limits::kTiny;
      s = idle ? 0 : f * inverse;
      c = idle ? 1 : g * inverse;
      beside[(i + 1) * kLanes] = begins ? 0 : idle ? g : r;
      const T rest = next - p, turn = (above - rest) * s + 2 * c * h;
      p = s * turn;
      diagonal[(i + 1) * kLanes] = rest + p;
      g = c * turn - h;
      next = above;
      coupling = e;
      rotation[0] = s / (1 + c);
      if (kCarry) {
        vector[(i + 1) * kLanes] = s * carried_above + c * carried;
        carried = c * carried_above - s * carried;
        carried_above = carried_ahead;
      }
      above = above_ahead, element = element_ahead;
    }
    diagonal[l * kLanes] = coupling == 0 ? next : next - p;
    beside[l * kLanes] = coupling == 0 ? 0 : g;
    if (kCarry) vector[l * kLanes] = carried;
    rotation_count += n - 1 - l;
    if (lane == 0) sweeps[sweep_count] = l;
    ++sweep_count;
    __syncwarp();  // where it ends is known
  }

  __device__ static void decode(T tangent, T& c, T& s) {
    const T square = tangent * tangent, inverse = 1 / (1 + square);
    c = (1 - square) * inverse;
    s = 2 * tangent * inverse;
  }

  // The vector of this lane. The compiler must not move a load before a store that may be to the same place;
  // so a batch is loaded in one go, else every rotation would wait for the device's memory.
  __device__ void to_eigenbasis() {
    const T* rotation = rotations;
    for (int k = 0; k < sweep_count; ++k) {
      const int l = sweeps[k];
      T below = vector[(n - 1) * kLanes];
      for (int first = n - 2; first >= l; first -= kAhead) {
        const int count = min(kAhead, first - l + 1);
        T tangent[kAhead], above[kAhead];
#pragma unroll
        for (int m = 0; m < kAhead; ++m)
          if (m < count) tangent[m] = rotation[m * kLanes], above[m] = vector[(first - m) * kLanes];
#pragma unroll
        for (int m = 0; m < kAhead; ++m)
          if (m < count) {
            T c, s;
            decode(tangent[m], c, s);
            vector[(first - m + 1) * kLanes] = s * above[m] + c * below;
            below = c * above[m] - s * below;
          }
        rotation += count * kLanes;
      }
      vector[l * kLanes] = below;
    }
  }
  __device__ void from_eigenbasis() {
    const T* rotation = rotations + static_cast<std::int64_t>(rotation_count) * kLanes;
    for (int k = sweep_count - 1; k >= 0; --k) {
      const int l = sweeps[k];
      T above = vector[l * kLanes];
      for (int first = l; first < n - 1; first += kAhead) {
        const int count = min(kAhead, n - 1 - first);
        rotation -= count * kLanes;
        T tangent[kAhead], below[kAhead];
#pragma unroll
        for (int m = 0; m < kAhead; ++m)
          if (m < count)
            tangent[m] = rotation[(count - 1 - m) * kLanes], below[m] = vector[(first + m + 1) * kLanes];
#pragma unroll
        for (int m = 0; m < kAhead; ++m)
          if (m < count) {
            T c, s;
            decode(tangent[m], c, s);
            vector[(first + m) * kLanes] = c * above + s * below[m];
            above = c * below[m] - s * above;
          }
      }
      vector[(n - 1) * kLanes] = above;
    }
  }

  /// Eigenvalues up to the result are noise; below all if none is. `beside` is used for sorting.
  __device__ T judge(const PatchConstants& k, const double* inverse_width, T trace, float& variance_out,
                     int& rank) {
    for (int i = 0; i < n; ++i) {
      const T value = diagonal[i * kLanes];
      int place = i;
      for (; place > 0 && beside[(place - 1) * kLanes] > value; --place)
        beside[place * kLanes] = beside[(place - 1) * kLanes];
      beside[place * kLanes] = value;
    }
    const int pairs = k.complex != 0 ? 2 : 1, skipped = n / pairs - k.spectrum;
    const double scale = static_cast<double>(trace) * k.inverse_larger / pairs;
    double least = 0, total = 0, variance = 0;
    int noise = 0;
    for (int i = 0; i < k.spectrum; ++i) {
      double value = 0;
      for (int j = 0; j < pairs; ++j)
        value += static_cast<double>(beside[((skipped + i) * pairs + j) * kLanes]);
      value = value > 0 ? value * scale : 0;
      if (i == 0) least = value;
      total += value;
      if ((value - least) * inverse_width[i] * (i + 1) < total) variance = total / (i + 1), noise = i + 1;
    }
    variance_out = static_cast<float>(variance);
    rank = k.spectrum - noise;
    return noise == 0 ? T{-1} : beside[((skipped + noise) * pairs - 1) * kLanes];
  }
};

}  // namespace warploom::imaging
