#include <cstdint>

#include "adaptive_fit_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kThreads = 128;
// A block's voxels of the sums: with the voxels at their faces 960 pairs, not two a thread.
constexpr int kX = 16, kY = 8, kZ = 4, kPooling = kX * kY * kZ;
constexpr int kFaces = 2 * (kY * kZ + kX * kZ + kX * kY);
static_assert(kFaces <= kPooling);
constexpr float kOutside = -1;  // a distance that there is not

/// Of voxel v, computed as they are asked for.
struct Signals {
  const AdaptiveBuffers& from;
  std::int64_t v, stride;
  double scale;

  __device__ Signals(const AdaptiveBuffers& buffers, std::int64_t voxel)
      : from(buffers),
        v(voxel),
        stride(buffers.terms.voxels()),
        scale(1 / static_cast<double>(buffers.noise[voxel])) {}

  __device__ double measured(int i) const { return scale * static_cast<double>(from.series[i * stride + v]); }
  __device__ double denoised(int i) const {
    return scale * static_cast<double>(from.denoised[i * stride + v]);
  }
  __device__ double unbiased(int i) const {
    return std::log(fmax(rician_signal(denoised(i), from.table), kLeastSignal));
  }
  __device__ double floored(int i) const { return std::log(fmax(denoised(i), kLeastSignal)); }
  __device__ bool usable() const {
    bool any = false, finite = true;
    for (int i = 0; i < from.design.measurements; ++i) {
      const double value = measured(i);
      any = any || value > 0;
      finite = finite && isfinite(value) && isfinite(denoised(i));
    }
    return any && finite;
  }
};

__device__ std::int64_t own_voxel() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace

/// Launch: a thread a voxel, blocks of kThreads; so are all others but adaptive_sums.
__global__ void __launch_bounds__(kThreads) adaptive_terms(const AdaptiveBuffers buffers) {
  const std::int64_t v = own_voxel();
  if (v >= buffers.terms.voxels()) return;
  const bool inside = buffers.mask[v] != 0;
  const Signals signals(buffers, v);
  const bool fitted = inside && signals.usable();
  buffers.terms.fitted[v] = fitted ? 1 : 0;
  if (!fitted) return;
  voxel_terms(buffers.design, signals, buffers.table).store(buffers.terms, v);
  buffers.information[v] = mean_information(buffers.terms, v);
}

__global__ void __launch_bounds__(kThreads)
    adaptive_guide(const AdaptiveView terms, float* __restrict__ sharper, const double typical) {
  const std::int64_t v = own_voxel(), voxels = terms.voxels();
  if (v >= voxels || terms.fitted[v] == 0) return;
  const SixElements more = guide_correction(terms, v, typical);
#pragma unroll
  for (int i = 0; i < 6; ++i)
    sharper[i * voxels + v] = terms.guide[i * voxels + v] + static_cast<float>(more[i]);
}

/// The sums of kX x kY x kZ voxels a block, which compute the distances of an offset's pairs first: each
/// thread that of its voxel, and that of a voxel beyond one of the block's faces. Offsets in the CPU's order.
/// Launch: grid (x, y, z) of such blocks; block kPooling.
__global__ void __launch_bounds__(kPooling)
    adaptive_sums(const AdaptiveView terms, float* __restrict__ sums, const float scale, const int radius) {
  // Two of them: one is read while the next offset's is written.
  __shared__ float pairs[2][kZ + 2][kY + 2][kX + 2];
  const int t = static_cast<int>(threadIdx.x);
  const int lx = t % kX, ly = t / kX % kY, lz = t / (kX * kY);
  const std::int64_t x0 = static_cast<std::int64_t>(blockIdx.x) * kX,
                     y0 = static_cast<std::int64_t>(blockIdx.y) * kY,
                     z0 = static_cast<std::int64_t>(blockIdx.z) * kZ;
  // The voxel beyond a face: x faces first.
  int fx = 0, fy = 0, fz = 0, f = t;
  if (f < 2 * kY * kZ) {
    fx = f < kY * kZ ? -1 : kX, f %= kY * kZ, fy = f % kY, fz = f / kY;
  } else if (f -= 2 * kY * kZ; f < 2 * kX * kZ) {
    fy = f < kX * kZ ? -1 : kY, f %= kX * kZ, fx = f % kX, fz = f / kX;
  } else {
    f -= 2 * kX * kZ;
    fz = f < kX * kY ? -1 : kZ, f %= kX * kY, fx = f % kX, fy = f / kX;
  }
  const auto holds = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return x >= 0 && y >= 0 && z >= 0 && x < terms.nx && y < terms.ny && z < terms.nz;
  };
  const auto place = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return (z * terms.ny + y) * terms.nx + x;
  };
  const auto usable = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return holds(x, y, z) && terms.fitted[place(x, y, z)] != 0;
  };
  const std::int64_t x = x0 + lx, y = y0 + ly, z = z0 + lz, v = place(x, y, z), voxels = terms.voxels();
  const bool own = usable(x, y, z);
  if (__syncthreads_or(own) == 0) return;
  const bool face = t < kFaces && usable(x0 + fx, y0 + fy, z0 + fz);
  const std::int64_t beyond = place(x0 + fx, y0 + fy, z0 + fz);
  const auto distance = [&](bool there, std::int64_t from, std::int64_t ox, std::int64_t oy,
                            std::int64_t oz) {
    return there && usable(ox, oy, oz)
               ? pair_distance(terms.guide, terms.metric, voxels, from, place(ox, oy, oz) - from)
               : kOutside;
  };
  AdaptiveSums found;
  int turn = 0;
  for (int dz = -radius; dz <= radius; ++dz)
    for (int dy = -radius; dy <= radius; ++dy)
      for (int dx = -radius; dx <= radius; ++dx, turn ^= 1) {
        auto& now = pairs[turn];
        const float mine = distance(own, v, x + dx, y + dy, z + dz);
        now[lz + 1][ly + 1][lx + 1] = mine;
        if (t < kFaces)
          now[fz + 1][fy + 1][fx + 1] = distance(face, beyond, x0 + fx + dx, y0 + fy + dy, z0 + fz + dz);
        __syncthreads();
        if (mine < 0) continue;
        PairDistances distances(mine);
        const float faces[6] = {now[lz + 1][ly + 1][lx], now[lz + 1][ly + 1][lx + 2],
                                now[lz + 1][ly][lx + 1], now[lz + 1][ly + 2][lx + 1],
                                now[lz][ly + 1][lx + 1], now[lz + 2][ly + 1][lx + 1]};
#pragma unroll
        for (const float beside : faces)
          if (beside >= 0) distances.add_face(beside);
        if (const float weight = distances.weight(scale); weight > 0)
          found.add(terms, place(x + dx, y + dy, z + dz), weight);
      }
  if (!own) return;
#pragma unroll
  for (int k = 0; k < kTriangle; ++k) sums[k * voxels + v] = found.information[k];
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    sums[(kTriangle + k) * voxels + v] = found.measured[k];
    sums[(kTriangle + 6 + k) * voxels + v] = found.denoised[k];
  }
  sums[(kTriangle + 12) * voxels + v] = found.weights;
}

namespace {

__device__ AdaptiveSums stored_sums(const AdaptiveBuffers& buffers, std::int64_t v, std::int64_t voxels) {
  AdaptiveSums sums;
#pragma unroll
  for (int k = 0; k < kTriangle; ++k) sums.information[k] = buffers.sums[k * voxels + v];
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    sums.measured[k] = buffers.sums[(kTriangle + k) * voxels + v];
    sums.denoised[k] = buffers.sums[(kTriangle + 6 + k) * voxels + v];
  }
  sums.weights = buffers.sums[(kTriangle + 12) * voxels + v];
  return sums;
}
__device__ SixElements stored(const float* tensors, std::int64_t v, std::int64_t voxels) {
  SixElements tensor;
#pragma unroll
  for (int i = 0; i < 6; ++i) tensor[i] = static_cast<double>(tensors[i * voxels + v]);
  return tensor;
}
__device__ void store(float* tensors, std::int64_t v, std::int64_t voxels, const SixElements& tensor) {
#pragma unroll
  for (int i = 0; i < 6; ++i) tensors[i * voxels + v] = static_cast<float>(tensor[i]);
}

}  // namespace

__global__ void __launch_bounds__(kThreads)
    adaptive_wide(const AdaptiveBuffers buffers, const double prior, const double typical) {
  const std::int64_t v = own_voxel(), voxels = buffers.terms.voxels();
  if (v >= voxels || buffers.terms.fitted[v] == 0) return;
  const AdaptiveSums sums = stored_sums(buffers, v, voxels);
  store(buffers.tensor, v, voxels, combined_tensor(sums, prior, typical));
  buffers.neighbours[v] = sums.weights;
}

__global__ void __launch_bounds__(kThreads)
    adaptive_narrow(const AdaptiveBuffers buffers, const double prior, const double typical) {
  const std::int64_t v = own_voxel(), voxels = buffers.terms.voxels();
  if (v >= voxels || buffers.terms.fitted[v] == 0) return;
  const AdaptiveSums sums = stored_sums(buffers, v, voxels);
  const SixElements narrow = combined_tensor(sums, prior, typical);
  store(buffers.narrow, v, voxels, narrow);
  buffers.apart[v] = static_cast<float>(disagreement(sums, narrow, stored(buffers.tensor, v, voxels)));
}

__global__ void __launch_bounds__(kThreads) adaptive_reconcile(const AdaptiveBuffers buffers) {
  const std::int64_t v = own_voxel(), voxels = buffers.terms.voxels();
  if (v >= voxels || buffers.terms.fitted[v] == 0) return;
  store(buffers.tensor, v, voxels,
        reconciled_tensor(stored(buffers.tensor, v, voxels), stored(buffers.narrow, v, voxels),
                          mean_beside(buffers.terms, buffers.apart, v)));
}

__global__ void __launch_bounds__(kThreads)
    adaptive_finish(const AdaptiveBuffers buffers, const double largest_b) {
  const std::int64_t v = own_voxel(), voxels = buffers.terms.voxels();
  if (v >= voxels || buffers.terms.fitted[v] == 0) return;
  SixElements tensor = stored(buffers.tensor, v, voxels);
  const double s0 = fitted_s0(buffers.design, Signals(buffers, v), tensor, buffers.table);
  buffers.s0[v] = static_cast<float>(static_cast<double>(buffers.noise[v]) * s0);
#pragma unroll
  for (int i = 0; i < 6; ++i) tensor[i] /= largest_b;
  store(buffers.tensor, v, voxels, tensor);
}

__global__ void __launch_bounds__(kThreads)
    adaptive_expect(const AdaptiveBuffers buffers, const double largest_b) {
  const std::int64_t v = own_voxel(), voxels = buffers.terms.voxels();
  if (v >= voxels || buffers.terms.fitted[v] == 0) return;
  SixElements tensor = stored(buffers.tensor, v, voxels);
#pragma unroll
  for (int i = 0; i < 6; ++i) tensor[i] *= largest_b;
  const Signals signals(buffers, v);
  const double s0 = signals.scale * static_cast<double>(buffers.s0[v]);
  for (int i = 0; i < buffers.design.measurements; ++i)
    buffers.denoised[i * voxels + v] = static_cast<float>(
        expected_signal(signals.denoised(i), buffers.design.rows[i], tensor, s0, buffers.table) /
        signals.scale);
}

namespace {

unsigned blocks_of(const AdaptiveBuffers& buffers) {
  return static_cast<unsigned>((buffers.terms.voxels() + kThreads - 1) / kThreads);
}

}  // namespace

cudaError_t launch_adaptive_terms(const AdaptiveBuffers& buffers, cudaStream_t stream) {
  adaptive_terms<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_guide(const AdaptiveBuffers& buffers, double typical, cudaStream_t stream) {
  adaptive_guide<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers.terms, buffers.sharper, typical);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_sums(const AdaptiveBuffers& buffers, double bandwidth, int radius,
                                 cudaStream_t stream) {
  const auto blocks = [](std::int64_t extent, int part) {
    return static_cast<unsigned>((extent + part - 1) / part);
  };
  const AdaptiveView& terms = buffers.terms;
  const float scale = bandwidth > 0 ? static_cast<float>(1 / bandwidth) : 0;
  adaptive_sums<<<dim3(blocks(terms.nx, kX), blocks(terms.ny, kY), blocks(terms.nz, kZ)), kPooling, 0,
                  stream>>>(terms, buffers.sums, scale, bandwidth > 0 ? radius : 0);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_wide(const AdaptiveBuffers& buffers, double prior, double typical,
                                 cudaStream_t stream) {
  adaptive_wide<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers, prior, typical);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_narrow(const AdaptiveBuffers& buffers, double prior, double typical,
                                   cudaStream_t stream) {
  adaptive_narrow<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers, prior, typical);
  adaptive_reconcile<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_finish(const AdaptiveBuffers& buffers, double largest_b, cudaStream_t stream) {
  adaptive_finish<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers, largest_b);
  return cudaGetLastError();
}

cudaError_t launch_adaptive_expect(const AdaptiveBuffers& buffers, double largest_b, cudaStream_t stream) {
  adaptive_expect<<<blocks_of(buffers), kThreads, 0, stream>>>(buffers, largest_b);
  return cudaGetLastError();
}

}  // namespace warploom::imaging
