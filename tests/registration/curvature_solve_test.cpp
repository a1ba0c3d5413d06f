#include "registration/curvature_solve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "warploom/core/run.hpp"

namespace warploom::registration {
namespace {

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& value : out) value = normal(random);
  return out;
}

TEST(Dct, IsItsFormulaForEveryLength) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 24, 31, 64, 75, 97, 128, 150, 256}) {
    const DctPlan plan(n);
    const std::vector<float> in = random_values(static_cast<std::size_t>(n * kDctLines));
    std::vector<float> out(in.size()), back(in.size()), scratch(2 * in.size());
    baseline::dct_forward(plan, in.data(), out.data(), scratch.data());
    baseline::dct_inverse(plan, out.data(), back.data(), scratch.data());
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t w : {0, 7, 15}) {
        double want = 0;
        for (std::int64_t j = 0; j < n; ++j)
          want +=
              double(in[static_cast<std::size_t>(j * kDctLines + w)]) *
              std::cos(std::numbers::pi * static_cast<double>(k * (2 * j + 1)) / static_cast<double>(2 * n));
        want *= std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n));
        const auto at = static_cast<std::size_t>(k * kDctLines + w);
        ASSERT_NEAR(out[at], want, 1e-5) << n << " " << k;
        ASSERT_NEAR(back[at], in[at], 1e-5) << n << " " << k;
      }
  }
}

TEST(Dct, IsSciPysDctn) {
  // scipy.fft.dctn(a, norm="ortho") of scipy 1.17.1, a[y, x] = (5 x + 7 y + x y) % 11 6 by 4.
  const DctPlan along_x(6), along_y(4);
  std::vector<float> a(6 * kDctLines), b(6 * kDctLines), scratch(12 * kDctLines), rows(4 * kDctLines),
      c(4 * kDctLines);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x)
      a[static_cast<std::size_t>(x * kDctLines + y)] = static_cast<float>((5 * x + 7 * y + x * y) % 11);
  baseline::dct_forward(along_x, a.data(), b.data(), scratch.data());
  for (std::size_t x = 0; x < 6; ++x)
    for (std::size_t y = 0; y < 4; ++y) rows[y * kDctLines + x] = b[x * kDctLines + y];
  baseline::dct_forward(along_y, rows.data(), c.data(), scratch.data());
  const double want[4][6] = {
      {27.760883752, -0.546948999, -0.0, -0.816496581, -6.350852961, 7.618016811},
      {-1.821148673, -2.879588871, -7.186096307, -0.807954091, 1.718528428, 2.179880103},
      {0.0, 0.0, 0.0, 0.0, 0.0, 0.0},
      {-0.129425051, -0.94159478, -2.976578551, -4.084182112, -4.148894637, -2.595410682}};
  for (std::size_t y = 0; y < 4; ++y)
    for (std::size_t x = 0; x < 6; ++x) EXPECT_NEAR(c[y * kDctLines + x], want[y][x], 1e-5) << y << x;
}

/// (I + weight L^2) u by second differences, the voxel beyond a face being the one at it.
std::vector<double> apply(const imaging::Grid& g, const std::array<double, 3>& h, double weight,
                          const std::vector<double>& u) {
  const auto laplacian = [&](const std::vector<double>& v) {
    std::vector<double> out(v.size());
    const std::int64_t size[] = {g.nx, g.ny, g.nz}, stride[] = {1, g.nx, g.nx * g.ny};
    for (std::int64_t n = 0; n < g.voxels(); ++n) {
      const std::int64_t at[] = {n % g.nx, n / g.nx % g.ny, n / (g.nx * g.ny)};
      for (int a = 0; a < 3; ++a)
        for (const int s : {-1, 1})
          if (at[a] + s >= 0 && at[a] + s < size[a])
            out[static_cast<std::size_t>(n)] +=
                (v[static_cast<std::size_t>(n + s * stride[a])] - v[static_cast<std::size_t>(n)]) /
                (h[static_cast<std::size_t>(a)] * h[static_cast<std::size_t>(a)]);
    }
    return out;
  };
  std::vector<double> out = laplacian(laplacian(u));
  for (std::size_t n = 0; n < u.size(); ++n) out[n] = u[n] + weight * out[n];
  return out;
}

struct Shape {
  std::int64_t nx, ny, nz;
};
class CurvatureSystem : public testing::TestWithParam<Shape> {};
TEST_P(CurvatureSystem, SolutionSatisfiesTheSystemOfDifferences) {
  const auto [nx, ny, nz] = GetParam();
  const imaging::Grid grid{nx, ny, nz};
  const std::array<double, 3> h{1, 1.25, 2};
  for (const double weight : {0.0, 0.1, 50.0}) {
    const std::vector<float> f = random_values(static_cast<std::size_t>(grid.voxels()));
    std::vector<float> u = f;
    CurvatureSolver(grid, h).solve(u, weight);
    // The residual of a float solution grows with the largest eigenvalue.
    const double largest =
        1 + weight * std::pow(4 / (h[0] * h[0]) + 4 / (h[1] * h[1]) + 4 / (h[2] * h[2]), 2);
    const std::vector<double> back = apply(grid, h, weight, {u.begin(), u.end()});
    for (std::size_t n = 0; n < f.size(); ++n) ASSERT_NEAR(back[n], f[n], 3e-6 * largest) << weight;
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, CurvatureSystem,
                         testing::Values(Shape{5, 4, 3}, Shape{20, 1, 1}, Shape{1, 9, 1}, Shape{17, 12, 1},
                                         Shape{1, 6, 8}, Shape{24, 18, 20}, Shape{1, 1, 1},
                                         Shape{33, 1, 16}));

TEST(CurvatureSystem, IsTheSolutionOfADenseMatrix) {
  const imaging::Grid grid{4, 3, 2};
  const std::array<double, 3> h{1, 2, 1.5};
  constexpr std::size_t kN = 24;
  // Columns of the matrix, then Gauss's elimination with pivots.
  std::vector<std::vector<double>> m(kN, std::vector<double>(kN + 1));
  const std::vector<float> f = random_values(kN);
  for (std::size_t c = 0; c < kN; ++c) {
    std::vector<double> unit(kN);
    unit[c] = 1;
    const auto column = apply(grid, h, 3, unit);
    for (std::size_t r = 0; r < kN; ++r) m[r][c] = column[r];
    m[c][kN] = double(f[c]);
  }
  for (std::size_t c = 0; c < kN; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < kN; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    std::swap(m[c], m[pivot]);
    for (std::size_t r = 0; r < kN; ++r)
      if (r != c)
        for (std::size_t k = kN + 1; k-- > c;) m[r][k] -= m[r][c] / m[c][c] * m[c][k];
  }
  std::vector<float> u = f;
  CurvatureSolver(grid, h).solve(u, 3);
  for (std::size_t n = 0; n < kN; ++n) EXPECT_NEAR(u[n], m[n][kN] / m[n][n], 2e-6);
}

TEST(CurvatureSystem, AConstantStays) {
  std::vector<float> u(30 * 20 * 7, 2.5F);
  CurvatureSolver({30, 20, 7}, {1, 1, 1}).solve(u, 1000);
  for (const float value : u) ASSERT_NEAR(value, 2.5, 1e-5);
}

TEST(CurvatureSystem, OneThreadGivesTheSameBits) {
  const std::vector<float> f = random_values(40 * 30 * 20);
  std::vector<float> many = f, one = f;
  const CurvatureSolver solver({40, 30, 20}, {1, 1, 1});
  solver.solve(many, 5);
  const RunScope single({.threads = 1});
  solver.solve(one, 5);
  EXPECT_EQ(many, one);
}

}  // namespace
}  // namespace warploom::registration
