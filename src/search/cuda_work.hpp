#pragma once

/// Work that is put together on the host and done by the device in a few launches, whatever the number of
/// patterns.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/cuda/owners.hpp"
#include "search/cuda_groups.hpp"
#include "search/cuda_joint.hpp"
#include "search/cuda_memory.hpp"
#include "search/cuda_pruning.hpp"
#include "search/cuda_selection.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {

/// Whose kernels' blocks are started before those of others.
inline CudaStream make_first_stream() {
  int least = 0, most = 0;
  cudaStream_t stream = nullptr;
  cuda_check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange");
  cuda_check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most),
             "cudaStreamCreateWithPriority");
  return CudaStream(stream);
}

/// A recording, and how its windows are compared.
struct DeviceSignal {
  const Signal& host;
  const float* device;  ///< channel after channel, each `stride` after the one before; null: copied as needed
  std::int64_t stride;
  Normalization normalization;
};

/// What one piece of work needs at a time.
struct WorkLane {
  /// Of copies, and of the choice of candidates, which fills few processors: it overtakes the matrices of the
  /// piece after.
  CudaStream copies = make_first_stream();
  DeviceBuffer device, device_results;
  PinnedBuffer jobs, results;
  CudaEvent uploaded = make_event(), begin = make_event(), bounded = make_event(), computed = make_event(),
            end = make_event(), done = make_event();
  /// Where a result is on the host.
  template <class T>
  T* host(T* result) const {
    return reinterpret_cast<T*>(results.memory.get() +
                                (reinterpret_cast<const std::byte*>(result) - device_results.memory.get()));
  }
};

/// What is compared, and where the host finds what was done, among the results.
struct Compared {
  std::int64_t windows;
  std::int64_t cells;                 ///< of a window
  const unsigned long long* missing;  ///< windows that touch a missing sample
  std::int64_t seeds = 0;             ///< compared to find a bound
  int bounds = -1;                    ///< of Work::bound_counts(); -1: all windows are computed
};

/// First everything is asked for without memory, then again with memory of the size that the first time
/// found.
class Work {
 public:
  Work(const DeviceSignal& signal, std::byte* device, std::byte* device_results)
      : signal_(signal), memory_(device), results_(device_results) {}

  template <class T>
  T* take(std::int64_t count) {
    return memory_.take<T>(count);
  }
  /// What is copied back to the host, at the same place in the lane's results; zeros at first.
  template <class T>
  T* take_result(std::int64_t count) {
    return results_.take<T>(count);
  }
  /// Distances of windows [first, first + count) of a channel, or, with `begins` of take_begins(), of `count`
  /// windows from there on, `first` being 0, to the entries from `profile` on. Only a recording that is on
  /// the device takes `begins`. Windows that were asked for before are not normalised again.
  Compared compare(const DeviceQuery& query, std::uint32_t pattern, std::int32_t channel, std::int64_t first,
                   std::int64_t count, const std::int64_t* begins, ProfileEntry* profile);
  /// The same of several channels; the channel is the pattern's own business.
  Compared compare(const DeviceJoint& query, std::uint32_t pattern, std::int32_t, std::int64_t first,
                   std::int64_t count, const std::int64_t* begins, ProfileEntry* profile);
  /// As compare(), of windows of the task that was given to prune() last; those that bounds exclude keep
  /// kNoEntry.
  Compared compare_pruned(const DeviceQuery& query, std::uint32_t pattern, std::int32_t channel,
                          std::int64_t first, std::int64_t count, ProfileEntry* profile);
  void prune(const PrunedTask& task) { pruning_.begin(task); }
  /// Among the results; after finish().
  BoundCounts* bound_counts() const { return pruning_.counts(); }
  /// A copy on the device; those on the host must stay until the work is done.
  const std::int64_t* take_begins(std::span<const std::int64_t> begins);
  /// `entries` of kNoEntry
  ProfileEntry* take_profile(std::int64_t entries);
  void select(const SelectionJob& job) { selections_.push_back(job); }
  void collect(const CollectJob& job) { collections_.push_back(job); }
  /// The last to be asked for.
  void finish();

  std::size_t bytes() const { return memory_.used(); }
  std::size_t result_bytes() const { return results_.used(); }
  std::size_t job_bytes() const { return job_bytes_; }
  /// Everything, without waiting unless something is pruned; then `lane.done` is recorded. Lanes' matrices
  /// are computed one after the other on `kernels`; `lane.begin` and `lane.end` stand around all kernels of
  /// the work. What is pruned is waited for until lower bounds are known.
  void start(WorkLane& lane, cudaStream_t kernels);
  /// The kernel that does most.
  std::string kernel() const {
    return joint_.empty() ? matrices_.heaviest().name() : joint_.heaviest().name();
  }

 private:
  struct Part {
    std::int64_t first = 0, last = 0;  // samples
    float* device = nullptr;
  };
  struct Scales {
    WindowScale* scales;
    unsigned long long* missing;
  };
  Scales& scales_of(std::int32_t channel, const float* samples, std::int32_t length, std::int64_t first,
                    std::int64_t count, const std::int64_t* begins);
  const float* samples(std::int32_t channel, std::int64_t first, std::int64_t last);
  /// The arrays of jobs but those of matrices, whose lists may not be known yet.
  struct DeviceJobs {
    const MomentsJob* moments;
    const SelectionJob* selections;
  };
  DeviceJobs put_jobs(JobUpload& upload);
  std::pair<Compared, DtwGroups::Place> add(const DeviceQuery& query, std::uint32_t pattern,
                                            std::int32_t channel, std::int64_t first, std::int64_t count,
                                            const std::int64_t* begins, ProfileEntry* profile);

  DeviceSignal signal_;
  Carver memory_, results_;
  std::vector<std::pair<ProfileEntry*, std::int64_t>> profiles_;
  std::map<std::tuple<std::int32_t, std::int64_t, std::int64_t>, float*> parts_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t, std::int64_t, const std::int64_t*>, Scales>
      scales_;
  std::vector<std::pair<std::int64_t*, std::span<const std::int64_t>>> begins_;
  std::vector<MomentsJob> moments_;
  DtwGroups matrices_;
  JointGroups joint_;
  Pruning pruning_;
  std::vector<SelectionJob> selections_;
  std::vector<CollectJob> collections_;
  std::size_t job_bytes_ = 0;
  std::byte* jobs_ = nullptr;
  float* edges_ = nullptr;
  unsigned moment_blocks_ = 0, selection_blocks_ = 0;
};

}  // namespace warploom::search
