#pragma once

/// What the persistent kernel is given and told, on one GPU (solve_cuda.cpp) and on several
/// (solve_shared.cpp).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "dp/backend.hpp"
#include "dp/cuda_launches.hpp"
#include "dp/kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"

namespace warploom::dp {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class T>
void require_device_memory(const Plan<T>& plan, std::uint64_t needed) {
  const auto [free, total] = device_memory();
  if (needed <= free) return;
  const std::string what = plan.problems.size() == 1
                               ? "n = " + std::to_string(plan.problems[0].points - 1)
                               : "a batch of " + std::to_string(plan.problems.size()) + " problems";
  std::string smaller = plan.problems.size() == 1 ? "" : "solve fewer at a time, ";
  if (std::is_same_v<T, std::int32_t> && !plan.narrow) smaller += "take narrow storage (`storage` narrow), ";
  if (sizeof(T) == 8) smaller += "take a type of 32 bits (`type`), ";
  throw OutOfMemory("solving " + what + " needs " + bytes_text(needed) + " of the GPU's memory, " +
                    bytes_text(free) + " of " + bytes_text(total) + " are free; " + smaller +
                    "or use the CPU (`device` cpu)");
}

/// Loads what `launch` launches, without running it; otherwise a kernel's first launch does, within the time
/// that is measured.
template <class Launch>
void load_kernels(cudaStream_t stream, const Launch& launch) {
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  launch();
  cudaGraph_t graph = nullptr;
  cuda_check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const CudaOwner<cudaGraph_t> owner(graph);
  cudaGraphExec_t executable = nullptr;
  cuda_check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  const CudaOwner<cudaGraphExec_t> executable_owner(executable);
}

/// The blocks of a batch, diagonal after diagonal of all problems; or those of one problem that some of the
/// shards own which solve it.
class Tasks {
 public:
  /// @param here  by shard: its blocks count
  template <class T>
  Tasks(std::span<const Terms<T>> problems, int edge, std::vector<bool> here = {true})
      : edge_(edge), here_(std::move(here)) {
    for (const Terms<T>& terms : problems) {
      blocks_.push_back((terms.points + edge - 1) / edge);
      first_flag_.push_back(flags_);
      flags_ += tile_place(0, blocks_.back());
      for (std::int64_t column = 0; column < blocks_.back(); ++column)
        if (is_here(column)) count_ += column + 1;
    }
  }
  std::int64_t count() const { return count_; }
  std::int64_t flags() const { return flags_; }  ///< of all blocks, wherever they are
  const std::vector<std::int64_t>& first_flag() const { return first_flag_; }

  std::vector<BlockTask> list() {
    std::vector<BlockTask> tasks;
    tasks.reserve(static_cast<std::size_t>(count_));
    for (std::int64_t d = 0; d < std::ranges::max(blocks_); ++d) {
      for (std::size_t p = 0; p < blocks_.size(); ++p)
        for (std::int64_t row = 0; row + d < blocks_[p]; ++row)
          if (is_here(row + d))
            tasks.push_back({static_cast<std::int32_t>(p), static_cast<std::int32_t>(row),
                             static_cast<std::int32_t>(row + d)});
      end_of_diagonal_.push_back(static_cast<std::int64_t>(tasks.size()));
    }
    return tasks;
  }

  /// Of the first `count` blocks of the list, about.
  double pairs(std::int64_t count) const {
    double sum = 0;
    std::int64_t begin = 0;
    for (std::size_t d = 0; d < end_of_diagonal_.size() && begin < count; begin = end_of_diagonal_[d++])
      sum += double(std::min(count, end_of_diagonal_[d]) - begin) * (d == 0 ? 1.0 / 6 : double(d));
    return sum * edge_ * edge_ * edge_;
  }

 private:
  bool is_here(std::int64_t column) const { return here_[static_cast<std::size_t>(column) % here_.size()]; }

  int edge_;
  std::vector<bool> here_;
  std::int64_t count_ = 0, flags_ = 0;
  std::vector<std::int64_t> blocks_, first_flag_, end_of_diagonal_;
};

/// What the host and a running kernel tell each other, through a stream of their own.
class Exchange {
 public:
  Exchange(int* stop, const unsigned long long* next_task, const int* overflow)
      : stop_(stop), next_task_(next_task), overflow_(overflow), host_(make_pinned<Host>(1)) {
    *host_.get() = {.stop = 1, .overflow = 0, .next_task = 0};
  }

  void stop() { copy(stop_, &host_[0].stop, sizeof(int)); }
  /// @return how many tasks have been taken  @throws NarrowOverflow
  std::int64_t look() {
    copy(&host_[0].next_task, next_task_, sizeof(unsigned long long));
    if (overflow_ != nullptr) copy(&host_[0].overflow, overflow_, sizeof(int));
    if (host_[0].overflow != 0) throw NarrowOverflow{};
    return static_cast<std::int64_t>(host_[0].next_task);
  }

 private:
  struct Host {
    int stop, overflow;
    unsigned long long next_task;
  };
  void copy(void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    cuda_check(cudaStreamSynchronize(stream_.get()), "exchanging data with the persistent kernel");
  }

  int* stop_;
  const unsigned long long* next_task_;
  const int* overflow_;  // null: not narrow
  PinnedArray<Host> host_;
  CudaStream stream_ = make_stream();
};

/// Waits for the event; calls look() several times a second if that is long.
template <class Look>
void watch(const CudaEvent& end, const Look& look) {
  constexpr double kSpin = 5e-3, kLook = 50e-3;  // [s]
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  for (;;) {
    const cudaError_t state = cudaEventQuery(end.get());
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) cuda_check(state, "the persistent kernel");
    if (seconds_since(begin) < kSpin) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (seconds_since(last) < kLook) continue;
    look();
    last = Clock::now();
  }
}

}  // namespace warploom::dp
