#include "oracle/christiansen.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::oracle {
namespace {

constexpr int kChannel[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

/// A voxel of the image and its neighbours, by their distance from it; what lies outside the region is
/// replicated.
struct Neighbourhood {
  const MatrixImage& image;
  int channel;
  const Christiansen::Region& region;
  std::array<int, 3> centre;

  double operator()(std::array<int, 3> at) const {
    for (int a = 0; a < 3; ++a) at[a] = std::clamp(at[a] + centre[a], region.begin[a], region.end[a] - 1);
    return image.at(channel, at[0], at[1], at[2]);
  }
};

std::array<int, 3> moved(std::array<int, 3> at, int axis, int by) {
  at[axis] += by;
  return at;
}

}  // namespace

Matrix lower(const MatrixImage& image, int x, int y, int z) {
  Matrix m{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) m[i][j] = image.at(kChannel[i][j], x, y, z);
  return m;
}

Matrix symmetric(const MatrixImage& image, int x, int y, int z) {
  Matrix m{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) m[i][j] = image.at(kChannel[i][j], x, y, z);
  return m;
}

std::vector<Christiansen::Region> Christiansen::regions() const {
  const std::array<int, 3> extent{noisy_.nx, noisy_.ny, noisy_.nz};
  std::array<int, 3> side = options_.region;
  for (int a = 0; a < 3; ++a)
    if (side[a] == 0) side[a] = extent[a];
  std::vector<Region> all;
  for (int z = 0; z < extent[2]; z += side[2])
    for (int y = 0; y < extent[1]; y += side[1])
      for (int x = 0; x < extent[0]; x += side[0])
        all.push_back({{x, y, z},
                       {std::min(x + side[0], extent[0]), std::min(y + side[1], extent[1]),
                        std::min(z + side[2], extent[2])}});
  return all;
}

MatrixImage Christiansen::tensors(const MatrixImage& factor) {
  MatrixImage out = factor;
  for (int z = 0; z < factor.nz; ++z)
    for (int y = 0; y < factor.ny; ++y)
      for (int x = 0; x < factor.nx; ++x) {
        const Matrix l = lower(factor, x, y, z);
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j <= i; ++j) {
            double sum = 0;
            for (int k = 0; k < 3; ++k) sum += l[i][k] * l[j][k];
            out.at(kChannel[i][j], x, y, z) = sum;
          }
      }
  return out;
}

double Christiansen::curvature(const MatrixImage& tensors, int channel, const Region& region, int x, int y,
                               int z) const {
  const Neighbourhood u{tensors, channel, region, {x, y, z}};
  const std::array<double, 3> spacing{options_.dx, options_.dy, options_.dz};
  const auto difference = [&](int axis, std::array<int, 3> at) {
    return (u(moved(at, axis, -1)) - u(at)) / spacing[axis];
  };
  // The component along `axis` of the normalised gradient, whose other components are means of four.
  // `difference` stands half a voxel below `at`: along `axis` the mean has to reach down, and Figure 47's
  // reaches up.
  const int reach = options_.centred ? -1 : 1;
  const auto unit = [&](int axis, std::array<int, 3> at) {
    const double along = difference(axis, at);
    double square = along * along + Options::tiny;
    for (int other = 0; other < 3; ++other) {
      if (other == axis) continue;
      double mean = 0;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          mean += difference(other, moved(moved(at, axis, i * reach), other, j)) / 4;
      square += mean * mean;
    }
    return along / std::sqrt(square);
  };
  const int upper = options_.centred ? 1 : 0;
  double divergence = 0;
  for (int axis = 0; axis < 3; ++axis)
    divergence +=
        (unit(axis, moved({0, 0, 0}, axis, upper - 1)) - unit(axis, moved({0, 0, 0}, axis, upper))) /
        spacing[axis];
  return divergence;
}

double Christiansen::gradient(double lambda, const Matrix& l, const Matrix& d, const Matrix& x,
                              const Matrix& p, int i, int j) {
  double sum = 0;
  for (int m = 0; m < 3; ++m) sum += 2 * lambda * (d[i][m] - x[i][m]) * l[m][j] - 2 * p[i][m] * l[m][j];
  return sum;
}

std::array<double, 6> Christiansen::tv_norms(const MatrixImage& tensors, const Region& region) const {
  const std::array<int, 3> extent{tensors.nx, tensors.ny, tensors.nz};
  const Region seen = options_.isolated ? region : Region{{0, 0, 0}, extent};
  std::array<double, 6> sums{};
  for (int c = 0; c < 6; ++c)
    for (int z = region.begin[2]; z < region.end[2]; ++z)
      for (int y = region.begin[1]; y < region.end[1]; ++y)
        for (int x = region.begin[0]; x < region.end[0]; ++x) {
          const Neighbourhood u{tensors, c, seen, {x, y, z}};
          const double gx = (u({-1, 0, 0}) - u({0, 0, 0})) / options_.dx,
                       gy = (u({0, -1, 0}) - u({0, 0, 0})) / options_.dy,
                       gz = (u({0, 0, -1}) - u({0, 0, 0})) / options_.dz;
          sums[c] += std::sqrt(gx * gx + gy * gy + gz * gz);
        }
  return sums;
}

std::array<double, 6> Christiansen::weights(const std::array<double, 6>& tv_norms) {
  double squares = 0;
  for (const auto& row : kChannel)
    for (const int c : row) squares += tv_norms[c] * tv_norms[c];
  std::array<double, 6> weights{};
  if (squares > 0)
    std::ranges::transform(tv_norms, weights.begin(), [&](double tv) { return tv / std::sqrt(squares); });
  return weights;
}

MatrixImage Christiansen::step(const MatrixImage& factor) const {
  const MatrixImage tensor = tensors(factor);
  MatrixImage next = factor;
  for (const Region& region : regions()) {
    const Region seen = options_.isolated ? region : Region{{0, 0, 0}, {factor.nx, factor.ny, factor.nz}};
    const std::array<double, 6> weight = weights(tv_norms(tensor, region));
    for (int z = region.begin[2]; z < region.end[2]; ++z)
      for (int y = region.begin[1]; y < region.end[1]; ++y)
        for (int x = region.begin[0]; x < region.end[0]; ++x) {
          const Matrix l = lower(factor, x, y, z), t = symmetric(tensor, x, y, z),
                       d = symmetric(noisy_, x, y, z);
          Matrix p{};
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j <= i; ++j) {
              const int c = kChannel[i][j];
              p[i][j] = p[j][i] = weight[c] * curvature(tensor, c, seen, x, y, z);
            }
          for (int k = 0; k < 3; ++k)
            for (int j = 0; j <= k; ++j)
              next.at(kChannel[k][j], x, y, z) -= options_.step * gradient(options_.lambda, l, t, d, p, k, j);
        }
  }
  return next;
}

}  // namespace warploom::oracle
