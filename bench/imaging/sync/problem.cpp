#include "imaging/sync/problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "warploom/imaging/maps.hpp"

namespace warploom::bench::sync {
namespace {

using Six = std::array<double, 6>;

/// The nearest tensor whose eigenvalues are at least `floor`.
Six floored(const Six& tensor, double floor) {
  const imaging::Eigen3 e = imaging::eigen(tensor);
  Six out{};
  for (int k = 0, c; k < 3; ++k) {
    c = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j)
        out[c++] += std::max(e.values[k], floor) * e.vectors[k][i] * e.vectors[k][j];
  }
  return out;
}

Six cholesky(const Six& d) {
  Six l{};
  l[0] = std::sqrt(d[0]);
  l[1] = d[1] / l[0];
  l[2] = d[2] / l[0];
  l[3] = std::sqrt(d[3] - l[1] * l[1]);
  l[4] = (d[4] - l[2] * l[1]) / l[3];
  l[5] = std::sqrt(d[5] - l[2] * l[2] - l[4] * l[4]);
  return l;
}

}  // namespace

Problem make_problem(const imaging::TensorImage& image) {
  Problem problem;
  problem.nx = static_cast<int>(image.grid.nx);
  problem.ny = static_cast<int>(image.grid.ny);
  problem.nz = static_cast<int>(image.grid.nz);
  for (std::size_t a = 0; a < 3; ++a) problem.spacing[a] = static_cast<float>(image.grid.spacing[a]);
  problem.noisy = problem.factor = image.data;
  const std::size_t n = static_cast<std::size_t>(problem.voxels());
  for (std::size_t v = 0; v < n; ++v) {
    Six d;
    for (std::size_t c = 0; c < 6; ++c) d[c] = image.data[c * n + v];
    const Six l = cholesky(floored(d, 0.05));
    for (std::size_t c = 0; c < 6; ++c) problem.factor[c * n + v] = static_cast<float>(l[c]);
  }
  return problem;
}

Problem random_problem(int nx, int ny, int nz, std::array<float, 3> spacing) {
  Problem problem{nx, ny, nz, spacing, 2, 0.01F, {}, {}};
  std::mt19937 engine(1);
  const auto uniform = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(engine() >> 8) * 0x1p-24F;
  };
  for (int c = 0; c < 6; ++c)
    for (int v = 0; v < problem.voxels(); ++v) {
      const bool diagonal = c == 0 || c == 3 || c == 5;
      problem.factor.push_back(diagonal ? uniform(0.5F, 1.5F) : uniform(-0.5F, 0.5F));
      problem.noisy.push_back(uniform(-1, 2));
    }
  return problem;
}

imaging::TensorImage tensors(const Problem& problem, std::span<const float> factor) {
  imaging::TensorImage image({problem.nx, problem.ny, problem.nz}, imaging::kTensorChannels);
  const std::size_t n = static_cast<std::size_t>(problem.voxels());
  for (std::size_t v = 0; v < n; ++v) {
    const auto l = [&](std::size_t c) { return factor[c * n + v]; };
    const float d[] = {l(0) * l(0),
                       l(1) * l(0),
                       l(2) * l(0),
                       l(1) * l(1) + l(3) * l(3),
                       l(2) * l(1) + l(4) * l(3),
                       l(2) * l(2) + l(4) * l(4) + l(5) * l(5)};
    for (std::size_t c = 0; c < 6; ++c) image.data[c * n + v] = d[c];
  }
  return image;
}

}  // namespace warploom::bench::sync
