/// Means and deviations of windows, as windows.hpp has them on the host. A warp moves the sums of a run of
/// windows on, 32 windows at a time, by prefix sums of what enters and leaves them.

#include <string>

#include "search/cuda_dtw.hpp"
#include "search/job_of_block.cuh"
#include "search/windows.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Of a window, about a shift that lies near its mean.
struct Sums {
  double shift, sum, squares;
  int missing;

  /// A missing sample adds nothing.
  __device__ double centred(float x) const { return isfinite(x) ? x - shift : 0; }
};

__device__ double warp_sum(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

/// Of the window at x, by the whole warp.
__device__ Sums sums_of(const float* x, int length, int lane) {
  Sums sums{};
  double sum = 0;
  for (int j = lane; j < length; j += 32) {
    const float value = __ldg(x + j);
    if (isfinite(value))
      sum += value;
    else
      ++sums.missing;
  }
  sums.missing = static_cast<int>(warp_sum(sums.missing));
  sums.shift = sums.missing < length ? warp_sum(sum) / (length - sums.missing) : 0;
  for (int j = lane; j < length; j += 32) {
    const double value = sums.centred(__ldg(x + j));
    sums.sum += value;
    sums.squares += value * value;
  }
  sums.sum = warp_sum(sums.sum);
  sums.squares = warp_sum(sums.squares);
  return sums;
}

/// @param squares  about the mean
__device__ WindowScale scale_of(const Sums& sums, double squares, double per_length, bool normalize) {
  if (sums.missing > 0) return {0, __int_as_float(0x7FC00000), 0};
  if (!normalize) return {0, 1, 0};
  const double mean = sums.shift + sums.sum * per_length, variance = squares * per_length;
  const double least = kConstantDeviation * mean;
  if (!(variance > least * least)) return {0, 0, 0};
  const double scale = rsqrt(variance);
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(scale), static_cast<float>((rounded - mean) * scale)};
}

/// Windows [first, end) of a run that begins at `begin`, to `scales`. @return those that touch a missing
/// sample
__device__ unsigned run(const MomentsJob& job, std::int64_t begin, std::int64_t first, std::int64_t end,
                        WindowScale* scales) {
  const int lane = threadIdx.x % 32, length = job.length;
  const double per_length = 1.0 / length;
  Sums before{};  // of window t - 1, or t if begun anew
  double largest = 0;
  bool anew = true;
  unsigned missing = 0;
  for (std::int64_t t = begin; t < end;) {
    if (anew) {
      before = sums_of(job.samples + t, length, lane);
      largest = before.squares;
    }
    const std::int64_t window = t + lane;
    const bool is_there = window < end, moves = is_there && (lane > 0 || !anew);
    const float out = moves ? __ldg(job.samples + window - 1) : 0;
    const float in = moves ? __ldg(job.samples + window + length - 1) : 0;
    const double a = before.centred(in), b = before.centred(out);
    const unsigned missing_in = __ballot_sync(kAllLanes, moves && !isfinite(in));
    const unsigned missing_out = __ballot_sync(kAllLanes, moves && !isfinite(out));
    const unsigned up_to = kAllLanes >> (31 - lane);
    Sums sums{before.shift, moves ? a - b : 0, moves ? (a - b) * (a + b) : 0,
              before.missing + __popc(missing_in & up_to) - __popc(missing_out & up_to)};
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const double sum = __shfl_up_sync(kAllLanes, sums.sum, step),
                   squares = __shfl_up_sync(kAllLanes, sums.squares, step);
      if (lane >= step) {
        sums.sum += sum;
        sums.squares += squares;
      }
    }
    sums.sum += before.sum;
    sums.squares += before.squares;
    double peak = fmax(largest, sums.squares);
    if (length < 32) {  // else what enters is still there 32 windows on
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const double other = __shfl_up_sync(kAllLanes, peak, step);
        if (lane >= step) peak = fmax(peak, other);
      }
    }
    // Where so much less remains than was added and taken away that few of its digits are right, the sums
    // begin anew.
    const double squares = sums.squares - sums.sum * sums.sum * per_length;
    const unsigned cancelled = __ballot_sync(kAllLanes, moves && sums.missing == 0 && squares < 1e-5 * peak);
    const int done = cancelled == 0 ? 32 : __ffs(static_cast<int>(cancelled)) - 1;
    if (lane < done && window >= first && is_there) {
      scales[window - first] = scale_of(sums, squares, per_length, job.normalize);
      missing += sums.missing > 0;
    }
    t += done;
    anew = done < 32;
    before.sum = __shfl_sync(kAllLanes, sums.sum, 31);
    before.squares = __shfl_sync(kAllLanes, sums.squares, 31);
    before.missing = __shfl_sync(kAllLanes, sums.missing, 31);
    largest = __shfl_sync(kAllLanes, peak, 31);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) missing += __shfl_xor_sync(kAllLanes, missing, step);
  return missing;
}

/// Launch: kMomentThreads threads a block; a warp does a run of windows, the first of which holds window
/// `first`, or a window of `begins`.
__global__ void __launch_bounds__(kMomentThreads) moments(const MomentsJob* jobs, int count) {
  const MomentsJob job = job_of_block(jobs, count, blockIdx.x);
  const std::int64_t warp =
      std::int64_t{blockIdx.x - job.first_block} * (kMomentThreads / 32) + threadIdx.x / 32;
  unsigned missing = 0;
  if (job.begins != nullptr) {
    if (warp >= job.count) return;
    const std::int64_t window = job.begins[warp];
    missing = run(job, window / kMomentRun * kMomentRun, window, window + 1, job.scales + warp);
  } else {
    const std::int64_t begin = (job.first / kMomentRun + warp) * kMomentRun, end = job.first + job.count;
    if (begin >= end) return;
    const std::int64_t first = max(begin, job.first);
    missing = run(job, begin, first, min(begin + kMomentRun, end), job.scales + (first - job.first));
  }
  if (missing > 0 && threadIdx.x % 32 == 0) atomicAdd(job.missing, missing);
}

}  // namespace

unsigned place_blocks(MomentsJob* jobs, int count) {
  std::int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    MomentsJob& job = jobs[i];
    job.first_block = static_cast<std::uint32_t>(blocks);
    const std::int64_t warps = job.begins != nullptr
                                   ? job.count
                                   : (job.first + job.count - 1) / kMomentRun - job.first / kMomentRun + 1;
    blocks += (warps + kMomentThreads / 32 - 1) / (kMomentThreads / 32);
  }
  return static_cast<unsigned>(blocks);
}

void launch_moments(const MomentsJob* jobs, int count, unsigned blocks, cudaStream_t stream) {
  moments<<<blocks, kMomentThreads, 0, stream>>>(jobs, count);
  cuda_check(cudaGetLastError(), "launch of windows' moments in " + std::to_string(blocks) + " blocks");
}

}  // namespace warploom::search
