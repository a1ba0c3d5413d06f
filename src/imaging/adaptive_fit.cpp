#include "warploom/imaging/adaptive_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string_view>

#include "imaging/adaptive_pool.hpp"
#include "imaging/cholesky.hpp"
#include "imaging/eigen.hpp"
#include "imaging/tensor_design.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {
namespace {

constexpr std::size_t kElements = kTensorChannels;
using SixElements = std::array<double, kElements>;
constexpr std::array<double, kElements> kOften{1, 2, 2, 1, 2, 1};

// Logarithms need a signal above 0. In units of the noise.
constexpr double kLeastSignal = 0.2;
// How much the nearest neighbours' mean score must say before the guide follows it, in Kbar.
constexpr double kGuidePrior = 0.1;
constexpr double kFaceShare = 0.5;  // of a face neighbour in that mean

SixElements diffusion(const Unknowns& solution) {
  SixElements elements;
  std::copy_n(solution.begin(), kElements, elements.begin());
  return elements;
}

SixElements without_negative(const SixElements& tensor) {
  if (positive_definite(tensor)) return tensor;
  Eigen3 decomposition = eigen(tensor);
  for (double& value : decomposition.values) value = std::max(value, 0.0);
  return from_eigen(decomposition);
}

// Lower triangle of N, and s; ln S0 last.
struct Equations {
  SquareMatrix<kUnknowns> information{};
  Unknowns score{};

  void add(const Unknowns& row, double weight, double residual) {
    for (std::size_t c = 0; c < kUnknowns; ++c) {
      for (std::size_t d = 0; d <= c; ++d) information[c][d] += weight * row[c] * row[d];
      score[c] += residual * row[c];
    }
  }
  // The same with ln S0 eliminated.
  SquareMatrix<kElements> reduced() const {
    SquareMatrix<kElements> result{};
    for (std::size_t i = 0; i < kElements; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        result[i][j] = information[i][j] - information[6][i] * information[6][j] / information[6][6];
    return result;
  }
  SixElements reduced_score() const {
    SixElements result;
    for (std::size_t i = 0; i < kElements; ++i)
      result[i] = score[i] - information[6][i] * score[6] / information[6][6];
    return result;
  }
};

SixElements multiplied(const SquareMatrix<kElements>& lower, const SixElements& d) {
  SixElements product{};
  for (std::size_t i = 0; i < kElements; ++i)
    for (std::size_t j = 0; j < kElements; ++j) product[i] += lower[std::max(i, j)][std::min(i, j)] * d[j];
  return product;
}

double predict(const Unknowns& row, const Unknowns& solution) {
  double sum = 0;
  for (std::size_t c = 0; c < kUnknowns; ++c) sum += row[c] * solution[c];
  return sum;
}

// The weighted fit of logarithms. @param logarithms [measurements] of signals in units of the noise
Unknowns fit_logarithms(const TensorDesign& design, std::span<const double> logarithms) {
  Unknowns solution{};
  for (std::size_t i = 0; i < logarithms.size(); ++i)
    for (std::size_t c = 0; c < kUnknowns; ++c) solution[c] += design.inverse[i][c] * logarithms[i];
  Equations equations;
  for (std::size_t i = 0; i < logarithms.size(); ++i) {
    const double weight = std::exp(2 * predict(design.rows[i], solution));
    equations.add(design.rows[i], weight, weight * logarithms[i]);
  }
  Unknowns right = equations.score;
  return solve_positive_definite(equations.information, right) ? right : solution;
}

// What one voxel contributes, computed with the noise as the unit of signals.
class Voxel {
 public:
  explicit Voxel(const TensorDesign& design)
      : design_(design),
        measured(design.rows.size()),
        denoised(measured),
        unbiased_(measured),
        floored_(measured) {}

  void compute() {
    for (std::size_t i = 0; i < measured.size(); ++i) {
      unbiased_[i] = std::log(std::max(rician_signal(denoised[i]), kLeastSignal));
      floored_[i] = std::log(std::max(denoised[i], kLeastSignal));
    }
    Unknowns pilot = fit_logarithms(design_, unbiased_);
    const SixElements tensor = without_negative(diffusion(pilot));
    std::ranges::copy(tensor, pilot.begin());
    Equations of_measured, of_denoised;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double signal = std::exp(std::min(predict(design_.rows[i], pilot), 30.0));
      const auto [mean, slope, variance] = rician_moments(signal);
      const double along = slope * signal / variance;
      of_measured.add(design_.rows[i], along * slope * signal, along * (measured[i] - mean));
      of_denoised.add(design_.rows[i], 0, along * (denoised[i] - mean));
    }
    of_denoised.information = of_measured.information;
    information = of_measured.reduced();
    score = of_measured.reduced_score();
    const SixElements at = multiplied(information, tensor), other = of_denoised.reduced_score();
    for (std::size_t k = 0; k < kElements; ++k) {
      measured_term[k] = at[k] + score[k];
      denoised_term[k] = at[k] + other[k];
    }
    const Unknowns biased = fit_logarithms(design_, floored_);
    guide = diffusion(biased);
    Equations predicted;
    for (const Unknowns& row : design_.rows) predicted.add(row, std::exp(2 * predict(row, biased)), 0);
    metric = predicted.reduced();
  }

  // S0 in units of the noise that fits the denoised signals best, once the tensor is known.
  double s0(const SixElements& tensor) {
    double product = 0, square = 0;
    for (std::size_t i = 0; i < denoised.size(); ++i) {
      double exponent = 0;
      for (std::size_t c = 0; c < kElements; ++c) exponent += design_.rows[i][c] * tensor[c];
      const double decay = std::exp(exponent);
      product += decay * rician_signal(denoised[i]);
      square += decay * decay;
    }
    return square > 0 ? product / square : 0;
  }

 private:
  const TensorDesign& design_;

 public:
  std::vector<double> measured, denoised;  // in
  SquareMatrix<kElements> information{}, metric{};
  SixElements score{}, measured_term{}, denoised_term{}, guide{};

 private:
  std::vector<double> unbiased_, floored_;  // logarithms
};

void require_options(const AdaptiveFitOptions& options) {
  if (!(options.bandwidth >= 0 && options.bandwidth <= 1e6))
    throw BadInput(
        fmt::format("the bandwidth is {}; it must be from 0 (every voxel alone) up", options.bandwidth));
  if (!(options.prior >= 0 && options.prior <= 1e6))
    throw BadInput(
        fmt::format("the prior is {}; it must be from 0 (the measured series alone) up", options.prior));
  if (options.radius < 0 || options.radius > 4)
    throw BadInput(fmt::format("the radius is {} voxels; it must be from 0 to 4", options.radius));
}

void require_same(const Image& image, const Image& series, int channels, std::string_view what) {
  image.check(what);
  if (image.channels != channels || image.grid.voxels() != series.grid.voxels())
    throw BadInput(fmt::format("{} has {} volumes of {} voxels; it must have {} of {}, as the series", what,
                               image.channels, image.grid.voxels(), channels, series.grid.voxels()));
}

double usual_noise(const Image& noise, const Mask& mask) {
  std::vector<float> known;
  for (std::size_t v = 0; v < noise.data.size(); ++v)
    if (inside(mask, v) && noise.data[v] > 0 && std::isfinite(noise.data[v])) known.push_back(noise.data[v]);
  if (known.empty()) throw BadInput("the noise map is nowhere above 0 inside the mask");
  return median(known);
}

class AdaptiveFitter {
 public:
  AdaptiveFitter(const Image& series, const Image& denoised, const Image& noise, const Mask& mask,
                 const TensorDesign& design, const AdaptiveFitOptions& options)
      : series_(series),
        denoised_(denoised),
        noise_(noise),
        mask_(mask),
        design_(design),
        options_(options),
        usual_(usual_noise(noise, mask)) {
    const std::size_t voxels = static_cast<std::size_t>(series.grid.voxels());
    terms_.grid = series.grid;
    terms_.fitted.assign(voxels, 0);
    terms_.information.assign(kTriangle * voxels, 0);
    terms_.metric.assign(kTriangle * voxels, 0);
    for (auto* const values : {&terms_.measured, &terms_.denoised, &terms_.guide, &scores_})
      values->assign(kElements * voxels, 0);
  }

  AdaptiveFit run() {
    const auto start = std::chrono::steady_clock::now();
    AdaptiveFit result;
    result.tensor = TensorImage(series_.grid, kTensorChannels);
    result.s0 = Image(series_.grid, 1);
    result.neighbours = Image(series_.grid, 1);
    result.not_fitted = prepare();
    result.voxels = std::count(terms_.fitted.begin(), terms_.fitted.end(), 1);
    if (result.voxels > 0) {
      typical_ = typical_information();
      sharpen_guide();
      scores_ = {};
      combine(result);
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  double noise_at(std::size_t v) const {
    const double sigma = static_cast<double>(noise_.data[v]);
    return sigma > 0 && std::isfinite(sigma) ? sigma : usual_;
  }

  bool gather(std::size_t v, Voxel& voxel) const {
    const double scale = 1 / noise_at(v);
    const std::size_t stride = terms_.fitted.size();
    bool any = false, finite = true;
    for (std::size_t i = 0; i < voxel.measured.size(); ++i) {
      voxel.measured[i] = scale * static_cast<double>(series_.data[i * stride + v]);
      voxel.denoised[i] = scale * static_cast<double>(denoised_.data[i * stride + v]);
      any = any || voxel.measured[i] > 0;
      finite = finite && std::isfinite(voxel.measured[i]) && std::isfinite(voxel.denoised[i]);
    }
    return any && finite;
  }

  // Steps 1 and 2, and the guide of step 3. @return how many voxels were not fitted
  std::int64_t prepare() {
    std::atomic<std::int64_t> failed = 0;
    Progress progress("fitting tensors", terms_.fitted.size(), "voxels");
    for_pieces(series_.grid, [&](std::size_t begin, std::size_t end) {
      Voxel voxel(design_);
      for (std::size_t v = begin; v < end; ++v) {
        if (!inside(mask_, v)) continue;
        if (!gather(v, voxel)) {
          ++failed;
          continue;
        }
        voxel.compute();
        terms_.fitted[v] = 1;
        const std::size_t stride = terms_.fitted.size();
        for (std::size_t i = 0; i < kElements; ++i) {
          terms_.measured[i * stride + v] = static_cast<float>(voxel.measured_term[i]);
          terms_.denoised[i * stride + v] = static_cast<float>(voxel.denoised_term[i]);
          terms_.guide[i * stride + v] = static_cast<float>(voxel.guide[i]);
          scores_[i * stride + v] = static_cast<float>(voxel.score[i]);
          for (std::size_t j = 0; j <= i; ++j) {
            const std::size_t at =
                static_cast<std::size_t>(triangle(static_cast<int>(i), static_cast<int>(j))) * stride + v;
            terms_.information[at] = static_cast<float>(voxel.information[i][j]);
            terms_.metric[at] = static_cast<float>(voxel.metric[i][j]);
          }
        }
      }
      progress.advance(end - begin);
    });
    return failed;
  }

  // Kbar: an element's information, of the median voxel.
  double typical_information() const {
    std::vector<double> means;
    const std::size_t stride = terms_.fitted.size();
    for (std::size_t v = 0; v < stride; ++v) {
      if (terms_.fitted[v] == 0) continue;
      double sum = 0;
      for (std::size_t i = 0; i < kElements; ++i) {
        const auto diagonal = static_cast<std::size_t>(triangle(static_cast<int>(i), static_cast<int>(i)));
        sum += static_cast<double>(terms_.information[diagonal * stride + v]) / kOften[i];
      }
      means.push_back(sum / kElements);
    }
    return median(means);
  }

  template <class Values>
  static SquareMatrix<kElements> lower(const Values& values, std::size_t stride, std::size_t v) {
    SquareMatrix<kElements> matrix{};
    for (std::size_t i = 0, k = 0; i < kElements; ++i)
      for (std::size_t j = 0; j <= i; ++j, ++k) matrix[i][j] = static_cast<double>(values[k * stride + v]);
    return matrix;
  }

  // Adds to the guide what the mean score of a voxel and its face neighbours says. Principal components that
  // stand for few voxels of a patch, a thin bundle's, are lost in strong noise; here they come back in part.
  void sharpen_guide() {
    const Grid& grid = series_.grid;
    const std::size_t stride = terms_.fitted.size();
    std::vector<float> sharper(terms_.guide.size());
    for_pieces(grid, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        if (terms_.fitted[v] == 0) continue;
        SquareMatrix<kElements> matrix{};
        SixElements right{};
        const auto add = [&](std::size_t u, double share) {
          if (terms_.fitted[u] == 0) return;
          const auto information = lower(terms_.information, stride, u);
          for (std::size_t i = 0; i < kElements; ++i) {
            for (std::size_t j = 0; j <= i; ++j) matrix[i][j] += share * information[i][j];
            right[i] += share * static_cast<double>(scores_[i * stride + u]);
          }
        };
        add(v, 1);
        std::size_t rest = v, step = 1;
        for (const std::int64_t extent : {grid.nx, grid.ny, grid.nz}) {
          const std::size_t at = rest % static_cast<std::size_t>(extent);
          if (at > 0) add(v - step, kFaceShare);
          if (at + 1 < static_cast<std::size_t>(extent)) add(v + step, kFaceShare);
          rest /= static_cast<std::size_t>(extent);
          step *= static_cast<std::size_t>(extent);
        }
        for (std::size_t i = 0; i < kElements; ++i) matrix[i][i] += kGuidePrior * typical_ * kOften[i];
        const bool solved = solve_positive_definite(matrix, right);
        for (std::size_t i = 0; i < kElements; ++i)
          sharper[i * stride + v] =
              terms_.guide[i * stride + v] + (solved ? static_cast<float>(right[i]) : 0.0F);
      }
    });
    terms_.guide = std::move(sharper);
  }

  // Step 4 of one voxel.
  SixElements solve(const AdaptiveSums& sums) const {
    const auto information = lower(sums.information, 1, 0);
    SixElements from_denoised;
    std::ranges::copy(sums.denoised, from_denoised.begin());
    auto regular = information;
    for (std::size_t i = 0; i < kElements; ++i) regular[i][i] += 1e-6 * typical_ * kOften[i];
    if (!solve_positive_definite(regular, from_denoised)) return {};
    const SixElements product = multiplied(information, from_denoised);
    SixElements beyond;
    for (std::size_t i = 0; i < kElements; ++i) {
      beyond[i] = static_cast<double>(sums.measured[i]) - product[i];
      regular[i][i] += options_.prior * typical_ * kOften[i];
    }
    if (!solve_positive_definite(regular, beyond)) beyond = {};
    for (std::size_t i = 0; i < kElements; ++i) beyond[i] += from_denoised[i];
    return without_negative(beyond);
  }

  void combine(AdaptiveFit& result) {
    const Grid& grid = series_.grid;
    constexpr std::int64_t kRows = 8, kPlanes = 8;  // a brick's sums and distances fit into a second cache
    const std::int64_t across = (grid.ny + kRows - 1) / kRows, up = (grid.nz + kPlanes - 1) / kPlanes;
    Progress progress("smoothing", static_cast<std::uint64_t>(across * up), "bricks");
    parallel_for(across * up, [&](std::int64_t k) {
      check_interrupt();
      const std::int64_t y = k % across * kRows, z = k / across * kPlanes;
      const AdaptiveBrick brick{{0, y, z},
                                {grid.nx, std::min(y + kRows, grid.ny), std::min(z + kPlanes, grid.nz)}};
      const auto sums = pool_brick(terms_, options_.bandwidth, options_.radius, brick);
      Voxel voxel(design_);
      std::size_t from = 0;
      for (std::int64_t pz = brick.begin[2]; pz < brick.end[2]; ++pz)
        for (std::int64_t py = brick.begin[1]; py < brick.end[1]; ++py)
          for (std::int64_t px = 0; px < grid.nx; ++px, ++from) {
            const auto v = static_cast<std::size_t>((pz * grid.ny + py) * grid.nx + px);
            if (terms_.fitted[v] == 0) continue;
            SixElements tensor = solve(sums[from]);
            gather(v, voxel);
            result.s0.data[v] = static_cast<float>(noise_at(v) * voxel.s0(tensor));
            result.neighbours.data[v] = sums[from].weights;
            for (double& element : tensor) element /= design_.largest_b;
            set_tensor(result.tensor, v, tensor);
          }
      progress.advance();
    });
  }

  const Image &series_, &denoised_, &noise_;
  const Mask& mask_;
  const TensorDesign& design_;
  const AdaptiveFitOptions& options_;
  double usual_, typical_ = 0;
  AdaptiveTerms terms_;
  std::vector<float> scores_;
};

}  // namespace

AdaptiveFit fit_tensors_adaptively(const Image& series, const Image& denoised, const Image& noise,
                                   std::span<const double> b,
                                   std::span<const std::array<double, 3>> directions, const Mask& mask,
                                   const AdaptiveFitOptions& options) {
  const RunScope scope(options.run);
  require_options(options);
  series.check("the series");
  require_same(denoised, series, series.channels, "the denoised series");
  require_same(noise, series, 1, "the noise map");
  require_mask(mask, series.grid);
  const TensorDesign design = tensor_design(series.channels, b, directions);
  return AdaptiveFitter(series, denoised, noise, mask, design, options).run();
}

}  // namespace warploom::imaging
