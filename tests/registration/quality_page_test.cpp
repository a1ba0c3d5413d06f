#include "warploom/registration/quality_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

PlacedImage pattern(const Space& space) {
  PlacedImage image{imaging::Image(space.grid, 1), space.to_world};
  for (std::size_t v = 0; v < image.image.data.size(); ++v)
    image.image.data[v] = static_cast<float>(v * v % 23);
  return image;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(RegistrationPage, HasSixPicturesOfEachOfThreePlanes) {
  const Space space = box(20, 16, 12, kOblique);
  const PlacedImage image = pattern(space);
  const DisplacementField field = waves(space, 1);
  const std::string html = quality_page({.fixed_name = "a<b>.nii",
                                         .moving_name = "m.nii",
                                         .facts = "FACTS",
                                         .fixed = image,
                                         .warped = image,
                                         .field = &field});
  EXPECT_EQ(count(html, "<figure"), 18u);
  EXPECT_EQ(count(html, "data:image/png;base64,"), 18u);
  EXPECT_EQ(count(html, "class=\"warp\""), 3u);
  EXPECT_THAT(html, HasSubstr("FACTS"));
  EXPECT_THAT(html, HasSubstr("a&lt;b&gt;.nii"));
  EXPECT_THAT(html, Not(HasSubstr("a<b>.nii")));
}

TEST(RegistrationPage, GridLineOfAShiftIsShifted) {
  // Two voxels to the patient's right, which is to the left in an axial slice of 12 x 12.
  const Space plane = box(12, 12, 1);
  const PlacedImage image = pattern(plane);
  const DisplacementField field = field_of({{{1, 0, 0, 2}, {0, 1, 0, 0}, {0, 0, 1, 0}}}, plane);
  const std::string html =
      quality_page({.fixed_name = "f", .moving_name = "m", .fixed = image, .warped = image, .field = &field});
  EXPECT_THAT(html, HasSubstr("<polyline points=\"-1.5,1.5 -0.5,1.5 0.5,1.5 "));
}

TEST(RegistrationPage, WithoutAFieldThereAreFourPictures) {
  const PlacedImage image = pattern(box(9, 9, 1));
  const std::string html =
      quality_page({.fixed_name = "f", .moving_name = "m", .fixed = image, .warped = image});
  EXPECT_EQ(count(html, "<figure"), 4u);
}

TEST(RegistrationPage, OtherVoxelsAreRefused) {
  const PlacedImage image = pattern(box(9, 9, 3)), other = pattern(box(9, 8, 3));
  EXPECT_THAT([&] { quality_page({.fixed_name = "f", .moving_name = "m", .fixed = image, .warped = other}); },
              ThrowsMessage<BadInput>(HasSubstr("the resampled image has 9 x 8 x 3 voxels")));
}

}  // namespace
}  // namespace warploom::registration
