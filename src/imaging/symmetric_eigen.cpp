#include "imaging/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

/// The matrix becomes tridiagonal; the rows of `basis` are turned along.
void tridiagonalise(std::vector<double>& a, std::vector<double>& basis, std::size_t n) {
  std::vector<double> u(n), p(n);
  for (std::size_t k = n; k-- > 2;) {  // row k, left of the element beside the diagonal
    double rest = 0;
    for (std::size_t j = 0; j + 1 < k; ++j) rest += a[k * n + j] * a[k * n + j];
    if (rest == 0) continue;
    std::fill(u.begin(), u.end(), 0);
    std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(k * n), k, u.begin());
    u[k - 1] += std::copysign(std::sqrt(rest + u[k - 1] * u[k - 1]), u[k - 1]);
    const double factor = 2 / (rest + u[k - 1] * u[k - 1]);
    const auto reflect_rows = [&](std::vector<double>& m) {  // (1 - factor u u^T) m
      std::fill(p.begin(), p.end(), 0);
      for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < n; ++j) p[j] += u[i] * m[i * n + j];
      for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < n; ++j) m[i * n + j] -= factor * u[i] * p[j];
    };
    reflect_rows(a);
    reflect_rows(basis);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) sum += a[i * n + j] * u[j];
      for (std::size_t j = 0; j < k; ++j) a[i * n + j] -= factor * sum * u[j];
    }
  }
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t n) {
  std::vector<double> basis(n * n);
  for (std::size_t i = 0; i < n; ++i) basis[i * n + i] = 1;
  tridiagonalise(matrix, basis, n);
  std::vector<double> d(n), e(n);  // e[i] between i and i + 1
  for (std::size_t i = 0; i < n; ++i) {
    d[i] = matrix[i * n + i];
    if (i + 1 < n) e[i] = matrix[(i + 1) * n + i];
  }
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
  for (std::size_t l = 0; l < n; ++l)
    for (int round = 0;; ++round) {
      std::size_t m = l;
      while (m + 1 < n && std::abs(e[m]) > kEpsilon * (std::abs(d[m]) + std::abs(d[m + 1]))) ++m;
      if (m == l) break;
      if (round == 60) throw Internal("the eigenvalues of a symmetric matrix did not converge");
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, 1), g));
      double s = 1, c = 1, p = 0;
      std::size_t i = m;
      while (i-- > l) {
        const double f = s * e[i], h = c * e[i], r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r, c = g / r;
        const double rest = d[i + 1] - p, turn = (d[i] - rest) * s + 2 * c * h;
        p = s * turn;
        d[i + 1] = rest + p;
        g = c * turn - h;
        for (std::size_t j = 0; j < n; ++j) {
          const double below = basis[(i + 1) * n + j], above = basis[i * n + j];
          basis[(i + 1) * n + j] = s * above + c * below;
          basis[i * n + j] = c * above - s * below;
        }
        if (i == l) {
          d[l] -= p;
          e[l] = g;
          e[m] = 0;
        }
      }
    }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return d[k]; });
  SymmetricEigen out;
  out.vectors.reserve(n * n);
  for (const std::size_t k : order) {
    out.values.push_back(d[k]);
    const auto row = basis.begin() + static_cast<std::ptrdiff_t>(k * n);
    out.vectors.insert(out.vectors.end(), row, row + static_cast<std::ptrdiff_t>(n));
  }
  return out;
}

}  // namespace warploom::imaging
