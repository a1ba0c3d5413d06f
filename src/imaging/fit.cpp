#include "warploom/imaging/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/doors.hpp"
#include "imaging/cholesky.hpp"
#include "imaging/eigen.hpp"
#include "imaging/positive_tensor.hpp"
#include "imaging/tensor_design.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

constexpr std::array<std::string_view, 4> kMethods{"ols", "wls", "iterated", "positive"};

// Least squares with weights: sum of w row row^T and of w row y. The lower triangle of `matrix` is filled.
struct NormalEquations {
  SquareMatrix<kUnknowns> matrix{};
  Unknowns right{};
};

// The fit of one voxel after another.
class Fitter {
 public:
  Fitter(const TensorDesign& design, FitMethod method)
      : design_(design), method_(method), logarithms_(design.rows.size()), weights_(design.rows.size()) {}

  /// @param signal [measurements] > 0
  Unknowns fit(std::span<const double> signal) {
    for (std::size_t i = 0; i < signal.size(); ++i) logarithms_[i] = std::log(signal[i]);
    Unknowns solution{};
    for (std::size_t i = 0; i < signal.size(); ++i)
      for (std::size_t c = 0; c < kUnknowns; ++c) solution[c] += design_.inverse[i][c] * logarithms_[i];
    switch (method_) {
      case FitMethod::ols:
        break;
      case FitMethod::wls:
        reweight(solution);
        break;
      case FitMethod::iterated:
        weigh(logarithms_);
        solve(solution);
        reweight(solution);
        reweight(solution);
        break;
      case FitMethod::positive:
        if (!reweight(solution))
          std::fill(weights_.begin(), weights_.end(), 1);  // those of the solution it is
        if (negative(solution)) solution = constrain(solution);
        break;
    }
    return solution;
  }

  /// Of the last fit, weighted with the squares of the signal it predicts: an estimate of the signal's noise
  /// variance. 0 where there are as many measurements as unknowns.
  double residual_variance(const Unknowns& solution) const {
    if (logarithms_.size() == kUnknowns) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < logarithms_.size(); ++i) {
      const double predicted = predict(i, solution), residual = logarithms_[i] - predicted;
      sum += std::exp(2 * predicted) * residual * residual;
    }
    return sum / static_cast<double>(logarithms_.size() - kUnknowns);
  }

  static bool negative(const Unknowns& solution) { return has_negative(eigen(diffusion(solution))); }

 private:
  static std::array<double, 6> diffusion(const Unknowns& solution) {
    std::array<double, 6> elements;
    std::copy_n(solution.begin(), 6, elements.begin());
    return elements;
  }

  double predict(std::size_t i, const Unknowns& solution) const {
    double sum = 0;
    for (std::size_t c = 0; c < kUnknowns; ++c) sum += design_.rows[i][c] * solution[c];
    return sum;
  }

  // The squares of signals that are given as logarithms, relative to the largest.
  void weigh(std::span<const double> logarithms) {
    const double largest = *std::max_element(logarithms.begin(), logarithms.end());
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = std::exp(2 * (logarithms[i] - largest));
  }

  NormalEquations normal_equations() const {
    NormalEquations equations;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Unknowns& row = design_.rows[i];
      for (std::size_t c = 0; c < kUnknowns; ++c) {
        const double weighted = weights_[i] * row[c];
        for (std::size_t d = 0; d <= c; ++d) equations.matrix[c][d] += weighted * row[d];
        equations.right[c] += weighted * logarithms_[i];
      }
    }
    return equations;
  }

  // Leaves the solution as it is where too few measurements have weight.
  bool solve(Unknowns& solution) {
    auto [matrix, right] = normal_equations();
    if (!solve_positive_definite(matrix, right)) return false;
    solution = right;
    return true;
  }

  bool reweight(Unknowns& solution) {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = predict(i, solution);
    weigh(weights_);
    return solve(solution);
  }

  // The best solution for the last weights whose tensor has no negative eigenvalue, from the best without
  // that condition. ln S0 follows from the tensor, so its row and column are eliminated.
  Unknowns constrain(const Unknowns& free) const {
    const auto matrix = normal_equations().matrix;
    const auto& last = matrix[6];
    SquareMatrix<6> metric;
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        metric[i][j] = matrix[std::max(i, j)][std::min(i, j)] - last[i] * last[j] / last[6];
    const auto tensor = positive_tensor(diffusion(free), metric);
    Unknowns solution = free;
    for (std::size_t i = 0; i < 6; ++i) {
      solution[i] = tensor[i];
      solution[6] -= last[i] * (tensor[i] - free[i]) / last[6];
    }
    return solution;
  }

  const TensorDesign& design_;
  FitMethod method_;
  std::vector<double> logarithms_, weights_;
};

// Of the measurements in the mask; 0 if there is none.
double smallest_positive(const ImageView& series, const Mask& mask) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  std::vector<float> least(static_cast<std::size_t>((series.grid.voxels() + kPiece - 1) / kPiece), kNone);
  for_pieces(series.grid, [&](std::size_t begin, std::size_t end) {
    float& smallest = least[begin / kPiece];
    for (int volume = 0; volume < series.channels; ++volume) {
      const auto values = series.channel(volume);
      for (std::size_t voxel = begin; voxel < end; ++voxel)
        if (values[voxel] > 0 && values[voxel] < smallest && inside(mask, voxel)) smallest = values[voxel];
    }
  });
  const float smallest = *std::min_element(least.begin(), least.end());
  return smallest == kNone ? 0 : static_cast<double>(smallest);
}

// Copies the measurements of a voxel, those <= 0 as `floor`.
enum class Measured { usable, raised, unusable };
Measured gather(const ImageView& series, std::size_t voxel, double floor, std::span<double> signal) {
  bool any_positive = false, any_raised = false;
  const std::size_t stride = series.data.size() / signal.size();
  for (std::size_t volume = 0; volume < signal.size(); ++volume) {
    const double value = static_cast<double>(series.data[volume * stride + voxel]);
    if (!std::isfinite(value)) return Measured::unusable;
    any_positive = any_positive || value > 0;
    any_raised = any_raised || value <= 0;
    signal[volume] = value > 0 ? value : floor;
  }
  if (!any_positive) return Measured::unusable;
  return any_raised ? Measured::raised : Measured::usable;
}

}  // namespace

FitMethod parse_fit_method(std::string_view text) {
  const auto known = std::ranges::find(kMethods, text);
  if (known != kMethods.end()) return static_cast<FitMethod>(known - kMethods.begin());
  throw BadInput(fmt::format("unknown fit method '{}'; known are ols, wls, iterated and positive", text));
}

std::string_view name(FitMethod method) { return at_enumerator(kMethods, method, "the fit method"); }

TensorFit fit_tensors(const ImageView& series, std::span<const double> b,
                      std::span<const std::array<double, 3>> directions, const Mask& mask,
                      const FitOptions& options) {
  const RunScope scope(options.run);
  series.check("the series");
  require_mask(mask, series.grid);
  name(options.method);
  const TensorDesign design = tensor_design(series.channels, b, directions);
  const double floor = smallest_positive(series, mask);
  TensorFit result;
  result.tensor = TensorImage(series.grid, kTensorChannels);
  result.s0 = Image(series.grid, 1);
  constexpr float kNotFitted = -1;
  std::vector<float> variances(static_cast<std::size_t>(series.grid.voxels()), kNotFitted);
  std::atomic<std::int64_t> not_fitted = 0, raised = 0, negative = 0;
  Progress progress("fitting tensors", static_cast<std::uint64_t>(series.grid.voxels()), "voxels");
  for_pieces(series.grid, [&](std::size_t begin, std::size_t end) {
    Fitter fitter(design, options.method);
    std::vector<double> signal(design.rows.size());
    std::int64_t unusable_here = 0, raised_here = 0, negative_here = 0;
    for (std::size_t voxel = begin; voxel < end; ++voxel) {
      if (!inside(mask, voxel)) continue;
      const Measured measured = gather(series, voxel, floor, signal);
      unusable_here += measured == Measured::unusable;
      raised_here += measured == Measured::raised;
      if (measured == Measured::unusable) continue;
      Unknowns solution = fitter.fit(signal);
      negative_here += Fitter::negative(solution);
      variances[voxel] = static_cast<float>(fitter.residual_variance(solution));
      std::array<double, kTensorChannels> tensor;
      for (std::size_t c = 0; c < tensor.size(); ++c) tensor[c] = solution[c] / design.largest_b;
      set_tensor(result.tensor, voxel, tensor);
      result.s0.data[voxel] = static_cast<float>(std::exp(solution[6]));
    }
    not_fitted += unusable_here;
    raised += raised_here;
    negative += negative_here;
    progress.advance(end - begin);
  });
  std::erase(variances, kNotFitted);
  result.voxels = std::ssize(variances);
  result.not_fitted = not_fitted;
  result.raised = raised;
  result.negative = negative;
  result.residual_variance = median(variances);
  return result;
}

}  // namespace warploom::imaging
