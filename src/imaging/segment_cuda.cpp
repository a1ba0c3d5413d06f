#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/segment_backend.hpp"
#include "imaging/segment_kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

// Iterations of one graph: even, so that level sets are where they were after it. Extra ones, after the state
// says done, return at once.
constexpr int kBatch = 32;

/// One allocation for all that a run needs.
class Buffers {
 public:
  Buffers(std::uint64_t voxels, int blocks, int max_iterations)
      : other_(arena_.add<float>(voxels)),
        partial_sums_(arena_.add<double>(kStepSums * static_cast<std::uint64_t>(blocks))),
        energies_(arena_.add<double>(static_cast<std::uint64_t>(max_iterations))),
        state_(arena_.add<RunState>(1)),
        finished_blocks_(arena_.add<unsigned>(1)) {
    if (const auto [free, total] = device_memory(); bytes() > free)
      throw OutOfMemory("segmenting " + std::to_string(voxels) + " voxels needs " + std::to_string(bytes()) +
                        " bytes of the GPU's memory, " + std::to_string(free) +
                        " are free; `device` cpu does without");
    arena_.allocate();
  }

  SegmentBuffers pointers(const float* image, float* level_set) const {
    return {image,
            {level_set, arena_.at<float>(other_)},
            arena_.at<double>(partial_sums_),
            arena_.at<double>(energies_),
            arena_.at<RunState>(state_),
            arena_.at<unsigned>(finished_blocks_)};
  }
  std::uint64_t bytes() const { return arena_.bytes(); }

 private:
  DeviceArena arena_;
  std::uint64_t other_;  // this and what follows: in the arena
  std::uint64_t partial_sums_, energies_, state_, finished_blocks_;
};

int extent(std::int64_t n) {
  constexpr std::int64_t kMost = 1 << 30;
  if (n > kMost)
    throw BadInput("an extent of " + std::to_string(n) + " voxels is above the GPU's " +
                   std::to_string(kMost));
  return static_cast<int>(n);
}

class Run {
 public:
  Run(const SegmentProblem& problem, float* level_set)
      : problem_(problem),
        nx_(extent(problem.grid.nx)),
        ny_(extent(problem.grid.ny)),
        nz_(extent(problem.grid.nz)),
        blocks_(resident_blocks()),
        buffers_(static_cast<std::uint64_t>(problem.grid.voxels()), blocks_,
                 problem.constants.max_iterations),
        device_(buffers_.pointers(problem.image, level_set)) {
    if (problem.grid.nx * problem.grid.ny > INT32_MAX)
      throw BadInput("a plane of " + std::to_string(problem.grid.nx) + " x " +
                     std::to_string(problem.grid.ny) + " voxels is above the GPU's 2^31 - 1");
    make_graph();
  }

  SegmentOutcome operator()() {
    states_[0] = problem_.begin;
    copy(device_.state, &states_[0], sizeof(RunState));
    cuda_check(cudaMemsetAsync(device_.finished_blocks, 0, sizeof(unsigned), stream_.get()),
               "cudaMemsetAsync");
    record(begun_);
    SegmentOutcome outcome{.end = iterate(), .energy = {}};
    record(evolved_);
    if (outcome.end.iteration % 2 != 0)
      copy(device_.level_set[0], device_.level_set[1],
           sizeof(float) * static_cast<std::size_t>(problem_.grid.voxels()));
    outcome.energy.resize(static_cast<std::size_t>(outcome.end.iteration));
    copy(outcome.energy.data(), device_.energies, sizeof(double) * outcome.energy.size());
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying the energies from the GPU");
    outcome.seconds = seconds_between(begun_, evolved_);
    outcome.device_bytes = buffers_.bytes();
    return outcome;
  }

 private:
  int resident_blocks() const {
    int blocks = 0;
    cuda_check(segment_step_blocks(nx_, ny_, nz_, blocks), "counting resident blocks of the segmentation");
    return blocks;
  }

  void make_graph() {
    cuda_check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    for (int k = 0; k < kBatch; ++k)
      cuda_check(launch_segment_step(device_, problem_.constants, nx_, ny_, nz_, blocks_, k, stream_.get()),
                 "launching the segmentation's kernel");
    cudaGraph_t captured = nullptr;
    cuda_check(cudaStreamEndCapture(stream_.get(), &captured), "cudaStreamEndCapture");
    const CudaOwner<cudaGraph_t> graph(captured);
    cudaGraphExec_t batch = nullptr;
    cuda_check(cudaGraphInstantiate(&batch, graph.get(), 0), "cudaGraphInstantiate");
    batch_.reset(batch);
  }

  /// Batches until the state says done. It is looked at one batch late, so that the GPU never waits.
  RunState iterate() {
    Progress progress("segmenting", static_cast<std::uint64_t>(problem_.constants.max_iterations),
                      "iterations");
    const auto launch = [&](std::size_t batch) {
      cuda_check(cudaGraphLaunch(batch_.get(), stream_.get()), "cudaGraphLaunch");
      copy(&states_[batch % 2], device_.state, sizeof(RunState));
      record(checked_[batch % 2]);
    };
    launch(0);
    int iterations = 0;
    for (std::size_t batch = 0;; ++batch) {
      launch(batch + 1);
      cuda_check(cudaEventSynchronize(checked_[batch % 2].get()), "iterations of the segmentation");
      const RunState now = states_[batch % 2];
      progress.advance(static_cast<std::uint64_t>(now.iteration - std::exchange(iterations, now.iteration)));
      if (now.done != 0) return now;
    }
  }

  void record(const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), stream_.get()), "cudaEventRecord");
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
  }

  const SegmentProblem& problem_;
  int nx_, ny_, nz_, blocks_;
  Buffers buffers_;
  SegmentBuffers device_;
  PinnedArray<RunState> states_ = make_pinned<RunState>(2);  // of the batch before and of the one under way
  CudaStream stream_ = make_stream();
  CudaEvent begun_ = make_event(), evolved_ = make_event();
  std::array<CudaEvent, 2> checked_ = {make_event(), make_event()};
  CudaOwner<cudaGraphExec_t> batch_;
  WaitAtEnd wait_{stream_.get()};
};

}  // namespace

SegmentOutcome evolve_cuda(const SegmentProblem& problem, float* level_set) {
  return Run(problem, level_set)();
}

}  // namespace warploom::imaging
