// The page's changes are after minus before, in pictures and in numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imaging/quality/maps.hpp"
#include "warploom/imaging/quality_page.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;

/// A slice of 2 x 2 voxels: FA falls in the first, rises in the second and stays in the others.
struct Denoised {
  Image noisy = tensors({2.0f, 1.0f, 1.0f, 1.0f}), clean = tensors({1.2f, 1.8f, 1.0f, 1.0f});
  Mask mask;
  DenoiseReport done;
  QualityPage page{.name = "dwi",
                   .facts = "",
                   .noisy = noisy,
                   .clean = clean,
                   .mask = mask,
                   .affine = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
                   .done = done};

  static Image tensors(const std::vector<float>& along) {
    Image image(Grid{2, 2, 1}, 6);
    for (std::size_t v = 0; v < along.size(); ++v) {
      image.channel(0)[v] = along[v];
      image.channel(3)[v] = image.channel(5)[v] = 1;
    }
    return image;
  }
};

TEST(QualityPage, AVoxelWhoseFaFallsHasANegativeChange) {
  const Denoised denoised;
  const MapRow fa = map_rows(denoised.page).at(1);
  ASSERT_EQ(fa.quantity, "FA");
  EXPECT_LT(change(fa, 0), 0);
  EXPECT_GT(change(fa, 1), 0);
  EXPECT_EQ(change(fa, 2), 0);
  EXPECT_DOUBLE_EQ(change(fa, 0), fa.value_after(0) - fa.value_before(0));
}

TEST(QualityPage, EveryRowsChangeIsAfterMinusBefore) {
  const Denoised denoised;
  for (const MapRow& row : map_rows(denoised.page))
    for (std::size_t v = 0; v < 4; ++v)
      EXPECT_DOUBLE_EQ(change(row, v), row.value_after(v) - row.value_before(v)) << row.title;
  const MapRow md = map_rows(denoised.page).at(2);
  EXPECT_NEAR(change(md, 0), -0.8 / 3, 1e-6);
  EXPECT_NEAR(change(md, 1), +0.8 / 3, 1e-6);
}

TEST(QualityPage, LowerIsBlueAndHigherIsRed) {
  const auto lower = change_colour(-0.5), same = change_colour(0), higher = change_colour(0.5);
  EXPECT_GT(lower[2], lower[0]);
  EXPECT_GT(higher[0], higher[2]);
  EXPECT_EQ(same[0], same[2]);
  EXPECT_EQ(change_colour(-1), change_colour(-7));
}

TEST(QualityPage, CountsWhereAQuantityIsLowerAndHigher) {
  const Denoised denoised;
  const ChangeNumbers fa = change_numbers(map_rows(denoised.page).at(1), {0, 1, 2, 3});
  EXPECT_NEAR(fa.lower, 0.25, 1e-12);
  EXPECT_NEAR(fa.higher, 0.25, 1e-12);
  EXPECT_NEAR(fa.change, fa.after - fa.before, 1e-12);
}

TEST(QualityPage, SaysWhatTheColoursOfAChangeMean) {
  const std::string text = quality_page(Denoised().page);
  for (const char* words : {"Change of FA", "lower after denoising, &#8722;", "higher after denoising, +",
                            "after denoising minus the value before", "data-label=\"Lower in\">25.0 %"})
    EXPECT_THAT(text, HasSubstr(words));
}

}  // namespace
}  // namespace warploom::imaging
