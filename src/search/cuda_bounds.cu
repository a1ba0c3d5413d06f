/// Lower bounds of windows (Keogh & Ratanamahatana, KAIS 7(3), 2005), both ways, as cpu_bounds.hpp has them.
/// A thread has two windows, so that what is read of the query serves both; a warp gives its windows up when
/// all of them exceed the bound.

#include <string>

#include "search/bounds_model.hpp"
#include "search/cuda_bounds.hpp"
#include "search/dtw_cell.cuh"
#include "search/sum_bound.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

constexpr int kEach = kBoundWindows / kBoundThreads;  // windows of a thread
constexpr int kStep = 8;                              // positions between two looks at the sums
constexpr int kSeedThreads = 1024, kSeedsEach = kMostGroups / kSeedThreads;

/// Launch: kBoundThreads threads a block, a position of the query a thread.
__global__ void __launch_bounds__(kBoundThreads) envelopes(const EnvelopeJob* jobs, int count) {
  const EnvelopeJob job = job_of_block(jobs, count, blockIdx.x);
  const int j = static_cast<int>(blockIdx.x - job.first_block) * kBoundThreads + threadIdx.x;
  if (j >= job.length) return;
  const auto is_end = [&](int i) { return i == 0 || i == job.length - 1; };
  const auto key = [&](int i) { return is_end(i) ? no_path() : fabsf(job.query[i] - job.middle); };
  const float query = job.query[j], own = key(j);
  int rank = 0;
  for (int i = 0; i < job.length; ++i) {
    const float other = key(i);
    rank += other > own || (other == own && i < j);
  }
  float lower = query, upper = query;
  if (!is_end(j)) {
    for (int i = max(0, j - job.radius); i <= min(job.length - 1, j + job.radius); ++i) {
      lower = fminf(lower, job.query[i]);
      upper = fmaxf(upper, job.query[i]);
    }
  }
  job.envelope[rank] = {j, query, lower, upper};
}

/// The windows of a block, and those of a thread: `place` among the block's, a warp's are adjacent.
struct BlockWindows {
  std::int64_t first;
  int count;  ///< may be 0

  __device__ explicit BlockWindows(const BoundJob& job) {
    const std::int64_t begin = job.origin + std::int64_t{blockIdx.x - job.first_block} * job.stride;
    first = max(std::int64_t{0}, begin);
    count = static_cast<int>(max(std::int64_t{0}, min(begin + kBoundWindows, job.windows) - first));
  }
  __device__ static int place(int i) {
    return static_cast<int>(threadIdx.x) / 32 * (32 * kEach) + 32 * i + static_cast<int>(threadIdx.x) % 32;
  }
};

/// The samples of a block's windows, in shared memory if they fit.
template <bool kStaged>
__device__ const float* stage(const BoundJob& job, const BlockWindows& block, float* shared) {
  const float* const samples = job.samples + block.first;
  if constexpr (kStaged) {
    for (int i = threadIdx.x; i < block.count + job.length - 1; i += kBoundThreads)
      shared[i] = __ldg(samples + i);
    __syncthreads();
    return shared;
  } else {
    return samples;
  }
}

/// A thread's windows. Those that do not exist have infinite sums from the start.
struct ThreadWindows {
  int place[kEach];  ///< from where it is read
  bool is_there[kEach];
  WindowScale scale[kEach];

  __device__ ThreadWindows(const BoundJob& job, const BlockWindows& block) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = BlockWindows::place(i);
      is_there[i] = at < block.count;
      place[i] = min(at, block.count - 1);
      scale[i] = job.scales[block.first + place[i]];
    }
  }
};

/// Adds square(term(sample of the envelope, window)) over the positions, until all windows of the warp exceed
/// the bound. A sum is NaN where a sample is missing. @return positions looked at
template <class Term>
__device__ int add_until(const BoundJob& job, float bound, float (&sums)[kEach], const Term& term) {
  const auto add = [&](int k) {
    const int4 raw = __ldg(reinterpret_cast<const int4*>(job.envelope) + k);
    const EnvelopeSample sample{raw.x, __int_as_float(raw.y), __int_as_float(raw.z), __int_as_float(raw.w)};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float t = term(sample, i);
      sums[i] = fmaf(t, t, sums[i]);
    }
  };
  const int length = uniform(job.length);
  int k = 0;
  for (; k + kStep <= length; k += kStep) {
#pragma unroll
    for (int s = 0; s < kStep; ++s) add(k + s);
    bool any = false;
#pragma unroll
    for (int i = 0; i < kEach; ++i) any |= sums[i] <= bound;
    if (!__any_sync(kAllLanes, any)) return k + kStep;
  }
  for (; k < length; ++k) add(k);
  return length;
}

/// By the query's envelope.
__device__ int add_by_query(const BoundJob& job, const float* samples, const ThreadWindows& windows,
                            float bound, float (&sums)[kEach]) {
  return add_until(job, bound, sums, [&](const EnvelopeSample& sample, int i) {
    const float x = normalised(samples[windows.place[i] + sample.position], windows.scale[i]);
    return x - fminf(fmaxf(x, sample.lower), sample.upper);
  });
}

/// The best of the samples at most `radius` away from each, among those there are, and of some that are no
/// farther away: missing ones count as `nothing`. Three parts of what is known reach three times as far.
/// By the block. @return `a` or `b`, whichever has it
template <class Best>
__device__ float* slide(const float* samples, int count, int radius, float nothing, float* a, float* b,
                        const Best& best) {
  for (int i = threadIdx.x; i < count; i += kBoundThreads) {
    const float x = samples[i];
    a[i] = isfinite(x) ? x : nothing;
  }
  __syncthreads();
  for (int reach = 0; reach < radius;) {
    const int step = min(2 * reach + 1, radius - reach);
    for (int i = threadIdx.x; i < count; i += kBoundThreads)
      b[i] = best(best(a[max(i - step, 0)], a[min(i + step, count - 1)]), a[i]);
    __syncthreads();
    float* const other = a;
    a = b;
    b = other;
    reach += step;
  }
  return a;
}

/// By the windows' envelope.
__device__ int add_by_windows(const BoundJob& job, const float* lower, const float* upper,
                              const ThreadWindows& windows, float bound, float (&sums)[kEach]) {
  return add_until(job, bound, sums, [&](const EnvelopeSample& sample, int i) {
    const int at = windows.place[i] + sample.position;
    const float least = normalised(lower[at], windows.scale[i]),
                most = normalised(upper[at], windows.scale[i]);
    return sample.query - fminf(fmaxf(sample.query, least), most);
  });
}

/// Floats of a block's samples, and of all that it shares: samples, and three arrays for their envelope.
__host__ __device__ constexpr std::int64_t staged_floats(std::int64_t length) {
  return kBoundWindows + length - 1;
}
constexpr std::int64_t shared_floats(std::int64_t length) { return 4 * staged_floats(length); }

/// Launch: kBoundThreads threads a block; if staged, staged_floats() of the longest job.
template <bool kStaged>
__global__ void __launch_bounds__(kBoundThreads) seeds(const BoundJob* jobs, int count) {
  extern __shared__ float shared[];
  __shared__ ProfileEntry best_of_warp[kBoundThreads / 32];
  const BoundJob job = job_of_block(jobs, count, blockIdx.x);
  const BlockWindows block(job);
  std::uint32_t* const seed = job.list + (blockIdx.x - job.first_block);
  if (block.count == 0) {
    if (threadIdx.x == 0) *seed = static_cast<std::uint32_t>(min(block.first, job.windows - 1));
    return;
  }
  const float* const samples = stage<kStaged>(job, block, shared);
  const ThreadWindows windows(job, block);
  float sums[kEach] = {};
  add_by_query(job, samples, windows, no_path(), sums);
  ProfileEntry best = kNoEntry;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (sums[i] <= no_path())  // no NaN
      best =
          min(best, ProfileEntry{__float_as_uint(sums[i])} << 32 | static_cast<unsigned>(windows.place[i]));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) best = min(best, __shfl_xor_sync(kAllLanes, best, step));
  if (threadIdx.x % 32 == 0) best_of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x > 0) return;
#pragma unroll
  for (const ProfileEntry other : best_of_warp) best = min(best, other);
  const auto place = best == kNoEntry ? 0 : static_cast<std::uint32_t>(best);
  *seed = static_cast<std::uint32_t>(block.first) + place;
}

/// Launch: kBoundThreads threads a block; if staged, shared_floats() of the longest job.
template <bool kStaged, bool kSample>
__global__ void __launch_bounds__(kBoundThreads) bounds(const BoundJob* jobs, int count) {
  extern __shared__ float shared[];
  const BoundJob job = job_of_block(jobs, count, blockIdx.x);
  if (!kSample) {
    const BoundSample sample{job.sampled, static_cast<std::int64_t>(job.counts->sample_positions),
                             job.counts->sample_left};
    if (!job.always && !bounds_pay(sample, job.matrix_cost)) return;
    if (blockIdx.x == job.first_block && threadIdx.x == 0) job.counts->used = 1;
  }
  const BlockWindows block(job);
  if (block.count == 0) return;
  const float* samples = stage<kStaged>(job, block, shared);
  const ThreadWindows windows(job, block);
  const float bound = sum_bound(*job.bound, job.length);
  float sums[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) sums[i] = windows.is_there[i] ? 0 : no_path();
  int positions = add_by_query(job, samples, windows, bound, sums);
  bool any = false;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const bool is_left = sums[i] <= bound;
    any |= is_left;
    sums[i] = is_left ? 0 : no_path();
  }
  if (kStaged && __syncthreads_or(any)) {
    const int samples_count = block.count + job.length - 1;
    const std::int64_t each = staged_floats(job.length);
    float *const second = shared + each, *const third = second + each, *const fourth = third + each;
    const float infinity = no_path();
    const float* const lower = slide(samples, samples_count, job.radius, infinity, second, third,
                                     [](float a, float b) { return fminf(a, b); });
    const float* const upper =
        slide(samples, samples_count, job.radius, -infinity, lower == second ? third : second, fourth,
              [](float a, float b) { return fmaxf(a, b); });
    if (__any_sync(kAllLanes, any)) positions += add_by_windows(job, lower, upper, windows, bound, sums);
  }

  const int lane = threadIdx.x % 32;
  unsigned left[kEach];
  unsigned in_all = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    left[i] = __ballot_sync(kAllLanes, sums[i] <= bound);
    in_all += __popc(left[i]);
  }
  if (kSample) {
    if (lane == 0) {
      atomicAdd(&job.counts->sample_positions, 32ULL * kEach * static_cast<unsigned>(positions));
      if (in_all > 0) atomicAdd(&job.counts->sample_left, in_all);
    }
    return;
  }
  if (in_all == 0) return;
  unsigned to = 0;
  if (lane == 0) to = atomicAdd(&job.counts->left, in_all);
  to = __shfl_sync(kAllLanes, to, 0);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if ((left[i] >> lane & 1) != 0)
      job.list[to + __popc(left[i] & ((1U << lane) - 1))] =
          static_cast<std::uint32_t>(block.first + windows.place[i]);
    to += __popc(left[i]);
  }
}

/// Launch: kSeedThreads threads a block, a task a block.
__global__ void __launch_bounds__(kSeedThreads) bound_by_seeds(const SeedTask* tasks, const BoundJob* jobs) {
  __shared__ int counts[2];
  const SeedTask task = tasks[blockIdx.x];
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  constexpr unsigned kInfinity = 0x7F800000;
  unsigned distances[kSeedsEach];  // their bits
#pragma unroll
  for (int e = 0; e < kSeedsEach; ++e) {
    distances[e] = kInfinity;
    const int group = e * kSeedThreads + static_cast<int>(threadIdx.x);
    if (group >= task.groups) continue;
    for (int j = task.first_job; j < task.first_job + task.jobs; ++j) {
      const std::int64_t entry = jobs[j].list[group] - jobs[j].origin, beyond = entry - group * task.stride;
      if (beyond >= 0 && beyond < kBoundWindows)
        distances[e] = min(distances[e], static_cast<unsigned>(task.profile[entry] >> 32));
    }
  }
  // The least that `limit` of them do not exceed.
  unsigned low = 0, high = kInfinity;
  for (int round = 0; low < high; ++round) {
    const unsigned middle = low + (high - low) / 2;
    int nearer = 0;
#pragma unroll
    for (int e = 0; e < kSeedsEach; ++e) nearer += distances[e] <= middle;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) nearer += __shfl_xor_sync(kAllLanes, nearer, step);
    __syncthreads();  // all have read the last round's count
    if (threadIdx.x == 0) counts[(round + 1) % 2] = 0;
    if (threadIdx.x % 32 == 0) atomicAdd(&counts[round % 2], nearer);
    __syncthreads();
    if (counts[round % 2] >= task.limit)
      high = middle;
    else
      low = middle + 1;
  }
  if (threadIdx.x == 0) *task.bound = fminf(task.most, __uint_as_float(low));
}

/// Of shared memory that a block may have on the current device.
std::int64_t shared_bytes() {
  int device = 0, bytes = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "cudaDeviceGetAttribute");
  return bytes;
}

using BoundKernel = void (*)(const BoundJob*, int);

/// @param floats  that a block shares, if the kernel is the staged one and there are as many
void launch(BoundKernel staged, BoundKernel unstaged, std::int64_t floats, const BoundJob* jobs, int count,
            unsigned blocks, cudaStream_t stream) {
  std::int64_t bytes = floats * std::int64_t{sizeof(float)};
  BoundKernel kernel = staged;
  if (bytes > shared_bytes() - 256) {  // what a kernel has besides
    kernel = unstaged;
    bytes = 0;
  } else if (bytes > 48 << 10) {
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for " + std::to_string(bytes) + " bytes of shared memory");
  }
  kernel<<<blocks, kBoundThreads, static_cast<std::size_t>(bytes), stream>>>(jobs, count);
  cuda_check(cudaGetLastError(), "launch of lower bounds in " + std::to_string(blocks) + " blocks");
}

}  // namespace

unsigned place_blocks(EnvelopeJob* jobs, int count) {
  unsigned blocks = 0;
  for (int i = 0; i < count; ++i) {
    jobs[i].first_block = blocks;
    blocks += static_cast<unsigned>((jobs[i].length + kBoundThreads - 1) / kBoundThreads);
  }
  return blocks;
}

unsigned place_blocks(BoundJob* jobs, int count) {
  std::int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    jobs[i].first_block = static_cast<std::uint32_t>(blocks);
    blocks += jobs[i].blocks;
  }
  return static_cast<unsigned>(blocks);
}

void launch_envelopes(const EnvelopeJob* jobs, int count, unsigned blocks, cudaStream_t stream) {
  envelopes<<<blocks, kBoundThreads, 0, stream>>>(jobs, count);
  cuda_check(cudaGetLastError(), "launch of the patterns' envelopes");
}

void launch_seeds(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                  cudaStream_t stream) {
  launch(seeds<true>, seeds<false>, staged_floats(longest), jobs, count, blocks, stream);
}

void launch_bound_by_seeds(const SeedTask* tasks, int count, const BoundJob* jobs, cudaStream_t stream) {
  bound_by_seeds<<<static_cast<unsigned>(count), kSeedThreads, 0, stream>>>(tasks, jobs);
  cuda_check(cudaGetLastError(), "launch of the bounds of " + std::to_string(count) + " tasks");
}

void launch_sample(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                   cudaStream_t stream) {
  launch(bounds<true, true>, bounds<false, true>, shared_floats(longest), jobs, count, blocks, stream);
}

void launch_bounds(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                   cudaStream_t stream) {
  launch(bounds<true, false>, bounds<false, false>, shared_floats(longest), jobs, count, blocks, stream);
}

}  // namespace warploom::search
