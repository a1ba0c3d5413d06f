#pragma once

/// The outer loop of the three solvers: from the sums that one pass over the image gives to the numbers that
/// the next pass needs. The same code runs on the CPU and, one thread of it, on a GPU, so that the back ends
/// take the same decisions. include/warploom/imaging/denoise.hpp states the problem.
///
/// Channels have weights w (how often they stand in the tensor); <a, b> = sum over voxels and channels of w a
/// b, and all gradients are with respect to it, so that the weights cancel in them.

#include <cmath>

#if defined(__CUDACC__)
#define WARPLOOM_HOST_DEVICE __host__ __device__
#else
#define WARPLOOM_HOST_DEVICE
#endif

namespace warploom::imaging {

inline constexpr int kMaxChannels = 100;

/// What a minimisation does not change.
struct TvConstants {
  int channels = 0;
  int max_iterations = 0;
  double lambda = 0, epsilon = 0, tolerance = 0;
  double voxels = 0;               ///< inside
  double inverse_spacing[3] = {};  ///< 0 along an axis with one voxel
  double gradient_bound = 0;  ///< of |grad|^2 as an operator: 4 sum 1/h^2 over axes with more than one voxel
  double weights[kMaxChannels] = {};
};

/// What a pass over the image adds up at the point y where it takes its gradient.
struct TvSums {
  double tv[kMaxChannels] = {};  ///< sum of sqrt(|grad y_c|^2 + epsilon^2)
  double fidelity = 0;           ///< <y - dhat, y - dhat>
  double mapping = 0;            ///< <y - x+, y - x+>, x+ the point after the step
  double turn = 0;               ///< <y - x+, x+ - x>, x the point before
};

/// What became of one pass, for the history.
struct TvProgress {
  int iteration = 0;  ///< passes so far
  double objective = 0, gap = 0;
  bool done = false, converged = false;
};

/// R, and the factors alpha_c = TV_c / R of the gradient, which are 0 where R is.
WARPLOOM_HOST_DEVICE inline double tv_factors(const TvConstants& k, const double* tv, double* alpha) {
  double square = 0;
  for (int c = 0; c < k.channels; ++c) square += k.weights[c] * tv[c] * tv[c];
  const double r = sqrt(square);
  for (int c = 0; c < k.channels; ++c) alpha[c] = r > 0 ? tv[c] / r : 0;
  return r;
}

/// A bound on the Lipschitz constant of E's gradient at factors alpha: the data term's lambda, the largest
/// curvature alpha/epsilon of a smoothed norm, and voxels/R from the factors' own change.
WARPLOOM_HOST_DEVICE inline double tv_lipschitz(const TvConstants& k, const double* alpha, double r) {
  double largest = 0;
  for (int c = 0; c < k.channels; ++c) largest = fmax(largest, alpha[c]);
  return k.lambda + k.gradient_bound * (largest / k.epsilon + (r > 0 ? k.voxels / r : 0));
}

// --- accelerated
// --------------------------------------------------------------------------------------------

/// One pass of Solver::accelerated: y = x + momentum (x - x_before); x+ = P(y - step G(y)),
/// G = -alpha div(grad y / |grad y|) + lambda (y - dhat), P the projection on D >= 0 (nothing for channels).
///
/// alpha belongs to the pass before. A pass whose gap is small enough is followed by one that only measures
/// (step 0, momentum 0, so x+ = y = x) and one whose factors are therefore exact: that one's gap decides.
struct AcceleratedState {
  enum Phase : int { measure, confirm, iterate };
  double alpha[kMaxChannels] = {};
  double step = 0, momentum = 0;  ///< of the next pass
  double t = 1;                   ///< of the momentum's sequence
  double trigger = 0;             ///< lagged gap at which to confirm; set by the first pass
  int phase = measure;
  TvProgress progress;
};

WARPLOOM_HOST_DEVICE inline void advance(AcceleratedState& s, const TvSums& sums, const TvConstants& k) {
  const double step = s.step;
  const double r = tv_factors(k, sums.tv, s.alpha);
  s.progress.objective = r + k.lambda / 2 * sums.fidelity;
  ++s.progress.iteration;
  s.step = 1 / tv_lipschitz(k, s.alpha, r);
  s.momentum = 0;
  if (s.phase == AcceleratedState::measure) {
    if (s.trigger == 0) s.trigger = k.tolerance;
    s.phase = AcceleratedState::confirm;
  } else {
    const double objective = s.progress.objective;
    s.progress.gap = objective > 0 ? sums.mapping / (step * step) / (2 * k.lambda * objective) : 0;
    if (s.phase == AcceleratedState::confirm) {
      s.progress.converged = s.progress.done = s.progress.gap <= k.tolerance;
      if (!s.progress.done && s.progress.iteration > 2) s.trigger /= 2;
      s.phase = AcceleratedState::iterate;
      s.t = 1;
    } else if (s.progress.gap <= s.trigger) {
      s.phase = AcceleratedState::measure;
      s.step = 0;
    } else if (sums.turn > 0) {  // the step goes against the momentum: restart
      s.t = 1;
    } else {
      // Beck & Teboulle's sequence, held below what is best for a strongly convex function.
      const double next = (1 + sqrt(1 + 4 * s.t * s.t)) / 2;
      const double q = sqrt(k.lambda * s.step);
      s.momentum = fmin((s.t - 1) / next, (1 - q) / (1 + q));
      s.t = next;
    }
  }
  if (s.progress.iteration >= k.max_iterations) s.progress.done = true;
}

// --- descent
// ------------------------------------------------------------------------------------------------

/// One pass of Solver::descent: D = L L^T, P_c = alpha_c div(grad d_c / |grad d_c|), G = lambda (D - dhat) -
/// P, L <- L - step * 2 tril(G L). The printed algorithm of Figure 48 has this form with `2*lambda` before
/// the first of three products only; it belongs before the bracket (finite differences refute the printed
/// one). `mapping` of the sums is <D - P(D - G/l), same>, with l = 1 / probe, and gives accelerated's gap.
struct DescentState {
  double alpha[kMaxChannels] = {};
  double step = 0;   ///< [mm / sqrt(unit)]; 0 in the first pass, which only measures
  double fixed = 0;  ///< the step to take, given at the start; 0: 1 / (4 |D|max Lipschitz) at the first pass
  double largest = 0;  ///< largest trace of the noisy tensors, for that
  double probe = 0;    ///< step of the projected-gradient mapping
  TvProgress progress;
};

WARPLOOM_HOST_DEVICE inline void advance(DescentState& s, const TvSums& sums, const TvConstants& k) {
  const double probe = s.probe;
  const double r = tv_factors(k, sums.tv, s.alpha);
  const double lipschitz = tv_lipschitz(k, s.alpha, r);
  s.progress.objective = r + k.lambda / 2 * sums.fidelity;
  if (++s.progress.iteration > 1) {
    s.progress.gap =
        s.progress.objective > 0 ? sums.mapping / (probe * probe) / (2 * k.lambda * s.progress.objective) : 0;
    s.progress.converged = s.progress.done = s.progress.gap <= k.tolerance;
  } else {
    if (s.fixed == 0) s.fixed = 1 / (4 * s.largest * lipschitz);
    s.step = s.fixed;
  }
  s.probe = 1 / lipschitz;
  if (s.progress.iteration >= k.max_iterations) s.progress.done = true;
}

// --- primal-dual
// --------------------------------------------------------------------------------------------

/// What the two half passes of Solver::primal_dual add up.
struct PrimalDualSums {
  double tv[kMaxChannels] = {};  ///< dual half: of x, without epsilon
  double fidelity = 0;           ///< primal half: <x+ - dhat, x+ - dhat>
  double dual = 0;  ///< primal half: the dual objective, <-z, div p> + lambda/2 <z - dhat, z - dhat> with
                    ///< z = P(dhat + div p / lambda), the minimiser
};

/// One pass of Solver::primal_dual (Chambolle & Pock 2011, algorithm 2, for a strongly convex data term):
///   dual half    xbar = x + momentum (x - x_before); p_c <- p_c + sigma grad xbar_c, cut to |p_c| <= alpha_c
///   primal half  x+ = P((x + tau (div p + lambda dhat)) / (1 + tau lambda))
/// Since sum w alpha^2 = 1, p is feasible for the whole problem, whose R is the largest sum of w <grad x, p>
/// over such p: the gap is between the primal and the dual objective and needs no assumption.
struct PrimalDualState {
  double alpha[kMaxChannels] = {};
  double sigma = 0, tau = 0, momentum = 0;
  double fidelity = 0;   ///< of x, from the pass before
  double best_dual = 0;  ///< the largest dual objective so far
  TvProgress progress;
};

/// At x = P(dhat), with p = 0. `tv` and `fidelity` are those of this x.
WARPLOOM_HOST_DEVICE inline void begin(PrimalDualState& s, const double* tv, double fidelity,
                                       const TvConstants& k) {
  tv_factors(k, tv, s.alpha);
  s.tau = s.sigma = k.gradient_bound > 0 ? 1 / sqrt(k.gradient_bound) : 1;
  s.fidelity = fidelity;
}

WARPLOOM_HOST_DEVICE inline void advance(PrimalDualState& s, const PrimalDualSums& sums,
                                         const TvConstants& k) {
  const double r = tv_factors(k, sums.tv, s.alpha);
  ++s.progress.iteration;
  s.progress.objective = r + k.lambda / 2 * s.fidelity;
  s.best_dual = fmax(s.best_dual, sums.dual);
  s.progress.gap = s.progress.objective > 0 ? (s.progress.objective - s.best_dual) / s.progress.objective : 0;
  s.progress.converged = s.progress.done = s.progress.gap <= k.tolerance;
  s.fidelity = sums.fidelity;
  s.momentum = 1 / sqrt(1 + 2 * k.lambda * s.tau);
  s.tau *= s.momentum;
  s.sigma /= s.momentum;
  if (s.progress.iteration >= k.max_iterations) s.progress.done = true;
}

}  // namespace warploom::imaging
