#pragma once

/// Narrow bands: a thread a window. Diagonal k = j - i + radius of the band stands in d[k]: a cell's diagonal
/// neighbour in the row before is on the same diagonal, so that rows replace each other in place. The query's
/// samples slide past, a step a row; kRows rows at a time, so that they are moved once in so many rows.

#include "search/dtw_cell.cuh"

namespace warploom::search {

/// Launch: kDtwThreads threads a block, a window a thread; jobs of this radius.
template <int kRadius, int kRows>
__global__ void __launch_bounds__(kDtwThreads) dtw_thread(const DtwJob* jobs, int count) {
  constexpr int kBand = 2 * kRadius + 1;
  const DtwJob job = job_of_block(jobs, count, blockIdx.x);
  const std::int64_t place = std::int64_t{blockIdx.x - job.first_block} * kDtwThreads + threadIdx.x;
  const bool is_there = place < job.windows;
  const std::int64_t window = window_at(job, is_there ? place : job.windows - 1);
  const float* const x = begin_of(job, window);
  const WindowScale scale = job.scales[window];
  const float* const query = job.query + kRadius;  // what enters the band at row 0

  float d[kBand], q[kBand - 1 + kRows], w[kRows];
#pragma unroll
  for (int k = 0; k < kBand; ++k) d[k] = k == kRadius ? 0 : no_path();
#pragma unroll
  for (int k = 0; k < kBand - 1; ++k) q[k] = __ldg(query + (k - 2 * kRadius));

  const auto row = [&](float sample, const float* column) {
#pragma unroll
    for (int k = 0; k < kBand; ++k)
      d[k] =
          cell(sample, column[k], k == 0 ? no_path() : d[k - 1], k == kBand - 1 ? no_path() : d[k + 1], d[k]);
  };
  int i = 0;
  for (; i + kRows <= job.length; i += kRows) {
#pragma unroll
    for (int u = 0; u < kRows; u += 4) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(query + i + u));
      q[kBand - 1 + u] = four.x;
      q[kBand + u] = four.y;
      q[kBand + 1 + u] = four.z;
      q[kBand + 2 + u] = four.w;
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) w[u] = normalised(__ldg(x + i + u), scale);
#pragma unroll
    for (int u = 0; u < kRows; ++u) row(w[u], q + u);
#pragma unroll
    for (int k = 0; k < kBand - 1; ++k) q[k] = q[k + kRows];
  }
#pragma unroll 1
  for (; i < job.length; ++i) {
    q[kBand - 1] = __ldg(query + i);
    row(normalised(__ldg(x + i), scale), q);
#pragma unroll
    for (int k = 0; k < kBand - 1; ++k) q[k] = q[k + 1];
  }
  if (is_there) store_distance(job, window, scale.scale, d[kRadius]);
}

}  // namespace warploom::search
