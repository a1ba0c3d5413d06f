#pragma once

/// Lower bounds on the device: what is left of the windows of a job is a list, of which matrices are
/// computed.
///
/// First a bound of the task's distances is found: of groups of adjacent windows the one with the least lower
/// bound is compared, a seed. Then lower bounds of a sample tell whether to go on, and those of all windows
/// which of them may have a distance within the bound.

#include <cuda_runtime_api.h>

#include "search/dtw_job.hpp"

namespace warploom::search {

inline constexpr int kBoundThreads = 128;  ///< of a block

/// A sample of a query, and the least and greatest of those within the band around it; at both ends the
/// sample itself, since every path goes through the matrix's corners.
struct alignas(16) EnvelopeSample {
  std::int32_t position;
  float query, lower, upper;
};

/// A query's envelope, in the order in which positions are looked at: the ends first, then what lies farthest
/// from the middle, where few windows have their samples.
struct EnvelopeJob {
  const float* query;
  EnvelopeSample* envelope;
  std::int32_t length, radius;
  float middle;
  std::uint32_t first_block;  ///< of the launch
};

/// What bounds did; all zeros before.
struct BoundCounts {
  unsigned long long sample_positions;
  unsigned sample_left;
  unsigned left;  ///< of all windows: the length of the list
  unsigned used;  ///< 1: there is a list, 0: the sample spoke against it
};

/// Windows of a channel and a pattern, all pointers to device memory. Block b of a job has the windows
/// [origin + b * stride, + kBoundWindows), as far as they exist.
struct BoundJob {
  const float* samples;  ///< where window 0 begins
  const WindowScale* scales;
  const EnvelopeSample* envelope;
  std::uint32_t* list;  ///< seeds: a window of each block; else those left of all windows, in any order
  const float* bound;   ///< the task's largest distance
  BoundCounts* counts;
  std::int64_t windows;
  std::int64_t origin, stride, blocks;
  std::int64_t sampled;  ///< windows of the sample
  double matrix_cost;    ///< DtwKernel::cost
  std::int32_t length, radius;
  std::int32_t always;        ///< 1: whatever the sample says
  std::uint32_t first_block;  ///< of the launch
};

/// A task whose bound its seeds tell.
struct SeedTask {
  const ProfileEntry* profile;  ///< window w of a job is entry w - origin
  float* bound;
  std::int64_t stride;
  std::int32_t groups;           ///< at most kMostGroups; 0: no seeds
  std::int32_t first_job, jobs;  ///< of the seeds
  std::int32_t limit;            ///< candidates wanted, at most `groups`
  float most;                    ///< what the bound is at most
};

/// Sets each job's first block. @return blocks in all
unsigned place_blocks(EnvelopeJob* jobs, int count);
unsigned place_blocks(BoundJob* jobs, int count);

// All jobs and tasks lie on the device. `longest`: of the jobs' queries.
void launch_envelopes(const EnvelopeJob* jobs, int count, unsigned blocks, cudaStream_t stream);
/// Of each block the window with the least lower bound, to the job's list; where a block has none, one that
/// lies outside of it.
void launch_seeds(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                  cudaStream_t stream);
/// After seeds were compared.
void launch_bound_by_seeds(const SeedTask* tasks, int count, const BoundJob* seeds, cudaStream_t stream);
/// Counts what bounds leave of a sample.
void launch_sample(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                   cudaStream_t stream);
/// Lists what they leave of all windows, if the sample spoke for it.
void launch_bounds(const BoundJob* jobs, int count, unsigned blocks, std::int64_t longest,
                   cudaStream_t stream);

}  // namespace warploom::search
