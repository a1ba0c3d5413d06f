#include "warploom/core/view.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace warploom {
namespace {

std::vector<int> counting(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(View, TheLastIndexRunsFastest) {
  std::vector<int> values = counting(24);
  const Volume<int> view(values, {2, 3, 4});
  EXPECT_EQ(view(0, 0, 1), 1);
  EXPECT_EQ(view(0, 1, 0), 4);
  EXPECT_EQ(view(1, 2, 3), 23);
}

TEST(View, WritesReachTheOwner) {
  std::vector<int> values = counting(6);
  Matrix<int>{values.data(), 2, 3}(1, 0) = 70;
  EXPECT_EQ(values[3], 70);
}

TEST(View, AFixedFirstIndexGivesTheRow) {
  std::vector<int> values = counting(6);
  const auto row = Matrix<const int>(values, {2, 3})[1];
  EXPECT_EQ(row.size(), 3);
  EXPECT_EQ(row(2), 5);
}

TEST(View, ARowOutsideIsRefused) {
  std::vector<int> values = counting(6);
  const Matrix<int> view(values, {2, 3});
  EXPECT_THROW(view[2], BadInput);
  EXPECT_THROW(view[-1], BadInput);
}

TEST(View, BecomesReadOnly) {
  std::vector<int> values = counting(6);
  const Matrix<int> view(values, {2, 3});
  const Matrix<const int> read_only = view;
  EXPECT_EQ(read_only.data(), values.data());
  EXPECT_EQ(read_only.shape(), view.shape());
}

TEST(View, ABufferOfAnotherLengthIsRefusedWithBothNumbers) {
  std::vector<int> values = counting(5);
  try {
    Matrix<int>(values, {2, 3});
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "shape [2, 3] needs 6 elements, the buffer has 5");
  }
}

TEST(View, ANegativeExtentIsRefused) {
  std::vector<int> values = counting(6);
  EXPECT_THROW((Matrix<int>(values, {-2, -3})), BadInput);
  EXPECT_THROW((Matrix<int>{values.data(), 0, -1}), BadInput);
}

TEST(View, AShapeWhoseProductOverflowsIsRefused) {
  const std::int64_t half = std::int64_t{1} << 32;
  int value = 0;
  EXPECT_THROW((Matrix<int>{&value, half, half}), BadInput);
}

TEST(View, AnEmptyShapeNeedsNoData) {
  const Matrix<int> view{static_cast<int*>(nullptr), 0, std::numeric_limits<std::int64_t>::max()};
  EXPECT_TRUE(view.empty());
  EXPECT_TRUE(view.flat().empty());
  EXPECT_TRUE(Matrix<int>().empty());
}

TEST(View, ANullPointerForAShapeThatIsNotEmptyIsRefused) {
  EXPECT_THROW((Matrix<int>{static_cast<int*>(nullptr), 1, 1}), BadInput);
}

TEST(View, RequireShapeNamesTheArrayAndBothShapes) {
  std::vector<int> values = counting(6);
  const Matrix<int> view(values, {2, 3});
  EXPECT_NO_THROW(require_shape(view, {2, 3}, "mask"));
  try {
    require_shape(view, {3, 2}, "mask");
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "mask: shape [2, 3], expected [3, 2]");
  }
}

}  // namespace
}  // namespace warploom
