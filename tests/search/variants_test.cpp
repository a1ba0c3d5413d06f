#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "search/plan.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;
using Matrix3 = std::array<double, 9>;

/// Of a transposed times b.
double trace_of_quotient(const Matrix3& a, const Matrix3& b) {
  double sum = 0;
  for (int k = 0; k < 9; ++k) sum += a[k] * b[k];
  return sum;
}

/// [degrees]
double angle_between(const Matrix3& a, const Matrix3& b) {
  return std::acos(std::clamp((trace_of_quotient(a, b) - 1) / 2, -1.0, 1.0)) * 180 / std::numbers::pi;
}

double determinant(const Matrix3& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

TEST(Rotations, AreRotationsOfWhichTheFirstIsNone) {
  for (int count : {1, 2, 24, 100}) {
    const std::vector<Matrix3> matrices = rotations(count);
    ASSERT_THAT(matrices, SizeIs(count));
    EXPECT_THAT(matrices[0], ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
    for (const Matrix3& m : matrices) {
      EXPECT_NEAR(determinant(m), 1, 1e-12);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          EXPECT_NEAR(m[3 * i] * m[3 * j] + m[3 * i + 1] * m[3 * j + 1] + m[3 * i + 2] * m[3 * j + 2], i == j,
                      1e-12);
    }
  }
}

/// Uniformly among all orientations: a normal quaternion, normalised (K. Shoemake, Graphics Gems III, 1992).
Matrix3 random_rotation(std::mt19937& engine) {
  std::normal_distribution<double> normal;
  double w = normal(engine), x = normal(engine), y = normal(engine), z = normal(engine);
  const double size = std::sqrt(w * w + x * x + y * y + z * z);
  w /= size, x /= size, y /= size, z /= size;
  return {w * w + x * x - y * y - z * z, 2 * (x * y - w * z),           2 * (x * z + w * y),
          2 * (x * y + w * z),           w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
          2 * (x * z - w * y),           2 * (y * z + w * x),           w * w - x * x - y * y + z * z};
}

TEST(Rotations, LeaveNoOrientationFarFromAll) {
  // The 24 rotations of a cube, an optimal code, cover all orientations within 62.8 degrees; 8 times as many
  // could at best halve that. Allowed is a third more.
  for (const auto& [count, allowed] : {std::pair{24, 84.0}, std::pair{192, 42.0}}) {
    const std::vector<Matrix3> matrices = rotations(count);
    std::mt19937 engine(1);
    double farthest = 0;
    for (int k = 0; k < 3000; ++k) {
      const Matrix3 orientation = random_rotation(engine);
      double nearest = 180;
      for (const Matrix3& m : matrices) nearest = std::min(nearest, angle_between(m, orientation));
      farthest = std::max(farthest, nearest);
    }
    EXPECT_LT(farthest, allowed) << count << " rotations";
  }
}

TEST(Rotations, KeepApartFromEachOther) {
  const std::vector<Matrix3> matrices = rotations(24);  // the cube's are 90 degrees apart
  for (std::size_t a = 0; a < matrices.size(); ++a)
    for (std::size_t b = a + 1; b < matrices.size(); ++b)
      EXPECT_GT(angle_between(matrices[a], matrices[b]), 40);
}

TEST(Rotations, AreAsFarFromEachOtherAsThePointsOfTheSpiral) {
  // Alexa, CVPR 2022, algorithm 1, with phi = sqrt(2) and psi^4 = psi + 4.
  const auto point = [](int i) {
    const double s = i + 0.5, t = s / 24, turn = 2 * std::numbers::pi * s;
    const double a = turn / std::sqrt(2), b = turn / 1.533751168755204288118041;
    return std::array<double, 4>{std::sqrt(t) * std::sin(a), std::sqrt(t) * std::cos(a),
                                 std::sqrt(1 - t) * std::sin(b), std::sqrt(1 - t) * std::cos(b)};
  };
  const std::vector<Matrix3> matrices = rotations(24);
  for (int i = 0; i < 24; ++i)
    for (int j = 0; j < i; ++j) {
      double dot = 0;
      for (int k = 0; k < 4; ++k) dot += point(i)[k] * point(j)[k];
      EXPECT_NEAR(angle_between(matrices[i], matrices[j]),
                  2 * std::acos(std::abs(dot)) * 180 / std::numbers::pi, 1e-4);
    }
}

TEST(Rotations, OfNoneAreRefused) { EXPECT_THROW(rotations(0), BadInput); }

TEST(Stretch, InterpolatesBetweenSamples) {
  const std::vector<float> samples = {0, 2, 6};
  EXPECT_THAT(stretch(samples, 5), ElementsAre(0, 1, 2, 4, 6));
  EXPECT_THAT(stretch(samples, 2), ElementsAre(0, 6));
}

TEST(Stretch, ToTheSameLengthChangesNothing) {
  const std::vector<float> samples = random_walk(1000, 1);
  EXPECT_THAT(stretch(samples, 1000), ElementsAreArray(samples));
}

TEST(Stretch, OfOneSampleIsRefused) {
  EXPECT_THROW(stretch(std::vector<float>{1}, 3), BadInput);
  EXPECT_THROW(stretch(std::vector<float>{1, 2}, 1), BadInput);
}

/// A query of three random walks.
class PlanOf : public testing::Test {
 protected:
  PlanOf() {
    for (std::uint32_t c = 0; c < 3; ++c) samples.push_back(random_walk(40, c));
    for (std::int32_t c = 0; c < 3; ++c) query.channels.emplace_back(samples[c]), query.places.push_back(c);
  }
  std::vector<std::vector<float>> samples;
  Query query;
};

TEST_F(PlanOf, HasEveryScaleAndSignOfAChannelInOneGroup) {
  FindOptions options;
  options.scales = {0.8, 1, 1.25};
  const Plan plan = make_plan(query, options, 0.1, Normalization::z);
  ASSERT_THAT(plan.groups, SizeIs(3));
  const Group& group = plan.groups[1];
  ASSERT_EQ(group.patterns, 6);
  std::vector<std::tuple<std::size_t, bool, std::int64_t>> made;
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(plan.variants[group.first_pattern + k].query_channel, 1);
    made.emplace_back(plan.patterns[group.first_pattern + k].samples.size(),
                      plan.variants[group.first_pattern + k].negated,
                      plan.patterns[group.first_pattern + k].radius);
  }
  using T = std::tuple<std::size_t, bool, std::int64_t>;
  EXPECT_THAT(made, ElementsAre(T{32, false, 3}, T{32, true, 3}, T{40, false, 4}, T{40, true, 4},
                                T{50, false, 5}, T{50, true, 5}));
  EXPECT_THAT(plan.patterns[group.plain].samples, ElementsAreArray(samples[1]));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(plan.patterns[group.plain + 1].samples[i], -samples[1][i]);
}

TEST_F(PlanOf, DoesNotNegateWhatIsNotNormalised) {
  const Plan plan = make_plan(query, {}, 0.1, Normalization::none);
  EXPECT_EQ(plan.groups[0].patterns, 1);
}

TEST_F(PlanOf, CutsPartsThatMakeUpTheWholeAtEveryScale) {
  FindOptions options;
  options.segments = 3;
  options.scales = {1, 1.3};
  options.negated = false;
  const Plan plan = make_plan(query, options, 0.1, Normalization::z);
  ASSERT_THAT(plan.groups, SizeIs(3 * 4));
  for (int scale = 0; scale < 2; ++scale) {
    std::vector<float> joined;
    std::int64_t coverage = 0;
    for (int segment = 0; segment < 3; ++segment) {
      const std::int32_t p = plan.groups[1 + segment].first_pattern + scale;
      EXPECT_EQ(plan.variants[p].segment, segment);
      EXPECT_EQ(plan.patterns[p].lead, std::ssize(joined));
      joined.insert(joined.end(), plan.patterns[p].samples.begin(), plan.patterns[p].samples.end());
      coverage += plan.variants[p].coverage;
    }
    EXPECT_THAT(joined, ElementsAreArray(plan.patterns[plan.groups[0].first_pattern + scale].samples));
    EXPECT_EQ(coverage, 40);
  }
}

TEST_F(PlanOf, MixesTheAxesOfASensorInEachRotation) {
  FindOptions options;
  options.rotations = 2;
  options.sensors = {{2, 0, 1}};
  options.negated = false;
  const Plan plan = make_plan(query, options, 0.1, Normalization::z);
  ASSERT_THAT(plan.groups, SizeIs(3 * 3));
  const Matrix3 matrix = rotations(3)[1];
  const int axes[] = {2, 0, 1};
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 40; ++i) {
      double want = 0;
      for (int column = 0; column < 3; ++column) want += matrix[3 * row + column] * samples[axes[column]][i];
      EXPECT_FLOAT_EQ(plan.patterns[3 + axes[row]].samples[i], static_cast<float>(want));
    }
  EXPECT_TRUE(plan.groups[0].axis);
  EXPECT_EQ(plan.variants[3].rotation, 1);
}

TEST_F(PlanOf, LeavesOutConstantChannels) {
  samples[1].assign(40, 7);
  const Plan plan = make_plan(query, {}, 0.1, Normalization::z);
  EXPECT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.constant, ElementsAre(1));
}

TEST(ChannelsFor, AreTheNeighboursOrThoseListed) {
  FindOptions options;
  options.neighbours = 1;
  EXPECT_THAT(channels_for(0, options, 4), ElementsAre(0, 1));
  EXPECT_THAT(channels_for(2, options, 4), ElementsAre(1, 2, 3));
  options.adjacency = {{3}, {}, {0}, {1}};
  EXPECT_THAT(channels_for(0, options, 4), ElementsAre(0, 3));
}

}  // namespace
}  // namespace warploom::search
