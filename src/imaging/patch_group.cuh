#pragma once

/// What a group of threads, a warp or a block, does with one patch: the matrix and its tridiagonalisation
/// before patch_spectrum.cuh, and the way back from the tridiagonal basis after it. patch_lanes.cpp says what
/// is computed; here a thread has columns of the matrix.

#include <cstddef>
#include <cstdint>

#include "patch_spectrum.cuh"
#include "series_denoise_kernels.hpp"

namespace warploom::imaging {

/// Four numbers that are read at once.
template <class T>
struct alignas(16) PatchFour {
  T value[4];
};

/// Of a patch, in shared memory while it is reduced.
template <class T>
struct PatchArrays {
  static constexpr int kChunk = 16;  // voxels at a time of the product X X^T

  PatchArrays() = default;
  __device__ PatchArrays(T* memory, int n)
      : step(reinterpret_cast<PatchFour<T>*>(memory)),
        values(memory + 4 * n),
        q(values + kChunk * padded(n)) {}
  static __host__ __device__ int padded(int n) { return (n + 3) / 4 * 4; }
  static __host__ __device__ std::size_t elements(int n) {
    return static_cast<std::size_t>(5) * n + static_cast<std::size_t>(kChunk) * padded(n);
  }

  PatchFour<T>* step;  // [n] of Householder's step: v and w of the update, u of the product
  T* values;           // [kChunk, padded n] of the patch
  T* q;                // [n]
};

template <class T, int kThreads>
struct PatchGroup {
  using Limits = PatchLimits<T>;
  static constexpr int kWarp = 32, kWarps = kThreads / kWarp;
  /// Channels of a thread where a vector lies in registers: thread, thread + kThreads, ...
  static constexpr int kOwn = kThreads == kWarp ? kWarpChannels / kWarp : kMostChannels / kThreads;

  __device__ PatchGroup(const PatchConstants& constants, const float* values)
      : k(constants), series(values), n(constants.channels), thread(static_cast<int>(threadIdx.x)) {}

  const PatchConstants& k;
  const float* series;
  PatchArrays<T> arrays;
  T* matrix = nullptr;      // [n, n], symmetric
  T* reflectors = nullptr;  // [n, n], of the patch: row i holds Householder's vector i behind the diagonal,
                            // and its factor there
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
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      value += __shfl_xor_sync(0xffffffffU, value, offset);
    if (kThreads == kWarp) return value;
    __syncthreads();  // the reduction before has been read
    if (thread % kWarp == 0) reduction[thread / kWarp] = static_cast<double>(value);
    __syncthreads();
    T total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += static_cast<T>(reduction[warp]);
    return total;
  }

  /// The voxels of the patch one after the other, without a division for each.
  struct Walk {
    std::int64_t at;
    int x = 0, y = 0;
  };
  __device__ Walk walk() const { return {(static_cast<std::int64_t>(z0) * k.ny + y0) * k.nx + x0}; }
  __device__ void next(Walk& walk) const {
    ++walk.at;
    if (++walk.x < k.extent[0]) return;
    walk.x = 0;
    walk.at += k.nx - k.extent[0];
    if (++walk.y < k.extent[1]) return;
    walk.y = 0;
    walk.at += static_cast<std::int64_t>(k.ny - k.extent[1]) * k.nx;
  }

  __device__ void place(int patch) {
    const int px = k.nx - k.extent[0] + 1, py = k.ny - k.extent[1] + 1;
    x0 = patch % px, y0 = patch / px % py, z0 = patch / px / py;
  }

  /// @param[out] tridiagonal  [2 n + 1] diagonal, what is beside it, and the trace that everything was
  /// divided by
  /// @param[out] columns      [own voxels, n] for centre output: in the tridiagonal basis
  __device__ void reduce(T* tridiagonal, T* columns) {
    multiply();
    if (k.complex != 0) embed_hermitian();
    const T trace = normalise();
    tridiagonalise(tridiagonal, tridiagonal + n);
    if (thread == 0) tridiagonal[2 * n] = trace;
    if (k.average == 0)
      for (int column = 0; column < own_voxels(); ++column) {
        const float* const from = series + own_voxel(column) * n;
        T x[1][kOwn];
        for (int e = 0; e < kOwn; ++e) x[0][e] = own(e) < n ? static_cast<T>(from[own(e)]) : 0;
        reflect<1, false>(x);
        for (int e = 0; e < kOwn; ++e)
          if (own(e) < n) columns[column * n + n - 1 - own(e)] = x[0][e];
      }
  }

  /// @param columns  as reduce() gave them, without what is noise. Writes [voxels, channels].
  __device__ void finish_columns(const T* columns, float* denoised) {
    for (int column = 0; column < own_voxels(); ++column) {
      T x[1][kOwn];
      from_tridiagonal_basis(columns + column * n, 1, x);
      float* const to = denoised + own_voxel(column) * n;
      for (int e = 0; e < kOwn; ++e)
        if (own(e) < n) to[own(e)] = static_cast<float>(x[0][e]);
    }
  }

  /// Adds U U^T X, or X - U U^T X where U are the eigenvectors of the noise, to all voxels of the patch.
  /// @param basis  [count, n] in the tridiagonal basis
  __device__ void finish_average(const T* basis, int count, bool signal, unsigned long long* sums) {
    for (int first = 0; first < count || (first == 0 && !signal); first += kPatchVectors) {
      const int now = min(kPatchVectors, count - first);
      const bool whole = first == 0 && !signal;
      if (now <= 2)
        add_projection<2>(basis + first * n, now, signal, whole, sums);
      else if (now <= 4)
        add_projection<4>(basis + first * n, now, signal, whole, sums);
      else
        add_projection<kPatchVectors>(basis + first * n, now, signal, whole, sums);
    }
  }

  // ---- the matrix
  // ------------------------------------------------------------------------------------------

  // Chunks of voxels; a warp has 32 x 16 elements of the product at a time, a lane 4 x 4 of them.
  __device__ void multiply() {
    constexpr int kChunk = PatchArrays<T>::kChunk;
    const int voxels = k.extent[0] * k.extent[1] * k.extent[2];
    for (int i = thread; i < n * n; i += kThreads) matrix[i] = 0;
    T* const values = arrays.values;
    const int tiles_j = (n + 15) / 16, tiles = (n + 31) / 32 * tiles_j;
    const int lane = thread % kWarp, stride = PatchArrays<T>::padded(n);
    Walk from_voxel = walk();
    for (int first = 0; first < voxels; first += kChunk) {
      const int count = voxels - first < kChunk ? voxels - first : kChunk;
      sync();  // the chunk before is used up, the matrix is 0
      for (int v = 0; v < count; ++v, next(from_voxel)) {
        const float* from = series + from_voxel.at * n;
        for (int c = thread; c < stride; c += kThreads)
          values[v * stride + c] = c < n ? static_cast<T>(from[c]) : 0;
      }
      sync();
      for (int tile = thread / kWarp; tile < tiles; tile += kWarps) {
        const int i0 = tile / tiles_j * 32 + lane % 8 * 4, j0 = tile % tiles_j * 16 + lane / 8 * 4;
        if (tile % tiles_j * 16 > tile / tiles_j * 32 + 31) continue;  // above the diagonal
        T part[4][4] = {};
        const T *left = values + min(i0, stride - 4), *right = values + min(j0, stride - 4);
#pragma unroll 4
        for (int v = 0; v < count; ++v, left += stride, right += stride) {
          const auto l = *reinterpret_cast<const PatchFour<T>*>(left);
          const auto r = *reinterpret_cast<const PatchFour<T>*>(right);
          for (int a = 0; a < 4; ++a)
            for (int b = 0; b < 4; ++b) part[a][b] += l.value[a] * r.value[b];
        }
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b)
            if (i0 + a < n && j0 + b <= i0 + a) matrix[(i0 + a) * n + j0 + b] += part[a][b];
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
    PatchFour<T>* const vectors = arrays.step;
    constexpr int kV = 0, kW = 1, kU = 2;
    for (int i = thread; i < n; i += kThreads) vectors[i] = {};
    sync();
    for (int step = 0; step + 1 < n; ++step) {
      const T* const row = matrix + step * n;
      const T v_step = vectors[step].value[kV], w_step = vectors[step].value[kW];
      T rest = 0;
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const T a = row[i] - vectors[i].value[kV] * w_step - vectors[i].value[kW] * v_step;
        vectors[i].value[kU] = a;
        if (i > step + 1) rest += a * a;
      }
      rest = sum(rest);
      sync();  // u is whole
      const T first = vectors[step + 1].value[kU], norm = sqrt(rest + first * first);
      const bool reflects = rest > Limits::kTiny;
      const T image = reflects ? (first > 0 ? -norm : norm) : first, ahead = first - image;
      const T factor = reflects ? 2 / (rest + ahead * ahead) : 0;
      sync();  // everybody has read it
      if (thread == 0) {
        diagonal[n - 1 - step] = row[step] - 2 * v_step * w_step;
        beside[n - 2 - step] = image;
        reflectors[step * n + step] = factor;
        vectors[step + 1].value[kU] = ahead;
      }
      sync();
      // A -= v w^T + w v^T, and q = A u with the result.
      T product = 0;
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const PatchFour<T> mine = vectors[i];
        T total = 0;
        T* at = matrix + (step + 1) * n + i;
#pragma unroll 4
        for (int j = step + 1; j < n; ++j, at += n) {
          const PatchFour<T> other = vectors[j];
          const T a = *at - other.value[kV] * mine.value[kW] - other.value[kW] * mine.value[kV];
          *at = a;
          total += a * other.value[kU];
        }
        arrays.q[i] = total;
        product += total * mine.value[kU];
      }
      product = sum(product);
      const T share = factor * (factor * product) / 2;
      sync();  // v and w of this step have been used
      for (int i = step + 1 + thread; i < n; i += kThreads) {
        const T ui = vectors[i].value[kU];
        vectors[i].value[kV] = ui;
        vectors[i].value[kW] = factor * arrays.q[i] - share * ui;
        reflectors[step * n + i] = ui;
      }
      sync();
    }
    if (thread == 0) {
      diagonal[0] = matrix[(n - 1) * n + n - 1] - 2 * vectors[n - 1].value[kV] * vectors[n - 1].value[kW];
      beside[n - 1] = 0;
    }
    sync();
  }

  __device__ int own(int e) const { return thread + e * kThreads; }

  // The sums of several values over all threads, in all of them.
  template <int kColumns>
  __device__ void sums_of(T (&part)[kColumns]) const {
    for (int column = 0; column < kColumns; ++column)
      for (int offset = kWarp / 2; offset > 0; offset /= 2)
        part[column] += __shfl_xor_sync(0xffffffffU, part[column], offset);
    if (kThreads == kWarp) return;
    __syncthreads();  // the reduction before has been read
    if (thread % kWarp == 0)
      for (int column = 0; column < kColumns; ++column)
        reduction[thread / kWarp * kColumns + column] = static_cast<double>(part[column]);
    __syncthreads();
    for (int column = 0; column < kColumns; ++column) {
      part[column] = 0;
      for (int warp = 0; warp < kWarps; ++warp)
        part[column] += static_cast<T>(reduction[warp * kColumns + column]);
    }
  }

  __device__ T load_reflector(int step, T (&u)[kOwn]) const {
    const T* const row = reflectors + step * n;
    for (int e = 0; e < kOwn; ++e) u[e] = own(e) > step && own(e) < n ? row[own(e)] : 0;
    return row[step];
  }

  // Vectors in registers by all reflectors, from the last one where they go back. A reflector is loaded while
  // the one before is used.
  template <int kColumns, bool kBack>
  __device__ void reflect(T (&x)[kColumns][kOwn]) const {
    if (n < 2) return;
    T ahead[kOwn], factor_ahead = load_reflector(kBack ? n - 2 : 0, ahead);
    for (int done = 0; done + 1 < n; ++done) {
      T u[kOwn], part[kColumns];
      const T factor = factor_ahead;
      for (int e = 0; e < kOwn; ++e) u[e] = ahead[e];
      if (done + 2 < n) factor_ahead = load_reflector(kBack ? n - 3 - done : done + 1, ahead);
      for (int column = 0; column < kColumns; ++column) {
        part[column] = 0;
        for (int e = 0; e < kOwn; ++e) part[column] += u[e] * x[column][e];
      }
      sums_of(part);
      for (int column = 0; column < kColumns; ++column)
        for (int e = 0; e < kOwn; ++e) x[column][e] -= factor * part[column] * u[e];
    }
  }

  /// @param from  [count, n]; those of kColumns behind them become 0
  template <int kColumns>
  __device__ void from_tridiagonal_basis(const T* from, int count, T (&x)[kColumns][kOwn]) const {
    for (int column = 0; column < kColumns; ++column)
      for (int e = 0; e < kOwn; ++e)
        x[column][e] = column < count && own(e) < n ? from[column * n + n - 1 - own(e)] : 0;
    reflect<kColumns, true>(x);
  }

  // ---- the results
  // -----------------------------------------------------------------------------------------

  // The voxels that a patch is the patch of, along an axis: [begin, end) in the patch.
  __device__ static int own_begin(int b, int extent) { return b == 0 ? 0 : extent / 2; }
  __device__ static int own_end(int b, int extent, int size) {
    return b + extent == size ? extent : extent / 2 + 1;
  }

  __device__ int own_count(int b, int extent, int size) const {
    return own_end(b, extent, size) - own_begin(b, extent);
  }
  __device__ int own_voxels() const {
    return own_count(x0, k.extent[0], k.nx) * own_count(y0, k.extent[1], k.ny) *
           own_count(z0, k.extent[2], k.nz);
  }
  __device__ std::int64_t own_voxel(int number) const {
    const int cx = own_count(x0, k.extent[0], k.nx), cy = own_count(y0, k.extent[1], k.ny);
    const int x = x0 + own_begin(x0, k.extent[0]) + number % cx;
    const int y = y0 + own_begin(y0, k.extent[1]) + number / cx % cy;
    const int z = z0 + own_begin(z0, k.extent[2]) + number / cx / cy;
    return (static_cast<std::int64_t>(z) * k.ny + y) * k.nx + x;
  }

  template <int kColumns>
  __device__ void add_projection(const T* basis, int count, bool signal, bool whole,
                                 unsigned long long* sums) const {
    T vectors[kColumns][kOwn];
    from_tridiagonal_basis(basis, count, vectors);
    const T sign = signal ? 1 : -1;
    const int voxels = k.extent[0] * k.extent[1] * k.extent[2];
    Walk here = walk();
    for (int number = 0; number < voxels; ++number, next(here)) {
      const std::int64_t at = here.at * n;
      T x[kOwn], share[kColumns];
      for (int e = 0; e < kOwn; ++e) x[e] = own(e) < n ? static_cast<T>(series[at + own(e)]) : 0;
      for (int column = 0; column < kColumns; ++column) {
        share[column] = 0;
        for (int e = 0; e < kOwn; ++e) share[column] += vectors[column][e] * x[e];
      }
      sums_of(share);
      for (int e = 0; e < kOwn; ++e) {
        if (own(e) >= n) continue;
        T value = 0;
        for (int column = 0; column < kColumns; ++column) value += share[column] * vectors[column][e];
        value = sign * value + (whole ? x[e] : 0);
        const long long fixed = llrint(static_cast<double>(value) * kPatchUnit);
        atomicAdd(sums + at + own(e), static_cast<unsigned long long>(fixed));
      }
    }
  }
};

}  // namespace warploom::imaging
