#pragma once

/// Total generalised variation: what the back ends share. include/warploom/imaging/denoise.hpp states the
/// problem; docs/design/0004-imaging.md says why it is solved and bounded as it is.
///
/// Lengths are in units of the smallest spacing. Fields hold components one after the other, `stride` floats
/// apart, in padded memory, so that no loop asks where the grid ends: a slope that leaves the grid or the
/// mask does not exist, its w is NaN and its p and q are 0 for ever, and so is all padding. `right`, `below`
/// and `above` are the distances to the next voxel along x, y and z, 0 along an axis of one voxel. The
/// neighbour of a row's last voxel is then the next row's first, with which no slope of its own exists.

#include <cstdint>

#include "imaging/tgv_voxel.hpp"
#include "imaging/tv_backend.hpp"

namespace warploom::imaging {

/// One iteration (Chambolle & Pock 2011, algorithm 1) is iterate(1):
///   p <- (p + sigma (grad u_bar - w_bar)) cut to |p| <= 1, q <- (q + sigma sym_grad w_bar) cut to |q| <=
///   ratio u+ = P((u + tau (div p + lambda noisy)) / (1 + tau lambda)), w+ = w + tau (p - sym_grad^T q) u_bar
///   = 2 u+ - u, w_bar = 2 w+ - w
/// with |.| the Frobenius norm over all components of a voxel.
class TgvBackend {
 public:
  TgvBackend() = default;
  TgvBackend(const TgvBackend&) = delete;
  TgvBackend& operator=(const TgvBackend&) = delete;
  virtual ~TgvBackend() = default;
  virtual void iterate(const TgvSteps& steps, int count) = 0;
  /// q_mean <- q_mean + newest (q - q_mean), and the sums.
  virtual TgvSums measure(const TgvSteps& steps, float newest) = 0;
};

/// Of the problem's fields. Behind each component lies as much padding as before the first, and more.
TgvShape tgv_shape(const TvProblem& problem);
/// Floats of a field with so many components, with its padding.
inline std::int64_t tgv_floats(const TgvShape& shape, std::int64_t components) {
  return shape.padding + components * shape.stride;
}
/// Components of all fields of a channel: u, u_bar, noisy; w, w_bar, p; q, q_mean.
inline constexpr std::int64_t kTgvFields = 8, kTgvComponents = 3 + 3 * 3 + 2 * 6;

/// Iterates from what the back end holds until the gap is small enough: the history, but not the image.
TvOutcome minimise_tgv(const TvProblem& problem, TgvBackend& backend);

/// minimise_cpu and minimise_cuda where `tgv_ratio` is above 0.
TvOutcome minimise_tgv_cpu(const TvProblem& problem, float* image);
TvOutcome minimise_tgv_cuda(const TvProblem& problem, float* image);

}  // namespace warploom::imaging
