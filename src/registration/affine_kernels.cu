#include "affine_kernels.hpp"
#include "greedy_lncc.cuh"
#include "greedy_voxels.cuh"
#include "greedy_windows.cuh"

namespace warploom::registration {
namespace {

__device__ void mapped(const DeviceMap& map, int x, int y, int z, float (&out)[3]) {
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const float(&m)[4] = map.row[r];
    out[r] =
        (m[1] * static_cast<float>(y) + m[2] * static_cast<float>(z) + m[3]) + m[0] * static_cast<float>(x);
  }
}

struct MomentPass : StatisticSums {
  const MomentArguments& of;
  float total[kMoments] = {};

  __device__ explicit MomentPass(const MomentArguments& arguments)
      : StatisticSums{arguments.lncc}, of(arguments) {}

  __device__ void use(int x, int y, int z, const float (&s)[5]) {
    const float *fixed = a.warped, *moving = fixed + a.grid.voxels();
    const std::int64_t at = a.grid.at(x, y, z);
    const float derivative = 2 * (fixed[at] * s[0] - moving[at] * s[1] - s[3]);
    float p[3], slope[3];
    mapped(of.map, x, y, z, p);
    Between(of.image.grid, p).slopes(of.image.data, slope);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const float d = derivative * slope[i];
      total[4 * i] += d * static_cast<float>(x), total[4 * i + 1] += d * static_cast<float>(y);
      total[4 * i + 2] += d * static_cast<float>(z), total[4 * i + 3] += d;
    }
  }
};

}  // namespace

/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) draw_image(const DrawArguments a) {
  const std::int64_t at = own_voxel();
  if (at >= a.grid.voxels()) return;
  const Voxel v(at, a.grid);
  float p[3];
  mapped(a.map, v.x, v.y, v.z, p);
  a.drawn[at] = Between(a.image.grid, p).mean(a.image.data);
  const bool own = a.own_counts == nullptr || a.own_counts[at] != 0;
  a.counts[at] = own && inside(p, a.image.grid) && !masked_out(p, a.image) ? 1 : 0;
}

/// Launch: lncc_launch(), WindowPass::statistics.
template <int kRadius>
__global__ void __launch_bounds__(kTileThreads, 1) lncc_moments(const MomentArguments a) {
  __shared__ double scratch[kTileThreads / 32];
  MomentPass pass(a);
  const int z = static_cast<int>(blockIdx.z) * a.lncc.planes;
  for_lncc<kRadius>(pass, a.lncc, z, min(z + a.lncc.planes, a.lncc.grid.nz));
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x,
                 blocks = gridDim.x * gridDim.y * gridDim.z;
#pragma unroll
  for (int k = 0; k < kMoments; ++k) {
    const double sum = block_sum(static_cast<double>(pass.total[k]), scratch);
    if (threadIdx.x == 0) a.moments[k * blocks + block] = sum;
  }
}

/// Launch: moment_sums_launch().
__global__ void __launch_bounds__(kVoxelThreads) add_up_moments(const MomentSums a) {
  __shared__ double scratch[kVoxelThreads / 32];
  const double* from = blockIdx.x == 0 ? a.parts : a.moments + (blockIdx.x - 1) * a.count;
  double mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < a.count; i += kVoxelThreads) mine += from[i];
  mine = block_sum(mine, scratch);
  if (threadIdx.x == 0) a.sums[blockIdx.x] = a.scale * mine;
}

cudaError_t launch_draw(const DrawArguments& a, cudaStream_t stream) {
  return launch(draw_image, voxel_launch(a.grid.voxels()), stream, a);
}
cudaError_t launch_moments(const MomentArguments& a, cudaStream_t stream) {
  return launch(a.lncc.radius == 2 ? lncc_moments<2> : lncc_moments<kAnyRadius>,
                lncc_launch(a.lncc, WindowPass::statistics), stream, a);
}
cudaError_t launch_moment_sums(const MomentSums& a, cudaStream_t stream) {
  return launch(add_up_moments, moment_sums_launch(), stream, a);
}

}  // namespace warploom::registration
