#include "warploom/registration/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

using imaging::Image;

Image row(std::vector<float> labels) {
  Image image(imaging::Grid{static_cast<std::int64_t>(labels.size()), 1, 1}, 1);
  image.data = std::move(labels);
  return image;
}

TEST(Overlap, CountsEachLabelOfEitherMap) {
  const std::vector<LabelOverlap> found =
      label_overlap(row({0, 2, 2, 2, 1, 7, 0, 1}), row({2, 2, 2, 0, 1, 1, 9, 0}));
  ASSERT_EQ(found.size(), 4U);
  const auto expect = [&](std::size_t k, float label, std::int64_t first, std::int64_t second,
                          std::int64_t both) {
    EXPECT_EQ(found[k].label, label);
    EXPECT_EQ(found[k].first, first) << label;
    EXPECT_EQ(found[k].second, second) << label;
    EXPECT_EQ(found[k].both, both) << label;
  };
  expect(0, 1, 2, 2, 1);
  expect(1, 2, 3, 3, 2);
  expect(2, 7, 1, 0, 0);
  expect(3, 9, 0, 1, 0);
  EXPECT_DOUBLE_EQ(found[1].dice(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(mean_dice(found), (0.5 + 2.0 / 3) / 4);
}

TEST(Overlap, HasNoLabelsInTheBackground) {
  EXPECT_TRUE(label_overlap(row({0, NAN, 0}), row({0, INFINITY, NAN})).empty());
  EXPECT_EQ(mean_dice({}), 0);
}

TEST(Overlap, RefusesMapsOfTwoSizes) {
  try {
    label_overlap(row({1, 2}), row({1, 2, 3}));
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("2 x 1 x 1 and 3 x 1 x 1"));
  }
  EXPECT_THROW(label_overlap(Image({2, 1, 1}, 2), row({1, 2})), BadInput);
}

}  // namespace
}  // namespace warploom::registration
