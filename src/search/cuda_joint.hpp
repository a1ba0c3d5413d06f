#pragma once

/// Matrices of several channels, those of one kernel in one launch.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/cuda_memory.hpp"
#include "search/joint_job.hpp"

namespace warploom::search {

/// A pattern of several channels on the device.
struct DeviceJoint {
  std::vector<std::pair<std::int32_t, const float*>>
      channels;  ///< the recording's; samples as DtwJob has them
  std::int32_t length, radius;
  std::int32_t together;  ///< channels that one matrix is of
  JointKernel kernel;     ///< the cheaper
};

class JointGroups {
 public:
  /// @param job  of this query, whose channels, length and radius are filled in
  void add(const DeviceJoint& query, std::span<const JointChannel> channels, JointJob job);
  bool empty() const { return groups_.empty(); }
  /// After the last was added. @return floats that launch() needs
  std::int64_t finish();
  void put(JobUpload& upload);
  void launch(float* memory, cudaStream_t stream);
  /// Of added jobs, at least one.
  const JointKernel& heaviest() const;

 private:
  struct Group {
    JointBatch batch;
    std::vector<JointJob> jobs;
    std::vector<std::size_t> channels;  // of each job the first, among all
  };
  std::vector<Group> groups_;
  std::vector<JointChannel> channels_;
};

}  // namespace warploom::search
