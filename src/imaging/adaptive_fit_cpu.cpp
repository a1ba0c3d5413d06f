#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "imaging/adaptive_fit_backend.hpp"
#include "imaging/adaptive_reconcile.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

// What a pass makes of a series, in the units of AdaptiveFit.
struct Estimate {
  TensorImage tensor;
  Image s0;
};

// The signals of one voxel after another, and their logarithms, each computed once.
class Signals {
 public:
  explicit Signals(std::size_t measurements)
      : measured_(measurements), denoised_(measurements), unbiased_(measurements), floored_(measurements) {}

  /// @param before  of the first pass, or nullptr: then the denoised signals are those of the series
  /// @return false where a measurement is not finite, or none is above 0
  bool gather(const AdaptiveProblem& problem, std::size_t v, const Estimate* before) {
    const double scale = 1 / static_cast<double>(problem.noise_at(v));
    const std::size_t stride = problem.noise.data.size();
    bool any = false, finite = true;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      measured_[i] = scale * static_cast<double>(problem.series.data[i * stride + v]);
      denoised_[i] = scale * static_cast<double>(problem.denoised.data[i * stride + v]);
      any = any || measured_[i] > 0;
      finite = finite && std::isfinite(measured_[i]) && std::isfinite(denoised_[i]);
    }
    if (before != nullptr) {
      const double s0 = scale * static_cast<double>(before->s0.data[v]);
      SixElements tensor = tensor_at(before->tensor, v);
      for (double& element : tensor) element *= problem.design.largest_b;
      for (std::size_t i = 0; i < denoised_.size(); ++i)
        denoised_[i] = expected_signal(denoised_[i], problem.design.rows[i], tensor, s0, rician_table());
    }
    return any && finite;
  }
  void take_logarithms() {
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      unbiased_[i] = std::log(std::max(rician_signal(denoised_[i]), kLeastSignal));
      floored_[i] = std::log(std::max(denoised_[i], kLeastSignal));
    }
  }

  double measured(int i) const { return measured_[static_cast<std::size_t>(i)]; }
  double denoised(int i) const { return denoised_[static_cast<std::size_t>(i)]; }
  double unbiased(int i) const { return unbiased_[static_cast<std::size_t>(i)]; }
  double floored(int i) const { return floored_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<double> measured_, denoised_, unbiased_, floored_;
};

class AdaptiveFitter {
 public:
  explicit AdaptiveFitter(const AdaptiveProblem& problem)
      : problem_(problem),
        design_{problem.design.rows.data(), problem.design.inverse.data(), problem.series.channels},
        measurements_(problem.design.rows.size()) {
    const auto voxels = static_cast<std::size_t>(problem.series.grid.voxels());
    memory_.grid = problem.series.grid;
    memory_.fitted.assign(voxels, 0);
    for (auto* const matrices : {&memory_.information, &memory_.metric})
      matrices->assign(kTriangle * voxels, 0);
    for (auto* const vectors : {&memory_.measured, &memory_.denoised, &memory_.guide})
      vectors->assign(kElements * voxels, 0);
  }

  void run(AdaptiveFit& fit) {
    const Grid& grid = memory_.grid;
    fit.not_fitted = prepare(nullptr);
    fit.voxels = std::count(memory_.fitted.begin(), memory_.fitted.end(), 1);
    if (fit.voxels == 0) return;
    sharpen_guide();
    Estimate first{TensorImage(grid, kTensorChannels), Image(grid, 1)};
    const AdaptiveFitOptions& options = problem_.options;
    const double wide[] = {options.bandwidth};
    over_neighbours(wide, [&](std::size_t v, const auto& sums, Signals& signals) {
      const SixElements tensor = combined_tensor(sums[0], options.prior, typical_);
      signals.gather(problem_, v, nullptr);
      set(first.tensor, first.s0, v, tensor, signals);
    });

    prepare(&first);
    sharpen_guide();
    TensorImage narrow(grid, kTensorChannels);
    std::vector<float> apart(memory_.fitted.size());
    const double both[] = {options.bandwidth, kNarrowBandwidth * options.bandwidth};
    over_neighbours(both, [&](std::size_t v, const auto& sums, Signals&) {
      const SixElements far = combined_tensor(sums[0], options.prior, typical_),
                        near = combined_tensor(sums[1], kNarrowPrior * options.prior, typical_);
      set_tensor(fit.tensor, v, far);
      set_tensor(narrow, v, near);
      apart[v] = static_cast<float>(disagreement(sums[1], near, far));
      fit.neighbours.data[v] = sums[0].weights;
    });
    for_pieces(grid, [&](std::size_t begin, std::size_t end) {
      Signals signals(measurements_);
      for (std::size_t v = begin; v < end; ++v) {
        if (memory_.fitted[v] == 0) continue;
        signals.gather(problem_, v, &first);
        const double around = mean_beside(terms_, apart.data(), static_cast<std::int64_t>(v));
        set(fit.tensor, fit.s0, v, reconciled_tensor(tensor_at(fit.tensor, v), tensor_at(narrow, v), around),
            signals);
      }
    });
  }

 private:
  // Steps 1 and 2, the guide of step 3, and Kbar. @return how many voxels were not fitted
  std::int64_t prepare(const Estimate* before) {
    memory_.score.assign(kElements * memory_.fitted.size(), 0);
    terms_ = memory_.view();
    std::atomic<std::int64_t> failed = 0;
    Progress progress("fitting tensors", memory_.fitted.size(), "voxels");
    for_pieces(memory_.grid, [&](std::size_t begin, std::size_t end) {
      Signals signals(measurements_);
      for (std::size_t v = begin; v < end; ++v) {
        if (!inside(problem_.mask, v)) continue;
        if (!signals.gather(problem_, v, before)) {
          ++failed;
          continue;
        }
        signals.take_logarithms();
        voxel_terms(design_, signals, rician_table()).store(terms_, static_cast<std::int64_t>(v));
        memory_.fitted[v] = 1;
      }
      progress.advance(end - begin);
    });
    std::vector<double> information;
    for (std::size_t v = 0; v < memory_.fitted.size(); ++v)
      if (memory_.fitted[v] != 0)
        information.push_back(mean_information(terms_, static_cast<std::int64_t>(v)));
    typical_ = median(information);
    return failed;
  }

  void sharpen_guide() {
    std::vector<float> sharper = memory_.guide;
    const std::size_t stride = memory_.fitted.size();
    for_pieces(memory_.grid, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        if (memory_.fitted[v] == 0) continue;
        const SixElements more = guide_correction(terms_, static_cast<std::int64_t>(v), typical_);
        for (std::size_t i = 0; i < kElements; ++i) sharper[i * stride + v] += static_cast<float>(more[i]);
      }
    });
    memory_.guide = std::move(sharper);
    memory_.score = {};
    terms_ = memory_.view();
  }

  // body(voxel, its sums of each bandwidth, room for its signals), in threads.
  template <class Body>
  void over_neighbours(std::span<const double> bandwidths, const Body& body) {
    const Grid& grid = memory_.grid;
    constexpr std::int64_t kRows = 8, kPlanes = 8;  // a brick's sums and distances fit into a second cache
    const std::int64_t across = (grid.ny + kRows - 1) / kRows, up = (grid.nz + kPlanes - 1) / kPlanes;
    Progress progress("smoothing", static_cast<std::uint64_t>(across * up), "bricks");
    parallel_for(across * up, [&](std::int64_t k) {
      check_interrupt();
      const std::int64_t y = k % across * kRows, z = k / across * kPlanes;
      const AdaptiveBrick brick{{0, y, z},
                                {grid.nx, std::min(y + kRows, grid.ny), std::min(z + kPlanes, grid.nz)}};
      const auto pooled = pool_brick(terms_, bandwidths, problem_.options.radius, brick);
      std::vector<AdaptiveSums> sums(bandwidths.size());
      Signals signals(measurements_);
      std::size_t from = 0;
      for (std::int64_t pz = brick.begin[2]; pz < brick.end[2]; ++pz)
        for (std::int64_t py = brick.begin[1]; py < brick.end[1]; ++py)
          for (std::int64_t px = 0; px < grid.nx; ++px, ++from) {
            const auto v = static_cast<std::size_t>((pz * grid.ny + py) * grid.nx + px);
            if (memory_.fitted[v] == 0) continue;
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = pooled[i][from];
            body(v, sums, signals);
          }
      progress.advance();
    });
  }

  // From what has no unit.
  void set(TensorImage& image, Image& s0, std::size_t v, SixElements tensor, const Signals& signals) const {
    s0.data[v] = static_cast<float>(static_cast<double>(problem_.noise_at(v)) *
                                    fitted_s0(design_, signals, tensor, rician_table()));
    for (double& element : tensor) element /= problem_.design.largest_b;
    set_tensor(image, v, tensor);
  }

  const AdaptiveProblem& problem_;
  DesignView design_;
  std::size_t measurements_;
  double typical_ = 0;
  AdaptiveTerms memory_;
  AdaptiveView terms_;
};

}  // namespace

void fit_adaptively_cpu(const AdaptiveProblem& problem, AdaptiveFit& fit) {
  AdaptiveFitter(problem).run(fit);
}

}  // namespace warploom::imaging
