#pragma once

/// Bands that are not small beside the length, or none: kLanes lanes a window, each with kColumns samples of
/// the query and their column's cell of the last row in registers. Lane l is two rows behind lane l - 1,
/// which gives it its last column's cells by shuffles. Two rows are computed together, the second a column
/// behind the first, so that a row's cells replace those of the row before the last without moves, and that
/// two chains of cells are under way.
///
/// Queries that are longer than all columns take several rounds; the last column's cells then wait in memory.
/// Columns that are too many stand before the query's first, and a row before the window's first makes the
/// rows even: there, all samples are kFar, match each other exactly and nothing else.

#include <type_traits>

#include "search/dtw_cell.cuh"

namespace warploom::search {

enum class ColumnRounds {
  one,     ///< queries of at most kLanes * kColumns samples, no band
  many,    ///< of any length, no band
  banded,  ///< of any length and band
};

/// Launch: kDtwThreads threads a block, kLanes of them a window. If there may be several rounds, `edges` has
/// `edge_stride` floats for each kLanes threads of the grid: twice what the longest job's rows need. A grid
/// of any size does all `blocks`.
template <int kLanes, int kColumns, ColumnRounds kRounds>
__global__ void __launch_bounds__(kDtwThreads)
    dtw_columns(const DtwJob* jobs, int count, unsigned blocks, float* edges, std::int64_t edge_stride) {
  constexpr bool kOne = kRounds == ColumnRounds::one, kBanded = kRounds == ColumnRounds::banded;
  const int lane = threadIdx.x % kLanes;
  const bool is_first = lane == 0, is_last = lane == kLanes - 1;
  float2* const edge =
      kOne ? nullptr
           : reinterpret_cast<float2*>(
                 edges +
                 (std::int64_t{blockIdx.x} * (kDtwThreads / kLanes) + threadIdx.x / kLanes) * edge_stride);
  for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
    const DtwJob job = job_of_block(jobs, count, block);
    const std::int64_t place =
        std::int64_t{block - job.first_block} * (kDtwThreads / kLanes) + threadIdx.x / kLanes;
    const bool is_there = place < job.windows;
    const std::int64_t window = window_at(job, is_there ? place : job.windows - 1);
    const float* const samples = begin_of(job, window);
    const WindowScale scale = job.scales[window];
    const int length = uniform(job.length), odd = length % 2, pairs = (length + 1) / 2;
    const int rounds = kOne ? 1 : (length + kLanes * kColumns - 1) / (kLanes * kColumns);

    float d[kColumns], q[kColumns];
    for (int round = 0; round < rounds; ++round) {
      const float2* const edge_before = edge + round % 2 * pairs;
      float2* const edge_after = edge + (round + 1) % 2 * pairs;
      const int column =
          length - ((rounds - round) * kLanes - lane) * kColumns;  // of d[0]; may lie before the query
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        q[c] = __ldg(job.query + (column + c));
        d[c] = column + c < 0 ? 0 : no_path();
      }
      const float before = column <= 0 ? 0 : no_path();  // on the left of rows before the window's first
      float corner = before, left0 = before, left1 = before;
      for (int step = 0; step < pairs + kLanes - 1; ++step) {
        const int row = 2 * (step - lane) - odd;
        float w0 = normalised(__ldg(samples + max(row, 0)), scale);
        float w1 = normalised(__ldg(samples + max(row + 1, 0)), scale);
        if (row < 0) w0 = kFar;
        if (row < -1) w1 = kFar;
        if (kOne || round == 0) {
          if (is_first) {
            left0 = row < 0 ? 0 : no_path();
            left1 = row < -1 ? 0 : no_path();
          }
        } else if (is_first && step < pairs) {
          const float2 both = edge_before[step];
          left0 = both.x;
          left1 = both.y;
        }
        float a_left = left0, b_left = left1;
        const auto compute = [&](auto tests) {
          constexpr bool kTests = decltype(tests)::value;
          float a_corner = corner, b_corner = left0;
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            float a = cell(w0, q[c], a_left, d[c], a_corner);
            if (kTests && row >= 0 &&
                static_cast<unsigned>(row - (column + c) + job.radius) > 2U * job.radius)
              a = no_path();
            float b = cell(w1, q[c], b_left, a, b_corner);
            if (kTests && row >= -1 &&
                static_cast<unsigned>(row + 1 - (column + c) + job.radius) > 2U * job.radius)
              b = no_path();
            a_corner = d[c];
            a_left = b_corner = a;
            d[c] = b_left = b;
          }
        };
        if (kBanded) {
          // All cells of all lanes lie in the band or before the matrix, or all lie outside, or each is
          // tested.
          const int most = row + 1 - column, least = row - (column + kColumns - 1);  // of i - j
          const bool inside = row < -1 || (least >= -job.radius && most <= job.radius);
          const bool outside = row >= 0 && (least > job.radius || most < -job.radius);
          if (__all_sync(kAllLanes, inside)) {
            compute(std::false_type());
          } else if (__all_sync(kAllLanes, outside)) {
#pragma unroll
            for (int c = 0; c < kColumns; ++c) d[c] = no_path();
            a_left = b_left = no_path();
          } else {
            compute(std::true_type());
          }
        } else {
          compute(std::false_type());
        }
        corner = left1;
        if (!kOne && is_last && step >= lane && rounds > 1)
          edge_after[step - lane] = make_float2(a_left, b_left);
        left0 = __shfl_up_sync(kAllLanes, a_left, 1, kLanes);
        left1 = __shfl_up_sync(kAllLanes, b_left, 1, kLanes);
      }
      if (!kOne) __syncwarp();  // the last lane's edges are there, the first has read those before
    }
    if (is_last && is_there) store_distance(job, window, scale.scale, d[kColumns - 1]);
  }
}

}  // namespace warploom::search
