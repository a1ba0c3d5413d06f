#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {

/// Tensor of a fibre along the unit vector u: eigenvalues 1.7, 0.3, 0.3 um^2/ms, FA 0.80.
inline std::array<float, 6> fibre(double ux, double uy, double uz) {
  const double a = 1.4, b = 0.3;
  return {float(a * ux * ux + b), float(a * ux * uy), float(a * ux * uz),
          float(a * uy * uy + b), float(a * uy * uz), float(a * uz * uz + b)};
}

/// A tensor image whose truth is known, n voxels a side: isotropic tissue (0.8 um^2/ms) with a sphere of free
/// water (3.0), a straight bundle along x and one along y which cross in the middle (there the mean of both),
/// and a ring in the plane x = const whose direction turns. All borders are edges.
inline TensorImage tensor_phantom(std::int64_t n) {
  TensorImage image(Grid{n, n, n}, kTensorChannels);
  for (std::int64_t z = 0; z < n; ++z)
    for (std::int64_t y = 0; y < n; ++y)
      for (std::int64_t x = 0; x < n; ++x) {
        const auto at = [n](std::int64_t i) {
          return (static_cast<double>(i) + 0.5) / static_cast<double>(n) - 0.5;
        };
        const double px = at(x), py = at(y), pz = at(z);
        std::array<float, 6> tensor{0.8F, 0, 0, 0.8F, 0, 0.8F};
        const bool along_x = std::hypot(py, pz + 0.15) < 0.12, along_y = std::hypot(px, pz + 0.15) < 0.12;
        const double ring = std::hypot(py, pz - 0.15);
        if (along_x && along_y) {
          const auto a = fibre(1, 0, 0), b = fibre(0, 1, 0);
          for (int c = 0; c < 6; ++c) tensor[std::size_t(c)] = (a[std::size_t(c)] + b[std::size_t(c)]) / 2;
        } else if (along_x) {
          tensor = fibre(1, 0, 0);
        } else if (along_y) {
          tensor = fibre(0, 1, 0);
        } else if (std::abs(px) < 0.2 && ring > 0.12 && ring < 0.24) {
          tensor = fibre(0, -(pz - 0.15) / ring, py / ring);
        } else if (std::hypot(px - 0.3, py - 0.3, pz - 0.3) < 0.13) {
          tensor = {3, 0, 0, 3, 0, 3};
        }
        for (int c = 0; c < kTensorChannels; ++c)
          image.channel(c)[static_cast<std::size_t>((z * n + y) * n + x)] = tensor[std::size_t(c)];
      }
  return image;
}

/// White Gaussian noise of standard deviation `sigma` on every channel. Same numbers everywhere: the normal
/// distribution is made from mt19937 by Box and Muller's formula, not by the library's own.
inline void add_noise(Image& image, double sigma, std::uint32_t seed) {
  std::mt19937 engine(seed);
  const auto uniform = [&] { return (static_cast<double>(engine()) + 0.5) / 4294967296.0; };
  for (float& value : image.data) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    value += static_cast<float>(sigma * radius * std::cos(2 * 3.14159265358979323846 * uniform()));
  }
}

/// ||a - truth|| / ||truth|| in the Frobenius norm over all voxels.
inline double relative_error(const TensorImage& a, const TensorImage& truth) {
  double difference = 0, norm = 0;
  for (int c = 0; c < kTensorChannels; ++c)
    for (std::size_t v = 0; v < truth.channel(c).size(); ++v) {
      const double t = truth.channel(c)[v], d = a.channel(c)[v] - t, w = kTensorWeights[std::size_t(c)];
      difference += w * d * d;
      norm += w * t * t;
    }
  return std::sqrt(difference / norm);
}

/// Root of the mean square error of the fractional anisotropy.
inline double fa_error(const TensorImage& a, const TensorImage& truth) {
  const Image fa = tensor_maps(a, {}).fa, want = tensor_maps(truth, {}).fa;
  double sum = 0;
  for (std::size_t v = 0; v < want.data.size(); ++v) {
    const double d = fa.data[v] - want.data[v];
    sum += d * d;
  }
  return std::sqrt(sum / static_cast<double>(want.data.size()));
}

/// Mean angle [degrees] between the first eigenvectors where there is a first direction: true FA above 0.7.
inline double direction_error(const TensorImage& a, const TensorImage& truth) {
  const TensorMaps maps = tensor_maps(a, {}), want = tensor_maps(truth, {});
  double sum = 0, count = 0;
  for (std::size_t v = 0; v < want.fa.data.size(); ++v) {
    if (want.fa.data[v] < 0.7F) continue;
    double cosine = 0;
    for (int k = 0; k < 3; ++k) cosine += static_cast<double>(maps.v1.channel(k)[v]) * want.v1.channel(k)[v];
    sum += std::acos(std::min(std::abs(cosine), 1.0)) * 180 / 3.14159265358979323846;
    ++count;
  }
  return sum / count;
}

}  // namespace warploom::imaging
