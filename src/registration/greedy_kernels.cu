#include "greedy_kernels.hpp"
#include "greedy_lncc.cuh"
#include "greedy_smooth.cuh"
#include "greedy_voxels.cuh"
#include "greedy_windows.cuh"

namespace warploom::registration {
namespace {

/// Central differences, one-sided at the border; none along an axis of one voxel.
__device__ void put_force(const DeviceGrid& e, const float* fixed, const float* moving,
                          const float (&weight)[3], int x, int y, int z, float d_fixed, float d_moving,
                          float* force) {
  const int place[3] = {x, y, z}, extent[3] = {e.nx, e.ny, e.nz};
  const std::int64_t stride[3] = {1, e.nx, e.plane()}, at = e.at(x, y, z);
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const bool up = place[axis] + 1 < extent[axis], down = place[axis] > 0;
    const std::int64_t next = at + (up ? stride[axis] : 0), before = at - (down ? stride[axis] : 0);
    const float each = up && down ? weight[axis] / 2 : weight[axis];
    force[axis * e.voxels() + at] =
        each * (d_moving * (moving[next] - moving[before]) - d_fixed * (fixed[next] - fixed[before]));
  }
}

__device__ float window_size(int at, int radius, int count) {
  return static_cast<float>(min(count, at + radius + 1) - max(0, at - radius));
}

/// measure_lncc.cpp has the formulas.
struct StatisticsPass {
  static constexpr int kValues = 2, kSums = 5, kFiles = 2;
  static constexpr bool kImages = false;
  const LnccArguments& a;
  int radius;
  float total = 0;

  __device__ void read(int x, int y, int z, float (&values)[2]) const {
    const DeviceGrid& e = a.grid;
    values[0] = values[1] = 0;
    if (x < 0 || y < 0 || z < 0 || x >= e.nx || y >= e.ny || z >= e.nz) return;
    const std::int64_t at = e.at(x, y, z);
    values[0] = a.warped[at], values[1] = a.warped[at + e.voxels()];
  }
  __device__ const float* files() const { return a.warped; }
  __device__ static void sum_rows(const float* from, float* to) {
    float i[8], j[8], product[8];
    load_row(from, i), load_row(from + kStagedPlane, j);
    const auto put = [&](int s, const float(&v)[8]) {
      *reinterpret_cast<float4*>(to + s * kSummedPlane) = sums_of_five(v);
    };
    const auto put_products = [&](int s, const float(&v)[8], const float(&w)[8]) {
#pragma unroll
      for (int k = 0; k < 8; ++k) product[k] = v[k] * w[k];
      put(s, product);
    };
    put(0, i), put(1, j);
    put_products(2, i, i), put_products(3, j, j), put_products(4, i, j);
  }
  __device__ static void add(const float (&v)[2], int, float (&sums)[5]) {
    sums[0] += v[0], sums[1] += v[1], sums[2] += v[0] * v[0], sums[3] += v[1] * v[1], sums[4] += v[0] * v[1];
  }
  __device__ static float weight(int, int) { return 1; }
  __device__ void use(int x, int y, int z, const float (&s)[5]) {
    const DeviceGrid& e = a.grid;
    const std::int64_t at = e.at(x, y, z), voxels = e.voxels();
    const float n =
        window_size(x, radius, e.nx) * window_size(y, radius, e.ny) * window_size(z, radius, e.nz);
    const float one = 1 / n, mean_i = s[0] * one, mean_j = s[1] * one;
    const float noise = n * a.floor, covariance = s[4] - s[0] * mean_j + noise;
    const float b = fmaxf(s[2] - s[0] * mean_i, 0.0F) + noise;
    const float c = fmaxf(s[3] - s[1] * mean_j, 0.0F) + noise;
    // Variances are of order n and not below .001 n: their product is far from the ends of what floats hold.
    const float of_both = 1 / (b * c), one_of_b = c * of_both, one_of_c = b * of_both;
    const float counted = a.counts[at] != 0 ? 1.0F : 0.0F, share = covariance * of_both * counted;
    const float squared = covariance * share, of_c = squared * one_of_c, of_b = squared * one_of_b;
    float* out = a.statistics + at;
    out[0] = share, out[voxels] = of_c, out[2 * voxels] = of_b;
    out[3 * voxels] = share * mean_i - of_c * mean_j;
    out[4 * voxels] = share * mean_j - of_b * mean_i;
    total += squared + (1 - counted) * noise * one_of_b;
  }
};

struct ForcePass : StatisticSums {
  static constexpr bool kImages = true;
  __device__ const float* images() const { return a.warped; }

  /// Of windows of any radius.
  __device__ void use(int x, int y, int z, const float (&s)[5]) const {
    const float *fixed = a.warped, *moving = fixed + a.grid.voxels();
    const std::int64_t at = a.grid.at(x, y, z);
    const float i = fixed[at], j = moving[at];
    put_force(a.grid, fixed, moving, a.weight, x, y, z, 2 * (j * s[0] - i * s[2] - s[4]),
              2 * (i * s[0] - j * s[1] - s[3]), a.force);
  }
  /// Central differences, one-sided at the border, as put_force().
  __device__ void use(int x, int y, int z, const float (&s)[5], const float* fixed, const float* above,
                      const float (&below)[2]) const {
    const DeviceGrid& e = a.grid;
    const float *f = fixed, *m = fixed + kStagedPlane;
    const float d_fixed = 2 * (m[0] * s[0] - f[0] * s[2] - s[4]),
                d_moving = 2 * (f[0] * s[0] - m[0] * s[1] - s[3]);
    const auto along = [&](float weight, bool up, bool down, float f_next, float f_before, float m_next,
                           float m_before) {
      return (up && down ? weight / 2 : weight) *
             (d_moving * ((up ? m_next : m[0]) - (down ? m_before : m[0])) -
              d_fixed * ((up ? f_next : f[0]) - (down ? f_before : f[0])));
    };
    float* const to = a.force + e.at(x, y, z);
    const std::int64_t voxels = e.voxels();
    to[0] = along(a.weight[0], x + 1 < e.nx, x > 0, f[1], f[-1], m[1], m[-1]);
    to[voxels] = along(a.weight[1], y + 1 < e.ny, y > 0, f[kStagedWidth], f[-kStagedWidth], m[kStagedWidth],
                       m[-kStagedWidth]);
    to[2 * voxels] =
        along(a.weight[2], z + 1 < e.nz, z > 0, above[0], below[0], above[kStagedPlane], below[1]);
  }
};

template <bool kTwo>
struct SmoothPass {
  static constexpr int kValues = kTwo ? 2 : 1, kSums = 1;
  const SmoothArguments& a;
  std::int64_t component;
  float scale;

  __device__ void read(int x, int y, int z, float (&values)[kValues]) const {
    const DeviceGrid& e = a.grid;
    const std::int64_t at =
        component + e.at(min(max(x, 0), e.nx - 1), min(max(y, 0), e.ny - 1), min(max(z, 0), e.nz - 1));
    values[0] = a.a[at];
    if constexpr (kTwo) values[1] = a.b[at];
  }
  __device__ void add(const float (&v)[kValues], int k, float (&sums)[1]) const {
    if constexpr (kTwo)
      sums[0] += a.taps[2][k] * (v[0] + scale * v[1]);
    else
      sums[0] += a.taps[2][k] * v[0];
  }
  __device__ float weight(int axis, int k) const { return a.taps[axis][k]; }
  __device__ void use(int x, int y, int z, const float (&s)[1]) const {
    a.out[component + a.grid.at(x, y, z)] = s[0];
  }
};

}  // namespace

/// Launch: tile_launch(). With all threads that a multiprocessor can have, though a few registers are
/// spilled: it waits for sixteen voxels a voxel.
__global__ void __launch_bounds__(kTileThreads, 8) warp_images(const WarpArguments a) {
  const TileColumn own(a.grid);
  const std::int64_t plane = a.grid.plane(), voxels = a.grid.voxels();
  const auto x = static_cast<float>(own.x), y = static_cast<float>(own.y);
  std::int64_t at = a.grid.at(own.x, own.y, own.z_from);
  for (int plane_of = own.z_from; plane_of < own.z_to; ++plane_of, at += plane) {
    const auto z = static_cast<float>(plane_of);
    const float h[3] = {a.h[at], a.h[at + voxels], a.h[at + 2 * voxels]};
    float p[3], q[3];
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      const float(&m)[4] = a.to_fixed.row[r], (&n)[4] = a.to_moving.row[r];
      p[r] = (m[1] * y + m[2] * z + m[3]) + m[0] * x - (m[0] * h[0] + m[1] * h[1] + m[2] * h[2]);
      q[r] = (n[1] * y + n[2] * z + n[3]) + n[0] * x + (n[0] * h[0] + n[1] * h[1] + n[2] * h[2]);
    }
    const Between there(a.fixed.grid, p), other(a.moving.grid, q);
    a.warped[at] = there.mean(a.fixed.data);
    a.warped[at + voxels] = other.mean(a.moving.data);
    const bool counts = inside(p, a.fixed.grid) && inside(q, a.moving.grid) && !masked_out(p, a.fixed) &&
                        !masked_out(q, a.moving);
    a.counts[at] = counts ? 1 : 0;
  }
}

/// Sums over windows of both images and what local correlation's derivative needs of them. Launch:
/// lncc_launch().
template <int kRadius>
__global__ void __launch_bounds__(kTileThreads, 3) lncc_statistics(const LnccArguments a) {
  __shared__ double scratch[kTileThreads / 32];
  StatisticsPass pass{a, kRadius == kAnyRadius ? a.radius : kRadius};
  const int z = static_cast<int>(blockIdx.z) * a.planes;
  for_lncc<kRadius>(pass, a, z, min(z + a.planes, a.grid.nz));
  const double sum = block_sum(static_cast<double>(pass.total), scratch);
  if (threadIdx.x == 0) a.parts[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

/// Sums of these over windows, the derivative, and the force. Launch: lncc_launch(), WindowPass::force.
template <int kRadius>
__global__ void __launch_bounds__(kTileThreads, 2) lncc_force(const LnccArguments a) {
  const ForcePass pass{{a}};
  const int z = static_cast<int>(blockIdx.z) * a.planes;
  for_lncc<kRadius>(pass, a, z, min(z + a.planes, a.grid.nz));
}

/// Launch: reducing_launch().
__global__ void __launch_bounds__(kVoxelThreads) ssd_force(const SsdArguments a) {
  __shared__ double scratch[kVoxelThreads / 32];
  const DeviceGrid& e = a.grid;
  const std::int64_t voxels = e.voxels();
  const float *fixed = a.warped, *moving = fixed + voxels;
  double sum = 0;
  for (std::int64_t at = std::int64_t{blockIdx.x} * kVoxelThreads + threadIdx.x; at < voxels;
       at += std::int64_t{gridDim.x} * kVoxelThreads) {
    const Voxel v(at, e);
    const float difference = a.counts[at] != 0 ? moving[at] - fixed[at] : 0.0F;
    put_force(e, fixed, moving, a.weight, v.x, v.y, v.z, 2 * difference, -2 * difference, a.force);
    sum += static_cast<double>(difference) * static_cast<double>(difference);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) a.parts[blockIdx.x] = -sum;
}

/// Launch: smooth_launch(); a component for each third of grid.z.
template <int kRadius, bool kTwo>
__global__ void __launch_bounds__(kTileThreads, 3) smooth_field(const SmoothArguments a) {
  const int parts = static_cast<int>(gridDim.z) / 3, z = static_cast<int>(blockIdx.z) % parts * a.planes,
            end = min(z + a.planes, a.grid.nz);
  const float scale = kTwo ? a.step / fmaxf(sqrtf(__uint_as_float(*a.longest)), a.shortest) : 0.0F;
  const std::int64_t component = static_cast<int>(blockIdx.z) / parts * a.grid.voxels();
  if constexpr (kRadius == kAnyRadius) {
    SmoothPass<kTwo> pass{a, component, scale};
    for_windows(pass, a.grid, a.radius, z, end);
  } else {
    smooth_tile<kRadius, kTwo>(a, component, scale, z, end);
  }
}

/// Launch: reducing_launch().
__global__ void __launch_bounds__(kVoxelThreads)
    longest_vector(const float* field, std::int64_t voxels, unsigned* longest) {
  float most = 0;
  for (std::int64_t at = std::int64_t{blockIdx.x} * kVoxelThreads + threadIdx.x; at < voxels;
       at += std::int64_t{gridDim.x} * kVoxelThreads) {
    const float x = field[at], y = field[at + voxels], z = field[at + 2 * voxels];
    most = fmaxf(most, x * x + y * y + z * z);
  }
  // Lengths are not negative, and so their bits are in their order: a maximum does not depend on whose turn
  // it is.
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, offset));
  if (threadIdx.x % 32 == 0) atomicMax(longest, __float_as_uint(most));
}

/// Launch: one block of kVoxelThreads.
__global__ void __launch_bounds__(kVoxelThreads)
    add_up(const double* parts, int count, double scale, double* sum) {
  __shared__ double scratch[kVoxelThreads / 32];
  double mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kVoxelThreads) mine += parts[i];
  mine = block_sum(mine, scratch);
  if (threadIdx.x == 0) *sum = scale * mine;
}

cudaError_t launch_warp(const WarpArguments& a, cudaStream_t stream) {
  return launch(warp_images, tile_launch(a.grid), stream, a);
}
cudaError_t launch_lncc(const LnccArguments& a, cudaStream_t stream) {
  return launch(a.radius == 2 ? lncc_statistics<2> : lncc_statistics<kAnyRadius>, lncc_launch(a), stream, a);
}
cudaError_t launch_lncc_force(const LnccArguments& a, cudaStream_t stream) {
  return launch(a.radius == 2 ? lncc_force<2> : lncc_force<kAnyRadius>, lncc_launch(a, WindowPass::force),
                stream, a);
}
cudaError_t launch_ssd_force(const SsdArguments& a, cudaStream_t stream) {
  return launch(ssd_force, reducing_launch(a.grid.voxels()), stream, a);
}
cudaError_t launch_smooth(const SmoothArguments& a, cudaStream_t stream) {
  const bool two = a.b != nullptr;
  auto* const kernel = a.radius == 2           ? two ? smooth_field<2, true> : smooth_field<2, false>
                                 : a.radius == 6 && !two ? smooth_field<6, false>
                       : two                   ? smooth_field<kAnyRadius, true>
                                               : smooth_field<kAnyRadius, false>;
  return launch(kernel, smooth_launch(a), stream, a);
}
cudaError_t launch_longest(const float* field, std::int64_t voxels, unsigned* longest, cudaStream_t stream) {
  return launch(longest_vector, reducing_launch(voxels), stream, field, voxels, longest);
}
cudaError_t launch_add_up(const double* parts, int count, double scale, double* sum, cudaStream_t stream) {
  return launch(add_up, {{1, 1, 1}, kVoxelThreads, 0}, stream, parts, count, scale, sum);
}

}  // namespace warploom::registration
