#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/series_denoise_backend.hpp"
#include "imaging/series_denoise_kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

/// Of one launch: so much memory for what the first kernel leaves to the last, and so many patches at most; between
/// two launches the work can be stopped.
constexpr std::uint64_t kLaunchBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kMostPatchesALaunch = 1 << 16;

/// The patches that are wanted, and how they are shared out.
struct Patches {
  std::vector<std::int32_t> list = {};
  std::vector<std::int64_t> first_vector = {};  ///< one more than patches
  std::int64_t a_launch = 0;
  std::int64_t most_vectors = 0;  ///< of a launch
};

Patches share_out(const SeriesProblem& problem, std::uint64_t element) {
  const auto [x, y, z] = problem.axes;
  Patches out;
  out.first_vector.push_back(0);
  std::size_t b = 0;
  for (int bz = 0; bz < z.patches(); ++bz)
    for (int by = 0; by < y.patches(); ++by)
      for (int bx = 0; bx < x.patches(); ++bx, ++b) {
        if (problem.wanted[b] == 0) continue;
        out.list.push_back(static_cast<std::int32_t>(b));
        const std::int64_t vectors = problem.output == PatchOutput::average
                                         ? problem.channels / 2
                                         : std::int64_t{x.end(bx) - x.begin(bx)} * (y.end(by) - y.begin(by)) *
                                               (z.end(bz) - z.begin(bz));
        out.first_vector.push_back(out.first_vector.back() + vectors);
      }
  const std::uint64_t matrix = element * static_cast<std::uint64_t>(problem.channels) * problem.channels;
  out.a_launch = static_cast<std::int64_t>(std::clamp<std::uint64_t>(kLaunchBytes / matrix, 1, kMostPatchesALaunch));
  out.a_launch = std::min(out.a_launch, std::max<std::int64_t>(1, std::ssize(out.list)));
  for (std::size_t begin = 0; begin < out.list.size(); begin += static_cast<std::size_t>(out.a_launch)) {
    const std::size_t end = std::min(out.list.size(), begin + static_cast<std::size_t>(out.a_launch));
    out.most_vectors = std::max(out.most_vectors, out.first_vector[end] - out.first_vector[begin]);
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
    const std::uint64_t element = plan.double_precision ? sizeof(double) : sizeof(float);
    const auto launched = static_cast<std::uint64_t>(patches.a_launch);
    planar_ = arena_.add<float>(values);
    series_ = arena_.add<float>(values);
    denoised_ = arena_.add<float>(average_ ? 0 : values);
    sum_ = arena_.add<unsigned long long>(average_ ? values : 0);
    patches_ = arena_.add<std::int32_t>(patches.list.size());
    first_vector_ = arena_.add<std::int64_t>(patches.first_vector.size());
    width_ = arena_.add<double>(problem.inverse_width.size());
    variance_ = arena_.add<float>(patches.list.size());
    rank_ = arena_.add<std::int16_t>(patches.list.size());
    count_ = arena_.add<std::int16_t>(patches.list.size());
    reflectors_ = arena_.add<std::byte>(element * launched * n * n);
    tridiagonal_ = arena_.add<std::byte>(element * launched * (2 * n + 1));
    vectors_ = arena_.add<std::byte>(element * static_cast<std::uint64_t>(patches.most_vectors) * n);
    failed_ = arena_.add<unsigned>(1);
    // Blocks that are resident, unless their scratch does not fit; one suffices.
    plan.reduce_blocks = static_cast<int>(std::min<std::uint64_t>(plan.reduce_blocks, launched));
    plan.spectrum_blocks = static_cast<int>(std::min<std::uint64_t>(plan.spectrum_blocks, (launched + 31) / 32));
    const std::uint64_t free = device_memory().free, left = free > bytes() ? (free - bytes()) / 10 * 9 : 0;
    const auto fit = [&](int& blocks, std::uint64_t each) {
      if (each > 0) blocks = static_cast<int>(std::clamp<std::uint64_t>(left / each, 1, blocks));
      return each * static_cast<std::uint64_t>(blocks);
    };
    scratch_ = arena_.add<std::byte>(std::max(fit(plan.reduce_blocks, plan.matrix_scratch),
                                              fit(plan.spectrum_blocks, plan.spectrum_scratch)));
    if (bytes() > free)
      throw OutOfMemory("denoising a series of " + std::to_string(values) + " values needs " +
                        std::to_string(bytes()) + " bytes of the GPU's memory, " + std::to_string(free) +
                        " are free; `device` cpu does without");
    arena_.allocate();
  }

  PatchBuffers pointers() const {
    return {arena_.at<float>(series_),
            arena_.at<std::int32_t>(patches_),
            arena_.at<std::int64_t>(first_vector_),
            arena_.at<double>(width_),
            average_ ? nullptr : arena_.at<float>(denoised_),
            average_ ? arena_.at<unsigned long long>(sum_) : nullptr,
            arena_.at<float>(variance_),
            arena_.at<std::int16_t>(rank_),
            arena_.at<std::int16_t>(count_),
            arena_.at<std::byte>(reflectors_),
            arena_.at<std::byte>(tridiagonal_),
            arena_.at<std::byte>(vectors_),
            arena_.at<std::byte>(scratch_),
            arena_.at<unsigned>(failed_)};
  }
  float* planar() const { return arena_.at<float>(planar_); }
  float* series() const { return arena_.at<float>(series_); }
  std::int32_t* patches() const { return arena_.at<std::int32_t>(patches_); }
  std::int64_t* first_vector() const { return arena_.at<std::int64_t>(first_vector_); }
  double* width() const { return arena_.at<double>(width_); }
  std::uint64_t bytes() const { return arena_.bytes(); }

 private:
  bool average_;
  DeviceArena arena_;
  std::uint64_t planar_, series_, denoised_, sum_, patches_, first_vector_, width_, variance_, rank_, count_,
      reflectors_, tridiagonal_, vectors_, scratch_, failed_;
};

PatchConstants patch_constants(const SeriesProblem& problem) {
  const auto [x, y, z] = problem.axes;
  if (problem.wanted.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw BadInput("an image of " + std::to_string(problem.wanted.size()) + " patches is above the GPU's 2^31 - 1");
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

double seconds_between(const CudaEvent& from, const CudaEvent& to) {
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / 1e3;
}

}  // namespace

PatchResults denoise_patches_cuda(const SeriesProblem& problem, float* denoised) {
  const bool double_precision = problem.precision == Precision::float64;
  const Patches work = share_out(problem, double_precision ? sizeof(double) : sizeof(float));
  const std::vector<std::int32_t>& patches = work.list;
  PatchResults results;
  results.variance.resize(problem.wanted.size());
  results.rank.resize(problem.wanted.size());
  if (patches.empty()) return results;

  const PatchConstants constants = patch_constants(problem);
  const bool average = problem.output == PatchOutput::average;
  PatchLaunch plan;
  cuda_check(plan_patches(constants, double_precision, plan), "preparing principal components of patches");
  const SeriesBuffers buffers(problem, work, plan);
  const PatchBuffers device = buffers.pointers();
  const CudaStream stream = make_stream();
  const CudaEvent started = make_event(), begun = make_event(), worked = make_event(), finished = make_event();
  const WaitAtEnd wait(stream.get());
  const auto record = [&](const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  };
  const std::int64_t voxels = problem.voxels();
  const std::uint64_t values = static_cast<std::uint64_t>(voxels) * static_cast<std::uint64_t>(problem.channels);
  PinnedPair copies(stream.get());

  record(started);
  copies.upload(buffers.planar(), problem.series, values * sizeof(float));
  copies.upload(buffers.patches(), patches.data(), patches.size() * sizeof(std::int32_t));
  copies.upload(buffers.first_vector(), work.first_vector.data(), work.first_vector.size() * sizeof(std::int64_t));
  copies.upload(buffers.width(), problem.inverse_width.data(), problem.inverse_width.size() * sizeof(double));
  record(begun);
  cuda_check(cudaMemsetAsync(device.failed, 0, sizeof(unsigned), stream.get()), "cudaMemsetAsync");
  if (average)
    cuda_check(cudaMemsetAsync(device.sum, 0, values * sizeof(*device.sum), stream.get()), "cudaMemsetAsync");
  else
    cuda_check(cudaMemsetAsync(device.denoised, 0, values * sizeof(float), stream.get()), "cudaMemsetAsync");
  cuda_check(launch_series_to_voxels(buffers.planar(), buffers.series(), voxels, problem.channels, problem.scale,
                                     stream.get()),
             "launching the series' transposition");
  {
    Progress progress("denoising the series", patches.size(), "patches");
    // One launch ahead, so that the GPU never waits.
    const CudaEvent done[2] = {make_event(), make_event()};
    std::int64_t before = 0;
    int launches = 0;
    for (std::int64_t begin = 0; begin < std::ssize(patches); begin += work.a_launch, ++launches) {
      const std::int64_t end = std::min(begin + work.a_launch, std::ssize(patches));
      cuda_check(launch_patches(plan, constants, device, begin, end, stream.get()),
                 "launching principal components of patches");
      if (launches > 0) {
        cuda_check(cudaEventSynchronize(done[(launches + 1) % 2].get()), "principal components of patches");
        progress.advance(static_cast<std::uint64_t>(begin - before));
        before = begin;
      }
      record(done[launches % 2]);
    }
    const double scale = (average ? 1 / kPatchUnit : 1.0) / static_cast<double>(problem.scale);
    cuda_check(launch_voxels_to_series(average ? nullptr : device.denoised, device.sum, buffers.planar(), voxels,
                                       problem.channels, scale, stream.get()),
               "launching the series' transposition back");
    record(worked);
    cuda_check(cudaEventSynchronize(worked.get()), "principal components of patches");
    progress.advance(patches.size() - static_cast<std::uint64_t>(before));
  }

  unsigned failed = 0;
  copies.download(device.failed, 1, [&](std::uint64_t, const unsigned* from, std::uint64_t) { failed = *from; });
  if (failed != 0) throw Internal("the eigenvalues of a patch did not converge");
  copies.download(buffers.planar(), values, [&](std::uint64_t begin, const float* from, std::uint64_t count) {
    std::copy_n(from, count, denoised + begin);
  });
  copies.download(device.variance, patches.size(), [&](std::uint64_t begin, const float* from, std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k)
      results.variance[static_cast<std::size_t>(patches[begin + k])] = from[k];
  });
  copies.download(device.rank, patches.size(), [&](std::uint64_t begin, const std::int16_t* from, std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k) results.rank[static_cast<std::size_t>(patches[begin + k])] = from[k];
  });
  record(finished);
  cuda_check(cudaEventSynchronize(finished.get()), "copying the series from the GPU");
  results.seconds = seconds_between(begun, worked);
  results.transfer_seconds = seconds_between(started, begun) + seconds_between(worked, finished);
  results.device_bytes = buffers.bytes();
  return results;
}

}  // namespace warploom::imaging
