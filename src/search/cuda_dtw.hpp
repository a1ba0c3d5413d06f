#pragma once

/// What the GPU back end's kernels are given, and how they are launched.

#include <cuda_runtime_api.h>

#include <limits>
#include <string>

#include "search/dtw_job.hpp"

namespace warploom::search {

inline constexpr int kMomentThreads = 128;  // of a block
/// Windows whose sums are moved on from one to the next: each run begins anew, at a multiple of this of the
/// channel, so that a window's numbers do not depend on what they are computed with.
inline constexpr int kMomentRun = 512;

/// Windows [first, first + count) of a channel, or, if `begins` is not null, those that begin there.
struct MomentsJob {
  const float* samples;  ///< of the whole channel; those of the windows, from their run's begin on, are read
  const std::int64_t* begins;
  WindowScale* scales;
  unsigned long long* missing;  ///< counts the windows that touch a missing sample
  std::int64_t first, count;
  std::int32_t length;
  std::int32_t normalize;
  std::uint32_t first_block;  ///< of the launch
};

/// Sets each job's first block. @return blocks in all
unsigned place_blocks(MomentsJob* jobs, int count);
/// @param jobs  on the device, of place_blocks()
void launch_moments(const MomentsJob* jobs, int count, unsigned blocks, cudaStream_t stream);

enum class DtwShape { thread, lanes, columns, column_rounds, banded_columns };

/// One of the kernels, and what a window costs in it.
struct DtwKernel {
  DtwShape shape = DtwShape::thread;
  int lanes = 1;  ///< of a window
  int size = 0;   ///< thread: the radius; else diagonals or columns of a lane
  double cost = std::numeric_limits<double>::infinity();  ///< [instructions of a thread], of a window

  bool same(const DtwKernel& b) const { return shape == b.shape && lanes == b.lanes && size == b.size; }
  int windows_per_block() const { return kDtwThreads / lanes; }
  std::string name() const;
};

/// The cheapest for windows of this length and band. @param radius  below `length`
DtwKernel choose_dtw_kernel(std::int64_t length, std::int64_t radius);

/// Jobs that one kernel does.
struct DtwBatch {
  DtwKernel kernel;
  int length = 0, radius = 0;  ///< the largest
  unsigned blocks = 0;         ///< in all
  int count = 0;
  const DtwJob* jobs = nullptr;  ///< on the device, with their first blocks
  float* edges = nullptr;        ///< edge_floats() on the device
};
std::int64_t edge_floats(const DtwBatch& batch);
void launch_dtw(const DtwBatch& batch, cudaStream_t stream);

// What the two functions choose from, each beside its kernels. A cost is infinite where the kernel cannot do
// it.
DtwKernel thread_kernel(std::int64_t length, std::int64_t radius);
DtwKernel lanes_kernel(std::int64_t length, std::int64_t radius);
DtwKernel columns_kernel(std::int64_t length, std::int64_t radius);
void launch_dtw_thread(const DtwBatch& batch, cudaStream_t stream);
void launch_dtw_lanes(const DtwBatch& batch, cudaStream_t stream);
void launch_dtw_columns(const DtwBatch& batch, cudaStream_t stream);

}  // namespace warploom::search
