#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/tgv.hpp"
#include "imaging/tgv_kernels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

using Clock = std::chrono::steady_clock;

class Cuda final : public TgvBackend {
 public:
  Cuda(const TvProblem& problem, const float* image) : shape_(tgv_shape(problem)) {
    const std::int64_t channels = shape_.channels;
    const auto add = [&](std::int64_t components) {
      return arena_.add<float>(static_cast<std::uint64_t>(tgv_floats(shape_, components * channels)));
    };
    const std::uint64_t w = add(3), w_bar = add(3), end_of_w = arena_.bytes();
    const std::uint64_t u = add(1), u_bar = add(1), noisy = add(1), p = add(3), q = add(6), q_mean = add(6);
    const auto sums = arena_.add<TgvSums>(kTgvMeasureBlocks);
    if (const auto [free, total] = device_memory(); arena_.bytes() > free)
      throw OutOfMemory(
          "total generalised variation of " + std::to_string(shape_.voxels) + " voxels and " +
          std::to_string(channels) + " channels needs " + std::to_string(arena_.bytes()) +
          " bytes of the GPU's memory, " + std::to_string(free) +
          " are free or allowed, and it does not go through it in slabs: use the CPU, or total variation");
    arena_.allocate();
    auto* const memory = arena_.at<std::byte>(0);
    const auto begin = [&](std::uint64_t place) { return arena_.at<float>(place) + shape_.padding; };
    fields_ = {begin(u), begin(u_bar), begin(w),      begin(w_bar),
               begin(p), begin(q),     begin(q_mean), begin(noisy)};
    sums_ = arena_.at<TgvSums>(sums);

    const Clock::time_point start = Clock::now();
    // All bits set is NaN.
    cuda_check(cudaMemsetAsync(memory, 0xFF, end_of_w, stream_.get()), "cudaMemsetAsync");
    cuda_check(cudaMemsetAsync(memory + end_of_w, 0, arena_.bytes() - end_of_w, stream_.get()),
               "cudaMemsetAsync");
    PinnedPair staging(stream_.get(), 4 << 20);
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint64_t bytes = sizeof(float) * static_cast<std::uint64_t>(shape_.voxels);
      staging.upload(fields_.noisy + c * shape_.stride, problem.noisy + c * shape_.voxels, bytes);
      staging.upload(fields_.u + c * shape_.stride, image + c * shape_.voxels, bytes);
      cuda_check(cudaMemcpyAsync(fields_.u_bar + c * shape_.stride, fields_.u + c * shape_.stride, bytes,
                                 cudaMemcpyDeviceToDevice, stream_.get()),
                 "copying the image");
    }
    cuda_check(launch_tgv_begin(fields_, shape_, stream_.get()), "launching the first kernel");
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying the image to the device");
    transfer_seconds_ = seconds_since(start);
  }

  void iterate(const TgvSteps& steps, int count) override {
    for (int k = 0; k < count; ++k)
      cuda_check(launch_tgv_iteration(fields_, shape_, steps, stream_.get()), "launching an iteration");
  }

  TgvSums measure(const TgvSteps& steps, float newest) override {
    cuda_check(launch_tgv_measure(fields_, shape_, steps, newest, sums_, stream_.get()),
               "launching the measure");
    cuda_check(cudaMemcpyAsync(parts_.get(), sums_, kTgvMeasureBlocks * sizeof(TgvSums),
                               cudaMemcpyDeviceToHost, stream_.get()),
               "copying the sums");
    cuda_check(cudaStreamSynchronize(stream_.get()), "denoising on the device");
    TgvSums sums;
    for (int block = 0; block < kTgvMeasureBlocks; ++block) {
      const TgvSums& part = parts_.get()[block];
      sums.slope += part.slope, sums.strain += part.strain;
      sums.fidelity += part.fidelity, sums.dual += part.dual;
      sums.largest = std::max(sums.largest, part.largest);
    }
    return sums;
  }

  void finish(float* image, TvOutcome& outcome) {
    const Clock::time_point start = Clock::now();
    PinnedPair staging(stream_.get(), 4 << 20);
    for (std::int64_t c = 0; c < shape_.channels; ++c)
      staging.download(fields_.u + c * shape_.stride, static_cast<std::uint64_t>(shape_.voxels),
                       [&](std::uint64_t begin, const float* data, std::uint64_t count) {
                         std::copy_n(data, count,
                                     image + c * shape_.voxels + static_cast<std::int64_t>(begin));
                       });
    outcome.transfer_seconds = transfer_seconds_ + seconds_since(start);
    outcome.device_bytes = arena_.bytes();
  }

 private:
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  TgvShape shape_;
  DeviceArena arena_;
  TgvFields fields_;
  TgvSums* sums_ = nullptr;
  PinnedArray<TgvSums> parts_ = make_pinned<TgvSums>(kTgvMeasureBlocks);
  double transfer_seconds_ = 0;
  CudaStream stream_ = make_stream();
  WaitAtEnd wait_{stream_.get()};  // the last member: before what the stream uses is released
};

}  // namespace

TvOutcome minimise_tgv_cuda(const TvProblem& problem, float* image) {
  cuda_check(cudaFree(nullptr), "starting CUDA");
  Cuda backend(problem, image);
  TvOutcome outcome = minimise_tgv(problem, backend);
  backend.finish(image, outcome);
  return outcome;
}

}  // namespace warploom::imaging
