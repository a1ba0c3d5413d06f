#pragma once

/// Matrices of many jobs, those of one kernel in one launch.

#include <vector>

#include "search/cuda_dtw.hpp"
#include "search/cuda_memory.hpp"

namespace warploom::search {

/// A pattern on the device.
struct DeviceQuery {
  const float* samples;  ///< as DtwJob has it
  std::int32_t length, radius;
  float middle;      ///< as EnvelopeJob has it
  DtwKernel kernel;  ///< the cheapest
};

class DtwGroups {
 public:
  struct Place {
    std::size_t group, job;
  };
  /// @param job  of this query, whose samples, length and radius are filled in
  Place add(const DeviceQuery& query, DtwJob job);
  DtwJob& job(Place place) { return groups_[place.group].jobs[place.job]; }

  /// After the last job was added or changed. @return floats that launch() needs for edges
  std::int64_t finish();
  void put(JobUpload& upload);
  /// Those that have windows.
  void launch(float* edges, cudaStream_t stream);
  /// Of the kernel that does most; of added jobs, at least one.
  const DtwKernel& heaviest() const;

 private:
  struct Group {
    DtwBatch batch;
    std::vector<DtwJob> jobs;
  };
  std::vector<Group> groups_;
};

}  // namespace warploom::search
