#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "core/cuda/memory.hpp"
#include "core/cuda/peers.hpp"
#include "imaging/tv_cuda.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

// An image that the devices' memory does not hold is worked on slab by slab, whole chunks of planes with one
// plane more on either side, in every pass: copied there, computed, and copied back, on a stream each. Two
// sets of buffers on the device alternate, so that all three go on at the same time. The partial sums keep
// their places, and the last block of the last slab adds them: the result is that of one piece, bit for bit.
// Several devices have a share of the slabs each, over a bus each. They wait for each other after every
// launch, for their neighbours' planes are in the host's memory, too.

namespace warploom::imaging {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Slabs {
 public:
  /// On the current device, which is so at every call.
  Slabs(const TvProblem& problem, const TvRun& run, const TvShare& share, std::uint64_t memory);
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs() { wait_at_end(); }
  void wait_at_end() const noexcept {
    for (const CudaStream* stream : {&in_, &compute_, &out_}) cudaStreamSynchronize(stream->get());
  }

  int count() const { return (share_.chunks + chunks_ - 1) / chunks_; }
  std::uint64_t device_bytes() const { return 2 * set_floats_ * sizeof(float); }

  /// One launch over the share; the whole image's planes are in pinned memory of the host.
  void sweep(const TvLaunch& launch);
  /// For all that was asked for.
  void wait();
  cudaStream_t compute_stream() const { return compute_.get(); }

 private:
  /// An array of a launch: `parts` images, one after the other.
  struct Array {
    float* host;
    float* device;
    int parts;
    bool in, out;
  };

  void copy(const Array& array, int first, int end, int device_first, bool to_device,
            cudaStream_t stream) const;

  const TvRun& run_;
  TvShare share_;
  std::int64_t plane_, voxels_;
  int channels_, images_;
  int chunks_;  // of a slab
  std::size_t set_floats_;
  DeviceArray<float> memory_;
  CudaStream in_ = make_stream(), compute_ = make_stream(), out_ = make_stream();
  CudaEvent arrived_[2] = {make_event(), make_event()}, computed_[2] = {make_event(), make_event()},
            free_[2] = {make_event(), make_event()};
  std::vector<CudaEvent> stored_;  // of each slab, in the latest sweep
  int turn_ = 0;
};

Slabs::Slabs(const TvProblem& problem, const TvRun& run, const TvShare& share, std::uint64_t memory)
    : run_(run),
      share_(share),
      plane_(static_cast<std::int64_t>(run.nx) * run.ny),
      voxels_(problem.grid.voxels()),
      channels_(run.constants.channels),
      images_(image_count(problem.solver)) {
  const std::uint64_t plane_bytes = 2 * sizeof(float) * static_cast<std::uint64_t>(plane_) *
                                    static_cast<std::uint64_t>(channels_ * images_);
  const auto bytes = [&](int chunks) {
    return plane_bytes * static_cast<std::uint64_t>(chunks * run_.chunk + 2);
  };
  if (bytes(1) > memory)
    throw OutOfMemory("denoising " + std::to_string(run.nx) + " x " + std::to_string(run.ny) + " x " +
                      std::to_string(run.nz) + " voxels with " + std::to_string(channels_) +
                      " channels needs at least " + std::to_string(bytes(1)) +
                      " bytes of device memory (slabs of " + std::to_string(run_.chunk) + " planes), and " +
                      std::to_string(memory) + " bytes are free or allowed: use the CPU or another device");
  const std::uint64_t fit = (memory / plane_bytes - 2) / static_cast<std::uint64_t>(run_.chunk);
  chunks_ = static_cast<int>(std::min<std::uint64_t>(fit, static_cast<std::uint64_t>(share.chunks)));
  set_floats_ = static_cast<std::size_t>(bytes(chunks_) / (2 * sizeof(float)));
  memory_ = make_device<float>(2 * set_floats_);
  for (int k = 0; k < count(); ++k) stored_.push_back(make_event());
}

void Slabs::copy(const Array& array, int first, int end, int device_first, bool to_device,
                 cudaStream_t stream) const {
  const std::int64_t device_stride = plane_ * (chunks_ * run_.chunk + 2);
  for (int c = 0; c < array.parts * channels_; ++c) {
    float* const host = array.host + c * voxels_ + first * plane_;
    float* const device = array.device + c * device_stride + (first - device_first) * plane_;
    const std::size_t bytes =
        static_cast<std::size_t>(end - first) * static_cast<std::size_t>(plane_) * sizeof(float);
    cuda_check(to_device ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream)
                         : cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream),
               "copying a slab");
  }
}

void Slabs::sweep(const TvLaunch& launch) {
  const std::int64_t device_stride = plane_ * (chunks_ * run_.chunk + 2);
  for (int slab = 0; slab < count(); ++slab, turn_ ^= 1) {
    const int first_chunk = share_.first_chunk + slab * chunks_,
              end_chunk = std::min(first_chunk + chunks_, share_.first_chunk + share_.chunks);
    const int first = first_chunk * run_.chunk, end = std::min(end_chunk * run_.chunk, run_.nz);
    TvPlanes planes = launch.planes;
    planes.stride = device_stride;
    planes.first_plane = first - 1;
    planes.first_chunk = first_chunk;
    planes.chunks = end_chunk - first_chunk;
    float* at = memory_.get() + static_cast<std::size_t>(turn_) * set_floats_;
    std::vector<Array> arrays;
    const auto place = [&](auto*& pointer, int parts, bool in, bool out) {
      if (pointer == nullptr) return;
      arrays.push_back({const_cast<float*>(pointer), at, parts, in, out});
      pointer = at;
      at += parts * channels_ * device_stride;
    };
    if (launch.kernel != TvKernel::dual) place(planes.noisy, 1, true, false);
    place(planes.x, 1, true, false);
    place(planes.before, 1, true, false);
    place(planes.next, 1, false, true);
    place(planes.p, 3, true, launch.kernel == TvKernel::dual);

    const auto follow = [](cudaStream_t stream, const CudaEvent& event) {
      cuda_check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
    };
    const auto mark = [](const CudaEvent& event, cudaStream_t stream) {
      cuda_check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
    };
    // The buffers are free, and the sweep before has stored what this slab and its neighbours' planes hold.
    follow(in_.get(), free_[turn_]);
    follow(in_.get(), stored_[static_cast<std::size_t>(std::min(slab + 1, count() - 1))]);
    for (const Array& array : arrays)
      if (array.in) {
        // What is stored in this very sweep has no use for neighbours' planes, which change under way.
        const int border = array.out ? 0 : 1;
        copy(array, std::max(first - border, 0), std::min(end + border, run_.nz), planes.first_plane, true,
             in_.get());
      }
    mark(arrived_[turn_], in_.get());
    follow(compute_.get(), arrived_[turn_]);
    cuda_check(launch_tv(run_, launch.kernel, planes, compute_.get()), "a pass over a slab");
    mark(computed_[turn_], compute_.get());
    follow(out_.get(), computed_[turn_]);
    for (const Array& array : arrays)
      if (array.out) copy(array, first, end, planes.first_plane, false, out_.get());
    mark(stored_[static_cast<std::size_t>(slab)], out_.get());
    mark(free_[turn_], out_.get());
  }
}

void Slabs::wait() {
  cuda_check(cudaStreamSynchronize(compute_.get()), "denoising on the device");
  cuda_check(cudaStreamSynchronize(out_.get()), "copying a slab from the device");
}

void copy_image(float* to, const float* from, std::size_t count) {
  copy_on_threads(to, from, count * sizeof(float));
}

/// A device and what it does of every pass.
struct Member {
  Member(const TvProblem& problem, const TvTuning& tuning, Device on, const TvShare& its,
         std::uint64_t memory)
      : device(on),
        share(its),
        session(problem, tuning),
        slabs(problem, session.run(), its,
              memory > session.device_bytes() ? memory - session.device_bytes() : 0) {}
  Device device;
  TvShare share;
  TvSession session;
  Slabs slabs;
};

class Members {
 public:
  /// Before what they copy from and to is released.
  class AtEnd {
   public:
    explicit AtEnd(const Members& members) : members_(members) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() {
      for (const auto& member : members_.members_) member->slabs.wait_at_end();
    }

   private:
    const Members& members_;
  };

  Members(const TvProblem& problem, const std::vector<Device>& devices, const std::vector<TvShare>& shares,
          const TvTuning& tuning) {
    for (std::size_t k = 0; k < devices.size(); ++k) {
      current_.set(devices[k]);
      // Parts of one device share what is left of its memory.
      const auto parts =
          std::count(devices.begin() + static_cast<std::ptrdiff_t>(k), devices.end(), devices[k]);
      members_.push_back(std::make_unique<Member>(problem, tuning, devices[k], shares[k],
                                                  usable_memory() / static_cast<std::uint64_t>(parts)));
    }
  }
  template <class Body>
  void for_each(const Body& body) {
    for (const auto& member : members_) {
      current_.set(member->device);
      body(*member);
    }
  }
  /// All launches of a pass, or what comes before the first.
  void pass(const std::vector<TvLaunch>& launches) {
    for (const TvLaunch& launch : launches) {
      for_each([&](Member& member) { member.slabs.sweep(launch); });
      if (members_.size() > 1) for_each([](Member& member) { member.slabs.wait(); });
    }
    if (members_.size() > 1 && !launches.empty()) share_sums(launches.back().kernel);
  }
  Member& first() { return *members_[0]; }

 private:
  void share_sums(TvKernel kernel) {
    for_each([&](Member& source) {
      for (const auto& target : members_)
        if (target.get() != &source)
          send_partial_sums(kernel, source.share, {source.device, source.session.run()},
                            {target->device, target->session.run()}, source.slabs.compute_stream());
    });
    for_each([](Member& member) { member.slabs.wait(); });
    for_each([&](Member& member) {
      cuda_check(launch_tv_advance(member.session.run(), kernel, member.slabs.compute_stream()),
                 "adding the sums of a pass");
    });
  }

  CurrentDevice current_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace

void minimise_in_slabs(const TvProblem& problem, const std::vector<Device>& devices, const TvTuning& tuning,
                       double largest_trace, float* image, TvOutcome& outcome) {
  const std::size_t count =
      static_cast<std::size_t>(problem.grid.voxels()) * static_cast<std::size_t>(problem.constants.channels);
  if (devices.size() > 1) enable_peers(devices);
  const std::vector<TvShare> shares =
      tv_shares(static_cast<int>(problem.grid.nz), tuning.chunk, static_cast<int>(devices.size()));
  Members members(problem, devices, shares, tuning);
  outcome.slabs = 0;
  outcome.devices = static_cast<int>(devices.size());
  members.for_each([&](const Member& member) {
    outcome.slabs += member.slabs.count();
    outcome.device_bytes += member.session.device_bytes() + member.slabs.device_bytes();
  });

  const Clock::time_point start = Clock::now();
  const PinnedArray<float> pinned =
      make_pinned<float>(count * static_cast<std::size_t>(image_count(problem.solver)));
  float* at = pinned.get();
  const auto take = [&](std::size_t n) { return std::exchange(at, at + n * count); };
  TvImages images;
  images.noisy = take(1);
  for (int k = 0; k < point_count(problem.solver); ++k) images.points[k] = take(1);
  copy_image(images.noisy, problem.noisy, count);
  copy_image(images.points[0], image, count);
  if (problem.solver == Solver::accelerated) copy_image(images.points[2], image, count);
  if (problem.solver == Solver::primal_dual) {
    images.p = take(3);
    std::fill_n(images.p, 3 * count, 0.0F);
  }
  outcome.transfer_seconds = seconds_since(start);

  members.for_each([&](Member& member) {
    member.session.begin(largest_trace, nullptr);
    cuda_check(cudaDeviceSynchronize(), "copying the solver's state");
  });
  const PinnedArray<TvProgress> log = make_pinned<TvProgress>(kLogLength);
  const Members::AtEnd wait(members);
  Progress shown("denoising", 0, "iterations");
  const Clock::time_point iterations = Clock::now();
  members.pass(first_launches(problem.solver, images));
  for (std::int64_t k = 0;; ++k) {
    members.pass(pass_launches(problem.solver, images, k));
    members.for_each([&](Member& member) {
      if (&member == &members.first())
        cuda_check(cudaMemcpyAsync(log.get(), member.session.run().log, kLogLength * sizeof(TvProgress),
                                   cudaMemcpyDeviceToHost, member.slabs.compute_stream()),
                   "copying the progress");
      member.slabs.wait();
    });
    if (record(log.get(), outcome)) break;
    shown.advance();
  }
  outcome.seconds = seconds_since(iterations);
  copy_image(image, measured_point(problem.solver, images, static_cast<std::int64_t>(outcome.history.size())),
             count);
}

}  // namespace warploom::imaging
