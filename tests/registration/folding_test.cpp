#include "warploom/registration/folding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "registration/positive_step.hpp"
#include "registration/scenes.hpp"
#include "warploom/core/run.hpp"

namespace warploom::registration {
namespace {

using Kind = FoldCertificate::Kind;

/// The determinant of one cell's map at a point of it, from the derivative of the trilinear formula itself,
/// over the volume of a voxel. Displacements are multiples of 1/64: in long double nothing is rounded but the
/// last bits.
long double determinant_at(const DisplacementField& cell, long double u, long double v, long double w) {
  long double j[3][3];
  const std::size_t voxels = cell.mm.size() / 3;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t axis = 0; axis < 3; ++axis) j[c][axis] = cell.space.to_world[c][axis];
    for (std::size_t n = 0; n < voxels; ++n) {
      const bool x = n & 1, y = n & 2, z = n & 4;
      const long double d = cell.mm[c * voxels + n];
      const long double bx = x ? u : 1 - u, by = y ? v : 1 - v, bz = voxels == 4 ? 1 : z ? w : 1 - w;
      j[c][0] += d * (x ? 1 : -1) * by * bz;
      j[c][1] += d * bx * (y ? 1 : -1) * bz;
      if (voxels == 8) j[c][2] += d * bx * by * (z ? 1 : -1);
    }
  }
  const auto minor = [&](int a, int b) { return j[1][a] * j[2][b] - j[1][b] * j[2][a]; };
  return (j[0][0] * minor(1, 2) - j[0][1] * minor(0, 2) + j[0][2] * minor(0, 1)) /
         static_cast<long double>(io::determinant(cell.space.to_world));
}

/// Over all multiples of 1/steps.
double least_sampled(const DisplacementField& cell, int steps) {
  long double least = std::numeric_limits<long double>::infinity();
  const int deep = cell.space.grid.nz > 1 ? steps : 0;
  for (int z = 0; z <= deep; ++z)
    for (int y = 0; y <= steps; ++y)
      for (int x = 0; x <= steps; ++x)
        least = std::min(
            least, determinant_at(cell, static_cast<long double>(x) / steps,
                                  static_cast<long double>(y) / steps, static_cast<long double>(z) / steps));
  return static_cast<double>(least);
}

DisplacementField random_field(const Space& space, std::mt19937& random, double reach) {
  DisplacementField field = zero_field(space);
  std::uniform_real_distribution<double> anywhere(-reach, reach);
  for (float& value : field.mm) value = static_cast<float>(std::round(64 * anywhere(random)) / 64);
  return field;
}

TEST(Folding, VerdictsOnRandomCellsAreThoseOfDenseSampling) {
  std::mt19937 random(7);
  int proved = 0, folded = 0, hidden = 0, subdivided = 0;
  for (int n = 0; n < 1500; ++n) {
    const DisplacementField cell = random_field(box(2, 2, 2), random, 0.25 + 0.3 * (n % 3));
    const FoldCertificate found = certify(cell);
    const double sampled = least_sampled(cell, 8), corners = least_sampled(cell, 1);
    ASSERT_NEAR(found.smallest_determinant, corners, 1e-12);
    ASSERT_LE(found.lower_bound, sampled);
    if (found.proved()) {
      ++proved;
      ASSERT_GT(sampled, 0);
      ASSERT_GT(found.lower_bound, 0);
      subdivided += found.kind == Kind::subdivided;
    } else {
      ASSERT_EQ(found.folded, 1) << "undecided";
      ++folded;
      if (corners > 0) {
        ++hidden;  // the points that the search looks at are multiples of 1/64
        ASSERT_LE(least_sampled(cell, 64), 1e-15);
      }
    }
  }
  // All ways to a verdict were taken, and corners alone would have been wrong.
  EXPECT_GT(proved, 400);
  EXPECT_GT(folded, 400);
  EXPECT_GT(hidden, 5);
  EXPECT_GT(subdivided, 10);
}

TEST(Folding, ObliqueAndReflectedVoxelsGiveTheSameVerdict) {
  constexpr Affine kReflected{{{0.5, -2, 0.25, 9}, {1.5, 0.5, 0.125, -4}, {0.25, 0.125, -3, 0}}};
  ASSERT_LT(io::determinant(kReflected), -1);
  std::mt19937 random(3);
  for (int n = 0; n < 200; ++n) {
    const DisplacementField cell = random_field(box(2, 2, 2, kReflected), random, 1);
    const FoldCertificate found = certify(cell);
    EXPECT_NEAR(found.smallest_determinant, least_sampled(cell, 1), 1e-12);
    EXPECT_EQ(found.proved(), least_sampled(cell, 16) > 0 && found.folded == 0);
  }
}

TEST(Folding, CornersAreExactInTwoDimensions) {
  std::mt19937 random(5);
  int folded = 0;
  for (int n = 0; n < 300; ++n) {
    const DisplacementField cell = random_field(box(2, 2, 1), random, 0.6);
    const FoldCertificate found = certify(cell);
    EXPECT_NEAR(found.smallest_determinant, least_sampled(cell, 16), 1e-12);
    EXPECT_EQ(found.kind, least_sampled(cell, 16) > 1e-6 ? Kind::corners : Kind::none);
    folded += static_cast<int>(found.folded);
  }
  EXPECT_GT(folded, 30);
}

TEST(Folding, RowsOfAnyLengthAreSeenWhole) {
  for (std::int64_t nx = 1; nx <= 20; ++nx) {
    DisplacementField field = zero_field(box(nx, 3, 2));
    EXPECT_EQ(certify(field).smallest_determinant, 1);
    EXPECT_EQ(certify(field).cells, std::max<std::int64_t>(nx - 1, 1) * 2);
    if (nx < 2) continue;
    field.mm[static_cast<std::size_t>(nx - 1)] =
        -1.5F;  // the last voxel of the first row steps over the one before
    const FoldCertificate found = certify(field);
    EXPECT_EQ(found.folded, 1) << nx;
    EXPECT_DOUBLE_EQ(found.smallest_determinant, -0.5);
  }
}

TEST(Folding, AnUnknownDisplacementIsNoProof) {
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    DisplacementField field = zero_field(box(12, 4, 4));
    field.mm[17] = value;
    const FoldCertificate found = certify(field);
    EXPECT_FALSE(found.proved());
    EXPECT_GT(found.undecided + found.folded, 0);
  }
}

TEST(Folding, TheBoundCoversAnAffineRoundedToFloat) {
  // A determinant that is positive by less than the rounding of the affine's numbers is no proof.
  DisplacementField field = zero_field(box(2, 2, 2));
  for (std::size_t n = 1; n < 8; n += 2) field.mm[n] = -1 + 0x1p-23F;
  EXPECT_GT(certify(field).smallest_determinant, 0);
  EXPECT_FALSE(certify(field).proved());
}

TEST(Folding, OneThreadFindsTheSame) {
  std::mt19937 random(11);
  const DisplacementField field = random_field(box(19, 13, 9), random, 0.5);
  const FoldCertificate many = certify(field);
  const RunScope one({.threads = 1});
  const FoldCertificate single = certify(field);
  EXPECT_EQ(many.lower_bound, single.lower_bound);
  EXPECT_EQ(many.folded, single.folded);
}

TEST(Jacobian, OfAnAffineIsItsDeterminant) {
  constexpr Affine kStretch{{{1.25, 0.5, 0, 1}, {0, 0.75, 0.25, -2}, {0, 0, 2, 0}}};
  const imaging::Image map =
      jacobian_determinant(field_of(kStretch, box(5, 4, 3, {{{0, -2, 0, 5}, {2, 0, 0, 1}, {0, 0, 3, 0}}})));
  for (const float value : map.data) EXPECT_NEAR(value, 1.25 * 0.75 * 2, 1e-5);
}

// A vortex and noise that fold many cells.
DisplacementField turbulent(const Space& space, double reach) {
  std::mt19937 random(2);
  return random_field(space, random, reach);
}

TEST(PositiveStep, NothingFoldsAfterTheLimit) {
  const Space space = box(24, 17, 11);
  DisplacementField proposed = turbulent(space, 1.5);
  const DisplacementField current = turbulent(space, 0.05);
  ASSERT_GT(certify(current).lower_bound, 0.3);
  ASSERT_GT(certify(proposed).folded, 1000);
  const StepLimit limit = limit_step(space.grid, space.to_world, current.mm, proposed.mm, 0.05);
  EXPECT_EQ(limit.failing, 0);
  EXPECT_GT(limit.limited, 1000);
  EXPECT_GT(certify(proposed).lower_bound, 0.05);
}

TEST(PositiveStep, AStepThatReflectsSpaceIsTakenBack) {
  const Space space = box(9, 8, 7);
  DisplacementField proposed = field_of({{{-1, 0, 0, 8}, {0, 1, 0, 0}, {0, 0, 1, 0}}}, space);
  const StepLimit limit = limit_step(space.grid, space.to_world, zero_field(space).mm, proposed.mm, 0.05);
  EXPECT_EQ(limit.failing, 0);
  EXPECT_GT(certify(proposed).lower_bound, 0.05);
}

TEST(PositiveStep, ALimitIsLocal) {
  const Space space = box(20, 20, 20);
  const DisplacementField current = zero_field(space);
  DisplacementField proposed = field_of({{{1.1, 0, 0, 0}, {0, 0.9, 0, 0}, {0, 0, 1, 0.5}}}, space);
  const std::vector<float> before = proposed.mm;
  const std::size_t middle = (10 * 20 + 10) * 20 + 10;
  proposed.mm[middle] += 3;
  limit_step(space.grid, space.to_world, current.mm, proposed.mm, 0.05);
  EXPECT_GT(certify(proposed).lower_bound, 0.05);
  for (std::size_t v = 0; v < 8000; ++v) {
    const std::size_t x = v % 20, y = v / 20 % 20, z = v / 400;
    if (x < 6 || x > 14 || y < 6 || y > 14 || z < 6 || z > 14) {
      ASSERT_EQ(proposed.mm[v], before[v]);
    }
  }
}

TEST(PositiveStep, SmoothingEndsFolds) {
  const Space space = box(24, 17, 11, {{{2, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1.5, 0}}});
  DisplacementField field = turbulent(space, 0.7);
  ASSERT_GT(certify(field).folded, 100);
  EXPECT_EQ(smooth_folds(space.grid, space.to_world, field.mm, 0.05).failing, 0);
  EXPECT_GT(certify(field).lower_bound, 0.05);
  const std::vector<float> before = field.mm;
  EXPECT_EQ(smooth_folds(space.grid, space.to_world, field.mm, 0.05).limited, 0);
  EXPECT_EQ(field.mm, before);
}

TEST(PositiveStep, SmoothingEndsFoldsInTwoDimensions) {
  const Space space = box(40, 30, 1);
  DisplacementField field = turbulent(space, 0.9);
  for (std::size_t v = 0; v < 1200; ++v) field.mm[2400 + v] = 0;
  ASSERT_GT(certify(field).folded, 100);
  EXPECT_EQ(smooth_folds(space.grid, space.to_world, field.mm, 0.05).failing, 0);
  EXPECT_TRUE(certify(field).proved());
}

}  // namespace
}  // namespace warploom::registration
