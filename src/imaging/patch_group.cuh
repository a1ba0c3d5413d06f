#pragma once

/// What a group of threads, a warp or a block, does with one patch: the matrix and its tridiagonalisation before
/// patch_spectrum.cuh, and the way back from the tridiagonal basis after it. patch_lanes.cpp says what is computed;
/// here a thread has columns of the matrix.

#include <cstddef>
#include <cstdint>

#include "patch_spectrum.cuh"
#include "series_denoise_kernels.hpp"

namespace warploom::imaging {

/// Vectors of a patch, in shared memory.
template <class T>
struct PatchArrays {
  static constexpr int kChunk = 16;                       // voxels at a time of the product X X^T
  static constexpr int kStride = kPatchVectors + 1;       // odd: no two threads meet in a bank
  static constexpr int kLeast = kChunk > kStride ? kChunk : kStride;

  PatchArrays() = default;
  __device__ PatchArrays(T* memory, int n)
      : u(memory), v(memory + n), w(memory + 2 * n), q(memory + 3 * n), vectors(memory + 4 * n) {}
  static __host__ __device__ std::size_t elements(int n) { return static_cast<std::size_t>(4 + kLeast) * n; }

  T *u, *v, *w, *q;
  T* vectors;  // [n, kStride]; before that values of the patch, [kChunk, n]
};

template <class T, int kThreads>
struct PatchGroup {
  using Limits = PatchLimits<T>;
  static constexpr int kWarp = 32, kWarps = kThreads / kWarp, kStride = PatchArrays<T>::kStride;

  __device__ PatchGroup(const PatchConstants& constants, const float* values)
      : k(constants), series(values), n(constants.channels), thread(static_cast<int>(threadIdx.x)) {}

  const PatchConstants& k;
  const float* series;
  PatchArrays<T> arrays;
  T* matrix = nullptr;      // [n, n], symmetric
  T* reflectors = nullptr;  // [n, n], of the patch: row i holds Householder's vector i behind the diagonal, and its
                            // factor there
  double* reduction = nullptr;  // [64]
  int n, thread;
  int x0, y0, z0;  // of the patch

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

  __device__ void place(int patch) {
    const int px = k.nx - k.extent[0] + 1, py = k.ny - k.extent[1] + 1;
    x0 = patch % px, y0 = patch / px % py, z0 = patch / px / py;
  }

  /// @param[out] tridiagonal  [2 n + 1] diagonal, what is beside it, and the trace that everything was divided by
  /// @param[out] columns      [own voxels, n] for centre output: in the tridiagonal basis
  __device__ void reduce(T* tridiagonal, T* columns) {
    multiply();
    if (k.complex != 0) embed_hermitian();
    const T trace = normalise();
    tridiagonalise(tridiagonal, tridiagonal + n);
    if (thread == 0) tridiagonal[2 * n] = trace;
    if (k.average == 0)
      for (int column = 0; column < own_voxels(); ++column) {
        const float* from = series + own_voxel(column) * n;
        for (int c = thread; c < n; c += kThreads) arrays.vectors[c * kStride] = static_cast<T>(from[c]);
        sync();
        for (int step = 0; step + 1 < n; ++step) reflect(step, 0);
        for (int c = thread; c < n; c += kThreads) columns[column * n + c] = arrays.vectors[(n - 1 - c) * kStride];
        sync();
      }
  }

  /// @param columns  as reduce() gave them, without what is noise. Writes [voxels, channels].
  __device__ void finish_columns(const T* columns, float* denoised) {
    for (int column = 0; column < own_voxels(); ++column) {
      from_tridiagonal_basis(columns + column * n, 0);
      float* const to = denoised + own_voxel(column) * n;
      for (int c = thread; c < n; c += kThreads) to[c] = static_cast<float>(arrays.vectors[c * kStride]);
      sync();
    }
  }

  /// Adds U U^T X, or X - U U^T X where U are the eigenvectors of the noise, to all voxels of the patch.
  /// @param basis  [count, n] in the tridiagonal basis
  __device__ void finish_average(const T* basis, int count, bool signal, unsigned long long* sums) {
    const int voxels = k.extent[0] * k.extent[1] * k.extent[2];
    for (int first = 0; first < count || (first == 0 && !signal); first += kPatchVectors) {
      const int now = min(kPatchVectors, count - first);
      for (int column = 0; column < now; ++column) from_tridiagonal_basis(basis + (first + column) * n, column);
      for (int number = 0; number < voxels; ++number)
        add_column(voxel(number), now, signal, first == 0 && !signal, sums);
      sync();
    }
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
        const float* from = series + voxel(first + v) * n;
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

  // Kept from its end to its beginning, as on the CPU.
  __device__ void tridiagonalise(T* diagonal, T* beside) {
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
        diagonal[n - 1 - step] = row[step] - 2 * v_step * w_step;
        beside[n - 2 - step] = image;
        reflectors[step * n + step] = factor;
        u[step + 1] = ahead;
      }
      sync();
      // A -= v w^T + w v^T, and q = A u with the result.
      T product = 0;
      T* const q = arrays.q;
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
        reflectors[step * n + i] = ui;
      }
      sync();
    }
    if (thread == 0) {
      diagonal[0] = matrix[(n - 1) * n + n - 1] - 2 * v[n - 1] * w[n - 1];
      beside[n - 1] = 0;
    }
    sync();
  }

  // The column-th of `vectors`.
  __device__ void reflect(int step, int column) const {
    const T* const u = reflectors + step * n;
    T* const x = arrays.vectors + column;
    T part = 0;
    for (int i = step + 1 + thread; i < n; i += kThreads) part += u[i] * x[i * kStride];
    const T times = u[step] * sum(part);
    for (int i = step + 1 + thread; i < n; i += kThreads) x[i * kStride] -= times * u[i];
    sync();
  }

  __device__ void from_tridiagonal_basis(const T* from, int column) {
    for (int c = thread; c < n; c += kThreads) arrays.vectors[(n - 1 - c) * kStride + column] = from[c];
    sync();
    for (int step = n - 2; step >= 0; --step) reflect(step, column);
  }

  // ---- the results -----------------------------------------------------------------------------------------

  // The voxels that a patch is the patch of, along an axis: [begin, end) in the patch.
  __device__ static int own_begin(int b, int extent) { return b == 0 ? 0 : extent / 2; }
  __device__ static int own_end(int b, int extent, int size) { return b + extent == size ? extent : extent / 2 + 1; }

  __device__ int own_count(int b, int extent, int size) const {
    return own_end(b, extent, size) - own_begin(b, extent);
  }
  __device__ int own_voxels() const {
    return own_count(x0, k.extent[0], k.nx) * own_count(y0, k.extent[1], k.ny) * own_count(z0, k.extent[2], k.nz);
  }
  __device__ std::int64_t own_voxel(int number) const {
    const int cx = own_count(x0, k.extent[0], k.nx), cy = own_count(y0, k.extent[1], k.ny);
    const int x = x0 + own_begin(x0, k.extent[0]) + number % cx;
    const int y = y0 + own_begin(y0, k.extent[1]) + number / cx % cy;
    const int z = z0 + own_begin(z0, k.extent[2]) + number / cx / cy;
    return (static_cast<std::int64_t>(z) * k.ny + y) * k.nx + x;
  }

  __device__ void add_column(std::int64_t at, int count, bool signal, bool whole, unsigned long long* sums) const {
    const float* const x = series + at * n;
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
      atomicAdd(sums + at * n + c, static_cast<unsigned long long>(fixed));
    }
  }
};

}  // namespace warploom::imaging
