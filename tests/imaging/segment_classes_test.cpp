#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../oracle/phantom.hpp"
#include "imaging/segment_potts.hpp"
#include "segment_phantom.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

/// Disks of brightness 1, 2 and so on, on 0.
struct Disks {
  Image image;
  Mask truth;
};
Disks disks(const Grid& grid, int classes, double sigma) {
  Disks out{Image(grid, 1), Mask(static_cast<std::size_t>(grid.voxels()))};
  const auto width = static_cast<double>(grid.nx);
  for (std::size_t v = 0; v < out.truth.size(); ++v) {
    const double x = static_cast<double>(static_cast<std::int64_t>(v) % grid.nx),
                 y = static_cast<double>(static_cast<std::int64_t>(v) / grid.nx % grid.ny);
    for (int k = 1; k < classes; ++k)
      if (std::hypot(x - width * k / classes, y - static_cast<double>(grid.ny) / 2) < width / (2.6 * classes))
        out.truth[v] = static_cast<std::uint8_t>(k);
    out.image.data[v] = out.truth[v];
  }
  add_noise(out.image, sigma, 4);
  return out;
}

SegmentOptions classes_on_cpu(int classes) {
  SegmentOptions options;
  options.run.devices = {Device::cpu};
  options.classes = classes;
  return options;
}

double agreement(const Mask& a, const Mask& b) {
  std::size_t same = 0;
  for (std::size_t v = 0; v < a.size(); ++v) same += a[v] == b[v] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(a.size());
}

TEST(SegmentClasses, AreFoundInNoise) {
  for (const Grid& grid : {Grid{150, 70, 1}, Grid{60, 30, 6, {1, 1, 2}}})
    for (const int classes : {3, 4}) {
      const Disks made = disks(grid, classes, 0.2);
      const Segmentation got = segment(made.image, classes_on_cpu(classes));
      EXPECT_GE(agreement(got.mask, made.truth), 0.995) << classes << " in " << grid.nz;
      EXPECT_TRUE(got.report.converged);
      EXPECT_LE(got.report.gap, 0.01);
      ASSERT_EQ(got.report.means.size(), static_cast<std::size_t>(classes));
      for (int k = 0; k < classes; ++k) {
        EXPECT_NEAR(got.report.means[std::size_t(k)], k, 0.05);
        EXPECT_EQ(got.report.sizes[std::size_t(k)], std::ranges::count(got.mask, std::uint8_t(k)));
      }
    }
}

TEST(SegmentClasses, TheBordersLieBetweenTheClasses) {
  const Disks made = disks({150, 70, 1}, 3, 0.2);
  const Segmentation got = segment(made.image, classes_on_cpu(3));
  ASSERT_EQ(got.level_set.channels, 2);
  for (int c = 0; c < 2; ++c)
    for (std::size_t v = 0; v < got.mask.size(); ++v)
      ASSERT_EQ(got.level_set.channel(c)[v] > 0, int{got.mask[v]} > c) << v;
}

TEST(SegmentClasses, AMaskLeavesVoxelsOut) {
  Disks made = disks({150, 70, 1}, 3, 0.2);
  SegmentOptions options = classes_on_cpu(3);
  for (std::size_t v = 0; v < made.truth.size(); ++v) {
    options.mask.push_back(v % 150 > 5 ? 1 : 0);
    if (options.mask[v] == 0) made.image.data[v] = NAN, made.truth[v] = 0;
  }
  EXPECT_GE(agreement(segment(made.image, options).mask, made.truth), 0.995);
}

TEST(SegmentClasses, MoreThanTheImagesValuesAreRefused) {
  Image image(Grid{20, 10, 1}, 1);
  for (std::size_t v = 0; v < 60; ++v) image.data[v] = 3;
  EXPECT_THROW(segment(image, classes_on_cpu(3)), BadInput);
}

// Shares lie in the simplex, the dual bound below every energy: whatever the iteration.
TEST(SegmentPotts, SharesAddUpToOneAndTheBoundHolds) {
  const Disks made = disks({40, 30, 1}, 3, 0.3);
  const Edges edges = edges_of({1, 1, 0});
  const ConvexProblem problem{made.image.grid, edges, made.image.data.data(), nullptr};
  Potts potts(problem, 3);
  std::vector<std::vector<float>> costs(3);
  for (int k = 0; k < 3; ++k)
    for (const float f : made.image.data) costs[std::size_t(k)].push_back((f - float(k)) * (f - float(k)));
  potts.begin(costs, 0.3);
  for (int round = 0; round < 10; ++round) {
    potts.iterate(10);
    const PottsEnergies e = potts.energies();
    EXPECT_LE(e.bound, e.relaxed * (1 + 1e-6));
    EXPECT_LE(e.bound, e.labels * (1 + 1e-6));
    for (std::size_t v = 0; v < made.truth.size(); ++v) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) {
        EXPECT_GE(potts.membership(k)[v], 0);
        sum += potts.membership(k)[v];
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

}  // namespace
}  // namespace warploom::imaging
