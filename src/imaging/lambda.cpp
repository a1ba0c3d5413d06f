#include "imaging/lambda.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

constexpr double kLooseTolerance = 1e-3;  // 3e-3 is no cheaper: the search then needs more steps
constexpr int kLooseIterations = 300;
constexpr int kMostSolves = 8;
constexpr double kDiscrepancyTolerance = 0.02;
const double kLargestStride = std::log(4.0);  // of log lambda, while the answer is not bracketed

/// <image - noisy, image - noisy> over voxels inside.
double fidelity(const TvProblem& problem, const float* image) {
  const std::int64_t voxels = problem.grid.voxels();
  std::vector<double> parts(static_cast<std::size_t>((voxels + kPiece - 1) / kPiece));
  for_pieces(problem.grid, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (int c = 0; c < problem.constants.channels; ++c) {
      const std::size_t channel = static_cast<std::size_t>(c * voxels);
      double square = 0;
      for (std::size_t v = channel + begin; v < channel + end; ++v) {
        const double difference = image[v] - problem.noisy[v];
        if (!std::isnan(difference)) square += difference * difference;
      }
      sum += problem.constants.weights[c] * square;
    }
    parts[begin / kPiece] = sum;
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace

LambdaChoice lambda_from_noise(const TvProblem& problem, std::span<const double> noise,
                               const Minimise& minimise, float* image) {
  const TvConstants& constants = problem.constants;
  double variance = 0;
  for (int c = 0; c < constants.channels; ++c)
    variance += constants.weights[c] * std::pow(noise[static_cast<std::size_t>(c)], 2);
  if (!(variance > 0))
    throw BadInput(
        "the image holds no noise that could be measured, so lambda cannot follow from it: give lambda");
  const double target = kDiscrepancy * constants.voxels * variance;

  TvProblem loose = problem;
  if (loose.solver == Solver::descent) loose.solver = Solver::accelerated;
  loose.constants.tolerance = kLooseTolerance;
  loose.constants.max_iterations = kLooseIterations;

  // Where noise alone decides, lambda times its size goes with the norm of the gradient; 0.35 is near the
  // best on phantoms.
  const double reach = constants.gradient_bound > 0 ? std::sqrt(constants.gradient_bound) : 1;
  double at = std::log(0.35 * reach / std::sqrt(variance));
  LambdaChoice choice;
  double low = -std::numeric_limits<double>::infinity(), high = -low;  // log lambda: too smooth, too rough
  double low_excess = 0, high_excess = 0;
  while (true) {
    choice.lambda = loose.constants.lambda = std::exp(at);
    minimise(loose, image);
    ++choice.solves;
    const double excess = std::log(fidelity(loose, image) / target);  // falls as lambda grows
    if (std::abs(excess) <= kDiscrepancyTolerance || choice.solves == kMostSolves) return choice;
    (excess > 0 ? low : high) = at;
    (excess > 0 ? low_excess : high_excess) = excess;
    if (std::isinf(low) || std::isinf(high)) {
      at += std::clamp(2 * excess, -kLargestStride, kLargestStride);
    } else {
      const double share = low_excess / (low_excess - high_excess);
      at = low + std::clamp(share, 0.1, 0.9) * (high - low);
    }
  }
}

}  // namespace warploom::imaging
