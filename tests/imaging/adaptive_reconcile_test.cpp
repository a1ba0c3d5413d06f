#include "imaging/adaptive_reconcile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace warploom::imaging {
namespace {

const double kC = std::cos(0.3), kS = std::sin(0.3);
// Values `a`, `b`, `c` along axes turned by 0.3 about z, and not turned.
SixElements turned(double a, double b, double c) {
  return {a * kC * kC + b * kS * kS, (a - b) * kC * kS, 0, a * kS * kS + b * kC * kC, 0, c};
}
SixElements straight(double a, double b, double c) { return {a, 0, 0, b, 0, c}; }

void expect_near(const SixElements& got, const SixElements& want) {
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << "element " << i;
}

TEST(AdaptiveReconcile, WithoutDisagreementTheWideEstimateStays) {
  expect_near(reconciled_tensor(turned(0.5, 1.5, 0.3), straight(2, 0.4, 0.2), 0), turned(0.5, 1.5, 0.3));
}

TEST(AdaptiveReconcile, WhereTheyDifferFarEigenvaluesAreTheNarrowOnesAndEigenvectorsTheWideOnes) {
  // The largest value lies along y of the wide estimate and along x of the narrow one.
  expect_near(reconciled_tensor(turned(0.5, 1.5, 0.3), straight(2, 0.2, 0.4), 1e9), turned(0.4, 2, 0.2));
}

TEST(AdaptiveReconcile, HalfOfTheWayIsGoneAtTheDisagreementThatSaysSo) {
  expect_near(reconciled_tensor(straight(1, 0.5, 0.2), straight(2, 0.7, 0.4), 0.15), straight(1.5, 0.6, 0.3));
}

TEST(AdaptiveReconcile, NoEigenvalueIsNegative) {
  expect_near(reconciled_tensor(straight(1, 0.5, 0), straight(2, 0.5, -1), 1e9), straight(2, 0.5, 0));
}

TEST(AdaptiveReconcile, DisagreementIsAMeanOverElementsInUnitsOfInformation) {
  AdaptiveSums sums;
  for (int i = 0; i < 6; ++i) sums.information[triangle(i, i)] = 2;
  sums.information[triangle(1, 0)] = 0.5F;
  const SixElements wide = straight(1, 1, 1);
  SixElements narrow = wide;
  narrow[0] += 3, narrow[1] += 1;
  // (2 * 9 + 2 * 1 + 2 * 0.5 * 3) / 6
  EXPECT_NEAR(disagreement(sums, narrow, wide), 23.0 / 6, 1e-12);
}

TEST(AdaptiveReconcile, MeansAreOverTheFittedAlone) {
  AdaptiveTerms terms;
  terms.grid = {3, 2, 1};
  terms.fitted = {1, 1, 0, 1, 1, 1};
  const std::vector<float> map{1, 2, 100, 3, 6, 7};
  EXPECT_DOUBLE_EQ(mean_beside(terms.view(), map.data(), 0), (1 + 2 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(mean_beside(terms.view(), map.data(), 1), (2 + 1 + 6) / 3.0);
  EXPECT_DOUBLE_EQ(mean_beside(terms.view(), map.data(), 5), (7 + 6) / 2.0);
}

TEST(AdaptiveReconcile, IsExpectedWhatBothSeriesSay) {
  const Unknowns row{-0.5, 0, 0, -0.5, 0, 0, 1};
  const SixElements tensor = straight(1, 0.6, 0.2);
  const double predicted = rician_moments(4 * std::exp(-0.8)).mean;
  EXPECT_NEAR(expected_signal(3, row, tensor, 4, rician_table()), 0.3 * 3 + 0.7 * predicted, 1e-6);
  EXPECT_EQ(expected_signal(3, row, tensor, 0, rician_table()), 3);
}

}  // namespace
}  // namespace warploom::imaging
