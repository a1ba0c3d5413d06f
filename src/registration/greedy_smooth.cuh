#pragma once

/// Gaussians of a known radius, on a GPU.

#include "greedy_kernels.hpp"

namespace warploom::registration {

/// A block goes through planes [z_from, z_to) of its tile, and radius more on either side. Each plane is
/// summed along x, then along y, in shared memory; what is left of it, a thread's two voxels, is added to all
/// sums along z that it belongs to, in registers. So the tile's border is summed once, along x, where sums
/// along z first would keep and sum all of it (2.4 times the voxels for a radius of 6). While one plane is
/// summed along x the one before is summed along y and z and the next two are on their way, one barrier a
/// plane.
template <int kRadius, bool kTwo>
__device__ void smooth_tile(const SmoothArguments& a, const std::int64_t component, const float scale,
                            const int z_from, const int z_to) {
  constexpr int kWide = kTileWidth + 2 * kRadius, kHigh = kTileHeight + 2 * kRadius, kArea = kWide * kHigh;
  constexpr int kDepth = 2 * kRadius + 1, kPlaces = (kArea + kTileThreads - 1) / kTileThreads;
  constexpr int kAcross = 4, kDown = 2;  // voxels whose windows a thread sums together, along x and along y
  static_assert(kWide % 4 == 0 && kTileHeight / kDown * kTileWidth == kTileThreads);
  extern __shared__ float4 aligned[];
  float* const planes = reinterpret_cast<float*>(aligned);  // [2, kHigh, kWide]
  float* const rows = planes + 2 * kArea;                   // [2, kHigh, kTileWidth], summed along x
  const DeviceGrid& e = a.grid;
  const int thread = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth, y0 = static_cast<int>(blockIdx.y) * kTileHeight;

  int at[kPlaces];  // within a plane
  float next[kPlaces];
#pragma unroll
  for (int p = 0; p < kPlaces; ++p) {
    const int place = thread + p * kTileThreads, x = x0 - kRadius + place % kWide,
              y = y0 - kRadius + place / kWide;
    at[p] = min(max(y, 0), e.ny - 1) * e.nx + min(max(x, 0), e.nx - 1);
  }
  const auto read = [&](int z) {
    const std::int64_t from = component + min(max(z, 0), e.nz - 1) * e.plane();
#pragma unroll
    for (int p = 0; p < kPlaces; ++p)
      if (thread + p * kTileThreads < kArea) {
        next[p] = a.a[from + at[p]];
        if constexpr (kTwo) next[p] += scale * a.b[from + at[p]];
      }
  };

  const auto put = [&](int z) {
    float* const plane = planes + (z & 1) * kArea;
#pragma unroll
    for (int p = 0; p < kPlaces; ++p)
      if (thread + p * kTileThreads < kArea) plane[thread + p * kTileThreads] = next[p];
  };

  const int column = thread % kTileWidth, row = thread / kTileWidth * kDown;
  float parts[kDown][kDepth] = {};  // parts[j][k]: of the plane that is whole k planes later
  const int first_plane = z_from - kRadius, end_plane = z_to + kRadius;
  read(first_plane);
  put(first_plane);
  read(first_plane + 1);
  __syncthreads();
#pragma unroll 1
  for (int z = first_plane; z <= end_plane; ++z) {
    put(z + 1);
    read(z + 2);

    const float* const plane = planes + (z & 1) * kArea;
    float* const to = rows + (z & 1) * kHigh * kTileWidth;
    for (int item = thread; item < kHigh * (kTileWidth / kAcross); item += kTileThreads) {
      const int of = item / (kTileWidth / kAcross), first = item % (kTileWidth / kAcross) * kAcross;
      const auto* from = reinterpret_cast<const float4*>(plane + of * kWide + first);
      float sums[kAcross] = {};
#pragma unroll
      for (int four = 0; four < (kDepth + kAcross - 1) / 4; ++four) {
        const float4 value = from[four];
        const float values[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < kAcross; ++j)
            if (const int k = 4 * four + i - j; k >= 0 && k < kDepth) sums[j] += a.taps[0][k] * values[i];
      }
      reinterpret_cast<float4*>(to)[(of * kTileWidth + first) / 4] = {sums[0], sums[1], sums[2], sums[3]};
    }

    if (z > first_plane) {
      const float* const from = rows + (~z & 1) * kHigh * kTileWidth;  // of the plane before
      float sums[kDown] = {};
#pragma unroll
      for (int i = 0; i < kDepth + kDown - 1; ++i) {
        const float value = from[(row + i) * kTileWidth + column];
#pragma unroll
        for (int j = 0; j < kDown; ++j)
          if (i >= j && i - j < kDepth) sums[j] += a.taps[1][i - j] * value;
      }
#pragma unroll
      for (int j = 0; j < kDown; ++j) {
#pragma unroll
        for (int k = 0; k + 1 < kDepth; ++k)
          parts[j][k] = parts[j][k + 1] + a.taps[2][kDepth - 1 - k] * sums[j];
        parts[j][kDepth - 1] = a.taps[2][0] * sums[j];
      }
      const int whole = z - 1 - kRadius;
      if (whole >= z_from && x0 + column < e.nx) {
#pragma unroll
        for (int j = 0; j < kDown; ++j)
          if (y0 + row + j < e.ny) a.out[component + e.at(x0 + column, y0 + row + j, whole)] = parts[j][0];
      }
    }
    __syncthreads();  // the plane's rows and the next plane are whole, those before may be overwritten
  }
}

}  // namespace warploom::registration
