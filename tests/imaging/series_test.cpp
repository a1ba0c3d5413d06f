// Volumes, frames, orders and masks of diffusion images, by hand.
#include "warploom/imaging/series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "warploom/core/error.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/imaging/tensor_order.hpp"

namespace warploom::imaging {
namespace {

using testing::ElementsAre;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
const io::Affine kRightHanded{{{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}}};

/// Two voxels; volume k holds 10 k and 10 k + 1.
Series series_of(const std::vector<double>& b) {
  Series series;
  series.image = Image({2, 1, 1}, static_cast<int>(b.size()));
  for (std::size_t k = 0; k < series.image.data.size(); ++k)
    series.image.data[k] = static_cast<float>(10 * (k / 2) + k % 2);
  series.gradients.b = b;
  for (std::size_t k = 0; k < b.size(); ++k) series.gradients.directions.push_back({double(k), 0, 0});
  return series;
}

TEST(SelectVolumes, KeepsShellsAndVolumesWithoutWeightingInTheirOrder) {
  Series series = series_of({0, 2000, 1000, 49, 1049, 1051});
  select_volumes(series, {.shells = {1000}, .largest_b = {}});
  EXPECT_THAT(series.gradients.b, ElementsAre(0, 1000, 49, 1049));
  EXPECT_THAT(series.image.data, ElementsAre(0, 1, 20, 21, 30, 31, 40, 41));
  EXPECT_EQ(series.image.channels, 4);
  EXPECT_EQ(series.gradients.directions[1][0], 2);
  EXPECT_EQ(shells(series.gradients), (std::map<std::int64_t, int>{{0, 2}, {1000, 1}, {1050, 1}}));
}

TEST(SelectVolumes, KeepsWhatIsUpToTheLargest) {
  Series series = series_of({0, 2000, 2101, 500});
  select_volumes(series, {.shells = {}, .largest_b = 2000});
  EXPECT_THAT(series.gradients.b, ElementsAre(0, 2000, 500));
}

TEST(SelectVolumes, RefusesAShellWithoutVolumes) {
  Series series = series_of({0, 1000});
  EXPECT_THROW(select_volumes(series, {.shells = {1000, 3000}, .largest_b = {}}), BadInput);
  EXPECT_EQ(series.image.channels, 2) << "and leaves the series";
}

TEST(SelectVolumes, RefusesGradientsOfAnotherCount) {
  Series series = series_of({0, 1000});
  series.gradients.directions.pop_back();
  EXPECT_THROW(select_volumes(series, {}), BadInput);
  EXPECT_THROW(mean_b0(series.image, series.gradients), BadInput);
}

TEST(MeanB0, IsOfTheVolumesWithoutWeighting) {
  Series series = series_of({0, 1000, 50});
  series.image.data[4] = kMissing;
  EXPECT_THAT(mean_b0(series.image, series.gradients).data, ElementsAre(0, 11));
}

TEST(MeanB0, IsOfAllWhereNoneIs) {
  const Series series = series_of({1000, 1000});
  EXPECT_THAT(mean_b0(series.image, series.gradients).data, ElementsAre(5, 6));
}

/// One voxel.
TensorImage tensor_of(const std::vector<float>& elements) {
  TensorImage image({1, 1, 1}, kTensorChannels);
  image.data = elements;
  return image;
}

TEST(TensorOrders, ToAFileAndBack) {
  const std::vector<float> tensor{1, 2, 3, 4, 5, 6};  // xx xy xz yy yz zz
  const std::pair<TensorOrder, std::vector<float>> files[] = {{TensorOrder::fsl, {1, 2, 3, 4, 5, 6}},
                                                              {TensorOrder::mrtrix, {1, 4, 6, 2, 3, 5}},
                                                              {TensorOrder::nifti, {1, 2, 4, 3, 5, 6}}};
  for (const auto& [order, elements] : files) {
    EXPECT_EQ(parse_tensor_order(name(order)), order);
    TensorImage image = tensor_of(tensor);
    to_order(image, order, 1);
    EXPECT_EQ(image.data, elements) << name(order);
    from_order(image, order, 2);
    EXPECT_THAT(image.data, ElementsAre(2, 4, 6, 8, 10, 12)) << name(order);
  }
  Image three({1, 1, 1}, 3);
  EXPECT_THROW(to_order(three, TensorOrder::mrtrix, 1), BadInput);
  EXPECT_THROW(parse_tensor_order("itk"), BadInput);
}

TEST(Frames, FslReversesXWhereTheAffineIsRightHanded) {
  TensorImage image = tensor_of({1, 2, 3, 4, 5, 6});
  change_frame(image, io::Frame::image, io::Frame::fsl, kRightHanded);
  EXPECT_THAT(image.data, ElementsAre(1, -2, -3, 4, 5, 6));
  io::Gradients gradients{.b = {1000}, .directions = {{0.6, 0, 0.8}}, .frame = io::Frame::fsl};
  change_frame(gradients, io::Frame::scanner, kRightHanded);
  EXPECT_EQ(gradients.frame, io::Frame::scanner);
  EXPECT_THAT(gradients.directions[0], ElementsAre(-0.6, 0, 0.8));
}

TEST(Frames, AreAxisAlignedUnlessTheImageIsOblique) {
  const double c = std::cos(0.4), s = std::sin(0.4);
  const io::Affine oblique{{{c, -s, 0, 0}, {s, c, 0, 0}, {0, 0, 1, 0}}};
  EXPECT_EQ(axis_aligned(io::Frame::scanner, kRightHanded), io::Frame::scanner);
  EXPECT_EQ(axis_aligned(io::Frame::scanner, oblique), io::Frame::image);
  EXPECT_EQ(axis_aligned(io::Frame::fsl, oblique), io::Frame::fsl);
  EXPECT_THROW(axis_aligned(io::Frame::fsl, io::Affine{}), BadInput);
}

TEST(ChooseMask, LeavesOutWhatIsNotFiniteAndAskedForWhatIsZero) {
  Image image({4, 1, 1}, 2);
  image.data = {1, 0, kMissing, 0, 0, 2, 1, 0};
  const auto choose = [&](const std::string& origin, const Mask& candidates) {
    return choose_mask(
        image, origin, [&] { return candidates; }, "image");
  };
  EXPECT_THAT(choose("none", {}).voxels, ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(choose("nonzero", {}).voxels, ElementsAre(1, 1, 0, 0));
  const ChosenMask chosen = choose("file.nii", {0, 3, 1, 1});
  EXPECT_THAT(chosen.voxels, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(chosen.inside, 2);
  EXPECT_EQ(chosen.not_finite, 1);
  EXPECT_THROW(choose("file.nii", {0, 0, 1, 0}), BadInput) << "nothing is left";
  EXPECT_THROW(choose("file.nii", {1, 1}), BadInput) << "another size";
}

TEST(LeaveOutZeros, KeepsTheRestOfTheMask) {
  Image image({3, 1, 1}, 1);
  image.data = {1, 0, 2};
  ChosenMask mask{.voxels = {}, .origin = "none", .inside = 3};
  leave_out_zeros(mask, image);
  EXPECT_THAT(mask.voxels, ElementsAre(1, 0, 1));
  mask.voxels = {0, 1, 1};
  leave_out_zeros(mask, image);
  EXPECT_THAT(mask.voxels, ElementsAre(0, 0, 1));
  EXPECT_EQ(mask.inside, 1);
}

}  // namespace
}  // namespace warploom::imaging
