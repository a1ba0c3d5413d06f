#pragma once

/// One patch by a group of threads, a warp or a block: the GPU's counterpart of patch_lanes.cpp, which says what
/// is computed. Only the work is shared out differently: a thread has columns of the matrix, and a vector's
/// rotations are a lane's.

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

/// Vectors of a patch, in shared memory.
template <class T>
struct PatchArrays {
  static constexpr int kChunk = 16;                       // voxels at a time of the product X X^T
  static constexpr int kStride = kPatchVectors + 1;       // odd: no two threads meet in a bank
  static constexpr int kLeast = kChunk > kStride ? kChunk : kStride;

  PatchArrays() = default;
  __device__ PatchArrays(T* memory, int n)
      : diagonal(memory),
        beside(memory + n),
        factor(memory + 2 * n),
        u(memory + 3 * n),
        v(memory + 4 * n),
        w(memory + 5 * n),
        sorted(memory + 6 * n),
        vectors(memory + 7 * n) {}
  static __host__ __device__ std::size_t elements(int n) { return static_cast<std::size_t>(7 + kLeast) * n; }

  T *diagonal, *beside, *factor, *u, *v, *w, *sorted;
  T* vectors;  // [n, kStride]; before that values of the patch, [kChunk, n]
};

template <class T, int kThreads>
struct PatchGroup {
  using Limits = PatchLimits<T>;
  static constexpr int kWarp = 32, kWarps = kThreads / kWarp, kStride = PatchArrays<T>::kStride;

  __device__ PatchGroup(const PatchConstants& constants, const PatchBuffers& pointers)
      : k(constants), buffers(pointers), n(constants.channels), thread(static_cast<int>(threadIdx.x)) {}

  const PatchConstants& k;
  const PatchBuffers& buffers;
  PatchArrays<T> arrays;
  T* matrix;          // [n, n], symmetric; row i holds Householder's vector i behind the diagonal
  T* rotations;       // cosine and sine of each
  int* sweeps;        // [2] of each: first and one behind the last row
  double* reduction;  // [64]
  int n, thread;
  int x0, y0, z0;  // of the patch
  int sweep_count, rotation_count;

  __device__ static void sync() {
    if (kThreads == kWarp)
      __syncwarp();
    else
      __syncthreads();
  }

  /// The sum of what every thread gives, in all of them.
  __device__ T sum(T value) const {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
    if (kThreads == kWarp) return value;
    __syncthreads();  // the reduction before has been read
    if (thread % kWarp == 0) reduction[thread / kWarp] = static_cast<double>(value);
    __syncthreads();
    T total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += static_cast<T>(reduction[warp]);
    return total;
  }

  __device__ std::int64_t voxel(int number) const {
    const int x = number % k.extent[0], y = number / k.extent[0] % k.extent[1], z = number / k.extent[0] / k.extent[1];
    return (static_cast<std::int64_t>(z0 + z) * k.ny + y0 + y) * k.nx + x0 + x;
  }

  __device__ void denoise(std::int64_t item) {
    const int patch = buffers.patches[item];
    const int px = k.nx - k.extent[0] + 1, py = k.ny - k.extent[1] + 1;
    x0 = patch % px, y0 = patch / px % py, z0 = patch / px / py;
    multiply();
    if (k.complex != 0) embed_hermitian();
    const T trace = normalise();
    tridiagonalise();
    find_eigenvalues();
    const T noise = judge(item, trace);
    if (k.average != 0)
      add_columns(noise);
    else
      denoise_columns(noise);
    sync();
  }

  // ---- the matrix ------------------------------------------------------------------------------------------

  // Chunks of voxels; a warp has 32 x 16 elements of the product at a time, a lane 4 x 4 of them.
  __device__ void multiply() {
    constexpr int kChunk = PatchArrays<T>::kChunk;
    const int voxels = k.extent[0] * k.extent[1] * k.extent[2];
    for (int i = thread; i < n * n; i += kThreads) matrix[i] = 0;
    T* const values = arrays.vectors;
    const int tiles_j = (n + 15) / 16, tiles = (n + 31) / 32 * tiles_j;
    const int lane = thread % kWarp;
    for (int first = 0; first < voxels; first += kChunk) {
      const int count = voxels - first < kChunk ? voxels - first : kChunk;
      sync();  // the chunk before is used up, the matrix is 0
      for (int v = 0; v < count; ++v) {
        const float* from = buffers.series + voxel(first + v) * n;
        for (int c = thread; c < n; c += kThreads) values[v * n + c] = static_cast<T>(from[c]);
      }
      sync();
      for (int tile = thread / kWarp; tile < tiles; tile += kWarps) {
        const int i0 = tile / tiles_j * 32 + lane % 8, j0 = tile % tiles_j * 16 + lane / 8;
        if (tile % tiles_j * 16 > tile / tiles_j * 32 + 31) continue;  // above the diagonal
        T part[4][4] = {};
        int left[4], right[4];  // rows 8 and columns 4 apart; beyond the matrix the last
        for (int a = 0; a < 4; ++a) left[a] = min(i0 + 8 * a, n - 1), right[a] = min(j0 + 4 * a, n - 1);
        for (int v = 0; v < count; ++v) {
          const T* row = values + v * n;
          T right_value[4];
          for (int b = 0; b < 4; ++b) right_value[b] = row[right[b]];
          for (int a = 0; a < 4; ++a) {
            const T left_value = row[left[a]];
            for (int b = 0; b < 4; ++b) part[a][b] += left_value * right_value[b];
          }
        }
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b) {
            const int i = i0 + 8 * a, j = j0 + 4 * b;
            if (i < n && j <= i) matrix[i * n + j] += part[a][b];
          }
      }
    }
    sync();
    for (int i = 0; i < n; ++i)
      for (int j = thread; j < i; j += kThreads) matrix[j * n + i] = matrix[i * n + j];
    sync();
  }

  __device__ void embed_hermitian() {
    const int half = n / 2;
    for (int i = 0; i < half; ++i)
      for (int j = thread; j <= i; j += kThreads) {
        const T a = matrix[i * n + j] + matrix[(half + i) * n + half + j];
        const T b = matrix[(half + i) * n + j] - matrix[(half + j) * n + i];
        matrix[i * n + j] = matrix[j * n + i] = a;
        matrix[(half + i) * n + half + j] = matrix[(half + j) * n + half + i] = a;
        matrix[(half + i) * n + j] = matrix[j * n + half + i] = b;
        matrix[(half + j) * n + i] = matrix[i * n + half + j] = -b;
      }
    sync();
  }

  __device__ T normalise() {
    T part = 0;
    for (int i = thread; i < n; i += kThreads) part += matrix[i * n + i];
    const T trace = sum(part);
    const T inverse = trace > 0 ? 1 / trace : 0;
    sync();  // the diagonal has been read
    for (int i = thread; i < n * n; i += kThreads) matrix[i] *= inverse;
    sync();
    return trace;
  }

  // ---- tridiagonalisation: a thread has columns ----------------------------------------------------------

  __device__ void tridiagonalise() {
    T *const u = arrays.u, *const v = arrays.v, *const w = arrays.w;
    for (int i = thread; i < n; i += kThreads) v[i] = w[i] = 0;
    sync();
    for (int step = 0; step + 1 < n; ++step) {
      const T* const row = matrix + step * n;
      const T v_step = v[step], w_step = w[step];
      T rest = 0;
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const T a = row[i] - v[i] * w_step - w[i] * v_step;
        u[i] = a;
        if (i > step + 1) rest += a * a;
      }
      rest = sum(rest);
      sync();  // u is whole
      const T first = u[step + 1], norm = sqrt(rest + first * first);
      const bool reflects = rest > Limits::kTiny;
      const T image = reflects ? (first > 0 ? -norm : norm) : first, ahead = first - image;
      const T factor = reflects ? 2 / (rest + ahead * ahead) : 0;
      sync();  // everybody has read u[step + 1]
      if (thread == 0) {
        arrays.diagonal[n - 1 - step] = row[step] - 2 * v_step * w_step;
        arrays.beside[n - 2 - step] = image;
        arrays.factor[step] = factor;
        u[step + 1] = ahead;
      }
      sync();
      // A -= v w^T + w v^T, and q = A u with the result.
      T product = 0;
      T* const q = arrays.sorted;
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const T vi = v[i], wi = w[i];
        T total = 0;
        T* const column = matrix + i;
#pragma unroll 4
        for (int j = step + 1; j < n; ++j) {
          const T a = column[j * n] - v[j] * wi - w[j] * vi;
          column[j * n] = a;
          total += a * u[j];
        }
        q[i] = total;
        product += total * u[i];
      }
      product = sum(product);
      const T share = factor * (factor * product) / 2;
      sync();  // v and w of this step have been used
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const T ui = u[i];
        v[i] = ui;
        w[i] = factor * q[i] - share * ui;
        matrix[step * n + i] = ui;
      }
      sync();
    }
    if (thread == 0) {
      arrays.diagonal[0] = matrix[(n - 1) * n + n - 1] - 2 * v[n - 1] * w[n - 1];
      arrays.beside[n - 1] = 0;
    }
    sync();
  }

  // The column-th of `vectors`.
  __device__ void reflect(int step, int column) const {
    const T* const u = matrix + step * n;
    T* const x = arrays.vectors + column;
    T part = 0;
    for (int i = step + 1 + thread; i < n; i += kThreads) part += u[i] * x[i * kStride];
    const T times = arrays.factor[step] * sum(part);
    for (int i = step + 1 + thread; i < n; i += kThreads) x[i * kStride] -= times * u[i];
    sync();
  }

  // ---- eigenvalues: all lanes of the first warp compute the same, so that each can keep a rotation --------

  __device__ bool negligible(int i) const {
    return abs(arrays.beside[i]) <=
           Limits::kEpsilon * (abs(arrays.diagonal[i]) + abs(arrays.diagonal[i + 1])) + Limits::kFloor;
  }

  __device__ void find_eigenvalues() {
    sweep_count = rotation_count = 0;
    if (thread < kWarp) {
      T kept_c = 0, kept_s = 0;
      bool fits = true;
      for (int l = 0; l + 1 < n && fits; ++l)
        for (;;) {
          int m = l;
          while (m + 1 < n && !negligible(m)) ++m;
          if (m == l) break;
          fits = rotation_count + m - l <= kPatchRotations * n * n && sweep_count < kPatchSweeps * n;
          if (!fits) break;
          sweep(l, m, kept_c, kept_s);
        }
      if (rotation_count % kWarp > thread) keep(rotation_count / kWarp * kWarp, kept_c, kept_s);
      if (!fits && thread == 0) *buffers.failed = 1;
    }
    if (kThreads > kWarp) {
      __syncthreads();
      if (thread == 0) reduction[32] = sweep_count, reduction[33] = rotation_count;
      __syncthreads();
      sweep_count = static_cast<int>(reduction[32]), rotation_count = static_cast<int>(reduction[33]);
    }
    sync();
  }

  __device__ void keep(int first, T c, T s) {
    rotations[2 * (first + thread)] = c;
    rotations[2 * (first + thread) + 1] = s;
  }

  __device__ void sweep(int l, int m, T& kept_c, T& kept_s) {
    T *const d = arrays.diagonal, *const e = arrays.beside;
    const T here = d[l], couple = e[l], ratio = (d[l + 1] - here) / (2 * couple);
    const T root = sqrt(ratio * ratio + 1);
    const T sigma = here - couple / (ratio + (ratio < 0 ? -root : root));
    T s = 1, c = 1, p = 0, next = d[m], g = next - sigma;
    __syncwarp();
    for (int i = m - 1; i >= l; --i) {
      const T above = d[i], element = e[i];
      __syncwarp();  // all lanes have read what the first will write
      const T f = s * element, h = c * element, square = f * f + g * g;
      const T r = sqrt(square), inverse = 1 / r;
      const bool idle = f == 0 || square <= Limits::kTiny;
      s = idle ? 0 : f * inverse;
      c = idle ? 1 : g * inverse;
      const T rest = next - p, turn = (above - rest) * s + 2 * c * h;
      p = s * turn;
      if (thread == 0) {
        e[i + 1] = i + 1 == m ? 0 : idle ? g : r;
        d[i + 1] = rest + p;
      }
      g = c * turn - h;
      next = above;
      if (rotation_count % kWarp == thread) kept_c = c, kept_s = s;
      if (++rotation_count % kWarp == 0) keep(rotation_count - kWarp, kept_c, kept_s);
    }
    if (thread == 0) {
      d[l] = next - p;
      e[l] = g;
      sweeps[2 * sweep_count] = l;
      sweeps[2 * sweep_count + 1] = m;
    }
    ++sweep_count;
    __syncwarp();
  }

  // A lane of the first warp has a vector. Rotations are read 32 at a time.
  __device__ void to_eigenbasis() const {
    if (thread < kWarp) {
      T* const x = arrays.vectors + thread % kPatchVectors;
      T c = 0, s = 0;
      int at = 0;
      for (int k_sweep = 0; k_sweep < sweep_count; ++k_sweep) {
        const int l = sweeps[2 * k_sweep], m = sweeps[2 * k_sweep + 1];
        T below = x[m * kStride];
        for (int i = m - 1; i >= l; --i, ++at) {
          if (at % kWarp == 0 && at + thread < rotation_count)
            c = rotations[2 * (at + thread)], s = rotations[2 * (at + thread) + 1];
          const T ci = __shfl_sync(0xffffffffU, c, at % kWarp), si = __shfl_sync(0xffffffffU, s, at % kWarp);
          const T above = x[i * kStride];
          __syncwarp();  // lanes that share a vector have read it
          if (thread < kPatchVectors) x[(i + 1) * kStride] = si * above + ci * below;
          below = ci * above - si * below;
        }
        if (thread < kPatchVectors) x[l * kStride] = below;
        __syncwarp();
      }
    }
    sync();
  }
  __device__ void from_eigenbasis() const {
    if (thread < kWarp) {
      T* const x = arrays.vectors + thread % kPatchVectors;
      T c = 0, s = 0;
      int at = rotation_count;
      for (int k_sweep = sweep_count - 1; k_sweep >= 0; --k_sweep) {
        const int l = sweeps[2 * k_sweep], m = sweeps[2 * k_sweep + 1];
        T above = x[l * kStride];
        for (int i = l; i < m; ++i) {
          if (at == rotation_count || at % kWarp == 0) {
            const int first = (at - 1) / kWarp * kWarp;
            if (first + thread < rotation_count)
              c = rotations[2 * (first + thread)], s = rotations[2 * (first + thread) + 1];
          }
          --at;
          const T ci = __shfl_sync(0xffffffffU, c, at % kWarp), si = __shfl_sync(0xffffffffU, s, at % kWarp);
          const T below = x[(i + 1) * kStride];
          __syncwarp();
          if (thread < kPatchVectors) x[i * kStride] = ci * above + si * below;
          above = ci * below - si * above;
        }
        if (thread < kPatchVectors) x[m * kStride] = above;
        __syncwarp();
      }
    }
    sync();
  }

  // ---- what is noise ---------------------------------------------------------------------------------------

  // Eigenvalues up to the result are noise; below all if none is.
  __device__ T judge(std::int64_t item, T trace) {
    for (int i = thread; i < n; i += kThreads) {
      const T value = arrays.diagonal[i];
      int place = 0;
      for (int j = 0; j < n; ++j) place += arrays.diagonal[j] < value || (arrays.diagonal[j] == value && j < i);
      arrays.sorted[place] = value;
    }
    sync();
    if (thread == 0) {
      const int pairs = k.complex != 0 ? 2 : 1, skipped = n / pairs - k.spectrum;
      const double scale = static_cast<double>(trace) * k.inverse_larger / pairs;
      double least = 0, total = 0, variance = 0;
      int noise = 0;
      for (int i = 0; i < k.spectrum; ++i) {
        double value = 0;
        for (int j = 0; j < pairs; ++j) value += static_cast<double>(arrays.sorted[(skipped + i) * pairs + j]);
        value = value > 0 ? value * scale : 0;
        if (i == 0) least = value;
        total += value;
        if ((value - least) * buffers.inverse_width[i] * (i + 1) < total) variance = total / (i + 1), noise = i + 1;
      }
      buffers.variance[item] = static_cast<float>(variance);
      buffers.rank[item] = static_cast<std::int16_t>(k.spectrum - noise);
      reduction[34] = noise == 0 ? -1.0 : static_cast<double>(arrays.sorted[(skipped + noise) * pairs - 1]);
    }
    sync();
    return static_cast<T>(reduction[34]);
  }

  // ---- the results -----------------------------------------------------------------------------------------

  // The voxels that a patch is the patch of, along an axis: [begin, end) in the patch.
  __device__ static int own_begin(int b, int extent) { return b == 0 ? 0 : extent / 2; }
  __device__ static int own_end(int b, int extent, int size) { return b + extent == size ? extent : extent / 2 + 1; }

  __device__ void denoise_columns(T noise) {
    const int ax = own_begin(x0, k.extent[0]), cx = own_end(x0, k.extent[0], k.nx) - ax;
    const int ay = own_begin(y0, k.extent[1]), cy = own_end(y0, k.extent[1], k.ny) - ay;
    const int az = own_begin(z0, k.extent[2]), cz = own_end(z0, k.extent[2], k.nz) - az;
    const auto own_voxel = [&](int number) {
      return (static_cast<std::int64_t>(z0 + az + number / cx / cy) * k.ny + y0 + ay + number / cx % cy) * k.nx + x0 +
             ax + number % cx;
    };
    for (int first = 0; first < cx * cy * cz; first += kPatchVectors) {
      const int count = min(kPatchVectors, cx * cy * cz - first);
      for (int column = 0; column < kPatchVectors; ++column) {
        const float* from = buffers.series + own_voxel(first + min(column, count - 1)) * n;
        for (int c = thread; c < n; c += kThreads) arrays.vectors[c * kStride + column] = static_cast<T>(from[c]);
      }
      sync();
      for (int column = 0; column < count; ++column) {
        for (int step = 0; step + 1 < n; ++step) reflect(step, column);
        reverse(column);
      }
      to_eigenbasis();
      for (int c = thread; c < n; c += kThreads)
        if (!(arrays.diagonal[c] > noise))
          for (int column = 0; column < kPatchVectors; ++column) arrays.vectors[c * kStride + column] = 0;
      sync();
      from_eigenbasis();
      for (int column = 0; column < count; ++column) {
        reverse(column);
        for (int step = n - 2; step >= 0; --step) reflect(step, column);
        float* const to = buffers.denoised + own_voxel(first + column) * n;
        for (int c = thread; c < n; c += kThreads) to[c] = static_cast<float>(arrays.vectors[c * kStride + column]);
      }
      sync();
    }
  }

  __device__ void reverse(int column) const {
    T* const x = arrays.vectors + column;
    for (int i = thread; i < n / 2; i += kThreads) {
      const T first = x[i * kStride];
      x[i * kStride] = x[(n - 1 - i) * kStride];
      x[(n - 1 - i) * kStride] = first;
    }
    sync();
  }

  // As on the CPU: U U^T X, or X - U U^T X with the eigenvectors of the noise where those are fewer.
  __device__ void add_columns(T noise) {
    int kept = 0;
    for (int i = 0; i < n; ++i) kept += arrays.diagonal[i] > noise;
    const bool signal = kept <= n / 2;
    const int most = signal ? kept : n - kept, voxels = k.extent[0] * k.extent[1] * k.extent[2];
    int next = 0;
    for (int first = 0; first == 0 || first < most; first += kPatchVectors) {
      const int count = min(kPatchVectors, most - first);
      for (int i = thread; i < n * kStride; i += kThreads) arrays.vectors[i] = 0;
      sync();
      for (int column = 0; column < count; ++column, ++next) {
        while ((arrays.diagonal[next] > noise) != signal) ++next;
        if (thread == 0) arrays.vectors[next * kStride + column] = 1;
      }
      sync();
      if (count > 0) from_eigenbasis();
      for (int column = 0; column < count; ++column) {
        reverse(column);
        for (int step = n - 2; step >= 0; --step) reflect(step, column);
      }
      if (count == 0 && signal) return;  // nothing is kept: adds zeros
      for (int number = 0; number < voxels; ++number) add_column(voxel(number), count, signal, first == 0 && !signal);
      sync();
    }
  }

  __device__ void add_column(std::int64_t at, int count, bool signal, bool whole) const {
    const float* const x = buffers.series + at * n;
    T share[kPatchVectors];
    for (int column = 0; column < kPatchVectors; ++column) {
      if (column >= count) break;
      T part = 0;
      for (int c = thread; c < n; c += kThreads) part += arrays.vectors[c * kStride + column] * static_cast<T>(x[c]);
      share[column] = sum(part);
    }
    for (int c = thread; c < n; c += kThreads) {
      T value = 0;
      for (int column = 0; column < kPatchVectors; ++column)
        if (column < count) value += share[column] * arrays.vectors[c * kStride + column];
      if (!signal) value = (whole ? static_cast<T>(x[c]) : 0) - value;
      const long long fixed = llrint(static_cast<double>(value) * kPatchUnit);
      atomicAdd(buffers.sum + at * n + c, static_cast<unsigned long long>(fixed));
    }
  }
};

}  // namespace warploom::imaging
