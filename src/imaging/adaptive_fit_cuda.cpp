#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/cuda/memory.hpp"
#include "imaging/adaptive_fit_backend.hpp"
#include "imaging/adaptive_fit_kernels.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

/// One allocation for all that a run needs.
class FitBuffers {
 public:
  FitBuffers(const AdaptiveProblem& problem) : problem_(problem) {
    const auto voxels = static_cast<std::uint64_t>(problem.series.grid.voxels());
    const auto measurements = static_cast<std::uint64_t>(problem.series.channels);
    const auto floats = [&](std::uint64_t each) { return arena_.add<float>(each * voxels); };
    series_ = floats(problem.series.on_gpu == nullptr ? measurements : 0);
    denoised_ = floats(measurements), noise_ = floats(1);
    information_ = floats(kTriangle), metric_ = floats(kTriangle);
    measured_ = floats(6), denoised_term_ = floats(6), score_ = floats(6), guide_ = floats(6);
    sharper_ = floats(6), sums_ = floats(kAdaptiveSums);
    result_ = floats(8), narrow_ = floats(7);
    mean_ = arena_.add<double>(voxels);
    mask_ = arena_.add<std::uint8_t>(voxels), fitted_ = arena_.add<std::uint8_t>(voxels);
    rows_ = arena_.add<Unknowns>(measurements), inverse_ = arena_.add<Unknowns>(measurements);
    table_ = arena_.add<RicianMoments>(kRicianEntries);
    if (const std::uint64_t free = device_memory().free; arena_.bytes() > free)
      throw OutOfMemory("fitting tensors to " + std::to_string(voxels) + " voxels needs " +
                        std::to_string(arena_.bytes()) + " bytes of the GPU's memory, " +
                        std::to_string(free) + " are free; `device` cpu does without");
    arena_.allocate();
  }

  AdaptiveBuffers pointers() const {
    const Grid& grid = problem_.series.grid;
    const auto floats = [&](std::uint64_t place) { return arena_.at<float>(place); };
    const auto voxels = static_cast<std::uint64_t>(grid.voxels());
    return {.series = problem_.series.on_gpu != nullptr ? problem_.series.on_gpu : floats(series_),
            .denoised = floats(denoised_),
            .noise = floats(noise_),
            .mask = mask(),
            .table = table(),
            .design = {rows(), inverse(), problem_.series.channels},
            .terms = {grid.nx, grid.ny, grid.nz, fitted(), floats(information_), floats(measured_),
                      floats(denoised_term_), floats(score_), floats(guide_), floats(metric_)},
            .information = arena_.at<double>(mean_),
            .sharper = floats(sharper_),
            .sums = floats(sums_),
            .tensor = floats(result_),
            .s0 = floats(result_) + 6 * voxels,
            .neighbours = floats(result_) + 7 * voxels,
            .narrow = floats(narrow_),
            .apart = floats(narrow_) + 6 * voxels};
  }
  float* series() const { return arena_.at<float>(series_); }
  float* denoised() const { return arena_.at<float>(denoised_); }
  float* noise() const { return arena_.at<float>(noise_); }
  std::uint8_t* mask() const { return arena_.at<std::uint8_t>(mask_); }
  std::uint8_t* fitted() const { return arena_.at<std::uint8_t>(fitted_); }
  Unknowns* rows() const { return arena_.at<Unknowns>(rows_); }
  Unknowns* inverse() const { return arena_.at<Unknowns>(inverse_); }
  RicianMoments* table() const { return arena_.at<RicianMoments>(table_); }
  std::uint64_t bytes() const { return arena_.bytes(); }

 private:
  const AdaptiveProblem& problem_;
  DeviceArena arena_;
  std::uint64_t series_, denoised_, noise_, information_, metric_, measured_, denoised_term_, score_, guide_,
      sharper_, sums_, result_, narrow_, mean_, mask_, fitted_, rows_, inverse_, table_;
};

}  // namespace

void fit_adaptively_cuda(const AdaptiveProblem& problem, AdaptiveFit& fit) {
  const auto voxels = static_cast<std::size_t>(problem.series.grid.voxels());
  if (voxels > (std::size_t{1} << 36))
    throw BadInput("an image of " + std::to_string(voxels) + " voxels is above the GPU's 2^36");
  require_reachable(problem.series.on_gpu, "the series");
  const FitBuffers memory(problem);
  AdaptiveBuffers buffers = memory.pointers();
  const CudaStream stream = make_stream();
  const CudaEvent started = make_event(), begun = make_event(), worked = make_event(),
                  finished = make_event();
  const WaitAtEnd wait(stream.get());
  PinnedPair copies(stream.get(), 4 << 20);  // more takes longer to make than it saves
  const auto record = [&](const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  };
  const auto upload = [&](auto* to, const auto* from, std::size_t count) {
    copies.upload(to, from, count * sizeof(*from));
  };
  record(started);
  if (problem.series.on_gpu == nullptr)
    upload(memory.series(), problem.series.data.data(), problem.series.data.size());
  upload(memory.denoised(), problem.denoised.data.data(), problem.denoised.data.size());
  std::vector<float> noise(voxels);
  for (std::size_t v = 0; v < voxels; ++v) noise[v] = problem.noise_at(v);
  upload(memory.noise(), noise.data(), voxels);
  if (problem.mask.empty())
    cuda_check(cudaMemsetAsync(memory.mask(), 1, voxels, stream.get()), "cudaMemsetAsync");
  else
    upload(memory.mask(), problem.mask.data(), voxels);
  upload(memory.rows(), problem.design.rows.data(), problem.design.rows.size());
  upload(memory.inverse(), problem.design.inverse.data(), problem.design.inverse.size());
  upload(memory.table(), rician_table(), kRicianEntries);
  cuda_check(cudaMemsetAsync(buffers.tensor, 0, 8 * voxels * sizeof(float), stream.get()), "cudaMemsetAsync");
  record(begun);

  Progress progress("fitting tensors", 3, "steps");
  // Steps 1 and 2, the guide of step 3. @return Kbar, 0 where nothing was fitted
  float* const guide = buffers.terms.guide;
  const auto prepare = [&] {
    buffers.terms.guide = guide;
    cuda_check(launch_adaptive_terms(buffers, stream.get()), "launching the fits of single voxels");
    std::vector<std::uint8_t> fitted(voxels);
    copies.download(buffers.terms.fitted, voxels,
                    [&](std::uint64_t begin, const std::uint8_t* from, std::uint64_t count) {
                      std::copy_n(from, count, fitted.begin() + static_cast<std::ptrdiff_t>(begin));
                    });
    std::vector<double> information(voxels);
    copies.download(buffers.information, voxels,
                    [&](std::uint64_t begin, const double* from, std::uint64_t count) {
                      std::copy_n(from, count, information.begin() + static_cast<std::ptrdiff_t>(begin));
                    });
    std::size_t kept = 0;
    fit.not_fitted = 0;
    for (std::size_t v = 0; v < voxels; ++v)
      if (fitted[v] != 0)
        information[kept++] = information[v];
      else
        fit.not_fitted += inside(problem.mask, v);
    fit.voxels = static_cast<std::int64_t>(kept);
    progress.advance();
    if (kept == 0) return 0.0;
    information.resize(kept);
    const double typical = median(information);
    cuda_check(launch_adaptive_guide(buffers, typical, stream.get()), "launching the guide");
    buffers.terms.guide = buffers.sharper;
    return typical;
  };
  const auto pool = [&](double bandwidth) {
    cuda_check(launch_adaptive_sums(buffers, bandwidth, problem.options.radius, stream.get()),
               "launching the sums over neighbours");
  };
  const AdaptiveFitOptions& options = problem.options;
  const double largest_b = problem.design.largest_b;
  fit.device_bytes = memory.bytes();
  double typical = prepare();
  if (fit.voxels == 0) return;
  pool(options.bandwidth);
  cuda_check(launch_adaptive_wide(buffers, options.prior, typical, stream.get()),
             "launching the tensors of sums");
  cuda_check(launch_adaptive_finish(buffers, largest_b, stream.get()), "launching S0");
  cuda_check(launch_adaptive_expect(buffers, largest_b, stream.get()), "launching what is expected");
  typical = prepare();
  pool(options.bandwidth);
  cuda_check(launch_adaptive_wide(buffers, options.prior, typical, stream.get()),
             "launching the tensors of sums");
  pool(kNarrowBandwidth * options.bandwidth);
  cuda_check(launch_adaptive_narrow(buffers, kNarrowPrior * options.prior, typical, stream.get()),
             "launching the narrow estimate");
  cuda_check(launch_adaptive_finish(buffers, largest_b, stream.get()), "launching S0");
  record(worked);
  cuda_check(cudaEventSynchronize(worked.get()), "fitting tensors");
  const auto fetch = [&](const float* from, Image& image) {
    copies.download(from, image.data.size(),
                    [&](std::uint64_t begin, const float* part, std::uint64_t count) {
                      std::copy_n(part, count, image.data.begin() + static_cast<std::ptrdiff_t>(begin));
                    });
  };
  fetch(buffers.tensor, fit.tensor);
  fetch(buffers.s0, fit.s0);
  fetch(buffers.neighbours, fit.neighbours);
  record(finished);
  cuda_check(cudaEventSynchronize(finished.get()), "copying tensors from the GPU");
  progress.advance();
  fit.transfer_seconds = seconds_between(started, begun) + seconds_between(worked, finished);
}

}  // namespace warploom::imaging
