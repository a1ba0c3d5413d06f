#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "core/cuda/memory.hpp"
#include "core/cuda/peers.hpp"
#include "core/several_devices.hpp"
#include "imaging/tv_cuda.hpp"
#include "imaging/tv_team.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Asked of the current device, which is `source`.
void copy(Device source, cudaPitchedPtr from, Device target, cudaPitchedPtr to, cudaExtent extent,
          cudaStream_t stream) {
  if (source == target) {  // one GPU in several parts
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = from;
    parameters.dstPtr = to;
    parameters.extent = extent;
    parameters.kind = cudaMemcpyDeviceToDevice;
    cuda_check(cudaMemcpy3DAsync(&parameters, stream), "copying to another part of a GPU");
    return;
  }
  cudaMemcpy3DPeerParms parameters{};
  parameters.srcPtr = from;
  parameters.srcDevice = source.ordinal;
  parameters.dstPtr = to;
  parameters.dstDevice = target.ordinal;
  parameters.extent = extent;
  cuda_check(cudaMemcpy3DPeerAsync(&parameters, stream), "copying to another GPU");
}

/// Blocks of what lies at the borders go before those of what lies between.
CudaStream make_urgent_stream() {
  int least = 0, greatest = 0;
  cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreate");
  return CudaStream(stream);
}
CudaEvent make_mark() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return CudaEvent(event);
}

/// A GPU with its planes; it is current while this is made. The destructor waits for it.
struct Member {
  Member(const TvProblem& problem, const TvTuning& tuning, Device on, const TvShare& its)
      : device(on),
        share(its),
        session(problem, tuning, 2),
        plane(problem.grid.nx * problem.grid.ny),
        stride(plane * (its.planes + 2)),
        channels(problem.constants.channels) {
    const std::int64_t count = stride * channels;
    const auto all = static_cast<std::size_t>(count * image_count(problem.solver));
    memory = make_device<float>(all);
    bytes = session.device_bytes() + all * sizeof(float);
    float* next = memory.get();
    const auto take = [&](int n) { return std::exchange(next, next + n * count); };
    images.noisy = take(1);
    for (int k = 0; k < point_count(problem.solver); ++k) images.points[k] = take(1);
    if (problem.solver == Solver::primal_dual) images.p = take(3);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    for (const CudaStream& queue : queues) cudaStreamSynchronize(queue.get());
  }

  cudaStream_t queue(TvQueue which) const { return queues[static_cast<std::size_t>(which)].get(); }
  float* at(float* array, int channel, int z) const {
    return array + channel * stride + (z - share.first_plane + 1) * plane;
  }

  Device device;
  TvShare share;
  TvSession session;
  std::int64_t plane, stride;
  int channels;
  std::uint64_t bytes = 0;
  DeviceArray<float> memory;
  TvImages images;
  std::vector<TvLaunch> launches;  ///< of the pass that is asked for
  CudaStream queues[3] = {make_urgent_stream(), make_stream(), make_stream()};
  CudaEvent marks[5] = {make_mark(), make_mark(), make_mark(), make_mark(), make_mark()};
};

/// The machine of a TvTeam.
class Gpus {
 public:
  Gpus(const TvProblem& problem, const std::vector<Device>& devices, const std::vector<TvShare>& shares,
       const TvTuning& tuning)
      : problem_(problem), devices_(devices) {
    for (std::size_t k = 0; k < devices.size(); ++k) {
      current_.set(devices[k]);
      members_.push_back(std::make_unique<Member>(problem, tuning, devices[k], shares[k]));
    }
  }

  /// The images of all members from the host's, and all else as at the start.
  void upload(double largest_trace, const float* image) {
    on_devices(devices_, [&](std::size_t k) { upload(*members_[k], largest_trace, image); });
  }
  void download(std::int64_t passes, float* image) {
    on_devices(devices_, [&](std::size_t k) { download(*members_[k], passes, image); });
  }

  /// What follows is asked of these launches, with the other set of partial sums.
  template <class LaunchesOf>
  std::vector<TvKernel> next_pass(const LaunchesOf& launches_of) {
    set_ ^= 1;
    std::vector<TvKernel> kernels;
    for (const auto& member : members_) {
      member->launches = launches_of(member->images);
      for (TvLaunch& launch : member->launches) {
        launch.planes.stride = member->stride;
        launch.planes.first_plane = member->share.first_plane - 1;
      }
    }
    for (const TvLaunch& launch : members_[0]->launches) kernels.push_back(launch.kernel);
    return kernels;
  }

  void mark(int d, TvQueue queue, TvMark mark) {
    Member& member = at(d);
    cuda_check(cudaEventRecord(event(member, mark), member.queue(queue)), "cudaEventRecord");
  }
  void wait(int d, TvQueue queue, int of, TvMark mark) {
    const cudaEvent_t event = this->event(*members_[static_cast<std::size_t>(of)], mark);
    cuda_check(cudaStreamWaitEvent(at(d).queue(queue), event, 0), "cudaStreamWaitEvent");
  }
  void launch(int d, TvQueue queue, int index, int first_chunk, int chunks) {
    Member& member = at(d);
    TvLaunch launch = member.launches[static_cast<std::size_t>(index)];
    launch.planes.first_chunk = first_chunk;
    launch.planes.chunks = chunks;
    cuda_check(launch_tv(member.session.run(set_), launch.kernel, launch.planes, member.queue(queue)),
               "a pass over a GPU's planes");
  }
  void send_plane(int from, int to, int index) {
    const Member &source = at(from), &target = *members_[static_cast<std::size_t>(to)];
    const auto array = [&](const Member& member) {
      const TvLaunch& launch = member.launches[static_cast<std::size_t>(index)];
      return launch.kernel == TvKernel::dual ? launch.planes.p + 2 * member.stride * member.channels
                                             : launch.planes.next;
    };
    const int z = to < from ? source.share.first_plane : source.share.first_plane + source.share.planes - 1;
    const auto bytes = static_cast<std::size_t>(source.plane) * sizeof(float);
    // Channels are slices of which one row is copied.
    const auto slices = [&](const Member& member) {
      return make_cudaPitchedPtr(member.at(array(member), 0, z), bytes, bytes,
                                 static_cast<std::size_t>(member.share.planes + 2));
    };
    copy(source.device, slices(source), target.device, slices(target),
         make_cudaExtent(bytes, 1, static_cast<std::size_t>(source.channels)), source.queue(TvQueue::send));
  }
  void send_sums(int from, int to) {
    const Member &source = at(from), &target = *members_[static_cast<std::size_t>(to)];
    send_partial_sums(source.launches.back().kernel, source.share, {source.device, source.session.run(set_)},
                      {target.device, target.session.run(set_)}, source.queue(TvQueue::border));
  }
  void advance(int d) {
    Member& member = at(d);
    cuda_check(launch_tv_advance(member.session.run(set_), member.launches.back().kernel,
                                 member.queue(TvQueue::border)),
               "adding the sums of a pass");
  }

  /// Of the first: in its queue of the borders.
  Member& first() { return at(0); }
  std::uint64_t device_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& member : members_) sum += member->bytes;
    return sum;
  }

 private:
  Member& at(int d) {
    Member& member = *members_[static_cast<std::size_t>(d)];
    current_.set(member.device);
    return member;
  }
  static cudaEvent_t event(const Member& member, TvMark mark) {
    return member.marks[static_cast<std::size_t>(mark)].get();
  }

  void upload(Member& member, double largest_trace, const float* image) const {
    const cudaStream_t stream = member.queue(TvQueue::border);
    const int first = std::max(member.share.first_plane - 1, 0),
              end = std::min(member.share.first_plane + member.share.planes + 1,
                             static_cast<int>(problem_.grid.nz));
    PinnedPair staging(stream, 4 << 20);
    for (int c = 0; c < member.channels; ++c) {
      const std::int64_t from = c * problem_.grid.voxels() + first * member.plane;
      const std::size_t bytes =
          static_cast<std::size_t>(end - first) * static_cast<std::size_t>(member.plane) * sizeof(float);
      staging.upload(member.at(member.images.noisy, c, first), problem_.noisy + from, bytes);
      staging.upload(member.at(member.images.points[0], c, first), image + from, bytes);
    }
    const std::size_t bytes = static_cast<std::size_t>(member.stride * member.channels) * sizeof(float);
    if (problem_.solver == Solver::accelerated)  // the x before the first
      cuda_check(cudaMemcpyAsync(member.images.points[2], member.images.points[0], bytes,
                                 cudaMemcpyDeviceToDevice, stream),
                 "copying the image");
    if (member.images.p != nullptr)
      cuda_check(cudaMemsetAsync(member.images.p, 0, 3 * bytes, stream), "cudaMemsetAsync");
    member.session.begin(largest_trace, stream);
    cuda_check(cudaStreamSynchronize(stream), "copying the image to the device");
  }

  void download(Member& member, std::int64_t passes, float* image) const {
    PinnedPair staging(member.queue(TvQueue::border), 4 << 20);
    float* const point = measured_point(problem_.solver, member.images, passes);
    const int first = member.share.first_plane;
    for (int c = 0; c < member.channels; ++c) {
      float* const to = image + c * problem_.grid.voxels() + first * member.plane;
      staging.download(member.at(point, c, first),
                       static_cast<std::uint64_t>(member.share.planes * member.plane),
                       [&](std::uint64_t begin, const float* data, std::uint64_t some) {
                         std::copy_n(data, some, to + begin);
                       });
    }
  }

  const TvProblem& problem_;
  std::vector<Device> devices_;
  CurrentDevice current_;
  std::vector<std::unique_ptr<Member>> members_;
  int set_ = 0;
};

void iterate(const TvProblem& problem, Gpus& gpus, const std::vector<TvShare>& shares, TvOutcome& outcome) {
  TvTeam<Gpus> team(gpus, shares);
  const PinnedArray<TvProgress> logs = make_pinned<TvProgress>(2 * kLogLength);
  const cudaStream_t stream = gpus.first().queue(TvQueue::border);
  const CudaEvent start = make_event(), ends[2] = {make_event(), make_event()};
  const WaitAtEnd wait(stream);
  Progress shown("denoising", 0, "iterations");
  cuda_check(cudaEventRecord(start.get(), stream), "cudaEventRecord");
  const auto before =
      gpus.next_pass([&](const TvImages& images) { return first_launches(problem.solver, images); });
  if (!before.empty()) team.pass(before);
  // Passes are asked for ahead of what is known, so that no device waits; those after the end return at once.
  for (int turn = 0;; ++turn) {
    for (int k = 0; k < kLogLength; ++k)
      team.pass(
          gpus.next_pass([&](const TvImages& images) { return pass_launches(problem.solver, images, k); }));
    const TvProgress* const log = gpus.first().session.run().log;
    cuda_check(cudaMemcpyAsync(logs.get() + turn % 2 * kLogLength, log, kLogLength * sizeof *log,
                               cudaMemcpyDeviceToHost, stream),
               "copying the progress");
    cuda_check(cudaEventRecord(ends[turn % 2].get(), stream), "cudaEventRecord");
    if (turn == 0) continue;
    const CudaEvent& end = ends[(turn - 1) % 2];
    cuda_check(cudaEventSynchronize(end.get()), "denoising on the devices");
    const std::size_t known = outcome.history.size();
    const bool done = record(logs.get() + (turn - 1) % 2 * kLogLength, outcome);
    shown.advance(outcome.history.size() - known);
    if (!done) continue;
    outcome.seconds = seconds_between(start, end);
    return;
  }
}

}  // namespace

void send_partial_sums(TvKernel kernel, const TvShare& share, const TvPart& source, const TvPart& target,
                       cudaStream_t stream) {
  const TvPartialRows rows = partial_rows(source.run, kernel, share.first_chunk, share.chunks);
  const auto pitched = [&](const TvPart& part) {
    const std::size_t pitch = static_cast<std::size_t>(rows.stride) * sizeof(double);
    return make_cudaPitchedPtr(part.run.partials + rows.begin, pitch, pitch,
                               static_cast<std::size_t>(rows.rows));
  };
  copy(source.device, pitched(source), target.device, pitched(target),
       make_cudaExtent(static_cast<std::size_t>(rows.count) * sizeof(double),
                       static_cast<std::size_t>(rows.rows), 1),
       stream);
}

std::vector<std::uint64_t> team_bytes(const TvProblem& problem, const TvSession& session,
                                      const std::vector<TvShare>& shares) {
  std::vector<std::uint64_t> bytes;
  for (const TvShare& share : shares)
    bytes.push_back(static_cast<std::uint64_t>(problem.grid.nx * problem.grid.ny) *
                        static_cast<std::uint64_t>(share.planes + 2) *
                        static_cast<std::uint64_t>(problem.constants.channels * image_count(problem.solver)) *
                        sizeof(float) +
                    2 * session.device_bytes());
  return bytes;
}

void minimise_on_team(const TvProblem& problem, const std::vector<Device>& devices,
                      const std::vector<TvShare>& shares, const TvTuning& tuning, double largest_trace,
                      float* image, TvOutcome& outcome) {
  enable_peers(devices);
  Gpus gpus(problem, devices, shares, tuning);
  outcome.device_bytes = gpus.device_bytes();
  outcome.devices = static_cast<int>(devices.size());
  Clock::time_point start = Clock::now();
  gpus.upload(largest_trace, image);
  outcome.transfer_seconds = seconds_since(start);
  iterate(problem, gpus, shares, outcome);
  start = Clock::now();
  gpus.download(static_cast<std::int64_t>(outcome.history.size()), image);
  outcome.transfer_seconds += seconds_since(start);
}

}  // namespace warploom::imaging
