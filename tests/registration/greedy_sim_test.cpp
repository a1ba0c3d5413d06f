// The greedy registration's GPU passes in the simulator, with the race detector, beside the CPU's loops: each
// pass on arrays of its own, then all of them.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "registration/affine_objective.hpp"
#include "registration/greedy.hpp"
#include "registration/phantom.hpp"
#include "registration/positive_step.hpp"
#include "registration/queue_pair.hpp"
#include "registration/simulated_queue.hpp"
#include "registration/smooth.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::registration {
namespace {

/// Smooth, of about this size, and in no direction regular.
std::vector<float> waves(const GridSize& grid, float size) {
  std::vector<float> out;
  for (int c = 0; c < 3; ++c)
    for (std::int64_t z = 0; z < grid.nz; ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y)
        for (std::int64_t x = 0; x < grid.nx; ++x)
          out.push_back(size * static_cast<float>(std::sin(0.41 * static_cast<double>(x) + c) *
                                                  std::cos(0.37 * static_cast<double>(y) - 2 * c) *
                                                  std::sin(0.29 * static_cast<double>(z) + 0.7)));
  return out;
}

float largest(const std::vector<float>& values) {
  float most = 0;
  for (const float v : values) most = std::max(most, std::abs(v));
  return most;
}

/// Relative to the largest value.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most / largest(b);
}

/// A pair of heads on grids of their own, the moving one turned; both masked.
struct Pair {
  Space fixed_space, moving_space;
  Affine affine = identity_affine();
  Level fixed, moving;

  Pair(std::int64_t nx, std::int64_t ny, std::int64_t nz)
      : fixed_space(
            space_around(nx, ny, nz, {70. / static_cast<double>(nx), 66. / static_cast<double>(ny), 3})),
        moving_space(
            space_around(nx + 3, ny + 1, nz > 1 ? nz + 2 : 1, {62. / static_cast<double>(nx), 3, 3.1})) {
    affine[0][1] = 0.1, affine[1][0] = -0.1, affine[0][3] = 2;
    const PlacedImage a = head_on(fixed_space), b = head_on(moving_space);
    fixed = finest_level(a, mask_of(a), "the fixed image");
    moving = finest_level(b, mask_of(b), "the moving image");
  }
  static imaging::Mask mask_of(const PlacedImage& image) {
    imaging::Mask mask(image.image.data.size(), 1);
    for (std::size_t i = 0; i < mask.size(); i += 37) mask[i] = 0;
    return mask;
  }
};

DeviceGrid device_grid(const GridSize& g) {
  return {static_cast<int>(g.nx), static_cast<int>(g.ny), static_cast<int>(g.nz)};
}

DeviceMap device_map(const VoxelMap& map) {
  DeviceMap out{};
  for (std::size_t r = 0; r < 3; ++r) std::copy(map[r].begin(), map[r].end(), out.row[r]);
  return out;
}

class GreedyKernels : public testing::TestWithParam<std::array<std::int64_t, 3>> {
 protected:
  Pair pair{GetParam()[0], GetParam()[1], GetParam()[2]};
  GridSize grid = pair.fixed.extents();
  std::size_t voxels = static_cast<std::size_t>(grid.voxels());
  SimulatedQueue queue;

  // Of the grid's voxels, which lie a little off those of the fixed image.
  const Affine off{{{1.02, 0.05, 0, 0.4}, {-0.05, 0.98, 0, -0.7}, {0, 0, 1, 0}}};
  VoxelMap to_fixed = voxel_map(off, pair.fixed_space, pair.fixed_space),
           to_moving = voxel_map(pair.affine, pair.fixed_space, pair.moving_space);

  /// fixed(to_fixed(y - h(y))), moving(to_moving(y + h(y))) and what counts, by the CPU.
  std::vector<float> warped = std::vector<float>(2 * voxels);
  std::vector<std::uint8_t> counts = std::vector<std::uint8_t>(voxels, 1);
  void warp_on_the_cpu(const std::vector<float>& h) {
    for (std::int64_t z = 0; z < grid.nz; ++z) {
      const Strip strip{z, 0, grid.ny};
      baseline::sample_strip({grid, strip, grid, pair.fixed.data.data(), pair.fixed.counts.data(), to_fixed,
                              h.data(), -1, warped.data(), nullptr, counts.data()});
      baseline::sample_strip({grid, strip, pair.moving.extents(), pair.moving.data.data(),
                              pair.moving.counts.data(), to_moving, h.data(), 1, warped.data() + voxels,
                              nullptr, counts.data()});
    }
  }

  /// The force of the CPU's measure, and its value.
  double force_on_the_cpu(ImageMeasure& measure, std::vector<float>& force) {
    const double value = measure.value(warped.data(), warped.data() + voxels, counts.data());
    const auto weight = greedy::force_weights(pair.fixed_space);
    force.resize(3 * voxels);
    for (std::int64_t z = 0; z < grid.nz; ++z)
      measure.derivative({z, 0, grid.ny}, [&](std::int64_t y, const float* d_fixed, const float* d_moving) {
        baseline::force_row({grid,
                             y,
                             z,
                             warped.data(),
                             warped.data() + voxels,
                             d_fixed,
                             d_moving,
                             {weight[0], weight[1], weight[2]},
                             force.data()});
      });
    return value;
  }

  double add_up(const double* parts, unsigned count) {
    double* const sum = queue.array(std::vector<double>(1));
    queue.add_up(parts, static_cast<int>(count), 1 / static_cast<double>(voxels), sum);
    return queue.values(sum, 1)[0];
  }
};

INSTANTIATE_TEST_SUITE_P(Sizes, GreedyKernels,
                         testing::Values(std::array<std::int64_t, 3>{16, 16, 16},
                                         std::array<std::int64_t, 3>{36, 9, 12},
                                         std::array<std::int64_t, 3>{38, 19, 7},
                                         std::array<std::int64_t, 3>{35, 18, 9},
                                         std::array<std::int64_t, 3>{37, 29, 1}));

TEST_P(GreedyKernels, DrawBothImages) {
  const std::vector<float> h = waves(grid, 2.3F);
  warp_on_the_cpu(h);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0) > 0, true);
  float* const out = queue.array(std::vector<float>(2 * voxels));
  std::uint8_t* const counted = queue.array(std::vector<std::uint8_t>(voxels));
  queue.warp(
      {device_grid(grid),
       {queue.array(pair.fixed.data), queue.array(pair.fixed.counts), device_grid(grid)},
       {queue.array(pair.moving.data), queue.array(pair.moving.counts), device_grid(pair.moving.extents())},
       device_map(to_fixed),
       device_map(to_moving),
       queue.array(h),
       out,
       counted});
  EXPECT_LT(distance(queue.values(out, 2 * voxels), warped), 2e-5F);
  EXPECT_EQ(queue.values(counted, voxels), counts);
}

TEST_P(GreedyKernels, CorrelateWithinWindows) {
  warp_on_the_cpu(waves(grid, 1.1F));
  for (const int radius : {2, 3}) {
    std::vector<float> expected;
    const auto measure = make_lncc(radius, grid, grid.voxels());
    const double value = force_on_the_cpu(*measure, expected);
    LnccArguments a{.grid = device_grid(grid),
                    .radius = radius,
                    .planes = 5,
                    .floor = kLnccFloor,
                    .warped = queue.array(warped),
                    .counts = queue.array(counts),
                    .statistics = queue.array(std::vector<float>(5 * voxels)),
                    .parts = nullptr,
                    .weight = {},
                    .force = queue.array(std::vector<float>(3 * voxels))};
    a.parts = queue.array(std::vector<double>(lncc_launch(a).blocks()));
    const auto weight = greedy::force_weights(pair.fixed_space);
    std::copy(weight.begin(), weight.end(), a.weight);
    queue.lncc_statistics(a);
    EXPECT_NEAR(add_up(a.parts, lncc_launch(a).blocks()), value, 1e-5);
    queue.lncc_force(a);
    EXPECT_LT(distance(queue.values(a.force, 3 * voxels), expected), 1e-4F) << radius;
  }
}

TEST_P(GreedyKernels, SubtractImages) {
  warp_on_the_cpu(waves(grid, 1.1F));
  std::vector<float> expected;
  const double value = force_on_the_cpu(*make_ssd(grid, grid.voxels()), expected);
  SsdArguments a{device_grid(grid),
                 queue.array(warped),
                 queue.array(counts),
                 queue.array(std::vector<double>(kReducingBlocks)),
                 {},
                 queue.array(std::vector<float>(3 * voxels))};
  const auto weight = greedy::force_weights(pair.fixed_space);
  std::copy(weight.begin(), weight.end(), a.weight);
  queue.ssd_force(a);
  EXPECT_NEAR(add_up(a.parts, reducing_launch(grid.voxels()).blocks()), value, 1e-7 * std::abs(value));
  EXPECT_LT(distance(queue.values(a.force, 3 * voxels), expected), 1e-6F);
}

TEST_P(GreedyKernels, SmoothFields) {
  const std::vector<float> a = waves(grid, 1), b = waves(grid, 0.3F);
  const float* const on_device = queue.array(a);
  const float* const other = queue.array(b);
  unsigned* const longest = queue.array(std::vector<unsigned>(1));
  queue.longest(other, grid.voxels(), longest);
  float most = 0;
  for (std::size_t i = 0; i < voxels; ++i)
    most = std::max(most, std::hypot(b[i], b[i + voxels], b[i + 2 * voxels]));
  for (const double sigma : {1.7, 0.5, 0.9, 0.0})
    for (const bool two : {false, true}) {
      std::vector<float> expected(3 * voxels);
      Smoothing(grid, sigma).apply(a.data(), two ? b.data() : nullptr, 0.5F / most, 3, expected.data());
      SmoothArguments with{};
      with.grid = device_grid(grid), with.planes = 6;
      const std::vector<float> taps = gaussian(sigma);
      with.radius = static_cast<int>(taps.size() / 2);
      for (int axis = 0; axis < 3; ++axis)
        if (axis < 2 || grid.nz > 1)
          std::copy(taps.begin(), taps.end(), with.taps[axis]);
        else
          with.taps[axis][with.radius] = 1;
      with.a = on_device, with.b = two ? other : nullptr;
      with.longest = longest, with.step = 0.5F, with.shortest = greedy::kShortest;
      with.out = queue.array(std::vector<float>(3 * voxels));
      queue.smooth(with);
      EXPECT_LT(distance(queue.values(with.out, 3 * voxels), expected), 1e-6F) << sigma << two;
    }
}

TEST_P(GreedyKernels, HalveImages) {
  for (const Level* image : {&pair.fixed, &pair.moving}) {
    Level expected = *image;
    DeviceLevel at{queue.array(image->data), queue.array(image->counts), device_grid(image->extents())};
    for (int axis = 0; axis < 3; ++axis) {
      // Spacings at which coarser() halves this axis alone are not to be had for all; its axes go first to
      // last.
      const Space to = halved(expected.space, axis);
      if (axis == 2 && expected.space.grid.nz == 1) continue;
      const auto count = static_cast<std::size_t>(to.grid.voxels());
      float* const data = queue.array(std::vector<float>(count));
      std::uint8_t* const counted = queue.array(std::vector<std::uint8_t>(count));
      queue.halve({at, axis, data, counted, device_grid({to.grid.nx, to.grid.ny, to.grid.nz})});
      expected = halve(expected, axis);
      EXPECT_LT(distance(queue.values(data, count), expected.data), 1e-6F);
      EXPECT_EQ(queue.values(counted, count), expected.counts);
      at = {data, counted, device_grid(expected.extents())};
    }
  }
}

TEST_P(GreedyKernels, SmoothWhatFolds) {
  const std::vector<float> h = waves(grid, grid.nz > 1 ? 4.2F : 3.5F);
  for (const float sign : {1.0F, -1.0F}) {
    // One round of the CPU.
    Affine turned = identity_affine();
    for (std::size_t c = 0; c < 3; ++c) turned[c][c] = sign;
    std::vector<float> expected = h;
    const StepLimit limit = smooth_folds(pair.fixed_space.grid, turned, expected, kLeastVolume, 1);
    EXPECT_GT(limit.limited, 0);
    FoldArguments a{.grid = device_grid(grid),
                    .h = queue.array(h),
                    .voxel = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 1},
                    .in_voxels = true,
                    .sign = sign,
                    .least = kLeastVolume,
                    .margin = 1,
                    .marks = queue.array(std::vector<int>(voxels)),
                    .means = queue.array(std::vector<float>(3 * voxels)),
                    .failing = queue.array(std::vector<int>(1)),
                    .smoothed = queue.array(std::vector<int>(1))};
    queue.find_folds(a);
    const int failing = queue.values(a.failing, 1)[0];
    EXPECT_GT(failing, 0);
    queue.clear(a.failing, sizeof(int));
    queue.count_suspects(a);  // of both signs, which fail in different cells
    EXPECT_GT(queue.values(a.failing, 1)[0], failing);
    queue.smooth_folds(a);
    EXPECT_EQ(queue.values(a.h, 3 * voxels), expected);
    queue.clear(a.failing, sizeof(int));
    queue.find_folds(a);
    EXPECT_EQ(queue.values(a.failing, 1)[0], limit.failing);
    queue.count_smoothed(a);
    EXPECT_EQ(queue.values(a.smoothed, 1)[0], limit.limited);
    EXPECT_EQ(queue.values(a.marks, voxels), std::vector<int>(voxels));
  }
}

/// What the device says of its field is what the CPU finds in it.
void expect_certified(const FoundField& field, const Space& space) {
  const DisplacementField on_the_cpu{space, field.mm};
  const FoldCertificate expected = certify(on_the_cpu);
  ASSERT_TRUE(field.certificate);
  EXPECT_EQ(field.certificate->kind, expected.kind);
  EXPECT_EQ(field.certificate->cells, expected.cells);
  EXPECT_NEAR(field.certificate->smallest_determinant, expected.smallest_determinant, 1e-12);
  EXPECT_NEAR(field.certificate->lower_bound, expected.lower_bound, 1e-12);
  double sum = 0, most = 0;
  const std::size_t voxels = field.mm.size() / 3;
  for (std::size_t i = 0; i < voxels; ++i) {
    const double length =
        std::hypot(double(field.mm[i]), double(field.mm[voxels + i]), double(field.mm[2 * voxels + i]));
    sum += length, most = std::max(most, length);
  }
  EXPECT_NEAR(field.mean, sum / static_cast<double>(voxels), 1e-12 * most);
  EXPECT_NEAR(field.largest, most, 1e-12 * most);
}

/// The field of the whole registration in the simulator, beside the CPU's [voxels].
DeformReport expect_the_cpus(const Space& space, DeformOptions options, float tolerance,
                             const std::function<Point(const Point&)>& bent, const Space& moving_space) {
  const PlacedImage fixed = head_on(space, bent), moving = head_on(moving_space);
  options.run.devices = {Device::cpu};
  const Deformation expected = estimate_deformation(fixed, moving, identity_affine(), options);
  options.smooth_field = expected.report.smooth_field;
  const auto found = [&] {
    SimulatedQueue queue;
    DeformReport report;
    QueuePair pair(queue, source_of(fixed, {}, "fixed"), source_of(moving, {}, "moving"));
    const FoundField field = pair.deform(identity_affine(), options, report);
    EXPECT_EQ(report.iterations, options.iterations);
    EXPECT_EQ(report.measure.size(), expected.report.measure.size());
    for (std::size_t k = 0; k < report.measure.size(); ++k)
      EXPECT_NEAR(report.measure[k], expected.report.measure[k], 1e-5) << k;
    EXPECT_EQ(report.smoothed_voxels, expected.report.smoothed_voxels);
    expect_certified(field, space);
    return field.mm;
  };
  const std::vector<float> u = found();
  float most = 0;
  for (std::size_t i = 0; i < u.size(); ++i) most = std::max(most, std::abs(u[i] - expected.field.mm[i]));
  EXPECT_GT(largest(expected.field.mm), 1.5F);
  EXPECT_LT(most / 2, tolerance);
  if (space.grid.nz == 1) {
    EXPECT_EQ(found(), u);
  }
  return expected.report;
}

Point bent_a_little(const Point& p) {
  return {p[0] + 3 * std::sin(p[1] / 11), p[1] + 2 * std::sin(p[0] / 12), p[2]};
}

TEST(GreedyOnADevice, IsTheCpus) {
  // The grid half way differs from both.
  expect_the_cpus(space_around(32, 33, 20), {.iterations = {6, 2}}, 1e-3F, bent_a_little,
                  space_around(30, 36, 21, {2.1, 1.9, 2}));
}
TEST(GreedyOnADevice, IsTheCpusInThePlaneAndForSquaredDifferences) {
  const Space plane = space_around(41, 38, 1);
  expect_the_cpus(plane, {.iterations = {12, 4}}, 1e-3F, bent_a_little, plane);
  expect_the_cpus(plane, {.measure = Measure::ssd, .iterations = {12, 4}}, 1e-3F, bent_a_little, plane);
}
TEST(GreedyOnADevice, DoesNotFoldEither) {
  const auto turned = [](const Point& p) { return Point{p[1], -p[0], p[2]}; };
  const DeformReport report = expect_the_cpus(
      space_around(34, 33, 1), {.iterations = {10}, .step = 1, .smooth_update = 0.8, .smooth_field = 0},
      1e-2F, turned, space_around(34, 33, 1));
  EXPECT_GT(report.smoothed_voxels, 0);
}

}  // namespace
}  // namespace warploom::registration
