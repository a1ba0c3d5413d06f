#include "warploom/registration/affine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "warploom/core/error.hpp"
#include "warploom/registration/field.hpp"

namespace warploom::registration {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Affine kSheared{{{1.5, -0.25, 0.5, -20}, {0.5, 2, 0.125, 7}, {-0.25, 0.75, 3, 4}}};

TEST(Affine, ComposedIsOneAfterTheOther) {
  constexpr Affine kThen{{{0, 2, 0, 1}, {-1, 0, 0.5, 2}, {0, 0, 3, -5}}};
  const Point p{3, -4, 5}, one_by_one = map_point(kThen, map_point(kSheared, p)),
                           at_once = map_point(compose(kSheared, kThen), p);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(at_once[c], one_by_one[c], 1e-12);
}

TEST(Affine, InverseUndoesIt) {
  const Affine undone = compose(kSheared, inverse(kSheared));
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(undone[r][c], r == c ? 1 : 0, 1e-12) << r << c;
}

TEST(Affine, SmallVoxelsAreNotSingular) {
  Affine tiny = kSheared;
  for (auto& row : tiny)
    for (double& value : row) value *= 1e-6;
  EXPECT_NO_THROW(inverse(tiny));
}

TEST(Affine, SingularAndNotFiniteOnesAreRefusedInWords) {
  Affine flat = kSheared;
  flat[2] = {flat[0][0] + flat[1][0], flat[0][1] + flat[1][1], flat[0][2] + flat[1][2], 0};
  EXPECT_THAT([&] { inverse(flat); }, ThrowsMessage<BadInput>(HasSubstr("cannot be inverted")));
  Affine unknown = kSheared;
  unknown[1][3] = std::nan("");
  EXPECT_THAT([&] { check_affine(unknown, "the affine of a.nii"); },
              ThrowsMessage<BadInput>(HasSubstr("the affine of a.nii has the number nan")));
}

TEST(Affine, FlippedWorldIsTheSameMapOfFlippedPoints) {
  const Point p{3, -4, 5}, there = map_point(kSheared, p),
                           flipped = map_point(flip_world(kSheared), {-3, 4, 5});
  EXPECT_DOUBLE_EQ(flipped[0], -there[0]);
  EXPECT_DOUBLE_EQ(flipped[1], -there[1]);
  EXPECT_DOUBLE_EQ(flipped[2], there[2]);
}

TEST(Field, OfAnAffineLeadsWhereItLeads) {
  const Space space{{4, 3, 2, {1, 1, 1}}, {{{2, 0, 0, 5}, {0, 0, -3, 1}, {0, 1, 0, 2}}}};
  const DisplacementField field = field_of(kSheared, space);
  field.check();
  for (std::size_t v = 0; v < 24; ++v) {
    const Point from = map_point(space.to_world, {double(v % 4), double(v / 4 % 3), double(v / 12)}),
                to = map_point(kSheared, from);
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(from[c] + double(field.mm[c * 24 + v]), to[c], 64 * 0x1p-23) << v;  // |d| < 64
  }
}

}  // namespace
}  // namespace warploom::registration
