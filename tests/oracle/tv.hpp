#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "warploom/imaging/image.hpp"

namespace warploom::oracle {

using namespace imaging;

/// [channels, nz, ny, nx], 0 outside.
using Field = std::vector<double>;
/// One vector a voxel: components along x, y, z.
using VectorField = std::array<Field, 3>;

/// The functional of include/warploom/imaging/denoise.hpp in double precision, written down from its text and
/// shared with none of the code that is tested: loops over voxels, one channel after the other.
///
///   E(D) = sqrt(sum_c w_c TV(d_c)^2) + lambda/2 sum_c w_c ||d_c - dhat_c||^2
class TotalVariation {
 public:
  /// Voxels outside the mask, or with a NaN in any channel, are outside. Tensors have kTensorWeights, other
  /// channels weight 1.
  TotalVariation(const Image& noisy, const Mask& mask, bool tensor, double lambda, double epsilon);

  bool tensor() const { return tensor_; }
  int channels() const { return static_cast<int>(weights_.size()); }
  std::int64_t voxels() const { return grid_.voxels(); }
  bool inside(std::int64_t v) const { return inside_[static_cast<std::size_t>(v)]; }
  std::int64_t inside_voxels() const;
  const Field& noisy() const { return noisy_; }
  Field field(const Image& image) const;
  Image image(const Field& d) const;

  /// Forward differences over the spacing; 0 across the edge of the grid and of the mask.
  VectorField grad(const double* u) const;
  /// -grad^T: <grad u, p> = -<u, div p>.
  Field div(const VectorField& p) const;

  double tv(const double* u) const;         ///< sum over voxels inside of sqrt(|grad u|^2 + epsilon^2)
  double regularity(const Field& d) const;  ///< the first term of E
  double fidelity(const Field& d) const;    ///< <d - dhat, d - dhat>
  double objective(const Field& d) const;

  /// With respect to <a, b> = sum_c w_c a_c b_c, so that dE/dd_c = w_c gradient_c.
  Field gradient(const Field& d) const;

  // In the Cholesky factor: fields of l11 l21 l22 l31 l32 l33, D = L L^T.

  /// Where D is not positive definite its eigenvalues are raised to `smallest` first.
  Field factor(const Field& d, double smallest = 1e-3) const;
  Field product(const Field& l) const;  ///< L L^T
  /// dE/dl, the six elements written out as in Figure 48 of the dissertation. `printed`: as it stands there,
  /// with 2*lambda before the first product of each bracket only; otherwise before the bracket.
  Field factor_gradient(const Field& l, bool printed = false) const;

  /// Nearest positive semidefinite tensors; nothing for channels.
  Field project(Field d) const;
  /// A bound on E(d) - min E by strong convexity: ||G||^2 / (2 lambda), G = (d - P(d - t g)) / t the
  /// projected-gradient mapping, g the gradient, for a step t not above 1 / Lipschitz.
  double gap_bound(const Field& d, double step) const;

  double lambda, epsilon;

 private:
  std::int64_t next(std::int64_t v, int axis) const { return next_[std::size_t(axis)][std::size_t(v)]; }

  Grid grid_;
  bool tensor_;
  std::vector<double> weights_;
  std::vector<char> inside_;
  std::array<std::vector<std::int64_t>, 3> next_;  // neighbour towards the end of each axis; -1: none
  Field noisy_;
};

/// What a minimisation found.
struct Minimum {
  Field d;
  double objective = 0;
  int evaluations = 0;
};

/// min E over D >= 0, by L-BFGS over the Cholesky factor; channels: over the channels themselves. Ends
/// when E no longer falls by 1e-13 of itself in 100 iterations, and a new start with the smallest eigenvalues
/// raised ends no lower.
/// @param limit most evaluations of E and its gradient
Minimum minimise(const TotalVariation& functional, int limit = 20000);

/// ||a - b|| / ||b|| over voxels inside, plain sum over channels.
double distance(const Field& a, const Field& b);

}  // namespace warploom::oracle
