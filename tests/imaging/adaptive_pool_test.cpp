#include "imaging/adaptive_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace warploom::imaging {
namespace {

// Random terms on a small grid with holes; information is positive definite.
AdaptiveTerms random_terms(const Grid& grid) {
  AdaptiveTerms terms;
  terms.grid = grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  std::mt19937 engine(7);
  const auto uniform = [&] { return static_cast<float>(engine()) / 4294967296.0F - 0.5F; };
  terms.fitted.resize(voxels);
  for (auto& inside : terms.fitted) inside = uniform() < 0.4F ? 1 : 0;
  for (auto* const values : {&terms.guide, &terms.measured, &terms.denoised}) {
    values->resize(6 * voxels);
    for (float& value : *values) value = uniform();
  }
  for (auto* const matrices : {&terms.information, &terms.metric}) {
    matrices->resize(kTriangle * voxels);
    for (std::size_t v = 0; v < voxels; ++v)
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j <= i; ++j)
          (*matrices)[static_cast<std::size_t>(triangle(i, j)) * voxels + v] =
              i == j ? 6 + uniform() : uniform();
  }
  return terms;
}

// The definition in the header of fit_tensors_adaptively(), one pair of voxels after the other.
class Obvious {
 public:
  explicit Obvious(const AdaptiveTerms& terms)
      : t_(terms), voxels_(static_cast<std::int64_t>(terms.fitted.size())) {}

  AdaptiveSums sums(std::array<std::int64_t, 3> at, double bandwidth, std::int64_t radius) const {
    AdaptiveSums result;
    if (!usable(at)) return result;
    for (std::int64_t z = -radius; z <= radius; ++z)
      for (std::int64_t y = -radius; y <= radius; ++y)
        for (std::int64_t x = -radius; x <= radius; ++x) {
          const std::array<std::int64_t, 3> other{at[0] + x, at[1] + y, at[2] + z};
          if (!usable(other)) continue;
          double sum = distance(at, other), count = 1;
          for (std::size_t axis = 0; axis < 3; ++axis)
            for (const int side : {-1, 1}) {
              auto p = at, q = other;
              p[axis] += side, q[axis] += side;
              if (usable(p) && usable(q)) sum += 0.25 * distance(p, q), count += 0.25;
            }
          const double w = std::exp(-std::max(0.0, sum / count - 4) / bandwidth);
          if (w < 1e-3) continue;
          for (int k = 0; k < kTriangle; ++k)
            result.information[k] += static_cast<float>(w) * t_.information[index(other, k)];
          for (int k = 0; k < 6; ++k) {
            result.measured[k] += static_cast<float>(w) * t_.measured[index(other, k)];
            result.denoised[k] += static_cast<float>(w) * t_.denoised[index(other, k)];
          }
          result.weights += static_cast<float>(w);
        }
    return result;
  }

 private:
  std::size_t index(const std::array<std::int64_t, 3>& p, int element) const {
    return static_cast<std::size_t>(element * voxels_ + (p[2] * t_.grid.ny + p[1]) * t_.grid.nx + p[0]);
  }
  bool usable(const std::array<std::int64_t, 3>& p) const {
    return p[0] >= 0 && p[1] >= 0 && p[2] >= 0 && p[0] < t_.grid.nx && p[1] < t_.grid.ny &&
           p[2] < t_.grid.nz && t_.fitted[index(p, 0)] != 0;
  }
  double distance(const std::array<std::int64_t, 3>& p, const std::array<std::int64_t, 3>& q) const {
    double sum = 0;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        const int element = triangle(std::max(i, j), std::min(i, j));
        const double metric = (static_cast<double>(t_.metric[index(p, element)]) +
                               static_cast<double>(t_.metric[index(q, element)])) /
                              2;
        sum += metric * static_cast<double>(t_.guide[index(p, i)] - t_.guide[index(q, i)]) *
               static_cast<double>(t_.guide[index(p, j)] - t_.guide[index(q, j)]);
      }
    return sum;
  }

  const AdaptiveTerms& t_;
  std::int64_t voxels_;
};

TEST(AdaptivePool, SumsAreThoseOfTheDefinition) {
  AdaptiveTerms terms = random_terms(Grid{7, 6, 5});
  const Obvious obvious(terms);
  const double bandwidths[] = {2, 0.5};
  const auto both = pool_brick(terms.view(), bandwidths, 2, {{0, 0, 0}, {7, 6, 5}});
  ASSERT_EQ(both.size(), 2U);
  for (std::size_t which = 0; which < 2; ++which) {
    const auto& sums = both[which];
    std::size_t k = 0;
    for (std::int64_t z = 0; z < 5; ++z)
      for (std::int64_t y = 0; y < 6; ++y)
        for (std::int64_t x = 0; x < 7; ++x, ++k) {
          const AdaptiveSums want = obvious.sums({x, y, z}, bandwidths[which], 2);
          ASSERT_NEAR(sums[k].weights, want.weights, 1e-4F);
          for (int i = 0; i < kTriangle; ++i) ASSERT_NEAR(sums[k].information[i], want.information[i], 1e-3F);
          for (int i = 0; i < 6; ++i) {
            ASSERT_NEAR(sums[k].measured[i], want.measured[i], 1e-4F);
            ASSERT_NEAR(sums[k].denoised[i], want.denoised[i], 1e-4F);
          }
        }
  }
}

TEST(AdaptivePool, DoesNotDependOnTheBricks) {
  AdaptiveTerms terms = random_terms(Grid{9, 5, 4});
  const double bandwidth[] = {3};
  const auto whole = pool_brick(terms.view(), bandwidth, 2, {{0, 0, 0}, {9, 5, 4}})[0];
  const auto part = pool_brick(terms.view(), bandwidth, 2, {{2, 1, 3}, {5, 3, 4}})[0];
  std::size_t k = 0;
  for (std::size_t y = 1; y < 3; ++y)
    for (std::size_t x = 2; x < 5; ++x, ++k) EXPECT_EQ(part[k].weights, whole[(3 * 5 + y) * 9 + x].weights);
}

}  // namespace
}  // namespace warploom::imaging
