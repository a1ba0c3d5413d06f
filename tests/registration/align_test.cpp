#include "warploom/registration/align.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "registration/phantom.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

Affine turned(double degrees, const Point& shift, double scale = 1) {
  // About the axis (1, 2, 2) / 3.
  const double a = degrees * std::numbers::pi / 180, c = std::cos(a), s = std::sin(a);
  const Point n{1 / 3., 2 / 3., 2 / 3.};
  Affine out{};
  const double cross[3][3] = {{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j)
      out[i][j] = scale * ((i == j ? c : 0) + (1 - c) * n[i] * n[j] + s * cross[i][j]);
    out[i][3] = shift[i];
  }
  return out;
}

std::function<Point(const Point&)> map_of(const Affine& affine) {
  return [affine](const Point& p) { return map_point(affine, p); };
}

double error(const Alignment& found, const Affine& truth, const Space& fixed) {
  return mean_distance(fixed, map_of(truth), map_of(found.affine));
}

TEST(EstimateAffine, OfEqualImagesIsTheIdentity) {
  const Space space = space_around(36, 40, 32);
  const PlacedImage head = head_on(space);
  for (const Motion motion : {Motion::rigid, Motion::similarity, Motion::affine})
    EXPECT_LT(error(estimate_affine(head, head, {.motion = motion}), identity_affine(), space), 0.02)
        << name(motion);
}

TEST(EstimateAffine, FindsARigidMotionBetweenObliqueAndAnisotropicGrids) {
  const Space fixed = space_around(40, 44, 24, {1.8, 1.6, 3});
  Space moving = space_around(44, 36, 42, {1.7, 2.1, 1.9});
  // The moving image's head lies aslant and elsewhere, and so does its grid.
  const Affine place = turned(-25, {3, 5, -40}), pose = turned(17, {4, -3, 2});
  moving.to_world = compose(moving.to_world, place);
  const Affine truth = compose(pose, place);
  const auto found = estimate_affine(head_on(fixed, map_of(pose)), head_on(moving, map_of(inverse(place))),
                                     {.motion = Motion::rigid});
  EXPECT_LT(error(found, truth, fixed), 0.16);  // a tenth of the smallest voxel
  EXPECT_NEAR(io::determinant(found.affine), 1, 1e-9);
}

TEST(EstimateAffine, OfExchangedImagesIsTheInverse) {
  const Space fixed = space_around(40, 44, 24, {1.8, 1.6, 3});
  Space moving = space_around(44, 36, 42, {1.7, 2.1, 1.9});
  const Affine place = turned(-25, {3, 5, -40}), pose = turned(17, {4, -3, 2}, 1.05);
  moving.to_world = compose(moving.to_world, place);
  // Bent, so that no map fits and what is found depends on what is asked for.
  const auto bent = [&](const Point& p) {
    return map_point(pose, {p[0] + 1.5 * std::sin(p[1] / 11), p[1] + 1.5 * std::cos(p[2] / 9), p[2]});
  };
  const PlacedImage a = head_on(fixed, bent), b = head_on(moving, map_of(inverse(place)));
  const Affine start = compose(turned(14, {2, -3, 1}), place);
  for (const Motion motion : {Motion::rigid, Motion::affine}) {
    const Affine there = estimate_affine(a, b, {.motion = motion, .start = start}).affine,
                 back = estimate_affine(b, a, {.motion = motion, .start = inverse(start)}).affine;
    EXPECT_LT(mean_distance(fixed, map_of(identity_affine()), map_of(compose(there, back))), 0.05)
        << name(motion);  // .03 voxel
  }
}

TEST(EstimateAffine, FindsAScaleAndAnAffineMap) {
  const Space space = space_around(38, 42, 36);
  const Affine scaled = turned(-12, {4, 3, -5}, 1.12);
  const auto similar =
      estimate_affine(head_on(space, map_of(scaled)), head_on(space), {.motion = Motion::similarity});
  EXPECT_LT(error(similar, scaled, space), 0.2);
  Affine sheared = turned(9, {-3, 4, 2});
  sheared[0][1] += 0.12, sheared[2][2] *= 0.9;
  EXPECT_LT(error(estimate_affine(head_on(space, map_of(sheared)), head_on(space)), sheared, space), 0.2);
}

TEST(EstimateAffine, FindsAHeadThatLiesOnItsSide) {
  const Space space = space_around(36, 40, 36);
  for (const double degrees : {90.0, 150.0, 180.0}) {
    const Affine truth = turned(degrees, {5, -3, 4});
    EXPECT_LT(error(estimate_affine(head_on(space, map_of(truth)), head_on(space), {.motion = Motion::rigid}),
                    truth, space),
              0.2)
        << degrees;
  }
}

// Stores the image with its axes permuted and flipped; it stays where it is in the world.
PlacedImage reordered(const PlacedImage& image, const std::array<std::size_t, 3>& order, int flips) {
  const std::array<std::int64_t, 3> n{image.image.grid.nx, image.image.grid.ny, image.image.grid.nz};
  PlacedImage out = image;
  imaging::Grid& grid = out.image.grid;
  grid.nx = n[order[0]], grid.ny = n[order[1]], grid.nz = n[order[2]];
  for (std::size_t c = 0; c < 3; ++c) grid.spacing[c] = image.image.grid.spacing[order[c]];
  for (std::size_t r = 0; r < 3; ++r) {
    out.to_world[r][3] = image.to_world[r][3];
    for (std::size_t c = 0; c < 3; ++c) {
      const bool flip = (flips >> c & 1) != 0;
      out.to_world[r][c] = (flip ? -1 : 1) * image.to_world[r][order[c]];
      if (flip) out.to_world[r][3] += image.to_world[r][order[c]] * static_cast<double>(n[order[c]] - 1);
    }
  }
  for (std::int64_t z = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x) {
        const std::array<std::int64_t, 3> to{x, y, z};
        std::array<std::int64_t, 3> from{};
        for (std::size_t c = 0; c < 3; ++c)
          from[order[c]] = (flips >> c & 1) != 0 ? n[order[c]] - 1 - to[c] : to[c];
        out.image.data[static_cast<std::size_t>((z * grid.ny + y) * grid.nx + x)] =
            image.image.data[static_cast<std::size_t>((from[2] * n[1] + from[1]) * n[0] + from[0])];
      }
  return out;
}

TEST(EstimateAffine, DoesNotDependOnTheOrderOfAxes) {
  const Space fixed = space_around(30, 34, 26, {2.2, 2.2, 2.3}),
              moving = space_around(31, 28, 30, {2.2, 2.4, 2.1});
  Affine truth = turned(8, {4, -2, 3});
  truth[1][1] *= 1.06;
  const PlacedImage a = head_on(fixed, map_of(truth)), b = head_on(moving);
  const AlignOptions near{.start = turned(5, {3, -1, 2})};
  const Affine first = estimate_affine(a, b, near).affine;
  EXPECT_LT(mean_distance(fixed, map_of(truth), map_of(first)), 0.5);
  const Affine searched = estimate_affine(reordered(a, {2, 0, 1}, 3), reordered(b, {1, 0, 2}, 4)).affine;
  EXPECT_LT(mean_distance(fixed, map_of(truth), map_of(searched)), 0.2);
  std::array<std::size_t, 3> order{0, 1, 2};
  do
    for (int flips = 0; flips < 8; ++flips) {
      // Both images, so that what is fixed is reordered too.
      const Affine found =
          estimate_affine(reordered(a, order, flips), reordered(b, order, 7 - flips), near).affine;
      EXPECT_LT(mean_distance(fixed, map_of(first), map_of(found)), 0.1)  // a twentieth of a voxel

          << order[0] << order[1] << order[2] << ' ' << flips;
    }
  while (std::next_permutation(order.begin(), order.end()));
}

TEST(EstimateAffine, WorksInThePlane) {
  const Space fixed = space_around(64, 70, 1, {1, 1, 1}), moving = space_around(72, 66, 1, {1, 1, 1});
  const double a = 0.5;
  const Affine truth{{{std::cos(a), -std::sin(a), 0, 5}, {std::sin(a), std::cos(a), 0, -4}, {0, 0, 1, 0}}};
  const auto found =
      estimate_affine(head_on(fixed, map_of(truth)), head_on(moving), {.motion = Motion::rigid});
  EXPECT_LT(error(found, truth, fixed), 0.1);
  EXPECT_LT(error(estimate_affine(head_on(fixed, map_of(truth)), head_on(moving)), truth, fixed), 0.1);
}

TEST(EstimateAffine, AlignsImagesOfDifferentKindsByMutualInformation) {
  const Space space = space_around(36, 40, 32);
  const Affine truth = turned(10, {3, -2, 4});
  PlacedImage moving = head_on(space);
  for (float& v : moving.image.data)
    v = 90 * std::exp(-v / 40) + 20 * std::sin(v / 9);  // dark where the other is bright, and not one to one
  const auto found = estimate_affine(head_on(space, map_of(truth)), moving,
                                     {.motion = Motion::rigid, .measure = Measure::nmi});
  EXPECT_LT(error(found, truth, space), 0.4);
}

TEST(EstimateAffine, LeavesOutWhatMasksLeaveOut) {
  const Space space = space_around(36, 40, 32);
  const Affine truth = turned(10, {3, -2, 4});
  PlacedImage fixed = head_on(space, map_of(truth));
  imaging::Mask mask(fixed.image.data.size(), 1);
  // Something in the fixed image that the moving one has not, and values that are none.
  for (std::int64_t z = 4; z < 14; ++z)
    for (std::int64_t y = 8; y < 22; ++y)
      for (std::int64_t x = 6; x < 18; ++x) {
        const auto at = static_cast<std::size_t>((z * 40 + y) * 36 + x);
        fixed.image.data[at] = x % 3 == 0 ? std::nanf("") : 400.0F * static_cast<float>((x + y) % 2);
        mask[at] = 0;
      }
  EXPECT_LT(error(estimate_affine(fixed, head_on(space), {.motion = Motion::rigid, .fixed_mask = mask}),
                  truth, space),
            0.2);
}

TEST(EstimateAffine, DoesNotDependOnTheNumberOfThreads) {
  const Space space = space_around(30, 33, 29);
  const PlacedImage fixed = head_on(space, map_of(turned(10, {3, -2, 4}))), moving = head_on(space);
  const Affine one = estimate_affine(fixed, moving, {.run = {.threads = 1}}).affine;
  EXPECT_EQ(one, estimate_affine(fixed, moving, {.run = {.threads = 3}}).affine);
}

TEST(EstimateAffine, RefusesWhatCannotBeAligned) {
  const PlacedImage head = head_on(space_around(20, 20, 20));
  const PlacedImage slice = head_on(space_around(20, 20, 1));
  EXPECT_THROW(estimate_affine(head, slice), BadInput);
  const PlacedImage sagittal = head_on(space_around(1, 20, 20));
  EXPECT_THROW(estimate_affine(sagittal, sagittal), BadInput);
  EXPECT_THROW(estimate_affine(head, sagittal), BadInput);
  PlacedImage constant = head;
  std::fill(constant.image.data.begin(), constant.image.data.end(), 7.0F);
  EXPECT_THROW(estimate_affine(head, constant), BadInput);
  std::fill(constant.image.data.begin(), constant.image.data.end(), std::nanf(""));
  EXPECT_THROW(estimate_affine(constant, head), BadInput);
  EXPECT_THROW(estimate_affine(head, head, {.fixed_mask = imaging::Mask(8000, 0)}), BadInput);
  EXPECT_THROW(estimate_affine(head, head, {.moving_mask = imaging::Mask(80, 1)}), BadInput);
  Affine away = identity_affine();
  away[0][3] = 1000;
  EXPECT_THROW(estimate_affine(head, head, {.start = away}), BadInput);
  Affine singular = identity_affine();
  singular[2][2] = 0;
  EXPECT_THROW(estimate_affine(head, head, {.start = singular}), BadInput);
  Affine mirror = identity_affine();
  mirror[0][0] = -1;
  EXPECT_THROW(estimate_affine(head, head, {.start = mirror}), BadInput);
  EXPECT_THROW(estimate_affine(head, head, {.motion = static_cast<Motion>(7)}), BadInput);
  EXPECT_THROW(estimate_affine(head, head, {.radius = 0}), BadInput);
  EXPECT_THROW(parse_motion("elastic"), BadInput);
}

}  // namespace
}  // namespace warploom::registration
