// The oracle of bench/imaging/sync against finite differences, another oracle and what its definition
// implies; and the benchmark's CPU code against the oracle.
#include <gtest/gtest.h>

#include <cmath>

#include "imaging/sync/cpu_reference.hpp"
#include "oracle/christiansen.hpp"
#include "oracle/curvature.hpp"

namespace warploom::bench::sync {
namespace {

using oracle::Christiansen;
using oracle::Matrix;
using oracle::MatrixImage;

MatrixImage matrices(const Problem& problem, const std::vector<float>& values) {
  return {problem.nx, problem.ny, problem.nz, {values.begin(), values.end()}};
}

Christiansen::Region whole(const MatrixImage& image) { return {{0, 0, 0}, {image.nx, image.ny, image.nz}}; }

double fidelity(double lambda, const Matrix& l, const Matrix& x) {
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double d = -x[i][j];
      for (int k = 0; k < 3; ++k) d += l[i][k] * l[j][k];
      sum += lambda / 2 * d * d;
    }
  return sum;
}

constexpr Matrix kFactor{{{1.2, 0, 0}, {0.3, 0.9, 0}, {-0.4, 0.2, 0.7}}};
constexpr Matrix kNoisy{{{1.0, 0.1, -0.2}, {0.1, 0.5, 0.3}, {-0.2, 0.3, 0.8}}};
constexpr double kLambda = 1.7;

Matrix tensor(const Matrix& l) {
  Matrix d{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) d[i][j] += l[i][k] * l[j][k];
  return d;
}

double derivative(int i, int j) {
  Matrix above = kFactor, below = kFactor;
  above[i][j] += 1e-5, below[i][j] -= 1e-5;
  return (fidelity(kLambda, above, kNoisy) - fidelity(kLambda, below, kNoisy)) / 2e-5;
}

TEST(ChristiansenGradient, IsTheDerivativeOfTheFidelity) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j)
      EXPECT_NEAR(Christiansen::gradient(kLambda, kFactor, tensor(kFactor), kNoisy, Matrix{}, i, j),
                  derivative(i, j), 1e-8)
          << i << j;
}

/// Figure 48's dgdl11 without drdl11, as printed: 2*lambda weighs one product of three.
TEST(ChristiansenGradient, IsNotWhatTheFigurePrints) {
  const Matrix d = tensor(kFactor);
  double printed = 2 * kLambda * (d[0][0] - kNoisy[0][0]) * kFactor[0][0];
  for (int i = 1; i < 3; ++i) printed += (d[i][0] - kNoisy[i][0]) * kFactor[i][0];
  EXPECT_GT(std::abs(printed - derivative(0, 0)), 0.1 * std::abs(derivative(0, 0)));
}

TEST(ChristiansenWeights, CountElementsOffTheDiagonalTwice) {
  const auto weights = Christiansen::weights({2, 1, 3, 4, 5, 6});
  const double norm = std::sqrt(4 + 16 + 36 + 2 * (1 + 9 + 25));
  EXPECT_DOUBLE_EQ(weights[0], 2 / norm);
  EXPECT_DOUBLE_EQ(weights[4], 5 / norm);
  EXPECT_EQ(Christiansen::weights({})[0], 0);
}

TEST(ChristiansenCurvature, IsTheReuseBenchmarksAsPrinted) {
  const Problem problem = random_problem(9, 8, 7, {1, 0.7F, 1.3F});
  const MatrixImage image = matrices(problem, problem.noisy);
  const Christiansen christiansen(image, {.dx = 1, .dy = 0.7F, .dz = 1.3F});
  const std::span<const float> channel(problem.noisy.data() + 2 * problem.voxels(),
                                       std::size_t(problem.voxels()));
  const oracle::Curvature other({channel, 9, 8, 7, 1, 0.7F, 1.3F});
  for (int z = 0; z < 7; ++z)
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 9; ++x)
        EXPECT_NEAR(christiansen.curvature(image, 2, whole(image), x, y, z), other(x, y, z).value, 1e-12);
}

double total_curvature(bool centred) {
  const Problem problem = random_problem(9, 8, 7, {1, 1, 1});
  const MatrixImage image = matrices(problem, problem.noisy);
  const Christiansen christiansen(image, {.centred = centred});
  double sum = 0;
  for (int z = 0; z < 7; ++z)
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 9; ++x) sum += christiansen.curvature(image, 1, whole(image), x, y, z);
  return sum;
}

/// What flows out of a voxel flows into the next, and nothing through the border.
TEST(ChristiansenCurvature, SumsToZeroCentredAndNotAsPrinted) {
  EXPECT_NEAR(total_curvature(true), 0, 1e-12);
  EXPECT_GT(std::abs(total_curvature(false)), 1);
}

/// The alternating part of a row of 16 voxels of diagonal tensors, before and after a step without fidelity.
double growth_of_alternation(bool centred) {
  MatrixImage factor{16, 1, 1, std::vector<double>(96, 0)};
  for (int x = 0; x < 16; ++x)
    for (const int c : {0, 3, 5}) factor.at(c, x, 0, 0) = 1 + (x % 2 == 0 ? 0.1 : -0.1);
  const MatrixImage next = Christiansen(factor, {.lambda = 0, .step = 1e-3, .centred = centred}).step(factor);
  double before = 0, after = 0;
  for (int x = 4; x < 12; ++x) {
    const double sign = x % 2 == 0 ? 1 : -1;
    before += sign * factor.at(0, x, 0, 0), after += sign * next.at(0, x, 0, 0);
  }
  return after / before;
}

TEST(ChristiansenCurvature, AmplifiesAlternationAsPrintedAndDampsItCentred) {
  EXPECT_GT(growth_of_alternation(false), 1.005);
  EXPECT_LT(growth_of_alternation(true), 0.995);
}

TEST(ChristiansenRegions, AreImagesByThemselvesWhereIsolated) {
  const Problem problem = random_problem(7, 6, 5, {1, 1, 1});
  const MatrixImage noisy = matrices(problem, problem.noisy), factor = matrices(problem, problem.factor);
  const MatrixImage got = Christiansen(noisy, {.region = {4, 3, 2}, .isolated = true}).step(factor);
  for (int z0 = 0; z0 < 5; z0 += 2)
    for (int y0 = 0; y0 < 6; y0 += 3)
      for (int x0 = 0; x0 < 7; x0 += 4) {
        const int nx = std::min(4, 7 - x0), ny = std::min(3, 6 - y0), nz = std::min(2, 5 - z0);
        const auto each = [&](auto use) {
          for (int c = 0; c < 6; ++c)
            for (int z = 0; z < nz; ++z)
              for (int y = 0; y < ny; ++y)
                for (int x = 0; x < nx; ++x) use(c, x, y, z);
        };
        MatrixImage part_noisy{nx, ny, nz, std::vector<double>(std::size_t(6 * nx * ny * nz))},
            part = part_noisy;
        each([&](int c, int x, int y, int z) {
          part.at(c, x, y, z) = factor.at(c, x0 + x, y0 + y, z0 + z);
          part_noisy.at(c, x, y, z) = noisy.at(c, x0 + x, y0 + y, z0 + z);
        });
        const MatrixImage want = Christiansen(part_noisy, {}).step(part);
        each([&](int c, int x, int y, int z) {
          EXPECT_DOUBLE_EQ(got.at(c, x0 + x, y0 + y, z0 + z), want.at(c, x, y, z));
        });
      }
}

/// Off by at most 1e-4 of the step's length, see gpu_test.cpp.
TEST(SyncCpuReference, StepsAsTheOracle) {
  const Problem problem = random_problem(13, 11, 9, {1, 0.7F, 1.3F});
  const MatrixImage noisy = matrices(problem, problem.noisy), factor = matrices(problem, problem.factor);
  for (const Stencil stencil : {Stencil::printed, Stencil::centred}) {
    Christiansen::Options options{problem.lambda, problem.step, 1, 0.7F, 1.3F};
    options.centred = stencil == Stencil::centred;
    const MatrixImage want = Christiansen(noisy, options).step(factor);
    CpuReference reference(problem, stencil);
    reference.iterate();
    double length = 0;
    for (std::size_t i = 0; i < want.data.size(); ++i)
      length = std::max(length, std::abs(want.data[i] - factor.data[i]));
    for (std::size_t i = 0; i < want.data.size(); ++i)
      ASSERT_NEAR(reference.factor()[i], want.data[i], 1e-4 * length) << "element " << i;
  }
}

}  // namespace
}  // namespace warploom::bench::sync
