// Symmetric greedy registration on a GPU beside the CPU's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "registration/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::registration {
namespace {

Point bent(const Point& p) {
  return {p[0] + 3 * std::sin(p[1] / 11), p[1] + 3 * std::sin(p[2] / 12), p[2] + 3 * std::cos(p[0] / 13)};
}
Point bent_in_the_plane(const Point& p) { return {bent(p)[0], p[1] + 3 * std::sin(p[0] / 12), p[2]}; }

constexpr Affine kAffine{{{0.98, -0.1, 0, 2}, {0.1, 1.02, 0, -4}, {0, 0, 1, 1}}};

/// Both are the same but for rounding: within .02 voxel everywhere.
void expect_the_cpus(const PlacedImage& fixed, const PlacedImage& moving, DeformOptions options) {
  options.run.devices = {Device::cpu};
  const Deformation cpu = estimate_deformation(fixed, moving, kAffine, options);
  options.run.devices = {Device::cuda};
  const Deformation gpu = estimate_deformation(fixed, moving, kAffine, options);
  EXPECT_TRUE(gpu.report.device.is_gpu());
  EXPECT_EQ(gpu.report.iterations, cpu.report.iterations);
  ASSERT_EQ(gpu.report.measure.size(), cpu.report.measure.size());
  for (std::size_t k = 0; k < cpu.report.measure.size(); ++k)
    EXPECT_NEAR(gpu.report.measure[k], cpu.report.measure[k], 1e-3) << k;
  EXPECT_TRUE(certify(gpu.field).proved());
  const auto& spacing = fixed.image.grid.spacing;
  const double voxel = std::min(spacing[0], spacing[1]);
  float most = 0;
  for (std::size_t i = 0; i < cpu.field.mm.size(); ++i)
    most = std::max(most, std::abs(gpu.field.mm[i] - cpu.field.mm[i]));
  EXPECT_LT(most, 0.02 * voxel);
  EXPECT_EQ(estimate_deformation(fixed, moving, kAffine, options).field.mm, gpu.field.mm);
}

TEST(GreedyOnAGpu, IsTheCpus) {
  const PlacedImage fixed = head_on(space_around(96, 101, 87, {0.9, 0.8, 1}), bent),
                    moving = head_on(space_around(90, 110, 93, {0.9, 0.8, 0.9}));
  expect_the_cpus(fixed, moving, {.iterations = {20, 20, 10}});
  expect_the_cpus(fixed, moving, {.measure = Measure::ssd, .iterations = {20, 20, 10}});
  DeformOptions other{.radius = 4, .iterations = {10, 5}, .smooth_update = 2.2, .smooth_field = 0.8};
  other.fixed_mask.assign(fixed.image.data.size(), 1);
  other.moving_mask.assign(moving.image.data.size(), 1);
  for (std::size_t i = 0; i < 90'000; ++i) other.fixed_mask[i] = 0, other.moving_mask[7 * i] = 0;
  expect_the_cpus(fixed, moving, other);
}

TEST(GreedyOnAGpu, IsTheCpusInThePlane) {
  expect_the_cpus(head_on(space_around(301, 255, 1, {0.3, 0.3, 1}), bent_in_the_plane),
                  head_on(space_around(300, 270, 1, {0.3, 0.3, 1})), {.iterations = {20, 20, 10}});
}

TEST(GreedyOnAGpu, NeverFoldsUnlessItMay) {
  const Space space = space_around(60, 68, 56, {1, 1, 1});
  const PlacedImage head = head_on(space);
  const PlacedImage other = head_on(space, [](const Point& p) { return Point{p[1], -p[0], p[2]}; });
  DeformOptions options{.iterations = {30, 30}, .step = 1, .smooth_update = 0.8, .smooth_field = 0};
  options.run.devices = {Device::cuda};
  const auto kept = estimate_deformation(head, other, identity_affine(), options);
  EXPECT_TRUE(certify(kept.field).proved());
  EXPECT_GT(kept.report.smoothed_voxels, 0);
  options.allow_folds = true;
  EXPECT_GT(certify(estimate_deformation(head, other, identity_affine(), options).field).folded, 0);
}

TEST(GreedyOnAGpu, SaysHowMuchMemoryItWants) {
  const PlacedImage head = head_on(space_around(64, 64, 64, {1, 1, 1}));
  DeformOptions options{.run = {.devices = {Device::cuda}, .memory = std::uint64_t{1} << 24}};
  try {
    estimate_deformation(head, head, identity_affine(), options);
    FAIL() << "16 MiB are not enough";
  } catch (const OutOfMemory& refused) {
    EXPECT_THAT(refused.what(), testing::HasSubstr("64 x 64 x 64"));
    EXPECT_THAT(refused.what(), testing::HasSubstr("`device` cpu"));
  }
}

}  // namespace
}  // namespace warploom::registration
