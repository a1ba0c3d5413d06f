#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "core/cuda/peers.hpp"
#include "imaging/segment_convex.hpp"
#include "imaging/segment_convex_kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {

namespace {

// H200, 2048^2 pixels, 40 iterations: 3.3 ms with one at once, 2.0 with two, 1.5 with four.
constexpr int kPlaneSteps = 4;

int extent_of(std::int64_t n) {
  if (n > std::numeric_limits<int>::max() / 4)
    throw BadInput("an extent of " + std::to_string(n) + " voxels is above the GPU's " +
                   std::to_string(std::numeric_limits<int>::max() / 4));
  return static_cast<int>(n);
}

/// Axes with one voxel are left out: the order in memory is the same without them.
ConvexShape shape_of(const Grid& grid) {
  ConvexShape out{1, 1, 1};
  int* const extents[] = {&out.nx, &out.ny, &out.nz};
  std::size_t axis = 0;
  for (const std::int64_t n : {grid.nx, grid.ny, grid.nz})
    if (const int extent = extent_of(n); extent > 1) *extents[axis++] = extent;
  return out;
}

class Cuda final : public ConvexSlab {
 public:
  /// On the current device. @param on  it, where there are others
  Cuda(const ConvexProblem& problem, Device on)
      : device_(on),
        edges_(problem.edges),
        shape_(shape_of(problem.grid)),
        voxels_(problem.grid.voxels()),
        plane_size_(problem.grid.nx * problem.grid.ny),
        first_(problem.first),
        planes_(problem.planes),
        plane_(shape_.ny > 1 && shape_.nz == 1 && problem.mask == nullptr) {
    const auto count = static_cast<std::uint64_t>(voxels_);
    const auto measured = static_cast<std::uint64_t>(2 * convex_measure_blocks(shape_));
    const auto v = arena_.add<float>(count), next = arena_.add<float>(count),
               p = arena_.add<float>(count * static_cast<std::uint64_t>(edges_.count)),
               levels = arena_.add<unsigned long long>(3 * kLevels),
               sides = arena_.add<unsigned long long>(2), counts = arena_.add<long long>(measured),
               sums = arena_.add<double>(measured);
    const std::uint64_t others = plane_ ? count : 1;
    const auto other_v = arena_.add<float>(others), other_next = arena_.add<float>(others),
               other_p = arena_.add<float>(others * static_cast<std::uint64_t>(edges_.count));
    // Image and mask are another GPU's.
    const bool elsewhere = is_elsewhere(problem.image);
    const auto image = arena_.add<float>(elsewhere ? count : 0),
               mask = arena_.add<unsigned char>(elsewhere && problem.mask != nullptr ? count : 0);
    if (const auto [free, total] = device_memory(); arena_.bytes() > free)
      throw OutOfMemory("segmenting " + std::to_string(count) + " voxels needs " +
                        std::to_string(arena_.bytes()) + " bytes of the GPU's memory, " +
                        std::to_string(free) + " are free; `device` cpu does without");
    arena_.allocate();
    device_buffers_ = {problem.image,
                       problem.mask,
                       arena_.at<float>(v),
                       arena_.at<float>(next),
                       arena_.at<float>(p),
                       arena_.at<unsigned long long>(levels),
                       arena_.at<unsigned long long>(sides),
                       arena_.at<long long>(counts),
                       arena_.at<double>(sums),
                       arena_.at<float>(other_v),
                       arena_.at<float>(other_next),
                       arena_.at<float>(other_p)};
    const std::size_t bytes = sizeof(float) * count;
    if (elsewhere) {
      copy(arena_.at<float>(image), problem.image, bytes);
      device_buffers_.image = arena_.at<float>(image);
      if (problem.mask != nullptr) {
        copy(arena_.at<unsigned char>(mask), problem.mask, count);
        device_buffers_.mask = arena_.at<unsigned char>(mask);
      }
    }
    copy(device_buffers_.v, device_buffers_.image, bytes);
    copy(device_buffers_.extrapolated, device_buffers_.image, bytes);
    clear(device_buffers_.p, bytes * static_cast<std::size_t>(edges_.count));
    record(made_);
  }

  void connect(const ConvexSlab* lower, const ConvexSlab* upper) override {
    lower_ = static_cast<const Cuda*>(lower), upper_ = static_cast<const Cuda*>(upper);
  }

  void begin(float lambda) override { lambda_ = lambda, steps_ = first_steps(edges_); }

  void iterate(int count) override {
    const OnDevice current(device_);
    if (alone()) {
      const Timer timer(*this, seconds_);
      if (plane_)
        iterate_plane(count);
      else
        for (int k = 0; k < count; ++k) step();
    } else {
      // They have taken what the step before made.
      for (const Cuda* neighbour : {lower_, upper_})
        if (neighbour != nullptr) follow(neighbour->taken_);
      for (int k = 0; k < count; ++k) step();
      record(made_);
    }
    if (alone()) check_interrupt();
  }

  void take_extrapolated() override {
    take([](const Cuda& slab) { return slab.device_buffers_.extrapolated; });
  }
  void take_v() override {
    take([](const Cuda& slab) { return slab.device_buffers_.v; });
  }

  void ask_levels() override {
    const OnDevice current(device_);
    begin_timing();
    clear(device_buffers_.levels, sizeof(unsigned long long) * 3 * kLevels);
    cuda_check(launch_convex_levels(own(), planes_ * plane_size_, stream_.get()),
               "launching the levels' kernel");
    end_timing();
  }
  LevelSums levels() override {
    std::vector<unsigned long long> sums(3 * kLevels);
    fetch(sums.data(), device_buffers_.levels, sizeof(unsigned long long) * sums.size());
    LevelSums out;
    for (std::size_t k = 0; k < std::size_t{kLevels}; ++k) {
      out.count[k] = static_cast<std::int64_t>(sums[k]);
      out.sum[k] = static_cast<std::int64_t>(sums[kLevels + k]);
      out.square[k] = static_cast<std::int64_t>(sums[2 * kLevels + k]);
    }
    return out;
  }

  void ask_sides(float threshold) override {
    const OnDevice current(device_);
    begin_timing();
    clear(device_buffers_.sides, sizeof(unsigned long long) * 2);
    cuda_check(launch_convex_sides(own(), planes_ * plane_size_, threshold, stream_.get()),
               "launching the sides' kernel");
    end_timing();
  }
  SetSums sides() override {
    unsigned long long sums[2] = {};
    fetch(sums, device_buffers_.sides, sizeof sums);
    SetSums out;
    out.inside = static_cast<std::int64_t>(sums[0]), out.sum = static_cast<std::int64_t>(sums[1]);
    return out;
  }

  void ask_measure(float threshold) override {
    const OnDevice current(device_);
    begin_timing();
    cuda_check(launch_convex_measure(device_buffers_, edges_, shape_, threshold, stream_.get()),
               "launching the measuring kernel");
    end_timing();
  }
  std::vector<SetSums> measure() override {
    const auto blocks = static_cast<std::size_t>(convex_measure_blocks(shape_));
    std::vector<long long> counts(2 * blocks);
    std::vector<double> sums(2 * blocks);
    fetch(counts.data(), device_buffers_.partial_counts, sizeof(long long) * counts.size());
    fetch(sums.data(), device_buffers_.partial_sums, sizeof(double) * sums.size());
    // Every plane has as many blocks; those of the neighbours' planes do not count.
    const auto layers = static_cast<std::size_t>(convex_measure_layers(shape_)), each = blocks / layers;
    const std::size_t first = alone() ? 0 : static_cast<std::size_t>(first_),
                      end = alone() ? layers : static_cast<std::size_t>(first_ + planes_);
    std::vector<SetSums> planes;
    for (std::size_t layer = first; layer < end; ++layer) {
      SetSums& out = planes.emplace_back();
      for (std::size_t k = layer * each; k < (layer + 1) * each; ++k) {
        out.inside += counts[k], out.sum += counts[blocks + k];
        out.length += sums[k], out.excess += sums[blocks + k];
      }
    }
    return planes;
  }

  const float* v(const std::vector<std::unique_ptr<ConvexSlab>>& all) override {
    if (all.size() == 1) return device_buffers_.v;
    const OnDevice current(device_);
    std::int64_t voxels = 0;
    for (const auto& slab : all) voxels += static_cast<const Cuda&>(*slab).planes_ * plane_size_;
    if (whole_ == nullptr) whole_ = make_device<float>(static_cast<std::size_t>(voxels));
    float* to = whole_.get();
    for (const auto& slab : all) {
      const auto& from = static_cast<const Cuda&>(*slab);
      const std::int64_t count = from.planes_ * plane_size_;
      copy(to, from.own().v, sizeof(float) * static_cast<std::size_t>(count));
      to += count;
    }
    wait();
    return whole_.get();
  }

  void wait() override { cuda_check(cudaStreamSynchronize(stream_.get()), "segmenting on a GPU"); }
  double seconds() const override { return seconds_; }
  std::uint64_t device_bytes() const override { return arena_.bytes(); }

 private:
  bool alone() const { return lower_ == nullptr && upper_ == nullptr; }
  static bool is_elsewhere(const void* memory) {
    cudaPointerAttributes found{};
    int current = 0;
    cuda_check(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
    cuda_check(cudaGetDevice(&current), "cudaGetDevice");
    return found.type == cudaMemoryTypeDevice && found.device != current;
  }
  /// From its own planes on.
  ConvexBuffers own() const {
    ConvexBuffers out = device_buffers_;
    const std::int64_t voxels = first_ * plane_size_;
    out.image += voxels, out.v += voxels;
    if (out.mask != nullptr) out.mask += voxels;
    return out;
  }

  void step() {
    ConvexSteps next = steps_;
    next_steps(next);
    cuda_check(launch_convex_step(device_buffers_, edges_, shape_, steps_.sigma, lambda_, steps_.tau,
                                  next.theta, stream_.get()),
               "launching the segmentation's kernels");
    steps_ = next;
  }

  void follow(const CudaEvent& event) const {
    cuda_check(cudaStreamWaitEvent(stream_.get(), event.get(), 0), "cudaStreamWaitEvent");
  }
  /// The neighbours' planes next to its own, when they have made them.
  template <class ValuesOf>
  void take(const ValuesOf& values_of) {
    const OnDevice current(device_);
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(plane_size_);
    float* const own = values_of(*this);
    if (lower_ != nullptr) {
      follow(lower_->made_);
      copy(own + (first_ - 1) * plane_size_,
           values_of(*lower_) + (lower_->first_ + lower_->planes_ - 1) * plane_size_, bytes);
    }
    if (upper_ != nullptr) {
      follow(upper_->made_);
      copy(own + (first_ + planes_) * plane_size_, values_of(*upper_) + upper_->first_ * plane_size_, bytes);
    }
    record(taken_);
  }

  /// From here to the end of the scope on the GPU, for which it waits.
  class Timer {
   public:
    Timer(Cuda& run, double& seconds) : run_(run), seconds_(seconds) {
      cuda_check(cudaEventRecord(run_.begun_.get(), run_.stream_.get()), "cudaEventRecord");
    }
    ~Timer() {  // an error stays, and the next call finds it
      float milliseconds = 0;
      if (cudaEventRecord(run_.ended_.get(), run_.stream_.get()) == cudaSuccess &&
          cudaEventSynchronize(run_.ended_.get()) == cudaSuccess &&
          cudaEventElapsedTime(&milliseconds, run_.begun_.get(), run_.ended_.get()) == cudaSuccess)
        seconds_ += double(milliseconds) / 1e3;
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Cuda& run_;
    double& seconds_;
  };
  /// Of what is fetched next.
  void begin_timing() { record(begun_); }
  void end_timing() { record(ended_), timed_ = true; }

  /// Several iterations at once, as long as so many are left.
  void iterate_plane(int count) {
    while (count > 0) {
      PlaneSteps steps{
          .count = std::min(kPlaneSteps, static_cast<int>(std::bit_floor(static_cast<unsigned>(count)))),
          .step = {}};
      for (int k = 0; k < steps.count; ++k) {
        ConvexSteps next = steps_;
        next_steps(next);
        steps.step[k] = {steps_.sigma, steps_.tau, 1 / (1 + steps_.tau), next.theta};
        steps_ = next;
      }
      int& rows = plane_rows_[steps.count];
      if (rows == 0) cuda_check(convex_plane_rows(steps.count, shape_, rows), "asking for the GPU's size");
      cuda_check(launch_convex_plane(device_buffers_, edges_, shape_, steps, lambda_, rows, stream_.get()),
                 "launching the segmentation's kernels");
      count -= steps.count;
    }
  }

  void copy(void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
  }
  void record(const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), stream_.get()), "cudaEventRecord");
  }
  void fetch(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes);
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying sums from the GPU");
    if (std::exchange(timed_, false)) seconds_ += seconds_between(begun_, ended_);
  }
  void clear(void* what, std::size_t bytes) {
    cuda_check(cudaMemsetAsync(what, 0, bytes, stream_.get()), "cudaMemsetAsync");
  }

  Device device_;
  Edges edges_;
  ConvexShape shape_;
  std::int64_t voxels_, plane_size_;
  std::int64_t first_, planes_;  // its own planes
  bool plane_;
  int plane_rows_[kMostPlaneSteps + 1] = {};  // by steps at once; 0: not asked for yet
  DeviceArena arena_;
  ConvexBuffers device_buffers_{};
  DeviceArray<float> whole_;  // v of all slabs
  const Cuda *lower_ = nullptr, *upper_ = nullptr;
  CudaStream stream_ = make_stream();
  CudaEvent begun_ = make_event(), ended_ = make_event();
  CudaEvent made_ = make_event(), taken_ = make_event();  // for the neighbours
  bool timed_ = false;
  float lambda_ = 0;
  ConvexSteps steps_{};
  double seconds_ = 0;
  WaitAtEnd wait_{stream_.get()};
};

}  // namespace

std::unique_ptr<ConvexBackend> convex_cuda(const ConvexProblem& problem, const std::vector<Device>& devices) {
  const auto cuts = convex_cuts(problem.grid, devices.size());
  std::vector<std::unique_ptr<ConvexSlab>> slabs;
  if (cuts.size() > 1) enable_peers(devices);
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const Device device = cuts.size() > 1 ? devices[k] : Device::cuda;
    const OnDevice current(device);
    slabs.push_back(std::make_unique<Cuda>(slab_of(problem, cuts[k].first, cuts[k].second), device));
  }
  return std::make_unique<ConvexBackend>(std::move(slabs));
}

}  // namespace warploom::imaging
