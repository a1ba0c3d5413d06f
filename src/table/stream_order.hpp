#pragma once

/// Which streams have work on a table, so that maintenance can be put between batches without waiting.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cuda/owners.hpp"

namespace warploom::table {

/// Batches on several streams may overlap; exclusive work follows all before it and comes before all after
/// it. As long as one stream is used only, its own order is enough and no event is recorded.
class StreamOrder {
 public:
  /// What is launched on the stream next is a batch.
  void enter(cudaStream_t stream) {
    if (!uses_.empty()) {
      if (uses_.back().stream == stream) return;
      record(uses_.back().last, uses_.back().stream);
      if (exclusive_unrecorded_) record(exclusive_, uses_.back().stream);
      exclusive_unrecorded_ = false;
    }
    const auto known = std::ranges::find(uses_, stream, &Use::stream);
    if (known != uses_.end()) {
      std::rotate(known, known + 1, uses_.end());
      return;
    }
    uses_.push_back({stream, nullptr});
    forget_finished();
    if (exclusive_ != nullptr) follow(stream, exclusive_);
  }

  /// What is launched on the stream next, up to end_exclusive(), is not to overlap with anything.
  void begin_exclusive(cudaStream_t stream) {
    enter(stream);
    for (const Use& use : uses_)
      if (use.stream != stream) follow(stream, use.last);
    uses_.erase(uses_.begin(), uses_.end() - 1);
  }
  /// Whether that costs nothing: no other stream has work.
  bool is_exclusive() {
    forget_finished();
    return uses_.size() == 1;
  }
  /// Other streams, when they come, wait for what was launched since.
  void end_exclusive() { exclusive_unrecorded_ = true; }

  /// After all work was waited for: streams may be destroyed.
  void forget() {
    uses_.clear();
    exclusive_unrecorded_ = false;
  }
  /// Waits for all work, without throwing.
  void wait() noexcept {
    for (const Use& use : uses_) {
      if (&use == &uses_.back())
        cudaStreamSynchronize(use.stream);
      else
        cudaEventSynchronize(use.last.get());
    }
    forget();
  }

 private:
  struct Use {
    cudaStream_t stream;
    CudaEvent last;  ///< after its latest batch; not recorded for the current stream, the last one of uses_
  };

  static void record(CudaEvent& event, cudaStream_t stream) {
    if (event == nullptr) {
      cudaEvent_t made = nullptr;
      cuda_check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreate");
      event.reset(made);
    }
    cuda_check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
  }
  static void follow(cudaStream_t stream, const CudaEvent& event) {
    cuda_check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
  }
  void forget_finished() {
    const auto finished = [](const Use& use) {
      const bool yes = cudaEventQuery(use.last.get()) == cudaSuccess;
      if (!yes) cudaGetLastError();  // or the next launch seems to have failed
      return yes;
    };
    uses_.erase(std::remove_if(uses_.begin(), uses_.end() - 1, finished), uses_.end() - 1);
  }

  std::vector<Use> uses_;
  CudaEvent exclusive_;  ///< after exclusive work, and batches that followed it on its stream
  bool exclusive_unrecorded_ = false;
};

}  // namespace warploom::table
