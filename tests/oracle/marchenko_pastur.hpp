#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

/// Marchenko-Pastur PCA of one patch, slow and obvious: singular values by Hestenes' one-sided Jacobi method in
/// double precision, which shares nothing with the library's tridiagonalisation.
namespace warploom::oracle {

struct PatchComponents {
  double variance = 0;
  int rank = 0;
  std::vector<std::complex<double>> denoised;  ///< [rows, columns]
  std::vector<double> eigenvalues;             ///< of X X^H over the larger extent, from the largest
};

/// @param x [rows, columns]
inline PatchComponents marchenko_pastur(std::vector<std::complex<double>> x, std::size_t rows, std::size_t columns,
                                        bool exp1) {
  using Complex = std::complex<double>;
  const auto row = [&](std::vector<Complex>& m, std::size_t i) { return m.begin() + std::ptrdiff_t(i * columns); };
  // x = u * rotated at all times; at the end the rows of `rotated` are orthogonal.
  std::vector<Complex> rotated = x, u(rows * rows);
  for (std::size_t i = 0; i < rows; ++i) u[i * rows + i] = 1;
  double largest = 0;
  for (const Complex value : x) largest += std::norm(value);
  for (bool turned = true; turned;) {
    turned = false;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = i + 1; j < rows; ++j) {
        double a = 0, b = 0;
        Complex c = 0;
        for (std::size_t k = 0; k < columns; ++k) {
          a += std::norm(row(rotated, i)[std::ptrdiff_t(k)]);
          b += std::norm(row(rotated, j)[std::ptrdiff_t(k)]);
          c += row(rotated, i)[std::ptrdiff_t(k)] * std::conj(row(rotated, j)[std::ptrdiff_t(k)]);
        }
        if (std::abs(c) <= 1e-15 * std::sqrt(a * b) || std::abs(c) < 1e-30 * largest) continue;
        turned = true;
        const Complex phase = c / std::abs(c);
        const double tau = (b - a) / (2 * std::abs(c));
        const double t = (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double cosine = 1 / std::sqrt(1 + t * t), sine = t * cosine;
        for (std::size_t k = 0; k < columns; ++k) {
          Complex &p = row(rotated, i)[std::ptrdiff_t(k)], &q = row(rotated, j)[std::ptrdiff_t(k)];
          const Complex before = p;
          p = cosine * before - sine * phase * q;
          q = sine * std::conj(phase) * before + cosine * q;
        }
        for (std::size_t k = 0; k < rows; ++k) {  // the columns of u by the inverse
          Complex &p = u[k * rows + i], &q = u[k * rows + j];
          const Complex before = p;
          p = cosine * before - sine * std::conj(phase) * q;
          q = sine * phase * before + cosine * q;
        }
      }
  }
  const double larger = double(std::max(rows, columns));
  std::vector<std::pair<double, std::size_t>> values;
  for (std::size_t i = 0; i < rows; ++i) {
    double norm = 0;
    for (std::size_t k = 0; k < columns; ++k) norm += std::norm(row(rotated, i)[std::ptrdiff_t(k)]);
    values.emplace_back(norm / larger, i);
  }
  std::sort(values.rbegin(), values.rend());
  const std::size_t count = std::min(rows, columns);

  PatchComponents out;
  out.rank = int(count);
  for (std::size_t k = 0; k < count; ++k) out.eigenvalues.push_back(values[k].first);
  for (std::size_t p = 0; p < count; ++p) {
    double sum = 0;
    for (std::size_t k = p; k < count; ++k) sum += values[k].first;
    const double noise = double(count - p), gamma = noise / (exp1 ? larger : larger - double(p));
    if ((values[p].first - values[count - 1].first) / (4 * std::sqrt(gamma)) < sum / noise) {
      out.rank = int(p);
      out.variance = sum / noise;
      break;
    }
  }
  out.denoised.assign(rows * columns, 0);
  for (std::size_t k = 0; k < std::size_t(out.rank); ++k)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        out.denoised[i * columns + j] +=
            u[i * rows + values[k].second] * row(rotated, values[k].second)[std::ptrdiff_t(j)];
  if (out.rank == int(count)) out.denoised = x;
  return out;
}

}  // namespace warploom::oracle
