#pragma once

/// What the kernels of several channels at one offset are given, and how they are launched.

#include <cuda_runtime_api.h>

#include <limits>
#include <string>

#include "search/dtw_job.hpp"

namespace warploom::search {

/// A channel of a pattern and of the recording, as DtwJob has them.
struct JointChannel {
  const float* query;
  const float* samples;
  const WindowScale* scales;
};

/// A pattern of several channels against windows. Pointers are to device memory.
struct JointJob {
  const JointChannel* channels;
  const std::int64_t* begins;   ///< of each window from JointChannel::samples; null: one after the other
  ProfileEntry* profile;        ///< of each window; the least of what is there and the distance stays
  unsigned long long* missing;  ///< counts the windows that touch a missing sample
  std::int64_t windows;
  std::int32_t count;           ///< of channels
  std::int32_t together;        ///< channels that one matrix is of: all or 1
  std::int32_t length, radius;  ///< radius < length
  std::uint32_t pattern;
  std::uint32_t first_block;  ///< of the launch
};

/// Threads of a block that compares one window: one for each cell of an anti-diagonal, up to this.
inline constexpr int kJointBlock = 256;
/// Floats that such a block needs: three anti-diagonals of the band.
__host__ __device__ constexpr std::int64_t joint_floats(std::int64_t radius) { return 3 * (radius + 2); }

struct JointKernel {
  int radius = -1;  ///< of the kernel that has a thread a window; -1: a block a window
  double cost = std::numeric_limits<double>::infinity();  ///< [instructions of a thread], of a window

  bool operator==(const JointKernel& b) const { return radius == b.radius; }
  int windows_per_block() const { return radius >= 0 ? kDtwThreads : 1; }
  std::string name() const;
};
/// The cheaper for a pattern. @param channels  all of them
JointKernel choose_joint_kernel(std::int64_t length, std::int64_t radius, std::int64_t channels);

/// Jobs that one kernel does.
struct JointBatch {
  JointKernel kernel;
  int radius = 0;       ///< the largest
  unsigned blocks = 0;  ///< in all
  int count = 0;
  const JointJob* jobs = nullptr;  ///< on the device, with their first blocks
  float* memory = nullptr;         ///< joint_memory() on the device
};
/// Floats for anti-diagonals that shared memory does not hold.
std::int64_t joint_memory(const JointBatch& batch);
void launch_joint(const JointBatch& batch, cudaStream_t stream);

}  // namespace warploom::search
