#include "imaging/positive_tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using SixNumbers = std::array<double, 6>;

class PositiveTensor : public testing::Test {
 protected:
  double normal() { return distribution_(engine_); }

  SixNumbers random_tensor() {
    SixNumbers tensor;
    for (double& element : tensor) element = normal();
    return tensor;
  }

  // A A^T of a random A with columns of lengths 1 to 1 / spread.
  SquareMatrix<6> random_metric(double spread) {
    SquareMatrix<6> a, metric{};
    for (auto& row : a)
      for (std::size_t c = 0; c < 6; ++c) row[c] = normal() * std::pow(spread, -double(c) / 5);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        for (std::size_t k = 0; k < 6; ++k) metric[i][j] += a[i][k] * a[j][k];
    return metric;
  }

 private:
  std::mt19937 engine_{3};
  std::normal_distribution<double> distribution_;
};

// Karush, Kuhn and Tucker's conditions, which only the minimiser of a convex problem satisfies: with G the
// gradient, D and G have no negative eigenvalue and <G, D> = 0. With the first two, <G, D> bounds the
// distance to the minimum.
void expect_minimiser(const SixNumbers& d, const SixNumbers& free, const SquareMatrix<6>& metric) {
  SixNumbers gradient;
  double at_zero = 0, scale = 0, product = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    double slope = 0;
    for (std::size_t j = 0; j < 6; ++j) {
      slope += metric[i][j] * (d[j] - free[j]);
      scale = std::max(scale, std::abs(metric[i][j] * free[j]));
      at_zero += free[i] * metric[i][j] * free[j] / 2;
    }
    gradient[i] = slope / (i == 1 || i == 2 || i == 4 ? 2 : 1);
    product += slope * d[i];
  }
  EXPECT_GT(eigen(d).values[2], 0);
  EXPECT_GE(eigen(gradient).values[2], -1e-8 * scale);
  EXPECT_NEAR(product, 0, 1e-9 * at_zero);
}

TEST_F(PositiveTensor, IsTheMinimiser) {
  for (const double spread : {1.0, 10.0, 100.0})
    for (int repeat = 0; repeat < 500; ++repeat) {
      const auto free = random_tensor();
      if (eigen(free).values[2] >= 0) continue;
      const auto metric = random_metric(spread);
      SCOPED_TRACE(testing::Message() << "spread " << spread << ", " << repeat);
      expect_minimiser(positive_tensor(free, metric), free, metric);
    }
}

TEST_F(PositiveTensor, InTheFrobeniusNormDropsNegativeEigenvalues) {
  SquareMatrix<6> metric{};
  for (std::size_t k = 0; k < 6; ++k) metric[k][k] = k == 1 || k == 2 || k == 4 ? 2 : 1;
  const auto d = positive_tensor({1, 0, 0, 0.5, 0, -0.25}, metric);
  const SixNumbers expected{1, 0, 0, 0.5, 0, 0};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(d[k], expected[k], 1e-8);
}

TEST_F(PositiveTensor, OfANegativeTensorIsZero) {
  SquareMatrix<6> metric{};
  for (std::size_t k = 0; k < 6; ++k) metric[k][k] = k == 1 || k == 2 || k == 4 ? 2 : 1;
  for (const double element : positive_tensor({-1, 0.1, 0, -0.5, 0, -0.25}, metric))
    EXPECT_NEAR(element, 0, 1e-7);
}

}  // namespace
}  // namespace warploom::imaging
