#pragma once

/// Several channels at one offset: a cell's cost is a sum over channels, so that their samples do not stay in
/// registers as those of one channel do; costs do.

#include "search/dtw_cell.cuh"
#include "search/joint_job.hpp"

namespace warploom::search {

__device__ __forceinline__ const float* begin_of(const JointJob& job, const JointChannel& channel,
                                                 std::int64_t window) {
  return channel.samples + (job.begins == nullptr ? window : job.begins[window]);
}

/// @param sum  of all matrices' last cells
__device__ __forceinline__ void store_distance(const JointJob& job, std::int64_t window, float sum) {
  bool missing = false;
  for (int c = 0; c < job.count; ++c) missing |= isnan(job.channels[c].scales[window].scale);
  if (missing) atomicAdd(job.missing, 1ULL);
  const float distance =
      missing ? no_path() : sqrtf(sum / (static_cast<float>(job.length) * static_cast<float>(job.count)));
  const auto bits = static_cast<ProfileEntry>(__float_as_uint(distance));
  atomicMin(job.profile + window, bits << 32 | job.pattern);
}

/// Narrow bands: a thread a window, diagonals in registers as in dtw_thread.cuh, and the costs of kRows rows.
/// Launch: kDtwThreads threads a block; jobs of this radius.
template <int kRadius, int kRows>
__global__ void __launch_bounds__(kDtwThreads) dtw_joint_thread(const JointJob* jobs, int count) {
  constexpr int kBand = 2 * kRadius + 1;
  const JointJob job = job_of_block(jobs, count, blockIdx.x);
  const std::int64_t place = std::int64_t{blockIdx.x - job.first_block} * kDtwThreads + threadIdx.x;
  const std::int64_t window = min(place, job.windows - 1);
  float sum = 0;
  for (int first = 0; first < job.count; first += job.together) {
    float d[kBand];
#pragma unroll
    for (int k = 0; k < kBand; ++k) d[k] = k == kRadius ? 0 : no_path();
    for (int i = 0; i < job.length; i += kRows) {
      float cost[kRows][kBand];
#pragma unroll
      for (int u = 0; u < kRows; ++u)
#pragma unroll
        for (int k = 0; k < kBand; ++k) cost[u][k] = 0;
#pragma unroll 1
      for (int c = first; c < first + job.together; ++c) {
        const JointChannel channel = job.channels[c];
        const WindowScale scale = channel.scales[window];
        const float* const x = begin_of(job, channel, window) + i;
        const float* const query = channel.query + (i - kRadius);
        float q[kBand - 1 + kRows];
#pragma unroll
        for (int k = 0; k < kBand - 1 + kRows; ++k) q[k] = __ldg(query + k);
#pragma unroll
        for (int u = 0; u < kRows; ++u) {
          const float w = normalised(__ldg(x + u), scale);
#pragma unroll
          for (int k = 0; k < kBand; ++k) {
            const float difference = w - q[k + u];
            cost[u][k] = fmaf(difference, difference, cost[u][k]);
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        if (i + u >= job.length) break;
#pragma unroll
        for (int k = 0; k < kBand; ++k)
          d[k] =
              cost[u][k] + least(k == 0 ? no_path() : d[k - 1], k == kBand - 1 ? no_path() : d[k + 1], d[k]);
      }
    }
    sum += d[kRadius];
  }
  if (place < job.windows) store_distance(job, window, sum);
}

/// Any band: a block a window, an anti-diagonal of cells at a time, three of which are kept. Cell (i, j) of
/// anti-diagonal s = i + j stands at [s % 3][i % (radius + 2)].
/// Launch: any multiple of 32 threads a block; joint_floats() of the largest radius, in shared memory, or for
/// each block of the grid in `memory` where that is not null. A grid of any size does all `blocks`.
__global__ void dtw_joint_block(const JointJob* jobs, int count, unsigned blocks, float* memory,
                                std::int64_t stride);

}  // namespace warploom::search
