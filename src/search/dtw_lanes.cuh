#pragma once

/// Bands of any width that is small beside the length: kLanes lanes a window, each with kDiagonals diagonals
/// of the band in registers as in dtw_thread.cuh. Lane l is a row behind lane l - 1. Within a step, a lane's
/// first cell needs the cell on its left, which lane l - 1 had computed a step before; and its last one that
/// above it, lane l + 1's first of the row before, which was computed in this step. So each step takes two
/// shuffles and nobody waits.
///
/// A band of 2 * radius + 1 diagonals seldom is a multiple of the lanes: the last `spare` lanes have one
/// diagonal less. They keep in the last one's place what is above it, which is all that their last cell but
/// one asks for.

#include "search/dtw_cell.cuh"

namespace warploom::search {

/// How a band is shared out among lanes; the same on the host.
struct LaneBand {
  int spare;        ///< lanes that have a diagonal less, the last ones
  int result_lane;  ///< which has the diagonal of the matrix's last cell
  int steps;        ///< until it has computed it
};
__host__ __device__ constexpr LaneBand lane_band(int length, int radius, int lanes, int diagonals) {
  const int spare = lanes * diagonals - (2 * radius + 1), full = (lanes - spare) * diagonals;
  const int lane = radius < full ? radius / diagonals : lanes - spare + (radius - full) / (diagonals - 1);
  return {spare, lane, length + lane};
}
/// Floats of shared memory: the query's samples -radius to length + radius + kLaneReadAhead - 1.
inline constexpr int kLaneReadAhead = 48;
__host__ __device__ constexpr int lane_shared_floats(int length, int radius) {
  return length + 2 * radius + kLaneReadAhead;
}

/// Launch: kDtwThreads threads a block, kLanes of them a window; jobs whose band has more than kLanes *
/// (kDiagonals - 1) and at most kLanes * kDiagonals diagonals; lane_shared_floats() of the largest job.
template <int kLanes, int kDiagonals, int kRows>
__global__ void __launch_bounds__(kDtwThreads) dtw_lanes(const DtwJob* jobs, int count) {
  extern __shared__ float shared_query[];
  constexpr int kLast = kDiagonals - 1;
  const DtwJob job = job_of_block(jobs, count, blockIdx.x);
  for (int j = threadIdx.x; j < lane_shared_floats(job.length, job.radius); j += kDtwThreads)
    shared_query[j] = job.query[j - job.radius];
  __syncthreads();

  const int lane = threadIdx.x % kLanes;
  const std::int64_t place =
      std::int64_t{blockIdx.x - job.first_block} * (kDtwThreads / kLanes) + threadIdx.x / kLanes;
  const bool is_there = place < job.windows;
  const std::int64_t window = window_at(job, is_there ? place : job.windows - 1);
  const float* const x = begin_of(job, window) - lane;  // of the row at step 0
  const WindowScale scale = job.scales[window];
  const LaneBand band = lane_band(job.length, job.radius, kLanes, kDiagonals);
  const bool is_spare = lane >= kLanes - band.spare, is_first = lane == 0, is_last = lane == kLanes - 1;
  const int first = lane * kDiagonals - max(0, lane - (kLanes - band.spare));  // diagonal
  const float* const query = shared_query + first - lane;                      // of d[0] at step 0

  // Rows before 0 match the query's samples before 0, exactly, and nothing else: that is where paths begin.
  float d[kDiagonals], q[kLast + kRows], w[kRows];
#pragma unroll
  for (int k = 0; k < kDiagonals; ++k) d[k] = first + k <= job.radius + lane ? 0 : no_path();
  float left = is_first || first - 1 >= job.radius + lane ? no_path() : 0;
#pragma unroll
  for (int k = 0; k < kLast; ++k) q[k] = query[k];

  const auto row = [&](float sample, const float* column) {
    d[0] = cell(sample, column[0], left, d[1], d[0]);
    float above = __shfl_down_sync(kAllLanes, d[0], 1, kLanes);
    if (is_last) above = no_path();
    if (is_spare) d[kLast] = above;
#pragma unroll
    for (int k = 1; k < kLast; ++k) d[k] = cell(sample, column[k], d[k - 1], d[k + 1], d[k]);
    d[kLast] = cell(sample, column[kLast], d[kLast - 1], above, d[kLast]);
    left = __shfl_up_sync(kAllLanes, is_spare ? d[kLast - 1] : d[kLast], 1, kLanes);
    if (is_first) left = no_path();
  };
  const int steps = uniform(band.steps);
  int step = 0;
  for (; step + kRows <= steps; step += kRows) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) q[kLast + u] = query[step + kLast + u];
    if (step >= kLanes - 1) {
#pragma unroll
      for (int u = 0; u < kRows; ++u) w[u] = normalised(__ldg(x + step + u), scale);
    } else {
#pragma unroll
      for (int u = 0; u < kRows; ++u)
        w[u] = step + u >= lane ? normalised(__ldg(x + max(step + u, lane)), scale) : kFar;
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) row(w[u], q + u);
#pragma unroll
    for (int k = 0; k < kLast; ++k) q[k] = q[k + kRows];
  }
#pragma unroll 1
  for (; step < steps; ++step) {
    q[kLast] = query[step + kLast];
    row(step >= lane ? normalised(__ldg(x + max(step, lane)), scale) : kFar, q);
#pragma unroll
    for (int k = 0; k < kLast; ++k) q[k] = q[k + 1];
  }
  if (lane != band.result_lane || !is_there) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kDiagonals; ++k)
    if (first + k == job.radius) sum = d[k];
  store_distance(job, window, scale.scale, sum);
}

}  // namespace warploom::search
