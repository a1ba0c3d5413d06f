#include "imaging/segment_convex.hpp"

#include <atomic>
#include <limits>
#include <numbers>

#include "segment_convex_devices.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, ConvexOn, testing::Values(Device::cpu));

SegmentOptions convex_on_cpu() {
  SegmentOptions options;
  options.run.devices = {Device::cpu};
  return options;
}

std::string convex_message(const Image& image, const SegmentOptions& options) {
  try {
    segment(image, options);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "no error";
}

TEST(ConvexSlabs, OnTheCpuGiveTheBitsOfOne) {
  expect_slabs_to_give_what_one_gives(
      [](const ConvexProblem& problem, std::size_t slabs) { return convex_cpu(problem, slabs); },
      [](const ConvexBackend& backend, std::int64_t voxels) {
        return std::vector<float>(backend.v(), backend.v() + voxels);
      },
      [](const void* values, std::size_t) { return values; });
}

TEST(ConvexSlabs, TheCpuNamedSeveralTimesGivesTheSameMask) {
  const Image image = segment_phantom({30, 25, 12}, 3).image;
  SegmentOptions with = convex_on_cpu();
  const Segmentation one = segment(image, with);
  with.run.devices.assign(5, Device::cpu);
  const Segmentation several = segment(image, with);
  EXPECT_EQ(one.report.devices, 1);
  EXPECT_EQ(several.report.devices, 5);
  EXPECT_EQ(one.mask, several.mask);
  EXPECT_EQ(one.level_set.data, several.level_set.data);
  EXPECT_EQ(one.report.energy, several.report.energy);
  EXPECT_EQ(one.report.gap, several.report.gap);
}

TEST(ConvexSlabs, WhatUsesOneDeviceRefusesSeveral) {
  SegmentOptions with = convex_on_cpu();
  with.run.devices.assign(2, Device::cpu);
  const Image image = segment_phantom({12, 10, 4}, 5).image;
  with.classes = 3;
  EXPECT_EQ(convex_message(image, with),
            "a segmentation into more than two classes uses one device, not cpu,cpu: name one of them");
  with.classes = 2, with.method = Method::level_set;
  EXPECT_EQ(convex_message(image, with),
            "a segmentation by a level set uses one device, not cpu,cpu: name one of them");
}

TEST(SegmentEdges, AContoursLengthIsRightInEveryDirection) {
  struct Case {
    std::array<double, 3> spacing;
    int count;
    double low, high;  // of the length in some direction over the true one
  };
  for (const Case& c : {Case{{1, 1, 0}, 4, 0.94, 1.03}, Case{{1, 1, 1}, 13, 0.92, 1.03},
                        Case{{1, 1.5, 0}, 4, 0.9, 1.08}, Case{{1, 1, 2}, 13, 0.85, 1.12}}) {
    const Edges edges = edges_of(c.spacing);
    ASSERT_EQ(edges.count, c.count);
    double sum = 0;
    constexpr int kTurns = 500;
    for (int k = 0; k < kTurns; ++k) {
      // A border with this normal: over the voxel's volume, sum of weight |edge . normal|.
      const double z = c.spacing[2] > 0 ? 1 - 2 * (k + 0.5) / kTurns : 0, r = std::sqrt(1 - z * z);
      const double angle = k * 2.39996;
      const double normal[] = {r * std::cos(angle), r * std::sin(angle), z};
      double length = 0;
      for (int e = 0; e < edges.count; ++e) {
        const Edge& edge = edges.edge[e];
        length += double(edge.weight) *
                  std::abs(edge.dx * c.spacing[0] * normal[0] + edge.dy * c.spacing[1] * normal[1] +
                           edge.dz * c.spacing[2] * normal[2]);
      }
      EXPECT_GT(length, c.low);
      EXPECT_LT(length, c.high);
      sum += length / kTurns;
    }
    EXPECT_NEAR(sum, 1, 0.01);
  }
}

TEST(SegmentNoise, IsFoundInPlanesAndSpace) {
  for (const Grid& grid : {Grid{200, 150, 1}, Grid{50, 40, 30}}) {
    const Image image = segment_phantom(grid, 5).image;
    EXPECT_NEAR(finest_noise(image.data.data(), grid, {}), 0.2, 0.01);
  }
  Image clean = segment_phantom({60, 50, 1}, 0).image;
  EXPECT_EQ(finest_noise(clean.data.data(), clean.grid, {}), 0);
}

TEST(SegmentConvex, DoesNotDependOnTheNumberOfThreads) {
  const Image image = segment_phantom({300, 200, 3}, 2).image;
  const RunScope one_thread({.threads = 1});
  const Segmentation one = segment(image, convex_on_cpu());
  const RunScope five_threads({.threads = 5});
  const Segmentation five = segment(image, convex_on_cpu());
  EXPECT_EQ(one.level_set.data, five.level_set.data);
  EXPECT_EQ(one.report.energy, five.report.energy);
}

TEST(SegmentConvex, StretchedVoxelsGiveTheSameBall) {
  const auto volume = [](const Grid& grid) {
    SegmentOptions options = convex_on_cpu();
    options.mu = 0.5;
    return static_cast<double>(segment(ball_in(grid), options).report.inside) * grid.spacing[2];
  };
  const double ball = 4.0 / 3 * std::numbers::pi * 1000;
  EXPECT_NEAR(volume({32, 32, 32}), ball, 0.04 * ball);
  EXPECT_NEAR(volume({32, 32, 16, {1, 1, 2}}), ball, 0.04 * ball);
}

TEST(SegmentConvex, ALargerMuGivesAShorterContour) {
  const Image image = segment_phantom({160, 120, 1}, 3).image;
  double before = std::numeric_limits<double>::infinity();
  for (const double mu : {0.01, 0.1, 0.5}) {
    SegmentOptions options = convex_on_cpu();
    options.mu = mu;
    const Segmentation got = segment(image, options);
    EXPECT_TRUE(got.report.converged) << mu;
    EXPECT_LT(got.report.length, before);
    before = got.report.length;
  }
}

TEST(SegmentConvex, StopsOnRequest) {
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(segment(segment_phantom({60, 60, 1}, 5).image, convex_on_cpu()), Interrupted);
  SegmentOptions three = convex_on_cpu();
  three.classes = 3;
  EXPECT_THROW(segment(segment_phantom({60, 60, 1}, 5).image, three), Interrupted);
}

TEST(SegmentConvex, OptionsOfTheOtherMethodAreRefused) {
  const Image image = segment_phantom({20, 10, 1}, 5).image;
  const auto with = [&](Method method, auto change) {
    SegmentOptions options = convex_on_cpu();
    options.method = method;
    change(options);
    return convex_message(image, options);
  };
  const auto speaks = [](const std::string& text, const std::string& of) {
    return text.find(of) != text.npos;
  };
  const auto start = [](SegmentOptions& o) { o.start = Start::box; };
  const auto side = [](SegmentOptions& o) { o.inside = Inside::start; };
  const auto weight = [](SegmentOptions& o) { o.lambda_in = 2; };
  const auto mask = [](SegmentOptions& o) { o.mask.assign(200, 1); };
  const auto classes = [](SegmentOptions& o) { o.classes = 3; };
  const auto means = [](SegmentOptions& o) { o.means = {{1, 2}}; };
  EXPECT_TRUE(speaks(with(Method::convex, start), "`start`"));
  EXPECT_TRUE(speaks(with(Method::convex, side), "`inside` start"));
  EXPECT_TRUE(speaks(with(Method::convex, weight), "lambda_in"));
  EXPECT_TRUE(speaks(with(Method::level_set, mask), "`mask`"));
  EXPECT_TRUE(speaks(with(Method::level_set, classes), "`classes`"));
  EXPECT_TRUE(speaks(with(Method::level_set, means), "`means`"));
  EXPECT_TRUE(speaks(with(Method::convex, [](SegmentOptions& o) { o.classes = 17; }), "2 to 16"));
  EXPECT_TRUE(speaks(with(Method::convex, [](SegmentOptions& o) { o.mask.assign(7, 1); }), "7 voxels"));
  EXPECT_TRUE(
      speaks(with(Method::convex, [](SegmentOptions& o) { o.mask.assign(200, 0); }), "no voxel counts"));
}

}  // namespace
}  // namespace warploom::imaging
