#pragma once

/// The weight of the data from the noise of the data.

#include <functional>
#include <span>

#include "imaging/tv_backend.hpp"

namespace warploom::imaging {

/// minimise_cpu or minimise_cuda.
using Minimise = std::function<TvOutcome(const TvProblem& problem, float* image)>;

struct LambdaChoice {
  double lambda = 0;  ///< [1 / (unit * mm)]
  int solves = 0;     ///< minimisations it took
};

/// How far the minimiser should lie from the noisy image, as a share of what the truth does: below 1, since
/// it follows the noise where there is structure. By experiment; docs/design/0004-imaging.md has the table.
inline constexpr double kDiscrepancy = 0.85;

/// The lambda whose minimiser differs from the noisy image by as much as the noise does (Morozov's
/// discrepancy principle): <D - dhat, D - dhat> = kDiscrepancy * voxels * sum_c w_c noise_c^2, to 2 %; by
/// regula falsi in log lambda. Takes 1 to 8 minimisations to a gap of 1e-3, each from the one before; 3 as a
/// rule. An image that is all noise, where even a constant meets it, gets the last lambda tried.
///
/// On phantoms of 20^3 to 64^3 voxels the error of the result is within 14 % of that at the best lambda for
/// noise of 0.05 to 0.2 um^2/ms, and within 30 % at 0.3, where it smooths too little. Noise that is
/// correlated between voxels (an interpolated image) is underestimated by noise_level(), so that lambda comes
/// out large and the image is smoothed less.
///
/// @param problem   as for `minimise`; its lambda, tolerance and limit of iterations do not matter, and
///                  descent is replaced by accelerated
/// @param noise     [channels] standard deviation of the noise: what noise_level() says
/// @param minimise  a back end
/// @param image     [channels, nz, ny, nx] the start, as for `minimise`; replaced by the last minimiser, a
///                  good start for the final minimisation
/// @throws BadInput (the noise is 0 in all channels: nothing to choose by), and what `minimise` throws
LambdaChoice lambda_from_noise(const TvProblem& problem, std::span<const double> noise,
                               const Minimise& minimise, float* image);

}  // namespace warploom::imaging
