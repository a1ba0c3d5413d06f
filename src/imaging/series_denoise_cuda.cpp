#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/series_denoise_backend.hpp"
#include "imaging/series_denoise_kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

/// What the first kernel of a launch leaves to the last, and their scratch, have at least so much memory, or
/// so many times the series: enough for a few warps of the spectrum on each multiprocessor.
constexpr std::uint64_t kLeastWorkBytes = std::uint64_t{960} << 20;
constexpr std::uint64_t kWorkTimesSeries = 4;
/// Of one launch; between two the work can be stopped.
constexpr std::uint64_t kMostPatchesALaunch = 1 << 16;
constexpr std::uint64_t kLanes = 32;  // patches of a block of the spectrum

/// The patches that are wanted.
struct Patches {
  std::vector<std::int32_t> list = {};
  std::vector<std::int64_t> first_vector = {};  ///< one more than patches

  /// Most vectors of a launch of so many patches.
  std::int64_t most_vectors(std::int64_t a_launch) const {
    std::int64_t most = 0;
    for (std::int64_t begin = 0; begin < std::ssize(list); begin += a_launch) {
      const auto end = static_cast<std::size_t>(std::min(begin + a_launch, std::ssize(list)));
      most = std::max(most, first_vector[end] - first_vector[static_cast<std::size_t>(begin)]);
    }
    return most;
  }
};

/// Of centre output those at the edges of the grid, which have several voxels, come last: the lanes of a warp
/// wait for the one that has most.
Patches list_patches(const SeriesProblem& problem) {
  const auto [x, y, z] = problem.axes;
  std::vector<std::pair<std::int64_t, std::int32_t>> several;  // vectors, patch
  Patches out;
  const bool average = problem.output == PatchOutput::average;
  std::size_t b = 0;
  for (int bz = 0; bz < z.patches(); ++bz)
    for (int by = 0; by < y.patches(); ++by) {
      const std::int64_t own_yz = std::int64_t{y.end(by) - y.begin(by)} * (z.end(bz) - z.begin(bz));
      for (int bx = 0; bx < x.patches(); ++bx, ++b) {
        if (problem.wanted[b] == 0) continue;
        const std::int64_t own = average ? 1 : own_yz * (x.end(bx) - x.begin(bx));
        if (own == 1)
          out.list.push_back(static_cast<std::int32_t>(b));
        else
          several.emplace_back(own, static_cast<std::int32_t>(b));
      }
    }
  std::ranges::stable_sort(several, {}, &std::pair<std::int64_t, std::int32_t>::first);
  const std::int64_t each = average ? problem.channels / 2 : 1;
  out.first_vector.reserve(out.list.size() + several.size() + 1);
  for (std::size_t k = 0; k <= out.list.size(); ++k)
    out.first_vector.push_back(static_cast<std::int64_t>(k) * each);
  for (const auto& [own, patch] : several) {
    out.list.push_back(patch);
    out.first_vector.push_back(out.first_vector.back() + own);
  }
  return out;
}

/// One allocation for all that a run needs.
class SeriesBuffers {
 public:
  SeriesBuffers(const SeriesProblem& problem, const Patches& patches, PatchLaunch& plan)
      : average_(problem.output == PatchOutput::average) {
    const std::uint64_t n = static_cast<std::uint64_t>(problem.channels);
    const std::uint64_t values = static_cast<std::uint64_t>(problem.voxels()) * n;
    series_ = arena_.add<float>(values);
    denoised_ = arena_.add<float>(average_ ? 0 : values);
    sum_ = arena_.add<unsigned long long>(average_ ? values : 0);
    patches_ = arena_.add<std::int32_t>(patches.list.size());
    first_vector_ = arena_.add<std::int64_t>(patches.first_vector.size());
    width_ = arena_.add<double>(problem.inverse_width.size());
    reflectors_ = arena_.add<float>(problem.reflectors.u.size());
    factors_ = arena_.add<float>(problem.reflectors.factor.size());
    variance_ = arena_.add<float>(patches.list.size());
    rank_ = arena_.add<std::int16_t>(patches.list.size());
    count_ = arena_.add<std::int16_t>(patches.list.size());
    failed_ = arena_.add<unsigned>(1);
    const std::uint64_t free = device_memory().free, left = free > bytes() ? (free - bytes()) / 10 * 9 : 0;
    const std::uint64_t planar = values * sizeof(float);
    const std::uint64_t work =
        lay_out_work(patches, n, std::min(left, std::max(kLeastWorkBytes, kWorkTimesSeries * planar)), plan);
    // The series, planar, is there before the first launch and after the last one.
    work_ = arena_.add<std::byte>(std::max(planar, work));
    if (bytes() > free)
      throw OutOfMemory("denoising a series of " + std::to_string(values) + " values needs " +
                        std::to_string(bytes()) + " bytes of the GPU's memory, " + std::to_string(free) +
                        " are free; `device` cpu does without");
    arena_.allocate();
  }

  PatchBuffers pointers() const {
    std::byte* const work = arena_.at<std::byte>(work_);
    return {series(),
            patches(),
            first_vector(),
            width(),
            average_ ? nullptr : arena_.at<float>(denoised_),
            average_ ? arena_.at<unsigned long long>(sum_) : nullptr,
            arena_.at<float>(variance_),
            arena_.at<std::int16_t>(rank_),
            arena_.at<std::int16_t>(count_),
            work,
            work + tridiagonal_,
            work + vectors_,
            work + scratch_,
            arena_.at<unsigned>(failed_)};
  }
  float* planar() const { return arena_.at<float>(work_); }
  float* series() const { return arena_.at<float>(series_); }
  std::int32_t* patches() const { return arena_.at<std::int32_t>(patches_); }
  std::int64_t* first_vector() const { return arena_.at<std::int64_t>(first_vector_); }
  double* width() const { return arena_.at<double>(width_); }
  float* reflectors() const { return arena_.at<float>(reflectors_); }
  float* factors() const { return arena_.at<float>(factors_); }
  std::int64_t a_launch() const { return a_launch_; }
  std::uint64_t bytes() const { return arena_.bytes(); }

 private:
  /// Within `budget` as many blocks of the spectrum as possible, and as many patches a launch as keep all of
  /// them busy for whole rounds; one block at least. @return bytes
  std::uint64_t lay_out_work(const Patches& patches, std::uint64_t n, std::uint64_t budget,
                             PatchLaunch& plan) {
    const std::uint64_t element = plan.double_precision ? sizeof(double) : sizeof(float);
    const std::uint64_t count = patches.list.size(), vectors = average_ ? n / 2 : 2;
    const std::uint64_t lanes = kLanes * element * (n * n + 2 * n + 1 + vectors * n);  // patches of a block
    const std::uint64_t scratch = plan.spectrum_scratch;
    const std::uint64_t most = std::min<std::uint64_t>(static_cast<std::uint64_t>(plan.spectrum_blocks),
                                                       (count + kLanes - 1) / kLanes);
    const std::uint64_t blocks = std::clamp<std::uint64_t>(budget / (scratch + lanes), 1, most);
    const std::uint64_t left = budget > blocks * scratch ? budget - blocks * scratch : 0;
    const std::uint64_t rounds = std::max<std::uint64_t>(
        1, std::min(left / (blocks * lanes), kMostPatchesALaunch / (kLanes * blocks)));
    const std::uint64_t launched = std::min(count, kLanes * blocks * rounds);
    a_launch_ = static_cast<std::int64_t>(launched);
    plan.spectrum_blocks = static_cast<int>(blocks);
    std::uint64_t reducing =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(plan.reduce_blocks), launched);
    if (plan.matrix_scratch > 0)
      reducing = std::clamp<std::uint64_t>(std::max(blocks * scratch, budget / 4) / plan.matrix_scratch, 1,
                                           reducing);
    plan.reduce_blocks = static_cast<int>(reducing);
    Carver layout;
    const auto take = [&](std::uint64_t bytes) {
      return reinterpret_cast<std::uintptr_t>(layout.take<std::byte>(static_cast<std::int64_t>(bytes)));
    };
    take(element * launched * n * n);
    tridiagonal_ = take(element * launched * (2 * n + 1));
    vectors_ = take(element * static_cast<std::uint64_t>(patches.most_vectors(a_launch_)) * n);
    scratch_ = take(std::max(blocks * scratch, reducing * plan.matrix_scratch));
    return layout.used();
  }

  bool average_;
  DeviceArena arena_;
  std::uint64_t series_, denoised_, sum_, patches_, first_vector_, width_, reflectors_, factors_, variance_,
      rank_, count_, failed_, work_;
  std::uint64_t tridiagonal_ = 0, vectors_ = 0, scratch_ = 0;  // in the work's memory
  std::int64_t a_launch_ = 0;
};

PatchConstants patch_constants(const SeriesProblem& problem) {
  const auto [x, y, z] = problem.axes;
  if (problem.wanted.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw BadInput("an image of " + std::to_string(problem.wanted.size()) +
                   " patches is above the GPU's 2^31 - 1");
  return {problem.channels,
          problem.complex ? 1 : 0,
          x.voxels,
          y.voxels,
          z.voxels,
          {x.extent, y.extent, z.extent},
          problem.spectrum(),
          problem.output == PatchOutput::average ? 1 : 0,
          problem.inverse_larger()};
}

}  // namespace

void start_cuda() { cudaFree(nullptr); }

PatchResults denoise_patches_cuda(const SeriesProblem& problem, PatchReceiver& receiver) {
  const bool double_precision = problem.precision == Precision::float64;
  require_reachable(problem.on_gpu, "the series");
  const PatchConstants constants = patch_constants(problem);
  const Patches work = list_patches(problem);
  const std::vector<std::int32_t>& patches = work.list;
  PatchResults results;
  results.variance.resize(problem.wanted.size());
  results.rank.resize(problem.wanted.size());
  if (patches.empty()) {
    receiver.maps(results);
    return results;
  }

  const bool average = problem.output == PatchOutput::average;
  PatchLaunch plan;
  cuda_check(plan_patches(constants, double_precision, plan), "preparing principal components of patches");
  const SeriesBuffers buffers(problem, work, plan);
  const PatchBuffers device = buffers.pointers();
  const CudaStream stream = make_stream();
  const CudaEvent started = make_event(), begun = make_event(), worked = make_event(),
                  finished = make_event();
  const WaitAtEnd wait(stream.get());
  const auto record = [&](const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  };
  const std::int64_t voxels = problem.voxels();
  const auto values = static_cast<std::uint64_t>(voxels) * static_cast<std::uint64_t>(problem.channels);
  PinnedPair copies(stream.get(), 4 << 20);  // more takes longer to make than it saves
  const auto upload = [&](auto* to, const auto& from) {
    copies.upload(to, from.data(), from.size() * sizeof(*from.data()));
  };
  const auto turn = [&](float* there, bool back) {
    cuda_check(launch_turn_voxels(there, voxels, problem.channels, buffers.reflectors(), buffers.factors(),
                                  problem.reflectors.count(), back, stream.get()),
               "launching the series' reflectors");
  };

  record(started);
  const float* const planar = problem.on_gpu != nullptr ? problem.on_gpu : buffers.planar();
  if (problem.on_gpu == nullptr) copies.upload(buffers.planar(), problem.series, values * sizeof(float));
  upload(buffers.patches(), patches);
  upload(buffers.first_vector(), work.first_vector);
  upload(buffers.width(), problem.inverse_width);
  upload(buffers.reflectors(), problem.reflectors.u);
  upload(buffers.factors(), problem.reflectors.factor);
  record(begun);
  cuda_check(cudaMemsetAsync(device.failed, 0, sizeof(unsigned), stream.get()), "cudaMemsetAsync");
  if (average)
    cuda_check(cudaMemsetAsync(device.sum, 0, values * sizeof(*device.sum), stream.get()), "cudaMemsetAsync");
  else
    cuda_check(cudaMemsetAsync(device.denoised, 0, values * sizeof(float), stream.get()), "cudaMemsetAsync");
  cuda_check(launch_series_to_voxels(planar, buffers.series(), voxels, problem.channels, problem.scale,
                                     stream.get()),
             "launching the series' transposition");
  turn(buffers.series(), false);
  {
    Progress progress("denoising the series", patches.size(), "patches");
    // One launch ahead, so that the GPU never waits.
    const CudaEvent done[2] = {make_event(), make_event()};
    std::int64_t before = 0;
    int launches = 0;
    for (std::int64_t begin = 0; begin < std::ssize(patches); begin += buffers.a_launch(), ++launches) {
      const std::int64_t end = std::min(begin + buffers.a_launch(), std::ssize(patches));
      cuda_check(launch_patches(plan, constants, device, begin, end, stream.get()),
                 "launching principal components of patches");
      if (launches > 0) {
        cuda_check(cudaEventSynchronize(done[(launches + 1) % 2].get()), "principal components of patches");
        progress.advance(static_cast<std::uint64_t>(begin - before));
        before = begin;
      }
      record(done[launches % 2]);
    }
    float* const denoised = average ? buffers.series() : device.denoised;  // the series has been used up
    if (average)
      cuda_check(launch_sums_to_values(device.sum, denoised, static_cast<std::int64_t>(values), stream.get()),
                 "launching the series' sums");
    turn(denoised, true);
    cuda_check(launch_voxels_to_series(denoised, buffers.planar(), voxels, problem.channels,
                                       1 / problem.scale, stream.get()),
               "launching the series' transposition back");
    record(worked);
    cuda_check(cudaEventSynchronize(worked.get()), "principal components of patches");
    progress.advance(patches.size() - static_cast<std::uint64_t>(before));
  }

  unsigned failed = 0;
  copies.download(device.failed, 1,
                  [&](std::uint64_t, const unsigned* from, std::uint64_t) { failed = *from; });
  if (failed != 0) throw Internal("the eigenvalues of a patch did not converge");
  copies.download(device.variance, patches.size(),
                  [&](std::uint64_t begin, const float* from, std::uint64_t count) {
                    for (std::uint64_t k = 0; k < count; ++k)
                      results.variance[static_cast<std::size_t>(patches[begin + k])] = from[k];
                  });
  copies.download(device.rank, patches.size(),
                  [&](std::uint64_t begin, const std::int16_t* from, std::uint64_t count) {
                    for (std::uint64_t k = 0; k < count; ++k)
                      results.rank[static_cast<std::size_t>(patches[begin + k])] = from[k];
                  });
  receiver.maps(results);
  copies.download(
      buffers.planar(), values,
      [&](std::uint64_t begin, const float* from, std::uint64_t count) {
        receiver.values(begin, from, count);
      },
      false);  // what was replaced cannot be taken back
  record(finished);
  cuda_check(cudaEventSynchronize(finished.get()), "copying the series from the GPU");
  results.seconds = seconds_between(begun, worked);
  results.transfer_seconds = seconds_between(started, begun) + seconds_between(worked, finished);
  results.device_bytes = buffers.bytes();
  return results;
}

}  // namespace warploom::imaging
