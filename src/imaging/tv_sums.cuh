#pragma once

/// Sums over the image that do not depend on the order in which blocks run: every block leaves its own in the
/// array of partial sums, and the last block to finish adds them in the order of their places.

#include <cstdint>

#include "tv_schedule.hpp"

namespace warploom::imaging {

/// Where the partial sums are: [value, image (blockIdx.z), chunk, tile (blockIdx.x)], for the chunks of the
/// whole image, so that it does not matter which launch computes which.
class TvPartials {
 public:
  __device__ TvPartials(double* partials, int nz, int chunk, int first_chunk)
      : partials_(partials),
        first_chunk_(first_chunk),
        blocks_(gridDim.x * static_cast<unsigned>((nz + chunk - 1) / chunk)),
        images_(gridDim.z) {}
  /// For a block that computes none of them.
  __device__ TvPartials(double* partials, unsigned blocks, unsigned images)
      : partials_(partials), first_chunk_(0), blocks_(blocks), images_(images) {}

  /// Of one image.
  __device__ unsigned blocks() const { return blocks_; }
  __device__ unsigned images() const { return images_; }
  /// The first of `blocks()` partial sums.
  __device__ double* row(int value, unsigned image) const {
    return partials_ + (static_cast<std::int64_t>(value) * images_ + image) * blocks_;
  }
  __device__ double& mine(int value) const {
    return row(value,
               blockIdx.z)[(static_cast<unsigned>(first_chunk_) + blockIdx.y) * gridDim.x + blockIdx.x];
  }

 private:
  double* partials_;
  int first_chunk_;
  unsigned blocks_, images_;
};

__device__ inline double add_over_warp(double value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xFFFFFFFFU, value, distance);
  return value;
}

/// Adds `values` over the block and leaves the sums as values first_value... of this block.
template <class Value, int n, int warps>
__device__ void put_partials(const Value (&values)[n], double (&scratch)[warps][n], const TvPartials& where,
                             int first_value) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int v = 0; v < n; ++v) {
    const double sum = add_over_warp(static_cast<double>(values[v]));
    if (lane == 0) scratch[warp][v] = sum;
  }
  __syncthreads();
  if (threadIdx.x < n) {
    double sum = 0;
    for (int w = 0; w < warps; ++w) sum += scratch[w][threadIdx.x];
    where.mine(first_value + static_cast<int>(threadIdx.x)) = sum;
  }
}

/// Whether this block is the last of `blocks`, and may therefore read what all have left.
__device__ inline bool last_block(unsigned* ticket, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(ticket, 1U) == blocks - 1;
    if (last) {
      __threadfence();
      *ticket = 0;
    }
  }
  __syncthreads();
  return last;
}

/// Adds the partial sums of `channels` total variations an image and of `more` other values, calls
/// advance(state, sums, constants) in one thread, and keeps the progress in the log.
template <int threads, int channels, int more, class Sums, class State, class Advance>
__device__ void advance_state(const TvPartials& where, const TvConstants* constants, State* state,
                              TvProgress* log, int log_length, const Advance& advance) {
  static_assert(sizeof(Sums) == sizeof(double) * (kMaxChannels + more));
  __shared__ double totals[kMaxChannels + more];
  __shared__ double constants_here[sizeof(TvConstants) / sizeof(double)];
  __shared__ double state_here[sizeof(State) / sizeof(double)];
  const int thread = static_cast<int>(threadIdx.x);
  // In shared memory: one thread that waits for global memory again and again would take longer than all the
  // rest.
  for (int i = thread; i < static_cast<int>(sizeof(TvConstants) / sizeof(double)); i += threads)
    constants_here[i] = reinterpret_cast<const double*>(constants)[i];
  for (int i = thread; i < static_cast<int>(sizeof(State) / sizeof(double)); i += threads)
    state_here[i] = reinterpret_cast<const double*>(state)[i];

  const int images = static_cast<int>(where.images()), variations = channels * images;
  for (int sum = thread / 32; sum < variations + more; sum += threads / 32) {
    const bool of_image = sum < variations;  // channels > 1 only where there is one image
    const double* from =
        of_image ? where.row(channels > 1 ? sum : 0, channels > 1 ? 0U : static_cast<unsigned>(sum))
                 : where.row(channels + sum - variations, 0);
    const unsigned count = where.blocks() * (of_image ? 1U : where.images());
    double total = 0;
#pragma unroll 8
    for (unsigned i = threadIdx.x % 32; i < count; i += 32) total += __ldcg(from + i);
    total = add_over_warp(total);
    if (thread % 32 == 0) totals[of_image ? sum : kMaxChannels + sum - variations] = total;
  }
  __syncthreads();
  if (thread == 0) {
    State& s = *reinterpret_cast<State*>(state_here);
    advance(s, *reinterpret_cast<const Sums*>(totals), *reinterpret_cast<const TvConstants*>(constants_here));
    if (s.progress.iteration > 0) log[(s.progress.iteration - 1) % log_length] = s.progress;
  }
  __syncthreads();
  for (int i = thread; i < static_cast<int>(sizeof(State) / sizeof(double)); i += threads)
    reinterpret_cast<double*>(state)[i] = state_here[i];
}

}  // namespace warploom::imaging
