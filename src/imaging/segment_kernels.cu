#include <cstdint>

#include "segment_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kThreads = 256, kWarp = 32;

/// A tile lies in the plane of x and y; a thread has one column of kRows voxels of it. In three dimensions a
/// block walks through kPlanes planes and keeps the plane below and above in registers.
template <int kDimensions>
struct TileShape {
  static constexpr int kWidth = kDimensions == 2 ? 128 : 64;
  static constexpr int kRows = kDimensions == 2 ? 16 : 4;
  static constexpr int kHeight = kThreads / kWidth * kRows;
  static constexpr int kPlanes = kDimensions == 2 ? 1 : 16;
};

__host__ __device__ constexpr int pieces(int extent, int piece) { return (extent + piece - 1) / piece; }

__device__ double warp_sum(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

}  // namespace

/// One iteration: reads `before`, writes `after`, and adds up what the next one needs. Sums are taken in a
/// fixed order: voxels in a thread, threads in a block, and blocks by the block that finishes last, which
/// also advances the state. Launch: grid (blocks); block kThreads.
template <int kDimensions>
__global__ void __launch_bounds__(kThreads, 4)
    segment_step(const float* __restrict__ image,   // [nz, ny, nx]
                 const float* __restrict__ before,  // [nz, ny, nx]
                 float* __restrict__ after,         // [nz, ny, nx]
                 double* partial_sums,              // [kStepSums, blocks]
                 double* energies,                  // [max_iterations]
                 RunState* state, unsigned* finished_blocks, const RunConstants constants, const int nx,
                 const int ny, const int nz) {
  using Shape = TileShape<kDimensions>;
  constexpr int kWidth = Shape::kWidth, kHeight = Shape::kHeight, kRows = Shape::kRows;
  __shared__ float tile[kHeight + 2][kWidth + 2];  // one plane, with its neighbours; corners stay unused
  __shared__ float scratch[kStepSums][kThreads];
  __shared__ double total[kStepSums];
  __shared__ bool last;

  if (state->done != 0) return;  // written by the launch before
  const float mean_in = static_cast<float>(state->mean_in), mean_out = static_cast<float>(state->mean_out);
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kWidth, first_row = thread / kWidth * kRows;
  const int tiles_x = pieces(nx, kWidth), tiles_y = pieces(ny, kHeight), tiles_z = pieces(nz, Shape::kPlanes);
  const std::int64_t plane = static_cast<std::int64_t>(nx) * ny;

  float sums[kStepSums] = {};
  for (int item = static_cast<int>(blockIdx.x); item < tiles_x * tiles_y * tiles_z;
       item += static_cast<int>(gridDim.x)) {
    const int x0 = item % tiles_x * kWidth, y0 = item / tiles_x % tiles_y * kHeight;
    const int z0 = item / tiles_x / tiles_y * Shape::kPlanes, z_end = min(z0 + Shape::kPlanes, nz);
    const int x = x0 + column, x_in = min(x, nx - 1);
    // In the plane; outside the image the nearest voxel stands in.
    const auto offset = [&](int r) { return min(y0 + first_row + r, ny - 1) * nx + x_in; };

    float below[kRows], here[kRows];  // two dimensions need neither beyond the next lines
    for (int r = 0; r < kRows; ++r) {
      here[r] = before[z0 * plane + offset(r)];
      if (kDimensions == 3) below[r] = before[max(z0 - 1, 0) * plane + offset(r)];
    }
    for (int z = z0; z < z_end; ++z) {
      const float* level = before + z * plane;
      float above[kRows];
      for (int r = 0; r < kRows; ++r) {
        if (kDimensions == 3) above[r] = before[min(z + 1, nz - 1) * plane + offset(r)];
        tile[1 + first_row + r][1 + column] = here[r];
      }
      if (thread < 2 * kWidth) {  // the rows above and below the tile
        const int side = thread / kWidth;
        tile[side * (kHeight + 1)][1 + column] =
            level[min(max(y0 - 1 + side * (kHeight + 1), 0), ny - 1) * nx + x_in];
      }
      if (thread < 2 * kHeight) {  // the columns left and right of it
        const int side = thread / kHeight, row = thread % kHeight;
        tile[1 + row][side * (kWidth + 1)] =
            level[min(y0 + row, ny - 1) * nx + min(max(x0 - 1 + side * (kWidth + 1), 0), nx - 1)];
      }
      __syncthreads();  // the tile is whole
      float up = tile[first_row][1 + column], centre = tile[1 + first_row][1 + column];
#pragma unroll 4
      for (int r = 0; r < kRows; ++r) {
        const float(&row)[kWidth + 2] = tile[1 + first_row + r];
        const float down = tile[2 + first_row + r][1 + column];
        const Neighbours around{row[column],
                                row[column + 2],
                                up,
                                down,
                                kDimensions == 3 ? below[r] : 0.0F,
                                kDimensions == 3 ? above[r] : 0.0F};
        const float value = image[z * plane + offset(r)];
        const VoxelStep step =
            voxel_step<kDimensions>(constants.step, mean_in, mean_out, value, centre, around);
        if (x < nx && y0 + first_row + r < ny) {
          const float next = centre + step.change;
          after[z * plane + offset(r)] = next;
          sums[kEnergy] += step.energy;
          sums[kHeaviside] += step.heaviside;
          sums[kHeavisideImage] += step.heaviside * value;
          sums[kChange] += step.change * step.change;
          sums[kInside] += next > 0 ? 1.0F : 0.0F;
          sums[kInsideImage] += next > 0 ? value : 0.0F;
        }
        if (kDimensions == 3) below[r] = centre, here[r] = above[r];
        up = centre, centre = down;
      }
      __syncthreads();  // the tile may be overwritten
    }
  }

  // The block's sums: a warp each.
  const int warp = thread / kWarp, lane = thread % kWarp, blocks = static_cast<int>(gridDim.x);
  for (int s = 0; s < kStepSums; ++s) scratch[s][thread] = sums[s];
  __syncthreads();
  if (warp < kStepSums) {
    double sum = 0;
    for (int t = lane; t < kThreads; t += kWarp) sum += static_cast<double>(scratch[warp][t]);
    sum = warp_sum(sum);
    if (lane == 0) partial_sums[warp * blocks + static_cast<int>(blockIdx.x)] = sum;
  }
  __syncthreads();
  if (thread == 0) {
    __threadfence();  // this block's sums, before it counts as finished
    last = atomicAdd(finished_blocks, 1U) == gridDim.x - 1;
    __threadfence();  // the other blocks' sums, after they do
  }
  __syncthreads();
  if (!last) return;
  if (warp < kStepSums) {
    double sum = 0;
    for (int b = lane; b < blocks; b += kWarp) sum += __ldcg(partial_sums + warp * blocks + b);
    sum = warp_sum(sum);
    if (lane == 0) total[warp] = sum;
  }
  __syncthreads();
  if (thread == 0) {
    RunState next = *state;
    advance(next, total, constants);
    energies[next.iteration - 1] = next.energy;
    *state = next;
    *finished_blocks = 0;
  }
}

namespace {

template <int kDimensions>
cudaError_t resident_blocks(int nx, int ny, int nz, int& blocks) {
  using Shape = TileShape<kDimensions>;
  int device = 0, processors = 0, each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, segment_step<kDimensions>, kThreads, 0);
  const std::int64_t items = static_cast<std::int64_t>(pieces(nx, Shape::kWidth)) *
                             pieces(ny, Shape::kHeight) * pieces(nz, Shape::kPlanes);
  const std::int64_t resident = static_cast<std::int64_t>(processors) * each;
  blocks = static_cast<int>(items < resident ? items : resident);
  return error;
}

}  // namespace

cudaError_t segment_step_blocks(int nx, int ny, int nz, int& blocks) {
  return nz > 1 ? resident_blocks<3>(nx, ny, nz, blocks) : resident_blocks<2>(nx, ny, nz, blocks);
}

cudaError_t launch_segment_step(const SegmentBuffers& b, const RunConstants& constants, int nx, int ny,
                                int nz, int blocks, int k, cudaStream_t stream) {
  const auto kernel = nz > 1 ? segment_step<3> : segment_step<2>;
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      b.image, b.level_set[k % 2], b.level_set[(k + 1) % 2], b.partial_sums, b.energies, b.state,
      b.finished_blocks, constants, nx, ny, nz);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
