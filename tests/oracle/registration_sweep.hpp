#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

/// Slow and obvious reference of the reuse benchmark's registration kernel, in double precision.
namespace warploom::oracle {

/// One launch of the registration kernel over images [ny, nx], x fastest.
struct RegistrationSweeps {
  std::span<const float> reference, moving;  ///< [ny, nx]
  int nx, ny;
  double tau, alpha;
  int sweeps = 2;

  /// One component of the displacement after the sweeps [ny * nx], in pixels: axis 0 is x, 1 is y.
  ///
  /// Each sweep is v = h + tau/2 f - tau alpha d4h/dy4, then h = v + tau/2 f - tau alpha d4v/dx4, with
  /// f = (R - T) dT/daxis. The plane is continued by replication for 2 * sweeps pixels around the image
  /// and swept along; what lies outside that margin never reaches the image.
  std::vector<double> operator()(std::span<const float> before, int axis) const {
    const int margin = 2 * sweeps, width = nx + 2 * margin, height = ny + 2 * margin;
    const auto at = [&](int x, int y) { return static_cast<std::size_t>(y) * width + x; };
    std::vector<double> h(static_cast<std::size_t>(width) * height), f(h.size()), v;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        h[at(x, y)] = pixel(before, x - margin, y - margin);
        f[at(x, y)] = force(x - margin, y - margin, axis);
      }
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      v = h;
      for (int y = 2; y < height - 2; ++y)
        for (int x = 0; x < width; ++x)
          v[at(x, y)] += step(f[at(x, y)], h[at(x, y - 2)], h[at(x, y - 1)], h[at(x, y)], h[at(x, y + 1)],
                              h[at(x, y + 2)]);
      h = v;
      for (int y = 0; y < height; ++y)
        for (int x = 2; x < width - 2; ++x)
          h[at(x, y)] += step(f[at(x, y)], v[at(x - 2, y)], v[at(x - 1, y)], v[at(x, y)], v[at(x + 1, y)],
                              v[at(x + 2, y)]);
    }
    std::vector<double> after;
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) after.push_back(h[at(x + margin, y + margin)]);
    return after;
  }

  /// How far a single-precision run may be from the result, for |displacement|, |force| <= magnitude and
  /// tau * alpha <= 1/8: a half step rounds at most twelve times, each by half an epsilon of at most
  /// three magnitudes, and enlarges a largest value by at most 1.5.
  double bound(double magnitude) const {
    return 2 * sweeps * 12 * 1.5 * std::pow(1.5, 2 * sweeps) * magnitude *
           std::numeric_limits<float>::epsilon();
  }

 private:
  double pixel(std::span<const float> image, int x, int y) const {
    return image[static_cast<std::size_t>(std::clamp(y, 0, ny - 1)) * nx + std::clamp(x, 0, nx - 1)];
  }
  double force(int x, int y, int axis) const {
    const int sx = axis == 0, sy = axis == 1;
    const double slope = (pixel(moving, x + sx, y + sy) - pixel(moving, x - sx, y - sy)) / 2;
    return (pixel(reference, x, y) - pixel(moving, x, y)) * slope;
  }
  double step(double f, double a, double b, double c, double d, double e) const {
    return tau / 2 * f - tau * alpha * (a - 4 * b + 6 * c - 4 * d + e);
  }
};

}  // namespace warploom::oracle
