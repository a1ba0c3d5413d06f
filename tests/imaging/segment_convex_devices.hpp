#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "../oracle/chan_vese.hpp"
#include "../oracle/phantom.hpp"
#include "../oracle/two_phase.hpp"
#include "imaging/segment_convex.hpp"
#include "segment_phantom.hpp"
#include "warploom/imaging/segment.hpp"

/// What every back end of the convex method has to do; segment_convex_test.cpp and segment_gpu_test.cpp say
/// on which.
namespace warploom::imaging {

class ConvexOn : public testing::TestWithParam<Device> {
 protected:
  SegmentOptions options() const {
    SegmentOptions out;
    out.run.devices = {GetParam()};
    return out;
  }
};

/// The energy that a run reports for its mask, written down a second time.
inline oracle::TwoPhase two_phase_of(const Image& image, const SegmentReport& report, const Mask& found,
                                     const Mask& mask = {}) {
  const double smallest = std::min(image.grid.spacing[0], image.grid.spacing[1]);
  oracle::TwoPhase out{.nx = image.grid.nx,
                       .ny = image.grid.ny,
                       .hx = image.grid.spacing[0] / smallest,
                       .hy = image.grid.spacing[1] / smallest,
                       .mu = report.mu,
                       .in = {},
                       .out = {},
                       .counts = mask};
  float low = INFINITY, high = -INFINITY;
  for (std::size_t v = 0; v < image.data.size(); ++v)
    if (mask.empty() || mask[v] != 0)
      low = std::min(low, image.data[v]), high = std::max(high, image.data[v]);
  const auto scaled = [&](float f) {
    const double u = (double(f) - double(low)) / (double(high) - double(low));
    return report.noise == Noise::counts ? std::sqrt(u) : u;
  };
  double sum[2] = {}, number[2] = {};
  for (std::size_t v = 0; v < image.data.size(); ++v)
    if (mask.empty() || mask[v] != 0) sum[found[v]] += scaled(image.data[v]), ++number[found[v]];
  for (const float f : image.data) {
    out.in.push_back(std::pow(scaled(f) - sum[1] / number[1], 2));
    out.out.push_back(std::pow(scaled(f) - sum[0] / number[0], 2));
  }
  return out;
}

/// As photons are counted: the noise grows with the brightness.
inline Image counted(const Mask& truth, const Grid& grid, double dark, double bright) {
  Image image(grid, 1);
  std::mt19937 random(5);
  for (std::size_t v = 0; v < truth.size(); ++v)
    image.data[v] = static_cast<float>(std::poisson_distribution<int>(truth[v] != 0 ? bright : dark)(random));
  return image;
}

/// Two balls in noise of `sigma` of their contrast.
inline SegmentPhantom two_balls(double sigma) {
  const Grid grid{48, 48, 48};
  SegmentPhantom out{Image(grid, 1), {}};
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const double x = (static_cast<double>(v % 48) + 0.5) / 48,
                 y = (static_cast<double>(v / 48 % 48) + 0.5) / 48,
                 z = (static_cast<double>(v / 2304) + 0.5) / 48;
    const bool in =
        std::hypot(x - 0.33, y - 0.36, z - 0.4) < 0.2 || std::hypot(x - 0.7, y - 0.66, z - 0.62) < 0.16;
    out.truth.push_back(in ? 1 : 0);
    out.image.data[static_cast<std::size_t>(v)] = in ? 1.0F : 0.0F;
  }
  add_noise(out.image, sigma, 3);
  return out;
}

TEST_P(ConvexOn, TheMasksEnergyIsTheLeastThatAFlowFinds) {
  for (const Grid& grid : {Grid{31, 24, 1}, Grid{40, 17, 1, {1, 2.5, 1}}})
    for (const bool counts : {false, true}) {
      SegmentPhantom phantom = segment_phantom(grid, 2);
      if (counts) phantom.image = counted(phantom.truth, grid, 4, 12);
      SegmentOptions with = options();
      with.noise = counts ? Noise::counts : Noise::equal;
      with.tolerance = 1e-4;
      const Segmentation got = segment(phantom.image, with);
      const oracle::TwoPhase want = two_phase_of(phantom.image, got.report, got.mask);
      const double least = want.least_energy();
      EXPECT_TRUE(got.report.converged);
      EXPECT_LE(got.report.gap, 1e-4);
      EXPECT_NEAR(got.report.mask_energy, want.energy(got.mask), 1e-3 * least);
      EXPECT_NEAR(got.report.length, want.length(got.mask), 1e-3 * got.report.length);
      // The weights of the two differ by the directions that the library counts: 1e-4.
      EXPECT_LE(want.energy(got.mask), least * 1.0004);
      EXPECT_LE(got.report.lower_bound, least * 1.0003);
      EXPECT_LE(got.report.lower_bound, got.report.mask_energy);
    }
}

TEST_P(ConvexOn, AMaskLeavesVoxelsOut) {
  const Grid grid{40, 30, 1};
  SegmentPhantom phantom = segment_phantom(grid, 3);
  SegmentOptions with = options();
  with.noise = Noise::equal, with.tolerance = 1e-4;
  for (std::size_t v = 0; v < phantom.truth.size(); ++v) with.mask.push_back(v % 40 < 25 ? 1 : 0);
  Image other = phantom.image;
  for (std::size_t v = 0; v < phantom.truth.size(); ++v)
    if (with.mask[v] == 0) phantom.image.data[v] = 1e6F, other.data[v] = NAN;
  const Segmentation got = segment(phantom.image, with), same = segment(other, with);
  EXPECT_EQ(got.mask, same.mask);
  EXPECT_EQ(got.level_set.data, same.level_set.data);
  EXPECT_EQ(got.report.voxels, 750);
  for (std::size_t v = 0; v < got.mask.size(); ++v) EXPECT_LE(got.mask[v], with.mask[v]) << v;
  const oracle::TwoPhase want = two_phase_of(phantom.image, got.report, got.mask, with.mask);
  EXPECT_LE(want.energy(got.mask), want.least_energy() * 1.0004);
}

TEST_P(ConvexOn, EightPairsOfMeansGiveOneMask) {
  std::mt19937 random(7);
  for (const Grid& grid : {Grid{200, 150, 1}, Grid{40, 36, 30, {1, 1, 1.5}}})
    for (const std::optional<double> mu : {std::optional<double>{}, std::optional<double>{0.3}}) {
      const Image image = segment_phantom(grid, 4).image;
      SegmentOptions with = options();
      with.mu = mu;
      const Mask first = segment(image, with).mask;
      for (int k = 0; k < 8; ++k) {
        std::uniform_real_distribution<double> value(-0.5, 1.5);
        const double a = value(random), b = value(random);
        with.means = {{a, b}};
        const Mask mask = segment(image, with).mask;
        std::int64_t both = 0, either = 0;
        for (std::size_t v = 0; v < mask.size(); ++v)
          both += (mask[v] & first[v]) != 0, either += (mask[v] | first[v]) != 0;
        EXPECT_GE(double(both), 0.999 * double(either)) << a << ", " << b;
      }
    }
}

TEST_P(ConvexOn, FindsTwoBallsInNoiseOfAFifth) {
  for (const auto& [sigma, least] : {std::pair{0.1, 0.9999}, std::pair{0.2, 0.999}, std::pair{0.4, 0.985}}) {
    const SegmentPhantom phantom = two_balls(sigma);
    const Segmentation got = segment(phantom.image, options());
    EXPECT_GE(oracle::dice(got.mask, phantom.truth), least) << sigma;
    EXPECT_NEAR(got.report.noise_level, sigma, 0.05 * sigma);
    EXPECT_EQ(got.report.noise, Noise::equal);
  }
}

TEST_P(ConvexOn, FindsShapesInAllNoise) {
  for (const double snr : {10.0, 5.0, 3.33, 2.5}) {
    const SegmentPhantom phantom = segment_phantom({192, 192, 1}, snr);
    const Segmentation got = segment(phantom.image, options());
    EXPECT_GE(oracle::dice(got.mask, phantom.truth), 0.997) << snr;
    EXPECT_LE(got.report.gap, 1e-3);
    EXPECT_LE(got.report.iterations, 40);
  }
}

TEST_P(ConvexOn, OneBrightCellOnDarkIsFound) {
  Image image(Grid{128, 128, 1}, 1);
  Mask truth;
  for (std::int64_t v = 0; v < 128 * 128; ++v) {
    const bool in = std::hypot(static_cast<double>(v % 128 - 50), static_cast<double>(v / 128 - 70)) < 18;
    truth.push_back(in ? 1 : 0);
    image.data[static_cast<std::size_t>(v)] = in ? 200.0F : 20.0F;
  }
  EXPECT_EQ(segment(image, options()).mask, truth);
  add_noise(image, 36, 2);
  EXPECT_GE(oracle::dice(segment(image, options()).mask, truth), 0.998);
}

/// 25 disks, `faint` of which have a third of the others' brightness; slightly blurred, and with noise.
inline SegmentPhantom disks(int faint, double offset) {
  const Grid grid{200, 200, 1};
  SegmentPhantom out{Image(grid, 1), Mask(40000)};
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const std::int64_t x = v % 200, y = v / 200, disk = y / 40 * 5 + x / 40;
    const double off =
        std::hypot(static_cast<double>(x % 40) - 19.5, static_cast<double>(y % 40) - 19.5) - 10;
    const auto at = static_cast<std::size_t>(v);
    out.truth[at] = off < 0 ? 1 : 0;
    const double share = 1 / (1 + std::exp(2 * off)), brightness = disk % 25 < faint ? 25 : 80;
    out.image.data[at] = static_cast<float>(offset + 5 + brightness * share);
  }
  add_noise(out.image, 1, 9);
  return out;
}

TEST_P(ConvexOn, FaintObjectsAmongBrightOnesAreFound) {
  for (const double offset : {0.0, 1000.0, -500.0}) {
    const SegmentPhantom all_bright = disks(0, offset), some_faint = disks(15, offset);
    const Segmentation same = segment(all_bright.image, options()),
                       mixed = segment(some_faint.image, options());
    EXPECT_EQ(same.report.noise, Noise::equal) << offset;
    EXPECT_GE(oracle::dice(same.mask, all_bright.truth), 0.99) << offset;
    EXPECT_EQ(mixed.report.noise, Noise::counts) << offset;
    EXPECT_GE(oracle::dice(mixed.mask, some_faint.truth), 0.95) << offset;
    SegmentOptions with = options();
    with.noise = Noise::equal;
    EXPECT_LE(oracle::dice(segment(some_faint.image, with).mask, some_faint.truth), 0.8) << offset;
  }
}

TEST_P(ConvexOn, AFewVeryBrightObjectsDoNotMoveTheBordersOfTheOthers) {
  // Of 25 disks with blurred borders two are four times as bright: with means the border of the others is
  // drawn towards them.
  SegmentPhantom phantom = disks(0, 0);
  for (std::size_t at = 0; at < phantom.image.data.size(); ++at)
    if (at % 200 < 80 && at / 200 < 40 && phantom.truth[at] != 0) phantom.image.data[at] *= 4;
  SegmentOptions with = options();
  const double medians = oracle::dice(segment(phantom.image, with).mask, phantom.truth);
  with.noise = Noise::equal;
  const double means = oracle::dice(segment(phantom.image, with).mask, phantom.truth);
  EXPECT_GE(medians, 0.97);
  EXPECT_GE(medians, means);
}

TEST_P(ConvexOn, TheLevelSetIsAboveZeroWhereTheMaskIs) {
  const SegmentPhantom phantom = segment_phantom({70, 50, 3}, 5);
  for (const Inside inside : {Inside::bright, Inside::dark}) {
    SegmentOptions with = options();
    with.inside = inside;
    const Segmentation got = segment(phantom.image, with);
    for (std::size_t v = 0; v < got.mask.size(); ++v)
      ASSERT_EQ(got.level_set.data[v] > 0, got.mask[v] != 0) << v;
    EXPECT_EQ(got.report.inside, std::ranges::count(got.mask, 1));
    EXPECT_EQ(got.report.mean_in > got.report.mean_out, inside == Inside::bright);
  }
}

TEST_P(ConvexOn, RunsHaveTheSameBits) {
  const Image image = segment_phantom({200, 90, 7}, 2).image;
  const Segmentation a = segment(image, options()), b = segment(image, options());
  EXPECT_EQ(a.level_set.data, b.level_set.data);
  EXPECT_EQ(a.report.energy, b.report.energy);
}

/// Of both back ends, bit for bit: what several slabs give is what one gives.
inline void expect_slabs_to_give_what_one_gives(
    const std::function<std::unique_ptr<ConvexBackend>(const ConvexProblem&, std::size_t)>& make,
    const std::function<std::vector<float>(const ConvexBackend&, std::int64_t)>& v_of,
    const ConvexProblem& problem, std::size_t slabs) {
  const auto one = make(problem, 1), several = make(problem, slabs);
  ASSERT_EQ(several->devices(), static_cast<int>(slabs));
  const auto compare = [&](float threshold) {
    const SetSums a = one->measure(threshold), b = several->measure(threshold);
    EXPECT_EQ(a.inside, b.inside);
    EXPECT_EQ(a.sum, b.sum);
    EXPECT_EQ(a.length, b.length);
    EXPECT_EQ(a.excess, b.excess);
    const SetSums side = several->sides(threshold);
    EXPECT_EQ(a.inside, side.inside);
    EXPECT_EQ(a.sum, side.sum);
    const LevelSums of_one = one->levels(), of_several = several->levels();
    EXPECT_EQ(of_one.count, of_several.count);
    EXPECT_EQ(of_one.sum, of_several.sum);
    EXPECT_EQ(of_one.square, of_several.square);
    EXPECT_EQ(v_of(*one, problem.grid.voxels()), v_of(*several, problem.grid.voxels()));
  };
  compare(0.4F);
  for (const auto& [lambda, count] : {std::pair{0.05F, 1}, {0.05F, 7}, {0.3F, 10}}) {
    for (ConvexBackend* backend : {one.get(), several.get()}) {
      backend->begin(lambda);
      backend->iterate(count);
    }
    compare(0.45F);
  }
}
inline void expect_slabs_to_give_what_one_gives(
    const std::function<std::unique_ptr<ConvexBackend>(const ConvexProblem&, std::size_t)>& make,
    const std::function<std::vector<float>(const ConvexBackend&, std::int64_t)>& v_of,
    const std::function<const void*(const void*, std::size_t)>& place) {
  std::mt19937 random(3);
  for (const Grid& grid : {Grid{13, 11, 5}, Grid{40, 17, 9, {1, 1, 2}}, Grid{5, 70, 2}})
    for (const bool masked : {false, true}) {
      std::vector<float> image;
      std::vector<std::uint8_t> mask;
      for (std::int64_t v = 0; v < grid.voxels(); ++v) {
        image.push_back(static_cast<float>(random() % 1000) / 1000);
        mask.push_back(random() % 4 != 0 ? 1 : 0);
      }
      const ConvexProblem problem{
          .grid = grid,
          .edges = edges_of(relative_spacing(grid)),
          .image = static_cast<const float*>(place(image.data(), image.size() * sizeof(float))),
          .mask = masked ? static_cast<const std::uint8_t*>(place(mask.data(), mask.size())) : nullptr};
      for (const std::size_t slabs : {1, 2, 3, 5}) {
        if (static_cast<std::int64_t>(slabs) > grid.nz) continue;
        SCOPED_TRACE(testing::Message()
                     << grid.nz << " planes on " << slabs << (masked ? ", with a mask" : ""));
        expect_slabs_to_give_what_one_gives(make, v_of, problem, slabs);
      }
    }
}

TEST_P(ConvexOn, SmallAndThinImages) {
  for (const Grid& grid : {Grid{2, 1, 1}, Grid{1, 2, 1}, Grid{1, 1, 2}, Grid{3, 2, 1}, Grid{1, 40, 1},
                           Grid{5, 1, 4}, Grid{2, 2, 2}}) {
    Image image(grid, 1);
    for (std::size_t v = 0; v < image.data.size(); ++v)
      image.data[v] = 2 * v < image.data.size() ? 3.0F : 5.0F;
    const Segmentation got = segment(image, options());
    EXPECT_TRUE(got.report.converged) << grid.nx << " x " << grid.ny << " x " << grid.nz;
    for (std::size_t v = 0; v < image.data.size(); ++v) EXPECT_EQ(got.mask[v] != 0, image.data[v] > 4);
  }
}

TEST_P(ConvexOn, AContourThatCostsTooMuchVanishes) {
  SegmentOptions with = options();
  with.mu = 1e6, with.max_iterations = 60;
  const Segmentation got = segment(segment_phantom({30, 20, 1}, 5).image, with);
  EXPECT_FALSE(got.report.converged && got.report.inside > 0 && got.report.gap > 1e-4);
}

}  // namespace warploom::imaging
