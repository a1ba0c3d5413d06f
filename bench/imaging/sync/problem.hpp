#pragma once

#include <array>
#include <span>
#include <vector>

#include "warploom/imaging/image.hpp"

namespace warploom::bench::sync {

/// One run of the iteration. Images are [6, nz, ny, nx] with the elements 11, 21, 31, 22, 32, 33, which is
/// the order of TensorImage.
struct Problem {
  int nx = 0, ny = 0, nz = 0;
  std::array<float, 3> spacing{1, 1, 1};
  float lambda = 4, step = 2e-3F;  ///< [1 / (unit * length)], [length / sqrt(unit)]
  std::vector<float> noisy;        ///< the tensors X
  std::vector<float> factor;       ///< L at the start

  int voxels() const { return nx * ny * nz; }
};

/// Figure 47's differences as printed, or the second one forward (see curvature_steps.cuh).
enum class Stencil { printed, centred };

/// `image` to be denoised. L is the Cholesky factor of the image with eigenvalues of at least 0.05 [um^2/ms]:
/// where L is singular, the descent stands still.
Problem make_problem(const imaging::TensorImage& image);

/// Extents and values that no symmetry hides a mistake in: seeded random factors, diagonal from 0.5 to 1.5,
/// others from -0.5 to 0.5, and random tensors to compare with.
Problem random_problem(int nx, int ny, int nz, std::array<float, 3> spacing);

/// The tensors L L^T of a factor, as an image of the problem's extents.
imaging::TensorImage tensors(const Problem& problem, std::span<const float> factor);

}  // namespace warploom::bench::sync
