#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/cuda/memory.hpp"
#include "registration/queue_pair.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"

namespace warploom::registration {
namespace {

/// A stream of the current device.
class Stream : public GreedyQueue {
 public:
  /// Says how much memory all stages take, about. @throws BadInput, OutOfMemory
  Stream(const ImageSource& fixed, const ImageSource& moving, std::uint64_t then) {
    for (const ImageSource* image : {&fixed, &moving}) {
      const imaging::Grid& e = image->space.grid;
      constexpr std::int64_t kMost = 1 << 20;
      if (const std::int64_t most = std::max({e.nx, e.ny, e.nz}); most > kMost)
        throw BadInput(
            fmt::format("an extent of {} voxels is above the GPU's {}; `device` cpu registers images of any",
                        most, kMost));
      then += DeviceImage::bytes(*image);
      size_ += fmt::format("{}{} x {} x {}", size_.empty() ? "" : " and ", e.nx, e.ny, e.nz);
    }
    require(then);
    log(LogLevel::info, needs(then));
  }

  std::byte* allocate(std::uint64_t bytes) override {
    require(bytes_ + bytes);
    memory_.push_back(make_device<std::byte>(bytes));
    bytes_ += bytes;
    return memory_.back().get();
  }
  void upload(void* to, const void* from, std::uint64_t bytes) override { staging_.upload(to, from, bytes); }
  void download(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes <= kSmall) {
      check(cudaMemcpyAsync(small_.get(), from, bytes, cudaMemcpyDeviceToHost, stream_.get()),
            "copying figures");
      check(cudaStreamSynchronize(stream_.get()), "registering");
      std::memcpy(to, small_.get(), bytes);
      return;
    }
    staging_.download(static_cast<const std::byte*>(from), bytes,
                      [&](std::uint64_t begin, const std::byte* data, std::uint64_t count) {
                        std::memcpy(static_cast<std::byte*>(to) + begin, data, count);
                      });
  }
  void clear(void* what, std::uint64_t bytes) override {
    check(cudaMemsetAsync(what, 0, bytes, stream_.get()), "cudaMemsetAsync");
  }

  void copy(void* to, const void* from, std::uint64_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()), "copying");
  }

  void draw(const DrawArguments& a) override { check(launch_draw(a, stream_.get()), "drawing an image"); }
  void lncc_moments(const MomentArguments& a) override {
    check(launch_moments(a, stream_.get()), "finding a derivative");
  }
  void add_up_moments(const MomentSums& a) override {
    check(launch_moment_sums(a, stream_.get()), "adding up");
  }
  void warp(const WarpArguments& a) override { check(launch_warp(a, stream_.get()), "drawing images"); }
  void lncc_statistics(const LnccArguments& a) override {
    check(launch_lncc(a, stream_.get()), "correlating");
  }
  void lncc_force(const LnccArguments& a) override {
    check(launch_lncc_force(a, stream_.get()), "finding the force");
  }
  void ssd_force(const SsdArguments& a) override {
    check(launch_ssd_force(a, stream_.get()), "finding the force");
  }
  void smooth(const SmoothArguments& a) override { check(launch_smooth(a, stream_.get()), "smoothing"); }
  void longest(const float* field, std::int64_t voxels, unsigned* longest) override {
    check(launch_longest(field, voxels, longest, stream_.get()), "measuring a step");
  }
  void add_up(const double* parts, int count, double scale, double* sum) override {
    check(launch_add_up(parts, count, scale, sum, stream_.get()), "adding up");
  }
  void normalise(const NormaliseArguments& a) override {
    check(launch_normalise(a, stream_.get()), "bringing an image to mean 0");
  }
  void halve(const HalveArguments& a) override { check(launch_halve(a, stream_.get()), "halving images"); }
  void refine(const RefineArguments& a) override { check(launch_refine(a, stream_.get()), "refining"); }
  void through_the_middle(const MiddleArguments& a) override {
    check(launch_through_the_middle(a, stream_.get()), "composing the map");
  }
  void count_suspects(const FoldArguments& a) override {
    check(launch_count_suspects(a, stream_.get()), "looking for folds");
  }
  void find_folds(const FoldArguments& a) override {
    check(launch_find_folds(a, stream_.get()), "looking for folds");
  }
  void smooth_folds(const FoldArguments& a) override {
    check(launch_smooth_folds(a, stream_.get()), "smoothing folds");
  }
  void look(const LookArguments& a) override {
    check(launch_look(a, stream_.get()), "looking at the field");
    record(ended_);
  }
  void count_smoothed(const FoldArguments& a) override {
    check(launch_count_smoothed(a, stream_.get()), "counting what was smoothed");
  }

  /// A deformation begins.
  void begin() { record(begun_); }
  /// Once the result is here.
  void tell(DeformReport& report) const {
    report.kernel_seconds = seconds_between(begun_, ended_);
    report.device_bytes = bytes_;
  }

 private:
  static constexpr std::uint64_t kSmall = 1024;

  static void check(cudaError_t error, const char* what) { cuda_check(error, what); }
  void record(const CudaEvent& event) {
    check(cudaEventRecord(event.get(), stream_.get()), "cudaEventRecord");
  }

  std::string needs(std::uint64_t bytes) const {
    return fmt::format(
        "registering images of {} voxels needs {} of the GPU's memory, {} of {} are free or allowed", size_,
        bytes_text(bytes), bytes_text(memory_at_first_.free), bytes_text(memory_at_first_.total));
  }
  void require(std::uint64_t bytes) const {
    if (bytes > memory_at_first_.free)
      throw OutOfMemory(needs(bytes) + "; `device` cpu does without, or give images of larger voxels");
  }

  std::string size_;
  DeviceBytes memory_at_first_ = device_memory();
  std::uint64_t bytes_ = 0;
  std::vector<DeviceArray<std::byte>> memory_;
  PinnedArray<std::byte> small_ = make_pinned<std::byte>(kSmall);
  CudaStream stream_ = make_stream();
  CudaEvent begun_ = make_event(), ended_ = make_event();
  PinnedPair staging_{stream_.get(), 4 << 20};  // the last member: it waits before the rest is released
};

/// The stream first: the images go through it.
class PairOnAGpu final : private Stream, public QueuePair {
 public:
  PairOnAGpu(const ImageSource& fixed, const ImageSource& moving, std::uint64_t then)
      : Stream(fixed, moving, then), QueuePair(static_cast<Stream&>(*this), fixed, moving) {}

  FoundField deform(const Affine& affine, const DeformOptions& options, DeformReport& report) override {
    begin();
    FoundField out = QueuePair::deform(affine, options, report);
    tell(report);
    return out;
  }
};

}  // namespace

void wake_gpu() { static_cast<void>(cudaFree(nullptr)); }

std::unique_ptr<DevicePair> make_device_pair(const ImageSource& fixed, const ImageSource& moving,
                                             std::uint64_t then) {
  cuda_check(cudaFree(nullptr), "starting CUDA");
  return std::make_unique<PairOnAGpu>(fixed, moving, then);
}

}  // namespace warploom::registration
