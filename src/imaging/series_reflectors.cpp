#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "imaging/series_denoise_backend.hpp"
#include "imaging/voxels.hpp"

// Orthogonal iteration on the mean of x x^T over a sample (Golub & Van Loan, 8.2.4). It need not converge:
// any orthogonal matrix is right, and the nearer it comes, the smaller is what is left.
namespace warploom::imaging {
namespace {

/// Short series are less in need of them, and turning takes a larger share of their time.
constexpr int kReflectors = 4, kReflectorsOfShort = 1, kShort = 32, kRounds = 4;
constexpr std::size_t kSample = 2048;

/// Row by row.
struct Square {
  std::size_t n;
  std::vector<double> values;
  std::span<const double> row(std::size_t i) const { return std::span(values).subspan(i * n, n); }
};

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<std::size_t> sample_of(std::size_t voxels, const Mask& mask,
                                   const std::vector<std::uint8_t>& not_finite) {
  std::vector<std::size_t> usable;
  for (std::size_t v = 0; v < voxels; ++v)
    if (inside(mask, v) && (not_finite.empty() || not_finite[v] == 0)) usable.push_back(v);
  std::vector<std::size_t> sample;
  const std::size_t step = usable.size() / kSample + 1;
  for (std::size_t k = 0; k < usable.size(); k += step) sample.push_back(usable[k]);
  return sample;
}

Square second_moments(const ImageView& series, const std::vector<std::size_t>& sample) {
  const auto n = static_cast<std::size_t>(series.channels);
  std::vector<double> values(n * sample.size());  // [channels, sample]
  const auto row = [&](std::size_t c) {
    return std::span<const double>(values).subspan(c * sample.size(), sample.size());
  };
  parallel_for(series.channels, [&](std::int64_t c) {
    const auto channel = series.channel(static_cast<int>(c));
    for (std::size_t k = 0; k < sample.size(); ++k)
      values[static_cast<std::size_t>(c) * sample.size() + k] = static_cast<double>(channel[sample[k]]);
  });
  Square out{n, std::vector<double>(n * n)};
  parallel_for(series.channels, [&](std::int64_t c) {
    const auto i = static_cast<std::size_t>(c);
    for (std::size_t j = 0; j <= i; ++j) out.values[i * n + j] = dot(row(i), row(j));
  });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) out.values[j * n + i] = out.values[i * n + j];
  return out;
}

/// Each made orthogonal to those before, twice for the sake of rounding, and of norm 1; what is nothing then
/// is left out, and all behind it.
void orthonormalise(std::vector<std::vector<double>>& vectors) {
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    const double before = std::sqrt(dot(vectors[k], vectors[k]));
    for (int round = 0; round < 2; ++round)
      for (std::size_t j = 0; j < k; ++j) {
        const double share = dot(vectors[k], vectors[j]);
        for (std::size_t c = 0; c < vectors[k].size(); ++c) vectors[k][c] -= share * vectors[j][c];
      }
    const double norm = std::sqrt(dot(vectors[k], vectors[k]));
    if (!(norm > 1e-9 * before)) {
      vectors.resize(k);
      return;
    }
    for (double& value : vectors[k]) value /= norm;
  }
}

std::vector<std::vector<double>> largest_components(const Square& moments, int most) {
  std::vector<std::vector<double>> vectors;
  std::vector<std::size_t> by_size(moments.n);
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, std::greater(), [&](std::size_t c) { return moments.row(c)[c]; });
  for (int k = 0; k < most; ++k) {
    const auto row =
        moments.row(by_size[static_cast<std::size_t>(k) * moments.n / static_cast<std::size_t>(most)]);
    vectors.emplace_back(row.begin(), row.end());
  }
  orthonormalise(vectors);
  for (int round = 0; round < kRounds; ++round) {
    for (auto& vector : vectors) {
      std::vector<double> image(moments.n);
      for (std::size_t c = 0; c < moments.n; ++c) image[c] = dot(moments.row(c), vector);
      vector = std::move(image);
    }
    orthonormalise(vectors);
  }
  return vectors;
}

}  // namespace

SeriesReflectors series_reflectors(const ImageView& series, const Mask& mask,
                                   const std::vector<std::uint8_t>& not_finite) {
  const auto n = static_cast<std::size_t>(series.channels);
  const auto sample = sample_of(static_cast<std::size_t>(series.grid.voxels()), mask, not_finite);
  auto vectors = largest_components(
      second_moments(series, sample),
      std::min(series.channels < kShort ? kReflectorsOfShort : kReflectors, series.channels - 1));
  SeriesReflectors out;
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    // The k-th becomes a unit vector; those before it are already, and have no part in it.
    std::vector<double> u(n);
    std::copy(vectors[k].begin() + static_cast<std::ptrdiff_t>(k), vectors[k].end(),
              u.begin() + static_cast<std::ptrdiff_t>(k));
    const double norm = std::sqrt(dot(u, u));
    u[k] += std::copysign(norm, u[k]);  // the sign that does not cancel
    double square = 0;
    for (double& value : u) {
      const auto rounded = static_cast<float>(value);
      out.u.push_back(rounded);
      value = static_cast<double>(rounded);
      square += value * value;
    }
    const double factor = 2 / square;
    out.factor.push_back(static_cast<float>(factor));
    for (std::size_t j = k; j < vectors.size(); ++j) {
      const double share = factor * dot(u, vectors[j]);
      for (std::size_t c = 0; c < n; ++c) vectors[j][c] -= share * u[c];
    }
  }
  return out;
}

}  // namespace warploom::imaging
