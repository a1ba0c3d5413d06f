#include <algorithm>
#include <string>

#include "search/cuda_selection.hpp"
#include "search/job_of_block.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Of a warp, in lane 0's hand and all others'.
__device__ ProfileEntry warp_least(ProfileEntry x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_xor_sync(kAllLanes, x, step));
  return x;
}

/// (distance, place) of an entry of a profile.
__device__ ProfileEntry placed(ProfileEntry entry, std::int64_t place) {
  return entry >= kExcluded ? kNoEntry : (entry & ~0xFFFFFFFFULL) | static_cast<std::uint32_t>(place);
}

/// By one warp: the least of the entries that stand for one of `above`. Those of [begin, end) are marked as
/// excluded, if the level is the profile; above it they have been.
__device__ void gather(ProfileEntry* level, std::int64_t count, bool is_profile, ProfileEntry* above,
                       std::int64_t fan, std::int64_t begin = 0, std::int64_t end = 0) {
  const std::int64_t first = fan * kSelectionFan + threadIdx.x % 32;
  ProfileEntry entries[kSelectionFan / 32];
#pragma unroll
  for (int i = 0; i < kSelectionFan / 32; ++i)
    entries[i] = first + 32 * i < count ? level[first + 32 * i] : kNoEntry;
  ProfileEntry best = kNoEntry;
#pragma unroll
  for (int i = 0; i < kSelectionFan / 32; ++i) {
    const std::int64_t place = first + 32 * i;
    if (is_profile && place >= begin && place < min(end, count))
      level[place] = entries[i] | kExcluded;
    else
      best = min(best, is_profile ? placed(entries[i], place) : entries[i]);
  }
  best = warp_least(best);
  __syncwarp();  // all have read what stood above
  if (threadIdx.x % 32 == 0) above[fan] = best;
}

/// Launch: kThreads threads a block, a fan a warp.
__global__ void __launch_bounds__(kThreads) make_fans(const SelectionJob* jobs, int count) {
  const SelectionJob& job = job_of_block(jobs, count, blockIdx.x);
  const std::int64_t fan = std::int64_t{blockIdx.x - job.first_block} * kWarps + threadIdx.x / 32;
  if (fan < fans_of(job.count)) gather(job.profile, job.count, true, job.fans, fan);
}

/// Excludes entries [begin, end) of a level: all of fans that lie inside at once, and of the two at the edges
/// those that do. A fan of which nothing is left is not looked at again, so that what lies below it need not
/// be marked.
__device__ void exclude(ProfileEntry* level, std::int64_t count, bool is_profile, ProfileEntry* above,
                        std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin / kSelectionFan, last = (end - 1) / kSelectionFan;
  const int warp = threadIdx.x / 32;
  if (warp < 2) {
    const std::int64_t fan = warp == 0 ? first : last;
    if ((warp == 0 || last != first) && above[fan] != kNoEntry)
      gather(level, count, is_profile, above, fan, begin, end);
  } else {
    for (std::int64_t fan = first + 1 + threadIdx.x - 64; fan < last; fan += kThreads - 64)
      above[fan] = kNoEntry;
  }
  __syncthreads();
}

/// Launch: kThreads threads a block, a job a block; after make_fans.
__global__ void __launch_bounds__(kThreads) choose_greedily(const SelectionJob* jobs) {
  __shared__ ProfileEntry best_of_warp[kWarps];
  const SelectionJob job = jobs[blockIdx.x];
  const std::int64_t fans = fans_of(job.count), superfans = fans_of(fans);
  for (std::int64_t i = threadIdx.x / 32; i < superfans; i += kWarps)
    gather(job.fans, fans, false, job.superfans, i);
  __syncthreads();
  std::int32_t chosen = 0;
  for (; chosen < job.limit; ++chosen) {
    ProfileEntry best = kNoEntry;
    for (std::int64_t i = threadIdx.x; i < superfans; i += kThreads) best = min(best, job.superfans[i]);
    best = warp_least(best);
    if (threadIdx.x % 32 == 0) best_of_warp[threadIdx.x / 32] = best;
    __syncthreads();
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) best = min(best, best_of_warp[warp]);
    if (best == kNoEntry || !(__uint_as_float(static_cast<unsigned>(best >> 32)) <= job.max_distance)) break;
    const std::int64_t place = static_cast<std::uint32_t>(best);
    if (threadIdx.x == 0) {
      job.chosen[chosen] = best;
      job.patterns[chosen] = static_cast<std::uint32_t>(job.profile[place]);
    }
    __syncthreads();
    const std::int64_t begin = max(std::int64_t{0}, place - job.exclusion);
    const std::int64_t end = job.exclusion < job.count - place ? place + job.exclusion + 1 : job.count;
    exclude(job.profile, job.count, true, job.fans, begin, end);
    exclude(job.fans, fans, false, job.superfans, begin / kSelectionFan, (end - 1) / kSelectionFan + 1);
  }
  if (threadIdx.x == 0) *job.chosen_count = chosen;
}

/// Launch: kThreads threads a block, any number of blocks.
__global__ void __launch_bounds__(kThreads) collect(CollectJob job) {
  float bound = job.bound;
  if (*job.chosen_count == job.limit)
    bound = fminf(bound, __uint_as_float(static_cast<unsigned>(job.chosen[job.limit - 1] >> 32)));
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += std::int64_t{gridDim.x} * kThreads) {
    const ProfileEntry entry = job.profile[i] & ~kExcluded;
    if (!(__uint_as_float(static_cast<unsigned>(entry >> 32)) <= bound)) continue;
    const unsigned at = atomicAdd(job.collected, 1U);
    if (at >= static_cast<unsigned>(job.room)) continue;
    job.places[at] = static_cast<std::uint32_t>(i);
    job.entries[at] = entry;
  }
}

}  // namespace

unsigned place_blocks(SelectionJob* jobs, int count) {
  std::int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    jobs[i].first_block = static_cast<std::uint32_t>(blocks);
    blocks += (fans_of(jobs[i].count) + kWarps - 1) / kWarps;
  }
  return static_cast<unsigned>(blocks);
}

void launch_selection(const SelectionJob* jobs, int count, unsigned blocks, cudaStream_t stream) {
  make_fans<<<blocks, kThreads, 0, stream>>>(jobs, count);
  choose_greedily<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(jobs);
  cuda_check(cudaGetLastError(), "launch of the choice of candidates of " + std::to_string(count) + " tasks");
}

void launch_collection(const CollectJob& job, cudaStream_t stream) {
  const std::int64_t blocks = (job.count + kThreads - 1) / kThreads;
  collect<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), kThreads, 0, stream>>>(job);
  cuda_check(cudaGetLastError(), "launch of the collection of candidates");
}

}  // namespace warploom::search
