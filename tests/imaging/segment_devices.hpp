#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../oracle/chan_vese.hpp"
#include "segment_phantom.hpp"
#include "warploom/imaging/segment.hpp"

/// What every back end has to do; segment_test.cpp and segment_gpu_test.cpp say on which.
namespace warploom::imaging {

inline oracle::ChanVese chan_vese_of(const Image& image, const SegmentOptions& options = {}) {
  const Grid& g = image.grid;
  oracle::ChanVese out;
  out.extent = {g.nx, g.ny, g.nz};
  double smallest = 1e300;
  for (std::size_t a = 0; a < 3; ++a)
    if (out.extent[a] > 1) smallest = std::min(smallest, g.spacing[a]);
  for (std::size_t a = 0; a < 3; ++a) out.spacing[a] = g.spacing[a] / smallest;
  out.mu = options.mu.value_or(0.25), out.lambda_in = options.lambda_in, out.lambda_out = options.lambda_out;
  out.time_step = options.time_step;
  const auto [low, high] = std::ranges::minmax(image.data);
  for (const float v : image.data)
    out.image.push_back((double(v) - double(low)) / (double(high) - double(low)));
  return out;
}

/// Largest |a - b| / (1 + |b|).
inline double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t v = 0; v < b.size(); ++v)
    largest = std::max(largest, std::abs(double(a[v]) - b[v]) / (1 + std::abs(b[v])));
  return largest;
}

/// As the library holds it: in three dimensions a few values of the checkerboard, products of three sines
/// that should be 0, are so near to it that they are 0 in single precision.
inline std::vector<double> in_single_precision(std::vector<double> phi) {
  for (double& value : phi) value = double(static_cast<float>(value));
  return phi;
}

class SegmentOn : public testing::TestWithParam<Device> {
 protected:
  SegmentOptions options() const {
    SegmentOptions out;
    out.method = Method::level_set;
    out.tolerance = 1e-3, out.max_iterations = 500;
    out.run.devices = {GetParam()};
    out.inside = Inside::start;
    return out;
  }
};

// Smaller and larger than a tile of the GPU, not multiples of anything, cubic voxels and others.
inline const std::vector<Grid>& test_grids() {
  static const std::vector<Grid> grids{{3, 2, 1},
                                       {1, 40, 1},
                                       {133, 37, 1},
                                       {300, 70, 1, {0.5, 0.8, 9}},
                                       {5, 4, 3},
                                       {70, 19, 18},
                                       {67, 33, 35, {1, 1.25, 2.5}}};
  return grids;
}

TEST_P(SegmentOn, OneStepIsTheOracles) {
  for (const Grid& grid : test_grids()) {
    SegmentOptions with = options();
    with.max_iterations = 1;
    with.mu = 0.4, with.lambda_in = 1.5, with.lambda_out = 0.7, with.time_step = 0.6;
    const Image image = segment_phantom(grid, 3).image;
    const oracle::ChanVese want = chan_vese_of(image, with);
    const Segmentation got = segment(image, with);
    EXPECT_LT(largest_difference(got.level_set.data,
                                 want.step(in_single_precision(oracle::checkerboard(want.extent)))),
              2e-6)
        << grid.nx << " x " << grid.ny << " x " << grid.nz;
    EXPECT_EQ(got.report.iterations, 1);
    EXPECT_FALSE(got.report.still);
  }
}

TEST_P(SegmentOn, AFewStepsFromTheDiskAreTheOracles) {
  for (const Grid& grid : {Grid{133, 37, 1}, Grid{67, 33, 35, {1, 1.25, 2.5}}}) {
    SegmentOptions with = options();
    with.start = Start::disk, with.tolerance = 0, with.max_iterations = 6;
    const Image image = segment_phantom(grid, 3).image;
    const oracle::ChanVese want = chan_vese_of(image, with);
    const auto run = want.run(in_single_precision(oracle::disk(want.extent, want.spacing)), 0, 6);
    const Segmentation got = segment(image, with);
    EXPECT_LT(largest_difference(got.level_set.data, run.phi), 2e-5);
    ASSERT_EQ(got.report.energy.size(), run.energies.size());
    for (std::size_t k = 0; k < run.energies.size(); ++k)
      EXPECT_NEAR(got.report.energy[k], run.energies[k], 1e-5 * run.energies[k]) << "iteration " << k;
    EXPECT_NEAR(got.report.change, run.change, 1e-4 * run.change);
  }
}

TEST_P(SegmentOn, AWholeRunHasTheOraclesMask) {
  for (const Grid& grid : {Grid{133, 67, 1}, Grid{35, 33, 18, {1, 1, 1.5}}}) {
    const Image image = segment_phantom(grid, 5).image;
    const oracle::ChanVese want = chan_vese_of(image);
    const auto run = want.run(in_single_precision(oracle::checkerboard(want.extent)), 1e-3, 500);
    const Segmentation got = segment(image, options());
    EXPECT_NEAR(got.report.iterations, static_cast<double>(run.energies.size()), 1);
    EXPECT_TRUE(got.report.still);
    EXPECT_LE(got.report.change, 1e-3);
    Mask mask;
    for (const double phi : run.phi) mask.push_back(phi > 0 ? 1 : 0);
    EXPECT_GE(oracle::dice(got.mask, mask), 0.9998);
  }
}

TEST_P(SegmentOn, FindsThePhantomAtSnr5) {
  struct Case {
    Grid grid;
    Start start;
    int max_iterations;
  };
  const Grid plane{128, 128, 1}, cube{40, 40, 40};
  for (const Case& c :
       {Case{plane, Start::checkerboard, 500}, Case{plane, Start::disk, 2000}, Case{plane, Start::box, 2000},
        Case{cube, Start::checkerboard, 500}, Case{cube, Start::disk, 1000}, Case{cube, Start::box, 1000}}) {
    const SegmentPhantom phantom = segment_phantom(c.grid, 5);
    SegmentOptions with = options();
    with.start = c.start, with.tolerance = 1e-4, with.max_iterations = c.max_iterations;
    with.inside = Inside::bright;
    const Segmentation got = segment(phantom.image, with);
    EXPECT_GE(oracle::dice(got.mask, phantom.truth), 0.98)
        << name(c.start) << " in " << (c.grid.nz > 1 ? 3 : 2) << " dimensions, " << got.report.iterations;
    EXPECT_EQ(got.report.inside, std::ranges::count(got.mask, 1));
  }
}

TEST_P(SegmentOn, TwoRunsHaveTheSameBits) {
  const Image image = segment_phantom({200, 90, 7}, 2).image;
  SegmentOptions with = options();
  with.max_iterations = 20;
  const Segmentation a = segment(image, with), b = segment(image, with);
  EXPECT_EQ(a.level_set.data, b.level_set.data);
  EXPECT_EQ(a.report.energy, b.report.energy);
}

TEST_P(SegmentOn, StopsAtTheLimitOfIterations) {
  SegmentOptions with = options();
  with.tolerance = 0;
  const Image image = segment_phantom({40, 30, 1}, 5).image;
  for (const int limit : {1, 2, 31, 32, 33, 70}) {
    with.max_iterations = limit;
    const Segmentation got = segment(image, with);
    EXPECT_EQ(got.report.iterations, limit);
    EXPECT_EQ(got.report.energy.size(), static_cast<std::size_t>(limit));
    EXPECT_FALSE(got.report.still);
  }
}

}  // namespace warploom::imaging
