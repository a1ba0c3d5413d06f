#include "warploom/search/distance_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <tuple>
#include <vector>

#include "search/signals.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

struct Set {
  std::vector<float> samples;
  Sequences view;
};
Set walks(std::int64_t count, std::int64_t channels, std::int64_t length, unsigned seed) {
  Set set{random_walk(count * channels * length, seed), {}};
  set.view = Sequences(set.samples.data(), count, channels, length);
  return set;
}

double of_header(const Sequences& x, std::int64_t i, const Sequences& y, std::int64_t j,
                 const DistanceMatrixOptions& options) {
  std::vector<std::span<const float>> a, b;
  for (std::int64_t c = 0; c < x.extent(1); ++c) {
    a.push_back(x[i][c].flat());
    b.push_back(y[j][c].flat());
  }
  return joint_distance(a, b, options.radius, options.normalization, options.warping);
}

class OfShapes : public testing::TestWithParam<std::tuple<int, int, int, Normalization, Warping>> {};

TEST_P(OfShapes, IsTheDistanceOfEachPair) {
  const auto [channels, length, radius, normalization, warping] = GetParam();
  const DistanceMatrixOptions options{.radius = radius, .normalization = normalization, .warping = warping};
  // Numbers of sequences that are no multiple of a vector's lanes.
  const Set x = walks(7, channels, length, 1), y = walks(37, channels, length, 2);
  std::vector<float> out(7 * 37), turned(37 * 7);
  distance_matrix(x.view, y.view, Matrix<float>(out.data(), 7, 37), options);
  distance_matrix(y.view, x.view, Matrix<float>(turned.data(), 37, 7), options);
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 37; ++j) {
      const double want = of_header(x.view, i, y.view, j, options);
      EXPECT_NEAR(out[i * 37 + j], want, 1e-4 * want + 1e-6) << i << ", " << j;
      EXPECT_EQ(out[i * 37 + j], turned[j * 7 + i]) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(DistanceMatrix, OfShapes,
                         testing::Combine(testing::Values(1, 3), testing::Values(1, 2, 33, 100),
                                          testing::Values(0, 5, 1000),
                                          testing::Values(Normalization::none, Normalization::z),
                                          testing::Values(Warping::together, Warping::each)));

TEST(DistanceMatrix, OfOneSetIsThatOfItAndACopy) {
  const Set x = walks(70, 2, 40, 3), copy = x.samples.empty() ? x : Set{x.samples, {}};
  std::vector<float> half(70 * 70, -1), whole(70 * 70);
  distance_matrix(x.view, x.view, Matrix<float>(half.data(), 70, 70), {.radius = 4});
  distance_matrix(x.view, Sequences(copy.samples.data(), 70, 2, 40), Matrix<float>(whole.data(), 70, 70),
                  {.radius = 4});
  EXPECT_EQ(half, whole);
  for (int i = 0; i < 70; ++i) EXPECT_EQ(half[i * 70 + i], 0);
}

// Parts of larger arrays, and turned ones.
TEST(DistanceMatrix, ReadsSequencesWithStrides) {
  const std::int64_t n = 19, m = 31;
  for (const std::int64_t channels : {1, 3}) {
    const Set x = walks(static_cast<int>(n), static_cast<int>(channels), static_cast<int>(m), 8);
    const std::int64_t step = channels * n;  // samples outermost: [m, channels, n], the last sequence first
    std::vector<float> turned(static_cast<std::size_t>(m * step)), wide(x.samples.size() * 2, NAN);
    for (std::int64_t s = 0; s < n; ++s)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < m; ++i) {
          const float sample = x.view(s, c, i);
          turned[static_cast<std::size_t>(i * step + c * n + n - 1 - s)] = sample;
          wide[static_cast<std::size_t>((2 * s * channels + c) * m + i)] = sample;
        }
    for (const Normalization normalization : {Normalization::none, Normalization::z})
      for (const Warping warping : {Warping::together, Warping::each}) {
        const DistanceMatrixOptions options{.radius = 4, .normalization = normalization, .warping = warping};
        const auto of = [&](const StridedSequences& all, const StridedSequences& others) {
          std::vector<float> out(static_cast<std::size_t>(n * others.shape[0]));
          distance_matrix(all, others, Matrix<float>(out.data(), n, others.shape[0]), options);
          return out;
        };
        const StridedSequences part(wide.data(), {n, channels, m}, {2 * channels * m, m, 1}),
            other(turned.data() + n - 1, {n, channels, m}, {-1, n, step});
        const std::vector<float> want = of(x.view, x.view);
        EXPECT_EQ(of(part, part), want);
        EXPECT_EQ(of(other, other), want);
        EXPECT_EQ(of(part, other), want);
      }
  }
}

TEST(DistanceMatrix, DoesNotDependOnTheNumberOfThreads) {
  const Set x = walks(50, 1, 200, 4), y = walks(60, 1, 200, 5);
  std::vector<float> one(50 * 60), three(50 * 60);
  distance_matrix(x.view, y.view, Matrix<float>(one.data(), 50, 60), {.radius = 20, .run = {.threads = 1}});
  distance_matrix(x.view, y.view, Matrix<float>(three.data(), 50, 60), {.radius = 20, .run = {.threads = 3}});
  EXPECT_EQ(one, three);
}

TEST(DistanceMatrix, OfConstantSequencesIsOneAndZero) {
  const std::vector<float> constant(20, 7), walk = random_walk(20, 6);
  float out = -1;
  distance_matrix(Sequences(constant.data(), 1, 1, 20), Sequences(walk.data(), 1, 1, 20),
                  Matrix<float>(&out, 1, 1), {.radius = 3});
  EXPECT_NEAR(out, 1, 1e-6);
  distance_matrix(Sequences(constant.data(), 1, 1, 20), Sequences(constant.data(), 1, 1, 20),
                  Matrix<float>(&out, 1, 1), {.radius = 3});
  EXPECT_EQ(out, 0);
}

TEST(DistanceMatrix, StopsWhereItIsAsked) {
  const Set x = walks(50, 1, 50, 7);
  std::vector<float> out(50 * 50);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(distance_matrix(x.view, x.view, Matrix<float>(out.data(), 50, 50), {.run = {.stop = &stop}}),
               Interrupted);
}

}  // namespace
}  // namespace warploom::search
