#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "imaging/eigen_lanes.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using Tensor = std::array<double, 6>;

std::array<double, 3> times(const Tensor& t, const std::array<double, 3>& v) {
  return {t[0] * v[0] + t[1] * v[1] + t[2] * v[2], t[1] * v[0] + t[3] * v[1] + t[4] * v[2],
          t[2] * v[0] + t[4] * v[1] + t[5] * v[2]};
}

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The definition, to the header's tolerance.
void expect_eigen(const Tensor& tensor) {
  const Eigen3 result = eigen(tensor);
  double scale = 0;
  for (const double value : result.values) scale = std::max(scale, std::abs(value));
  EXPECT_GE(result.values[0], result.values[1]);
  EXPECT_GE(result.values[1], result.values[2]);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto image = times(tensor, result.vectors[i]);
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(image[c], result.values[i] * result.vectors[i][c], 1e-14 * scale);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(dot(result.vectors[i], result.vectors[j]), i == j ? 1 : 0, 1e-14);
    std::size_t largest = 0;
    for (std::size_t c = 1; c < 3; ++c)
      if (std::abs(result.vectors[i][c]) > std::abs(result.vectors[i][largest])) largest = c;
    EXPECT_GT(result.vectors[i][largest], 0);
  }
}

TEST(Eigen, SolvesRandomTensors) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    Tensor tensor;
    for (double& element : tensor) element = normal(engine);
    expect_eigen(tensor);
  }
}

TEST(Eigen, GivesKnownValues) {
  const Eigen3 result = eigen({2, 1, 0, 2, 0, 5});  // [2 1; 1 2] has 3 and 1
  EXPECT_NEAR(result.values[0], 5, 1e-14);
  EXPECT_NEAR(result.values[1], 3, 1e-14);
  EXPECT_NEAR(result.values[2], 1, 1e-14);
  EXPECT_NEAR(result.vectors[0][2], 1, 1e-14);
  EXPECT_NEAR(result.vectors[1][0], std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(result.vectors[1][1], std::sqrt(0.5), 1e-14);
}

TEST(Eigen, KeepsItsAccuracyWhereEigenvaluesCoincide) {
  // a I + c u u^T has a double root; a perturbation of 1e-9 nearly so.
  for (const double c : {1.4, 1e-3, -0.2, 1e-9, 0.0})
    for (const double perturbation : {0.0, 1e-9, 1e-15}) {
      const double x = 0.48, y = -0.6, z = 0.64;
      SCOPED_TRACE(testing::Message() << c << " " << perturbation);
      expect_eigen({0.3 + c * x * x + perturbation, c * x * y, c * x * z, 0.3 + c * y * y, c * y * z,
                    0.3 + c * z * z});
    }
}

TEST(Eigen, TakesAnyMagnitude) {
  for (const double scale : {1e-100, 1e-20, 1e20, 1e100}) {
    SCOPED_TRACE(scale);
    expect_eigen({3 * scale, scale, -scale, 2 * scale, 0.5 * scale, -scale});
  }
}

TEST(Eigen, OfTheZeroTensorAreZerosAndTheAxes) {
  const Eigen3 result = eigen({0, 0, 0, 0, 0, 0});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.values[i], 0);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(result.vectors[i][c], i == c ? 1 : 0);
  }
}

// Tensors that are done after different numbers of sweeps stand beside each other; zeros of both signs, and
// values that agree.
TEST(Eigen, ManySideBySideHaveTheBitsOfOne) {
  std::vector<const EigenLoops*> sets{&baseline::eigen_loops, &eigen_loops_of_this_processor()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&avx2::eigen_loops);
#endif
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 200; ++round) {
    EigenLanes start;
    for (std::size_t i = 0; i < EigenLanes::kCount; ++i) {
      const int kind = static_cast<int>(random() % 6);
      const double scale = kind == 5 ? 1e-30 : 1;
      for (auto& element : start.tensor) element[i] = scale * double(normal(random));
      if (kind == 1) start.tensor[1][i] = start.tensor[2][i] = start.tensor[4][i] = 0;
      if (kind == 2) start.tensor[4][i] = -0.0;
      if (kind == 3)
        for (auto& element : start.tensor) element[i] = std::round(element[i]);
      if (kind == 4) start.tensor[3][i] = start.tensor[5][i] = start.tensor[0][i];
    }
    for (const EigenLoops* set : sets) {
      EigenLanes lanes = start;
      set->decompose(lanes);
      for (std::size_t i = 0; i < EigenLanes::kCount; ++i) {
        Tensor tensor{};
        for (std::size_t c = 0; c < 6; ++c) tensor[c] = start.tensor[c][i];
        Eigen3 got;
        for (std::size_t k = 0; k < 3; ++k) {
          got.values[k] = lanes.values[k][i];
          for (std::size_t c = 0; c < 3; ++c) got.vectors[k][c] = lanes.vectors[k][c][i];
        }
        const Eigen3 want = eigen(tensor);
        ASSERT_EQ(std::memcmp(&got, &want, sizeof want), 0) << "round " << round << ", lane " << i;
      }
    }
  }
}

}  // namespace
}  // namespace warploom::imaging
