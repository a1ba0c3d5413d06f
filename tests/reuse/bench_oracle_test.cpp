// The references that the reuse benchmark's kernels are held against, on cases with a known answer.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../oracle/curvature.hpp"
#include "../oracle/registration_sweep.hpp"

namespace warploom::oracle {
namespace {

/// A cube of n^3 voxels (n x n pixels when flat) of size h, sampled from f(x, y, z) around its centre.
struct Sampled {
  template <class F>
  Sampled(int side, double size, bool flat, F f) : n(side), h(size), nz(flat ? 1 : side) {
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
          data.push_back(
              static_cast<float>(f((x - n / 2) * h, (y - n / 2) * h, flat ? 0.0 : (z - n / 2) * h)));
  }
  Curvature curvature() const { return Curvature({data, n, n, nz, h, h, h}); }
  int n;
  double h;
  int nz;
  std::vector<float> data;
};

double radius(double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); }

TEST(CurvatureOracle, IsZeroOnAConstantImage) {
  const Sampled image(6, 0.5, false, [](double, double, double) { return 3.0; });
  for (int z = 0; z < 6; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 6; ++x)
        EXPECT_EQ(image.curvature()(x, y, z).value, 0.0) << x << ' ' << y << ' ' << z;
}

TEST(CurvatureOracle, IsZeroInsideALinearRamp) {
  const Sampled image(9, 1.0, false, [](double x, double y, double z) { return x + 2 * y - 3 * z; });
  EXPECT_NEAR(image.curvature()(4, 4, 4).value, 0.0, 1e-12);
}

// The level sets of the distance to a point are spheres: curvature 2/r. The differences sit half a voxel
// off the voxel's centre, so the error falls in proportion to the voxel's size.
TEST(CurvatureOracle, TendsToTwoOverRadiusOnASphere) {
  double last = 0;
  for (const int n : {32, 64}) {
    const double h = 8.0 / n;
    const Sampled image(n, h, false, radius);
    const int far = n / 2 + static_cast<int>(2 / h), centre = n / 2;
    const double want = 2 / radius(2, 0, 0);
    const double error = std::abs(image.curvature()(far, centre, centre).value - want);
    EXPECT_LT(error, 0.6 * h) << "voxel size " << h;
    if (last > 0) {
      EXPECT_LT(error, 0.6 * last);
    }
    last = error;
  }
}

TEST(CurvatureOracle, TendsToOneOverRadiusOnACircle) {
  const double h = 1.0 / 16;
  const Sampled image(128, h, true, radius);
  EXPECT_NEAR(image.curvature()(64 + 32, 64, 0).value, 1 / 2.0, 0.6 * h);
}

TEST(CurvatureOracle, ChangesSignWithTheImage) {
  const Sampled up(16, 0.5, false, radius);
  const Sampled down(16, 0.5, false, [](double x, double y, double z) { return -radius(x, y, z); });
  const double value = up.curvature()(12, 9, 7).value;
  EXPECT_GT(value, 0.0);
  EXPECT_EQ(down.curvature()(12, 9, 7).value, -value);
}

TEST(CurvatureOracle, TreatsTheThreeAxesAlike) {
  const auto f = [](double x, double y, double z) {
    return std::sin(x) + y * y * 0.3 + std::cos(2 * z + x * y);
  };
  const Sampled image(12, 0.4, false, f);
  const Sampled turned(12, 0.4, false, [&](double x, double y, double z) { return f(y, z, x); });
  EXPECT_NEAR(image.curvature()(5, 6, 7).value, turned.curvature()(7, 5, 6).value, 1e-12);
}

TEST(CurvatureOracle, BoundGrowsWhereTheGradientVanishes) {
  const Sampled steep(8, 1.0, false, [](double x, double y, double z) { return 5 * x + y + z; });
  const Sampled noisy(8, 1.0, false,
                      [](double x, double y, double z) { return 1e-3 * (int(x + 9 * y + 5 * z) % 2); });
  EXPECT_GT(steep.curvature()(4, 4, 4).bound, 0.0);
  EXPECT_GT(noisy.curvature()(4, 4, 4).bound, steep.curvature()(4, 4, 4).bound);
}

TEST(RegistrationOracle, LeavesAConstantDisplacementBetweenEqualImages) {
  const std::vector<float> image(5 * 7, 2.0f), before(5 * 7, 0.75f);
  const RegistrationSweeps sweeps{image, image, 5, 7, 0.5, 0.1};
  for (const double d : sweeps(before, 0)) EXPECT_EQ(d, 0.75f);
}

// One pixel displaced, no force: after one sweep the impulse is the product of two 1-D responses
// 1 - tau*alpha*(1 -4 6 -4 1).
TEST(RegistrationOracle, SpreadsAnImpulseAsTheProductOfTwoFourthDifferences) {
  const int n = 11, c = 5;
  const std::vector<float> image(n * n, 1.0f);
  std::vector<float> before(n * n, 0.0f);
  before[c * n + c] = 1.0f;
  const double tau = 0.5, alpha = 0.2, k = tau * alpha;
  const double response[] = {-k, 4 * k, 1 - 6 * k, 4 * k, -k};
  const auto after = RegistrationSweeps{image, image, n, n, tau, alpha, 1}(before, 1);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      const bool near = std::abs(x - c) <= 2 && std::abs(y - c) <= 2;
      const double want = near ? response[x - c + 2] * response[y - c + 2] : 0.0;
      EXPECT_NEAR(after[y * n + x], want, 1e-15) << x << ' ' << y;
    }
}

TEST(RegistrationOracle, MovesAlongTheAxisOfTheImageGradientOnly) {
  const int n = 9;
  std::vector<float> reference(n * n), moving(n * n);
  const std::vector<float> still(n * n, 0.0f);
  for (int i = 0; i < n * n; ++i) moving[i] = static_cast<float>(i % n), reference[i] = moving[i] + 1;
  const RegistrationSweeps sweeps{reference, moving, n, n, 0.5, 0.0, 2};
  // (R - T) dT/dx = 1 inside: two sweeps of tau each; nothing along y.
  EXPECT_DOUBLE_EQ(sweeps(still, 0)[4 * n + 4], 2 * 0.5);
  EXPECT_EQ(sweeps(still, 1)[4 * n + 4], 0.0);
}

}  // namespace
}  // namespace warploom::oracle
