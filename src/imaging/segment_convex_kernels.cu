#include <algorithm>
#include <cstdint>
#include <limits>

#include "segment_convex_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kWarp = 32, kThreads = 256, kRows = kThreads / kWarp;  // a warp has a part of one row
constexpr int kLevelThreads = 1024;
constexpr int kLevelVoxels = 1 << 15;  // of a block: their sums fit into 32 bits

/// A voxel's place, and how far its neighbours along an axis are in memory.
struct Place {
  int x, y, z;
  std::int64_t at, row, slice;
};

/// Where edge e goes: those of edges_of() are, in their order, the neighbours after a voxel in memory. Known
/// to the compiler, so that checks and offsets are shared among the edges. The host leaves out axes with one
/// voxel.
struct Step {
  int dx, dy, dz;
  __device__ std::int64_t offset(const Place& place) const { return dz * place.slice + dy * place.row + dx; }
  /// Is the neighbour to the one side (sign 1) or the other (-1) in the image?
  __device__ bool stays(const ConvexShape& shape, const Place& place, int sign) const {
    return inside(place.x, sign * dx, shape.nx) && inside(place.y, sign * dy, shape.ny) &&
           inside(place.z, sign * dz, shape.nz);
  }

 private:
  __device__ static bool inside(int at, int step, int end) {
    return step == 0 || (step > 0 ? at + 1 < end : at > 0);
  }
};
__device__ constexpr Step step_of(int e) {
  return {(14 + e) % 3 - 1, (14 + e) / 3 % 3 - 1, (14 + e) / 9 - 1};
}

/// Calls body(place) for each voxel of the thread, columns threadIdx.x and rows threadIdx.y of the block's
/// tiles: block x, y, z of the grid, and so on in steps of the grid. No division: it would cost more than a
/// voxel's arithmetic.
template <class Body>
__device__ void for_voxels(const ConvexShape& shape, const Body& body) {
  const int first_x = static_cast<int>(blockIdx.x * kWarp + threadIdx.x),
            first_y = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  const int step_x = static_cast<int>(gridDim.x) * kWarp, step_y = static_cast<int>(gridDim.y) * kRows;
  const std::int64_t slice = static_cast<std::int64_t>(shape.nx) * shape.ny;
  for (int z = static_cast<int>(blockIdx.z); z < shape.nz; z += static_cast<int>(gridDim.z))
    for (int y = first_y; y < shape.ny; y += step_y)
      for (int x = first_x; x < shape.nx; x += step_x)
        body(Place{x, y, z, z * slice + static_cast<std::int64_t>(y) * shape.nx + x, shape.nx, slice});
}

/// u + div p.
template <int kEdges>
__device__ float target_of(const float* image, const float* duals, const Edges& edges,
                           const ConvexShape& shape, std::int64_t voxels, const Place& place) {
  float sum = image[place.at];
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    const float* p = duals + e * voxels + place.at;
    float flux = p[0];
    if (step_of(e).stays(shape, place, -1)) flux -= p[-step_of(e).offset(place)];
    sum += edges.edge[e].weight * flux;
  }
  return sum;
}

template <class Number>
__device__ Number warp_sum_of(Number value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

}  // namespace

/// p = clip(p + sigma weight difference) within lambda. Launch: any grid; block (kWarp, kRows).
template <int kEdges>
__global__ void __launch_bounds__(kThreads)
    convex_dual(const float* __restrict__ extrapolated,  // [nz, ny, nx]
                const unsigned char* __restrict__ mask,  // [nz, ny, nx], or null
                float* __restrict__ duals,               // [kEdges, nz, ny, nx]
                const Edges edges, const ConvexShape shape, const float sigma, const float lambda) {
  const std::int64_t voxels = static_cast<std::int64_t>(shape.nx) * shape.ny * shape.nz;
  for_voxels(shape, [&](const Place& place) {
    const float here = extrapolated[place.at];
    const bool counts = mask == nullptr || mask[place.at] != 0;
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      if (!step_of(e).stays(shape, place, 1)) continue;
      const std::int64_t there = place.at + step_of(e).offset(place);
      const float most = counts && (mask == nullptr || mask[there] != 0) ? lambda : 0.0F;
      float* p = duals + e * voxels + place.at;
      const float next = *p + sigma * edges.edge[e].weight * (extrapolated[there] - here);
      *p = fminf(fmaxf(next, -most), most);
    }
  });
}

/// v = (v + tau (u + div p)) / (1 + tau), and its extrapolation. Launch: as convex_dual.
template <int kEdges>
__global__ void __launch_bounds__(kThreads)
    convex_primal(const float* __restrict__ image,  // [nz, ny, nx]
                  const float* __restrict__ duals,  // [kEdges, nz, ny, nx]
                  float* __restrict__ v,            // [nz, ny, nx]
                  float* __restrict__ extrapolated, const Edges edges, const ConvexShape shape,
                  const float tau, const float theta) {
  const std::int64_t voxels = static_cast<std::int64_t>(shape.nx) * shape.ny * shape.nz;
  const float scale = 1.0F / (1.0F + tau);
  for_voxels(shape, [&](const Place& place) {
    const float before = v[place.at];
    const float next = (before + tau * target_of<kEdges>(image, duals, edges, shape, voxels, place)) * scale;
    v[place.at] = next;
    extrapolated[place.at] = next + theta * (next - before);
  });
}

/// Launch: grid (voxels / kLevelVoxels, rounded up); block (kLevelThreads).
__global__ void __launch_bounds__(kLevelThreads)
    convex_levels(const float* __restrict__ image, const unsigned char* __restrict__ mask,
                  const float* __restrict__ v, unsigned long long* levels,  // [3, kLevels]
                  const std::int64_t voxels) {
  __shared__ unsigned sums[3][kLevels];
  for (int k = static_cast<int>(threadIdx.x); k < 3 * kLevels; k += kLevelThreads)
    sums[k / kLevels][k % kLevels] = 0;
  __syncthreads();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kLevelVoxels;
  for (int k = static_cast<int>(threadIdx.x); k < kLevelVoxels;
       k += kLevelThreads) {  // all threads, all rounds
    const std::int64_t at = first + k;
    const bool counts = at < voxels && (mask == nullptr || mask[at] != 0);
    const float u = counts ? image[at] : 0.0F;
    const int level = counts ? level_of(v[at]) : -1;
    unsigned count = counts ? 1U : 0U, sum = level_fixed(u), square = level_fixed(u * u);
    // Most warps lie within one side, whose voxels are all of a level: one of them adds for all.
    const int leader = __shfl_sync(0xffffffffU, level, 0);
    const bool one_level = __all_sync(0xffffffffU, level == leader) != 0;
    if (one_level) {
      count = warp_sum_of(count), sum = warp_sum_of(sum), square = warp_sum_of(square);
      if (threadIdx.x % kWarp != 0) continue;
    }
    if (level < 0) continue;
    atomicAdd(&sums[0][level], count);
    atomicAdd(&sums[1][level], sum);
    atomicAdd(&sums[2][level], square);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < 3 * kLevels; k += kLevelThreads) {
    const unsigned sum = sums[k / kLevels][k % kLevels];
    if (sum != 0) atomicAdd(levels + k, static_cast<unsigned long long>(sum));
  }
}

/// Adds to sides. Launch: grid (blocks); block (kThreads).
__global__ void __launch_bounds__(kThreads)
    convex_sides(const float* __restrict__ image, const unsigned char* __restrict__ mask,
                 const float* __restrict__ v, unsigned long long* sides,  // voxels, sum of u
                 const std::int64_t voxels, const float threshold) {
  __shared__ unsigned long long counts[kRows], sums[kRows];
  unsigned long long inside = 0, sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
#pragma unroll 4
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < voxels;
       at += step)
    if (v[at] > threshold && (mask == nullptr || mask[at] != 0))
      ++inside, sum += static_cast<unsigned long long>(set_fixed(image[at]));
  inside = warp_sum_of(inside), sum = warp_sum_of(sum);
  if (threadIdx.x % kWarp == 0) counts[threadIdx.x / kWarp] = inside, sums[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int k = 1; k < kRows; ++k) inside += counts[k], sum += sums[k];
  if (inside == 0) return;
  atomicAdd(sides, inside);  // whole numbers: in any order
  atomicAdd(sides + 1, sum);
}

/// Launch: a grid of `blocks` blocks; block (kWarp, kRows).
template <int kEdges>
__global__ void __launch_bounds__(kThreads)
    convex_measure(const float* __restrict__ image, const unsigned char* __restrict__ mask,
                   const float* __restrict__ v, const float* __restrict__ duals,
                   long long* partial_counts,  // [2, blocks]
                   double* partial_sums,       // [2, blocks]
                   const Edges edges, const ConvexShape shape, const float threshold) {
  __shared__ long long counts[2][kRows];
  __shared__ double sums[2][kRows];
  const std::int64_t voxels = static_cast<std::int64_t>(shape.nx) * shape.ny * shape.nz;
  long long inside = 0, sum = 0;
  double length = 0, excess = 0;
  for_voxels(shape, [&](const Place& place) {
    if (mask != nullptr && mask[place.at] == 0) return;
    const bool above = v[place.at] > threshold;
    if (above) ++inside, sum += set_fixed(image[place.at]);
    float cut = 0;
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      if (!step_of(e).stays(shape, place, 1)) continue;
      const std::int64_t there = place.at + step_of(e).offset(place);
      if ((mask == nullptr || mask[there] != 0) && (v[there] > threshold) != above)
        cut += edges.edge[e].weight;
    }
    length += static_cast<double>(cut);
    excess += static_cast<double>(
        fmaxf(target_of<kEdges>(image, duals, edges, shape, voxels, place) - threshold, 0.0F));
  });
  inside = warp_sum_of(inside), sum = warp_sum_of(sum);
  length = warp_sum_of(length), excess = warp_sum_of(excess);
  if (threadIdx.x == 0) {
    counts[0][threadIdx.y] = inside, counts[1][threadIdx.y] = sum;
    sums[0][threadIdx.y] = length, sums[1][threadIdx.y] = excess;
  }
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x < 2) {
    long long count = 0;
    double total = 0;
    for (int k = 0; k < kRows; ++k) count += counts[threadIdx.x][k], total += sums[threadIdx.x][k];
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    partial_counts[threadIdx.x * blocks + block] = count;
    partial_sums[threadIdx.x * blocks + block] = total;
  }
}

namespace {

/// A tile each, in a grid of at most `most` blocks; beyond that a block has several.
dim3 grid_of(const ConvexShape& shape, unsigned most) {
  const auto tiles_x = static_cast<unsigned>((shape.nx + kWarp - 1) / kWarp),
             tiles_y = static_cast<unsigned>((shape.ny + kRows - 1) / kRows);
  constexpr unsigned kMost = 65535;  // along y and z
  dim3 grid;
  grid.y = std::min({tiles_y, most, kMost});
  grid.x = std::min(tiles_x, most / grid.y);
  grid.z = std::min({static_cast<unsigned>(shape.nz), most / (grid.x * grid.y), kMost});
  return grid;
}

template <int kEdges>
cudaError_t step(const ConvexBuffers& b, const Edges& edges, ConvexShape shape, float sigma, float lambda,
                 float tau, float theta, cudaStream_t stream) {
  const dim3 grid = grid_of(shape, std::numeric_limits<int>::max()), block(kWarp, kRows);
  convex_dual<kEdges><<<grid, block, 0, stream>>>(b.extrapolated, b.mask, b.p, edges, shape, sigma, lambda);
  convex_primal<kEdges>
      <<<grid, block, 0, stream>>>(b.image, b.p, b.v, b.extrapolated, edges, shape, tau, theta);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t launch_convex_step(const ConvexBuffers& b, const Edges& edges, ConvexShape shape, float sigma,
                               float lambda, float tau, float theta, cudaStream_t stream) {
  return edges.count == 13  ? step<13>(b, edges, shape, sigma, lambda, tau, theta, stream)
         : edges.count == 4 ? step<4>(b, edges, shape, sigma, lambda, tau, theta, stream)
                            : step<1>(b, edges, shape, sigma, lambda, tau, theta, stream);
}

cudaError_t launch_convex_levels(const ConvexBuffers& b, std::int64_t voxels, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((voxels + kLevelVoxels - 1) / kLevelVoxels);
  convex_levels<<<blocks, kLevelThreads, 0, stream>>>(b.image, b.mask, b.v, b.levels, voxels);
  return cudaPeekAtLastError();
}

cudaError_t launch_convex_sides(const ConvexBuffers& b, std::int64_t voxels, float threshold,
                                cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 1024, kVoxels = 4 * kThreads;  // of a block at least
  const auto blocks = static_cast<unsigned>(std::min((voxels + kVoxels - 1) / kVoxels, kMostBlocks));
  convex_sides<<<blocks, kThreads, 0, stream>>>(b.image, b.mask, b.v, b.sides, voxels, threshold);
  return cudaPeekAtLastError();
}

namespace {

/// Blocks of a plane depend on nothing but its size, so that sums of a plane do not depend on how many there
/// are.
dim3 measure_grid(const ConvexShape& shape) {
  const ConvexShape plane{shape.nx, shape.ny, 1};
  const unsigned tiles = static_cast<unsigned>((shape.nx + kWarp - 1) / kWarp) *
                         static_cast<unsigned>((shape.ny + kRows - 1) / kRows);
  constexpr unsigned kMost = 1024, kFewest = 8, kTiles = 64;  // of a block, where there are several planes
  dim3 grid = grid_of(plane, shape.nz == 1 ? kMost : std::min(std::max(tiles / kTiles, kFewest), kMost));
  grid.z = static_cast<unsigned>(std::min(shape.nz, 65535));
  return grid;
}

}  // namespace

int convex_measure_blocks(ConvexShape shape) {
  const dim3 grid = measure_grid(shape);
  return static_cast<int>(grid.x * grid.y * grid.z);
}
int convex_measure_layers(ConvexShape shape) { return static_cast<int>(measure_grid(shape).z); }

cudaError_t launch_convex_measure(const ConvexBuffers& b, const Edges& edges, ConvexShape shape,
                                  float threshold, cudaStream_t stream) {
  const dim3 grid = measure_grid(shape), block(kWarp, kRows);
  const auto kernel = edges.count == 13  ? convex_measure<13>
                      : edges.count == 4 ? convex_measure<4>
                                         : convex_measure<1>;
  kernel<<<grid, block, 0, stream>>>(b.image, b.mask, b.v, b.p, b.partial_counts, b.partial_sums, edges,
                                     shape, threshold);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
