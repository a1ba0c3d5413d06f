#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

enum class Solver {
  accelerated,  ///< accelerated projected gradient in D with restart
  primal_dual,  ///< Chambolle & Pock 2011, for epsilon = 0
  descent,      ///< steepest descent with a fixed step in the Cholesky factor L (Christiansen et al. 2007)
};
/// @throws BadInput naming the three
Solver parse_solver(std::string_view text);
std::string_view name(Solver solver);

/// What keeps the image smooth.
enum class Variation {
  total,        ///< prefers regions without any slope
  generalised,  ///< second order: prefers regions whose slope does not change
};
/// "total", "generalised"
std::string_view name(Variation variation);

/// Why an iteration ended.
enum class StopReason { converged, iteration_limit };
std::string_view name(StopReason reason);

struct DenoiseOptions {
  Variation variation = Variation::total;  ///< generalised needs solver primal_dual and epsilon 0
  double tgv_ratio = 2;  ///< of generalised: weight of the second order, in smallest spacings, 0.001 to 100
  Solver solver = Solver::accelerated;
  double lambda = 0;        ///< weight of the data [1 / (unit * mm)]; 0: from the noise level, see below
  double epsilon = 1e-2;    ///< smooths |grad d|, >= 0 [unit / mm]; 0 with primal_dual only
  double tolerance = 1e-4;  ///< stop when the relative gap is at most this, > 0
  int max_iterations = 5000;
  double descent_step =
      0;  ///< of Solver::descent [mm / sqrt(unit)]; 0: one that is safe for any image, see below
  /// Several GPUs share the image, each with a part of its planes, with the same bits; as many of them as are
  /// worth it. Less memory than the image needs makes slabs. Generalised variation uses one device.
  Run run = {};
};

/// What is known after one iteration. Objective and gap belong to the point at which the iteration took its
/// gradient. With Variation::generalised: after so many iterations, from 0 on, and at every eighth.
struct DenoiseStep {
  int iteration = 0;
  double objective = 0;
  double gap = 0;  ///< relative: a bound on (objective - minimum) / objective, as the solver's comment says
};

struct DenoiseReport {
  Variation variation = Variation::total;
  double tgv_ratio = 0;  ///< 0 with Variation::total
  Solver solver = Solver::accelerated;
  Device device = Device::cpu;  ///< the first of those named
  int devices = 1;              ///< that shared the image
  double lambda = 0, epsilon = 0;
  std::vector<double> noise = {};         ///< estimated a channel, where lambda came from it; else empty
  std::vector<DenoiseStep> history = {};  ///< first to last
  StopReason stop = StopReason::converged;
  int iterations = 0;
  double objective = 0, gap = 0;   ///< of the result
  double seconds = 0;              ///< of the iterations; on a GPU measured there, without transfers
  double transfer_seconds = 0;     ///< between host and device; 0 on a CPU
  int slabs = 1;                   ///< more than 1: the device's memory did not hold the image
  std::uint64_t device_bytes = 0;  ///< allocated on the devices
  std::int64_t projected = 0;      ///< voxels of the input with a negative eigenvalue (tensors only)
  std::int64_t outside = 0;        ///< voxels outside the mask or with a NaN: left as they were
};

/// Total-variation denoising of a tensor image: the minimiser over positive semidefinite D of
///
///   E(D) = sqrt( sum_ij TV(d_ij)^2 ) + lambda/2 sum_ij ||d_ij - dhat_ij||^2,
///   TV(d) = sum over voxels of sqrt(|grad d|^2 + epsilon^2),
///
/// i, j over all nine elements, so that off-diagonal ones count twice; grad takes forward differences over
/// the voxel spacing, 0 across the edge of the image and of the mask (Neumann). Sums are over voxels: the
/// voxel's volume, a common factor, is left out. Convex in D, with one minimiser.
/// Source: Christiansen, Lee, Lie & Chan, "Total variation regularization of matrix-valued images", Int. J.
/// Biomed. Imaging 2007, eq. 13; M. Moazeni's dissertation (UCLA 2013), ch. 6. They iterate on the Cholesky
/// factor, which is Solver::descent here; the default iterates on D, where the problem is convex.
///
/// accelerated: Beck & Teboulle 2009 with the restart of O'Donoghue & Candes 2015, projection on D >= 0 in
/// every step. The factors TV(d_ij) / R, R the first term, come from the iteration before; when the gap is
/// small enough they are computed anew and the gap is confirmed with them. Gap: ||G||^2 / (2 lambda E), G the
/// projected-gradient mapping, a bound by strong convexity.
/// primal_dual: epsilon = 0; the gap is that between primal and dual objective at the current factors.
/// descent: no bound is known in L; the gap is accelerated's, computed at D = L L^T.
///
/// Variation::generalised: the minimiser over D >= 0 and, for every element d, a field of slopes w of
///
///   E(D, w) = sum |grad D - w| + a sum |sym grad w| + lambda/2 sum_ij ||d_ij - dhat_ij||^2,
///
/// a = tgv_ratio times the smallest spacing, |.| the Frobenius norm over everything at a voxel, sums over
/// voxels. A slope that crosses the edge of the image or of the mask does not exist, and nothing is asked of
/// it: a field that is affine in x, y and z has E = 0 and stays as it is. As tgv_ratio grows w can only be
/// the same everywhere (or turn as a rigid body): total variation of what is left, with one norm over all
/// elements. Source: Bredies, Kunisch & Pock, SIAM J. Imaging Sci. 3(3), 2010; for tensors Valkonen, Bredies
/// & Knoll, SIAM J. Imaging Sci. 6(1), 2013. They symmetrise grad D over the tensor's own axes, too; here it
/// is each element's gradient, so that turning the frame of all tensors turns the result. Solved by Chambolle
/// & Pock 2011, algorithm 1. Gap: that between E(D, w) and the dual objective at a dual point that is scaled
/// to be feasible; so E(D, w) - minimum and lambda/2 <D - D*, D - D*> are at most gap * E(D, w), at any
/// iteration, but for what rounding in float explains: 5e-7 times the sum of |dhat| over the smallest
/// spacing, which `gap` leaves out.
///
/// lambda 0: the discrepancy principle, with noise_level() of the channels: the result lies about as far from
/// the noisy image as the truth does (src/imaging/lambda.hpp).
///
/// @param image  the noisy tensors [um^2/ms], replaced by the denoised ones inside the mask
/// @return       what was done; deterministic on each back end, whatever the number of threads, slabs or
/// devices
/// @throws BadInput (an option out of range, mask of another size, nothing inside), NoDevice, OutOfMemory,
///         Interrupted (`image` is then unchanged)
/// @note Bytes a voxel and iteration, at perfect reuse: accelerated 96, descent 72, primal_dual 240
///       (ours 336, in two half passes), generalised 1056. The latter holds 24 times the image in the
///       device's memory, where the others hold 4 to 6, and does not go through it in slabs: OutOfMemory.
///       Back ends agree in the objective to 1e-5 (relative) at the same tolerance of 1e-6.
DenoiseReport denoise_tensors(TensorImage& image, const Mask& mask, const DenoiseOptions& options = {});

/// The same functional for 1 to 100 channels that are no tensor: every channel counts once, no constraint.
/// Solver::descent is refused: there is no factor to descend in. @throws as denoise_tensors
DenoiseReport denoise_channels(Image& image, const Mask& mask, const DenoiseOptions& options = {});

}  // namespace warploom::imaging
