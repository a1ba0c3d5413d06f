// Symmetric greedy registration on a GPU beside the CPU's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "registration/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/workflow.hpp"

namespace warploom::registration {
namespace {

Point bent(const Point& p) {
  return {p[0] + 3 * std::sin(p[1] / 11), p[1] + 3 * std::sin(p[2] / 12), p[2] + 3 * std::cos(p[0] / 13)};
}
Point bent_in_the_plane(const Point& p) { return {bent(p)[0], p[1] + 3 * std::sin(p[0] / 12), p[2]}; }

constexpr Affine kAffine{{{0.98, -0.1, 0, 2}, {0.1, 1.02, 0, -4}, {0, 0, 1, 1}}};

/// Both are the same but for rounding: within .02 voxel everywhere, in the plane, where 25 voxels in place of
/// 125 tell how alike images are, within .05.
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
  EXPECT_LT(most, (fixed.image.grid.nz > 1 ? 0.02 : 0.05) * voxel);
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

/// Both are equally good to 1e-4 of local correlation; around that an optimum is flat: points at the corners
/// of the fixed image's grid, far from the head, are led .3 mm apart at most, a third of a voxel (in the
/// plane a voxel).
void expect_the_cpus_affine(const PlacedImage& fixed, const PlacedImage& moving, AlignOptions options) {
  options.run.devices = {Device::cpu};
  const Alignment cpu = estimate_affine(fixed, moving, options);
  options.run.devices = {Device::cuda};
  const Alignment gpu = estimate_affine(fixed, moving, options);
  EXPECT_EQ(gpu.report.starts, cpu.report.starts);
  EXPECT_NEAR(gpu.report.before, cpu.report.before, 1e-5);
  EXPECT_NEAR(gpu.report.after, cpu.report.after, 1e-4);
  const auto& g = fixed.image.grid;
  for (int corner = 0; corner < 8; ++corner) {
    const auto end = [&](int axis, std::int64_t n) {
      return (corner >> axis & 1) != 0 ? static_cast<double>(n - 1) : 0.0;
    };
    const Point p = map_point(fixed.to_world, {end(0, g.nx), end(1, g.ny), end(2, g.nz)});
    const Point a = map_point(gpu.affine, p), b = map_point(cpu.affine, p);
    EXPECT_LT(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 0.3) << corner;  // .9 mm; .3 mm in the plane
  }
  EXPECT_EQ(estimate_affine(fixed, moving, options).affine, gpu.affine);
}

TEST(AffineOnAGpu, IsTheCpus) {
  const auto turned = [](const Point& p) {
    const double c = std::cos(0.9), s = std::sin(0.9);
    return Point{c * p[0] - s * p[1] + 4, 1.05 * (s * p[0] + c * p[1]) - 3, p[2] + 5};
  };
  const PlacedImage fixed = head_on(space_around(96, 101, 87, {0.9, 0.8, 1})),
                    moving = head_on(space_around(90, 110, 93, {0.9, 0.8, 0.9}), turned);
  expect_the_cpus_affine(fixed, moving, {});
  expect_the_cpus_affine(fixed, moving, {.motion = Motion::rigid, .radius = 3});
  AlignOptions masked{.motion = Motion::similarity};
  masked.fixed_mask.assign(fixed.image.data.size(), 1);
  for (std::size_t i = 0; i < 90'000; ++i) masked.fixed_mask[i] = 0;
  expect_the_cpus_affine(fixed, moving, masked);
  expect_the_cpus_affine(head_on(space_around(301, 255, 1, {0.3, 0.3, 1})),
                         head_on(space_around(300, 270, 1, {0.3, 0.3, 1}), turned), {});
}

/// What the device says of its field is what the CPU finds in it.
TEST(GreedyOnAGpu, CertifiesAsTheCpuDoes) {
  const PlacedImage fixed = head_on(space_around(70, 61, 57, {0.9, 1.1, 1}), bent),
                    moving = head_on(space_around(66, 71, 63, {0.9, 1, 0.9}));
  RegisterOptions options{.deform = {.iterations = {20, 20, 10}}};
  options.align.run.devices = {Device::cuda};
  const Registration gpu = register_images(fixed, moving, options);
  const FoldCertificate expected = certify(gpu.field);
  EXPECT_EQ(gpu.certificate.kind, expected.kind);
  EXPECT_EQ(gpu.certificate.cells, expected.cells);
  EXPECT_NEAR(gpu.certificate.smallest_determinant, expected.smallest_determinant, 1e-12);
  EXPECT_NEAR(gpu.certificate.lower_bound, expected.lower_bound, 1e-12);
  double sum = 0, most = 0;
  const std::size_t voxels = gpu.field.mm.size() / 3;
  for (std::size_t i = 0; i < voxels; ++i) {
    const double length = std::hypot(double(gpu.field.mm[i]), double(gpu.field.mm[voxels + i]),
                                     double(gpu.field.mm[2 * voxels + i]));
    sum += length, most = std::max(most, length);
  }
  EXPECT_NEAR(gpu.mean_displacement, sum / static_cast<double>(voxels), 1e-9 * most);
  EXPECT_NEAR(gpu.largest_displacement, most, 1e-12 * most);
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
  RegisterOptions both;  // before the affine stage
  both.align.run = options.run;
  EXPECT_THROW(register_images(head, head, both), OutOfMemory);
}

}  // namespace
}  // namespace warploom::registration
