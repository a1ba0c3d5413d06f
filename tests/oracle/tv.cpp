#include "oracle/tv.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "oracle/lbfgs.hpp"

namespace warploom::oracle {
namespace {

/// Eigenvalues of a symmetric 3x3 matrix on its diagonal and eigenvectors in the columns of `v`: cyclic
/// Jacobi rotations.
void diagonalise(double (&a)[3][3], double (&v)[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) v[i][j] = i == j;
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int p = 0; p < 2; ++p) {
      for (int q = p + 1; q < 3; ++q) {
        if (a[p][q] == 0) continue;
        const double angle = std::atan2(2 * a[p][q], a[p][p] - a[q][q]) / 2;
        const double c = std::cos(angle), s = std::sin(angle);
        for (auto& row : a) {
          const double x = row[p], y = row[q];
          row[p] = c * x + s * y, row[q] = c * y - s * x;
        }
        for (int k = 0; k < 3; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x + s * y, a[q][k] = c * y - s * x;
        }
        for (auto& row : v) {
          const double x = row[p], y = row[q];
          row[p] = c * x + s * y, row[q] = c * y - s * x;
        }
        a[p][q] = a[q][p] = 0;
      }
    }
  }
}

/// Calls change(eigenvalue) on each eigenvalue of the tensor at `v`.
template <class Change>
void change_eigenvalues(Field& d, std::size_t voxels, std::size_t v, const Change& change) {
  double* t[6];
  for (std::size_t c = 0; c < 6; ++c) t[c] = &d[c * voxels + v];
  double a[3][3] = {{*t[0], *t[1], *t[2]}, {*t[1], *t[3], *t[4]}, {*t[2], *t[4], *t[5]}}, e[3][3];
  diagonalise(a, e);
  const double values[3] = {a[0][0], a[1][1], a[2][2]};
  if (std::ranges::all_of(values, [&](double value) { return change(value) == value; })) return;
  const int rows[6] = {0, 0, 0, 1, 1, 2}, columns[6] = {0, 1, 2, 1, 2, 2};
  for (int c = 0; c < 6; ++c) {
    *t[c] = 0;
    for (int k = 0; k < 3; ++k) *t[c] += change(values[k]) * e[rows[c]][k] * e[columns[c]][k];
  }
}

}  // namespace

TotalVariation::TotalVariation(const Image& noisy, const Mask& mask, bool tensor, double lambda_,
                               double epsilon_)
    : lambda(lambda_), epsilon(epsilon_), grid_(noisy.grid), tensor_(tensor) {
  const std::int64_t n = voxels(), extent[3] = {grid_.nx, grid_.ny, grid_.nz};
  for (int c = 0; c < noisy.channels; ++c) weights_.push_back(tensor ? kTensorWeights[std::size_t(c)] : 1);
  inside_.resize(std::size_t(n));
  for (std::int64_t v = 0; v < n; ++v) {
    bool in = mask.empty() || mask[std::size_t(v)] != 0;
    for (int c = 0; c < channels(); ++c) in = in && !std::isnan(noisy.channel(c)[std::size_t(v)]);
    inside_[std::size_t(v)] = in;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? grid_.nx : grid_.nx * grid_.ny;
    for (std::int64_t v = 0; v < n; ++v) {
      const bool last = v / stride % extent[axis] == extent[axis] - 1;
      next_[std::size_t(axis)].push_back(!last && inside(v) && inside(v + stride) ? v + stride : -1);
    }
  }
  noisy_ = field(noisy);
}

std::int64_t TotalVariation::inside_voxels() const { return std::ranges::count(inside_, 1); }

Field TotalVariation::field(const Image& image) const {
  Field d(image.data.begin(), image.data.end());
  for (std::int64_t i = 0; i < std::int64_t(d.size()); ++i)
    if (!inside(i % voxels())) d[std::size_t(i)] = 0;
  return d;
}

Image TotalVariation::image(const Field& d) const {
  Image image(grid_, channels());
  std::ranges::transform(d, image.data.begin(), [](double value) { return static_cast<float>(value); });
  return image;
}

VectorField TotalVariation::grad(const double* u) const {
  VectorField g;
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t v = 0; v < voxels(); ++v)
      g[std::size_t(axis)].push_back(
          next(v, axis) < 0 ? 0 : (u[next(v, axis)] - u[v]) / grid_.spacing[std::size_t(axis)]);
  return g;
}

Field TotalVariation::div(const VectorField& p) const {
  Field result(std::size_t(voxels()), 0.0);
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t v = 0; v < voxels(); ++v) {
      if (next(v, axis) < 0) continue;
      const double flux = p[std::size_t(axis)][std::size_t(v)] / grid_.spacing[std::size_t(axis)];
      result[std::size_t(v)] += flux;
      result[std::size_t(next(v, axis))] -= flux;
    }
  }
  return result;
}

double TotalVariation::tv(const double* u) const {
  const VectorField g = grad(u);
  double sum = 0;
  for (std::size_t v = 0; v < inside_.size(); ++v)
    if (inside_[v])
      sum += std::sqrt(g[0][v] * g[0][v] + g[1][v] * g[1][v] + g[2][v] * g[2][v] + epsilon * epsilon);
  return sum;
}

double TotalVariation::regularity(const Field& d) const {
  double square = 0;
  for (int c = 0; c < channels(); ++c) {
    const double tv_c = tv(&d[std::size_t(c * voxels())]);
    square += weights_[std::size_t(c)] * tv_c * tv_c;
  }
  return std::sqrt(square);
}

double TotalVariation::fidelity(const Field& d) const {
  double sum = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double difference = d[i] - noisy_[i];
    sum += weights_[i / std::size_t(voxels())] * difference * difference;
  }
  return sum;
}

double TotalVariation::objective(const Field& d) const { return regularity(d) + lambda / 2 * fidelity(d); }

Field TotalVariation::gradient(const Field& d) const {
  Field result(d.size());
  const double r = regularity(d);
  for (int c = 0; c < channels(); ++c) {
    const std::size_t begin = std::size_t(c * voxels());
    VectorField g = grad(&d[begin]);
    double sum = 0;
    for (std::size_t v = 0; v < inside_.size(); ++v) {
      const double norm =
          std::sqrt(g[0][v] * g[0][v] + g[1][v] * g[1][v] + g[2][v] * g[2][v] + epsilon * epsilon);
      if (inside_[v]) sum += norm;
      for (Field& component : g) component[v] = norm > 0 ? component[v] / norm : 0;
    }
    const Field curvature = div(g);
    for (std::size_t v = 0; v < inside_.size(); ++v)
      if (inside_[v])
        result[begin + v] =
            -(r > 0 ? sum / r : 0) * curvature[v] + lambda * (d[begin + v] - noisy_[begin + v]);
  }
  return result;
}

Field TotalVariation::product(const Field& l) const {
  Field d(l.size(), 0.0);
  const std::size_t n = inside_.size();
  for (std::size_t v = 0; v < n; ++v) {
    const double l11 = l[v], l21 = l[n + v], l22 = l[2 * n + v];
    const double l31 = l[3 * n + v], l32 = l[4 * n + v], l33 = l[5 * n + v];
    d[v] = l11 * l11;
    d[n + v] = l11 * l21;
    d[2 * n + v] = l11 * l31;
    d[3 * n + v] = l21 * l21 + l22 * l22;
    d[4 * n + v] = l21 * l31 + l22 * l32;
    d[5 * n + v] = l31 * l31 + l32 * l32 + l33 * l33;
  }
  return d;
}

Field TotalVariation::factor(const Field& tensors, double smallest) const {
  Field d = tensors, l(d.size(), 0.0);
  const std::size_t n = inside_.size();
  for (std::size_t v = 0; v < n; ++v) {
    if (!inside_[v]) continue;
    change_eigenvalues(d, n, v, [smallest](double value) { return std::max(value, smallest); });
    const double l11 = std::sqrt(d[v]), l21 = d[n + v] / l11, l31 = d[2 * n + v] / l11;
    const double l22 = std::sqrt(d[3 * n + v] - l21 * l21), l32 = (d[4 * n + v] - l21 * l31) / l22;
    const double l33 = std::sqrt(std::max(d[5 * n + v] - l31 * l31 - l32 * l32, 0.0));
    l[v] = l11, l[n + v] = l21, l[2 * n + v] = l22, l[3 * n + v] = l31, l[4 * n + v] = l32,
    l[5 * n + v] = l33;
  }
  return l;
}

Field TotalVariation::factor_gradient(const Field& l, bool printed) const {
  const Field d = product(l);
  Field whole = gradient(d), result(l.size(), 0.0);
  const std::size_t n = inside_.size();
  for (std::size_t v = 0; v < n; ++v) {
    const double l11 = l[v], l21 = l[n + v], l22 = l[2 * n + v];
    const double l31 = l[3 * n + v], l32 = l[4 * n + v], l33 = l[5 * n + v];
    double x[6], p[6];  // T - Xnoisy, and the listing's pt
    for (std::size_t c = 0; c < 6; ++c) {
      x[c] = d[c * n + v] - noisy_[c * n + v];
      p[c] = lambda * x[c] - whole[c * n + v];
    }
    const auto [p11, p21, p31, p22, p32, p33] = p;
    const auto [x11, x21, x31, x22, x32, x33] = x;
    const double first = 2 * lambda, others = printed ? 1 : 2 * lambda;
    result[v] = first * x11 * l11 + others * x21 * l21 + others * x31 * l31  //
                - 2 * (l11 * p11 + l21 * p21 + l31 * p31);
    result[n + v] = first * x21 * l11 + others * x22 * l21 + others * x32 * l31  //
                    - 2 * (l11 * p21 + l21 * p22 + l31 * p32);
    result[2 * n + v] = first * x22 * l22 + others * x32 * l32 - 2 * (l22 * p22 + l32 * p32);
    result[3 * n + v] = first * x31 * l11 + others * x32 * l21 + others * x33 * l31  //
                        - 2 * (l11 * p31 + l21 * p32 + l31 * p33);
    result[4 * n + v] = first * x32 * l22 + others * x33 * l32 - 2 * (l22 * p32 + l32 * p33);
    result[5 * n + v] = first * x33 * l33 - 2 * l33 * p33;
  }
  return result;
}

Field TotalVariation::project(Field d) const {
  if (tensor_)
    for (std::size_t v = 0; v < inside_.size(); ++v)
      if (inside_[v])
        change_eigenvalues(d, inside_.size(), v, [](double value) { return std::max(value, 0.0); });
  return d;
}

double TotalVariation::gap_bound(const Field& d, double step) const {
  const Field g = gradient(d);
  Field moved = d;
  for (std::size_t i = 0; i < d.size(); ++i) moved[i] -= step * g[i];
  moved = project(std::move(moved));
  double square = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double mapping = (d[i] - moved[i]) / step;
    square += weights_[i / inside_.size()] * mapping * mapping;
  }
  return square / (2 * lambda);
}

Minimum minimise(const TotalVariation& functional, int limit) {
  constexpr double kFall = 1e-13;
  Minimum minimum;
  if (!functional.tensor()) {
    minimum.d = functional.noisy();
    const auto result = lbfgs(
        [&](const Field& d, Field& gradient) {
          gradient = functional.gradient(d);
          return functional.objective(d);
        },
        minimum.d, limit, kFall);
    minimum.objective = result.value, minimum.evaluations = result.evaluations;
    return minimum;
  }
  // In L there are points that are stationary and no minima, where L is singular: so start again with the
  // smallest eigenvalues raised, as long as that helps.
  minimum.d = functional.noisy();
  minimum.objective = INFINITY;
  for (double smallest = 0.1; minimum.evaluations < limit; smallest /= 3) {
    Field l = functional.factor(minimum.d, smallest);
    const auto result = lbfgs(
        [&](const Field& at, Field& gradient) {
          gradient = functional.factor_gradient(at);
          return functional.objective(functional.product(at));
        },
        l, limit - minimum.evaluations, kFall);
    minimum.evaluations += result.evaluations;
    const double fall = minimum.objective - result.value;
    if (fall > 0) minimum.d = functional.product(l), minimum.objective = result.value;
    if (!(fall > 1e-9 * result.value)) break;
  }
  return minimum;
}

double distance(const Field& a, const Field& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace warploom::oracle
