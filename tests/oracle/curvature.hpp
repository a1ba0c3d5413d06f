#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

/// Slow and obvious references of the reuse benchmark's curvature kernels, in double precision.
namespace warploom::oracle {

/// An image [nz, ny, nx], x fastest, continued by replication; its voxels are dx x dy x dz [length].
struct CurvatureImage {
  std::span<const float> data;
  int nx, ny, nz;
  double dx, dy, dz;

  double operator()(int x, int y, int z) const {
    x = std::clamp(x, 0, nx - 1), y = std::clamp(y, 0, ny - 1), z = std::clamp(z, 0, nz - 1);
    return data[(static_cast<std::size_t>(z) * ny + y) * nx + x];
  }
};

/// A value, and how far a single-precision evaluation of the same formula may be from it.
struct Estimate {
  double value, bound;
};

/// The formula of the dissertation's Figure 47, voxel by voxel and with nothing stored. A 2-D image is
/// one with nz = 1: every z difference is then 0.
class Curvature {
 public:
  static constexpr double tiny = 1e-8f;  ///< the kernels' TINY, as the float it is there

  explicit Curvature(CurvatureImage image) : u_(image) {}

  /// div(grad u / |grad u|) at (x, y, z) [1/length].
  ///
  /// The bound, with e = 2^-23: a difference is off by at most 4e of itself (its rounding and an
  /// approximate division), a mean by 8e of the mean magnitude; a normalised component changes by
  /// at most the sum of these over the norm, and its own arithmetic adds 8e of it; each difference
  /// of two components and their sum add 8e again.
  Estimate operator()(int x, int y, int z) const {
    const Estimate terms[] = {
        difference(normx(x - 1, y, z), normx(x, y, z), u_.dx),
        difference(normy(x, y - 1, z), normy(x, y, z), u_.dy),
        difference(normz(x, y, z - 1), normz(x, y, z), u_.dz),
    };
    Estimate sum{0, 0};
    for (const auto& t : terms) sum.value += t.value, sum.bound += t.bound;
    return sum;
  }

 private:
  static constexpr double eps = std::numeric_limits<float>::epsilon();

  double ux(int x, int y, int z) const { return (u_(x - 1, y, z) - u_(x, y, z)) / u_.dx; }
  double uy(int x, int y, int z) const { return (u_(x, y - 1, z) - u_(x, y, z)) / u_.dy; }
  double uz(int x, int y, int z) const { return (u_(x, y, z - 1) - u_(x, y, z)) / u_.dz; }

  struct Mean {
    double value, magnitude;
  };
  static Mean mean(double a, double b, double c, double d) {
    return {(a + b + c + d) / 4, (std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d)) / 4};
  }
  // The gradient's component averaged over the face above (x, y, z) in two axes.
  template <class F>
  static Mean over_xy(F f, int x, int y, int z) {
    return mean(f(x, y, z), f(x + 1, y, z), f(x, y + 1, z), f(x + 1, y + 1, z));
  }
  template <class F>
  static Mean over_xz(F f, int x, int y, int z) {
    return mean(f(x, y, z), f(x + 1, y, z), f(x, y, z + 1), f(x + 1, y, z + 1));
  }
  template <class F>
  static Mean over_yz(F f, int x, int y, int z) {
    return mean(f(x, y, z), f(x, y + 1, z), f(x, y, z + 1), f(x, y + 1, z + 1));
  }

  static Estimate unit(double g, Mean a, Mean b) {
    const double norm = std::sqrt(g * g + a.value * a.value + b.value * b.value + tiny);
    const double inputs = 4 * std::abs(g) + 8 * a.magnitude + 8 * b.magnitude;
    return {g / norm, eps * (inputs / norm + 8 * std::abs(g) / norm)};
  }
  static Estimate difference(Estimate a, Estimate b, double h) {
    return {(a.value - b.value) / h,
            (a.bound + b.bound + 8 * eps * (std::abs(a.value) + std::abs(b.value))) / h};
  }

  auto ux() const {
    return [this](int x, int y, int z) { return ux(x, y, z); };
  }
  auto uy() const {
    return [this](int x, int y, int z) { return uy(x, y, z); };
  }
  auto uz() const {
    return [this](int x, int y, int z) { return uz(x, y, z); };
  }
  Estimate normx(int x, int y, int z) const {
    return unit(ux(x, y, z), over_xy(uy(), x, y, z), over_xz(uz(), x, y, z));
  }
  Estimate normy(int x, int y, int z) const {
    return unit(uy(x, y, z), over_xy(ux(), x, y, z), over_yz(uz(), x, y, z));
  }
  Estimate normz(int x, int y, int z) const {
    return unit(uz(x, y, z), over_xz(ux(), x, y, z), over_yz(uy(), x, y, z));
  }

  CurvatureImage u_;
};

}  // namespace warploom::oracle
