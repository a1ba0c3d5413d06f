// The affine stage's GPU passes in the simulator, with the race detector, beside the CPU's.

#include <gtest/gtest.h>

#include <cmath>

#include "registration/phantom.hpp"
#include "registration/queue_pair.hpp"
#include "registration/simulated_queue.hpp"
#include "registration/stages.hpp"

namespace warploom::registration {
namespace {

imaging::Mask with_holes(const PlacedImage& image) {
  imaging::Mask mask(image.image.data.size(), 1);
  for (std::size_t i = 0; i < mask.size(); i += 41) mask[i] = 0;
  return mask;
}

Levels heads(const Space& fixed, const Space& moving, bool masked) {
  const PlacedImage a = head_on(fixed), b = head_on(moving);
  return {a, masked ? with_holes(a) : imaging::Mask{}, b, masked ? with_holes(b) : imaging::Mask{}};
}

void expect_alike(AffineMeasure& device, AffineMeasure& cpu, const Affine& map) {
  Affine by_device{}, by_cpu{};
  const double value = device.value(map, &by_device);
  EXPECT_NEAR(value, cpu.value(map, &by_cpu), 1e-5);
  EXPECT_EQ(device.overlap(), cpu.overlap());
  double most = 0, off = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      most = std::max(most, std::abs(by_cpu[r][c]));
      off = std::max(off, std::abs(by_device[r][c] - by_cpu[r][c]));
    }
  EXPECT_GT(most, 1e-3);
  EXPECT_LT(off, 1e-4 * most);
  // The same bits again, and without the derivative.
  Affine again{};
  EXPECT_EQ(device.value(map, &again), value);
  EXPECT_EQ(again, by_device);
  EXPECT_EQ(device.values({identity_affine(), map})[1], value);
}

void expect_the_cpus_measure(const Levels& levels, int radius, double voxel) {
  SimulatedQueue queue;
  QueuePair pair(queue, source_of(levels.fixed), source_of(levels.moving));
  const auto device = pair.affine_images(radius, voxel);
  const auto cpu = images_on_the_cpu(levels.fixed, levels.moving, Measure::lncc, radius);
  for (const double spacing : {2 * voxel, voxel}) {
    device->coarsen(spacing), cpu->coarsen(spacing);
    EXPECT_EQ(device->fixed().counts, cpu->fixed().counts);
    ASSERT_EQ(device->moving().data.size(), cpu->moving().data.size());
    for (std::size_t i = 0; i < cpu->moving().data.size(); ++i)
      ASSERT_NEAR(device->moving().data[i], cpu->moving().data[i], 1e-5);
    constexpr Affine kMap{{{0.97, -0.12, 0, 3}, {0.11, 1.03, 0, -4}, {0, 0, 1, 0}}};
    expect_alike(device->there(), cpu->there(), kMap);
    expect_alike(device->back(), cpu->back(), inverse(kMap));
  }
}

TEST(AffineOnADevice, MeasuresAsTheCpuDoes) {
  const Space fixed = space_around(36, 31, 28, {2, 2.1, 2.6}),
              moving = space_around(33, 30, 35, {2.2, 2.1, 2});
  expect_the_cpus_measure(heads(fixed, moving, true), 2, 4);
  expect_the_cpus_measure(heads(fixed, moving, false), 3, 5);
}

TEST(AffineOnADevice, MeasuresAsTheCpuDoesInThePlane) {
  expect_the_cpus_measure(
      heads(space_around(140, 131, 1, {0.6, 0.6, 1}), space_around(150, 128, 1, {0.5, 0.6, 1}), true), 2,
      1.2);
}

/// Both climb to the same map: what rounding leads apart is far below a voxel.
TEST(AffineOnADevice, FindsTheCpusMap) {
  const Space fixed = space_around(60, 56, 1, {1.4, 1.4, 1});
  Levels levels = heads(fixed, fixed, false);
  const double angle = 0.12;
  levels.moving.space.to_world =
      compose(levels.moving.space.to_world, Affine{{{std::cos(angle), -std::sin(angle), 0, 2},
                                                    {std::sin(angle), std::cos(angle), 0, -1.5},
                                                    {0, 0, 1, 0}}});
  SimulatedQueue queue;
  QueuePair pair(queue, source_of(levels.fixed), source_of(levels.moving));
  const AlignOptions options{.motion = Motion::rigid, .start = identity_affine()};
  const Alignment device = align_levels(levels, options, &pair), cpu = align_levels(levels, options, nullptr);
  EXPECT_NEAR(device.report.after, cpu.report.after, 1e-5);
  EXPECT_GT(cpu.report.after, 0.95);
  for (const Point& corner : {Point{-42, -39, 0}, Point{42, 39, 0}, Point{-42, 39, 0}}) {
    const Point a = map_point(device.affine, corner), b = map_point(cpu.affine, corner);
    EXPECT_LT(std::hypot(a[0] - b[0], a[1] - b[1]), 0.02 * 1.4);
  }
}

}  // namespace
}  // namespace warploom::registration
