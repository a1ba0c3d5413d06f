#include <cstdint>

#include "segment_convex_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kWarp = 32, kThreads = 256, kRows = kThreads / kWarp;  // a warp has a part of one row
constexpr int kLevelThreads = 1024;
constexpr int kLevelVoxels = 1 << 15;  // of a block: their sums fit into 32 bits

/// A voxel's place, and which of its neighbours are there.
struct Place {
  int x, y, z;
  std::int64_t at;
  __device__ bool has(const ConvexShape& shape, int dx, int dy, int dz) const {
    const int u = x + dx, v = y + dy, w = z + dz;
    return u >= 0 && u < shape.nx && v >= 0 && v < shape.ny && w >= 0 && w < shape.nz;
  }
};

__device__ std::int64_t offset_of(const ConvexShape& shape, const Edge& edge) {
  return (static_cast<std::int64_t>(edge.dz) * shape.ny + edge.dy) * shape.nx + edge.dx;
}

/// Calls body(place) for each voxel of the thread: columns threadIdx.x, rows threadIdx.y of tiles that the
/// blocks share out.
template <class Body>
__device__ void for_voxels(const ConvexShape& shape, const Body& body) {
  const std::int64_t rows = static_cast<std::int64_t>(shape.ny) * shape.nz;
  const std::int64_t tiles_x = (shape.nx + kWarp - 1) / kWarp, tiles = tiles_x * ((rows + kRows - 1) / kRows);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int x = static_cast<int>(tile % tiles_x) * kWarp + static_cast<int>(threadIdx.x);
    const std::int64_t row = tile / tiles_x * kRows + threadIdx.y;
    if (x >= shape.nx || row >= rows) continue;
    body(Place{x, static_cast<int>(row % shape.ny), static_cast<int>(row / shape.ny), row * shape.nx + x});
  }
}

/// u + div p.
template <int kEdges>
__device__ float target_of(const float* image, const float* duals, const Edges& edges,
                           const ConvexShape& shape, std::int64_t voxels, const Place& place) {
  float sum = image[place.at];
#pragma unroll
  for (int e = 0; e < kEdges; ++e) {
    const Edge& edge = edges.edge[e];
    const float* p = duals + e * voxels + place.at;
    float flux = p[0];
    if (place.has(shape, -edge.dx, -edge.dy, -edge.dz)) flux -= p[-offset_of(shape, edge)];
    sum += edge.weight * flux;
  }
  return sum;
}

template <class Number>
__device__ Number warp_sum_of(Number value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

}  // namespace

/// p = clip(p + sigma weight difference) within lambda. Launch: grid (blocks); block (kWarp, kRows).
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
      const Edge& edge = edges.edge[e];
      if (!place.has(shape, edge.dx, edge.dy, edge.dz)) continue;
      const std::int64_t there = place.at + offset_of(shape, edge);
      const float most = counts && (mask == nullptr || mask[there] != 0) ? lambda : 0.0F;
      float* p = duals + e * voxels + place.at;
      const float next = *p + sigma * edge.weight * (extrapolated[there] - here);
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

/// Launch: grid (blocks); block (kWarp, kRows).
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
      const Edge& edge = edges.edge[e];
      if (!place.has(shape, edge.dx, edge.dy, edge.dz)) continue;
      const std::int64_t there = place.at + offset_of(shape, edge);
      if ((mask == nullptr || mask[there] != 0) && (v[there] > threshold) != above) cut += edge.weight;
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
    partial_counts[threadIdx.x * gridDim.x + blockIdx.x] = count;
    partial_sums[threadIdx.x * gridDim.x + blockIdx.x] = total;
  }
}

namespace {

unsigned tiles_of(const ConvexShape& shape) {
  const std::int64_t rows = static_cast<std::int64_t>(shape.ny) * shape.nz;
  const std::int64_t tiles = ((shape.nx + kWarp - 1) / kWarp) * ((rows + kRows - 1) / kRows);
  constexpr std::int64_t kMost = 1 << 16;  // beyond that a block has several
  return static_cast<unsigned>(tiles < kMost ? tiles : kMost);
}

template <int kEdges>
cudaError_t step(const ConvexBuffers& b, const Edges& edges, ConvexShape shape, float sigma, float lambda,
                 float tau, float theta, cudaStream_t stream) {
  const dim3 block(kWarp, kRows);
  convex_dual<kEdges>
      <<<tiles_of(shape), block, 0, stream>>>(b.extrapolated, b.mask, b.p, edges, shape, sigma, lambda);
  convex_primal<kEdges>
      <<<tiles_of(shape), block, 0, stream>>>(b.image, b.p, b.v, b.extrapolated, edges, shape, tau, theta);
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

cudaError_t launch_convex_measure(const ConvexBuffers& b, const Edges& edges, ConvexShape shape,
                                  float threshold, int blocks, cudaStream_t stream) {
  const dim3 block(kWarp, kRows);
  const auto kernel = edges.count == 13  ? convex_measure<13>
                      : edges.count == 4 ? convex_measure<4>
                                         : convex_measure<1>;
  kernel<<<static_cast<unsigned>(blocks), block, 0, stream>>>(b.image, b.mask, b.v, b.p, b.partial_counts,
                                                              b.partial_sums, edges, shape, threshold);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
