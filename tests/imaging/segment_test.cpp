#include <cmath>
#include <limits>
#include <numbers>

#include "imaging/segment_backend.hpp"
#include "imaging/segment_rows.hpp"
#include "segment_devices.hpp"
#include "strided.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::imaging {
namespace {

using testing::TestWithParam;

INSTANTIATE_TEST_SUITE_P(Cpu, SegmentOn, testing::Values(Device::cpu));

SegmentOptions on_cpu() {
  SegmentOptions options;
  options.method = Method::level_set;
  options.tolerance = 1e-3, options.max_iterations = 500;
  options.run.devices = {Device::cpu};
  return options;
}

std::string message(const Image& image, const SegmentOptions& options) {
  try {
    segment(image, options);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImageViews, WithStridesAreGatheredInAnyPieces) {
  Image image({37, 19, 5}, 3);
  for (std::size_t v = 0; v < image.data.size(); ++v) image.data[v] = static_cast<float>(v);
  const Turned turned(image);
  EXPECT_EQ(gathered(turned.view()).data, image.data);
  EXPECT_EQ(gathered(image).data, image.data);
  const auto all = static_cast<std::int64_t>(image.data.size());
  for (const std::int64_t first : {0, 1, 36, 37, 700, 3514})
    for (const std::int64_t count : {1, 2, 37, 38, 600, 3515})
      if (first + count <= all) {
        std::vector<float> room(static_cast<std::size_t>(count));
        const float* const values = turned.view().values(first, count, room.data());
        for (std::int64_t k = 0; k < count; ++k) ASSERT_EQ(values[k], static_cast<float>(first + k));
        EXPECT_EQ(ImageView(image).values(first, count, nullptr), image.data.data() + first);
      }
}

TEST(ImageViews, WithStridesAreRefusedWhereTheyAreNotTaken) {
  const Turned turned(Image({5, 4, 3}, 1));
  EXPECT_THROW(turned.view().check(), BadInput);
  EXPECT_THROW(turned.view().channel(0), BadInput);
  turned.view().check_strided();
  ImageView both = turned.view();
  const std::vector<float> more(60);
  both.data = more;
  EXPECT_THROW(both.check_strided(), BadInput);
}

TEST(Segment, ReadsValuesWithStrides) {
  for (const Grid& grid : {Grid{61, 43, 1}, Grid{41, 23, 13, {1, 1, 2}}}) {
    const Image image = segment_phantom(grid, 3).image;
    const Turned turned(image);
    SegmentOptions convex, classes;
    convex.run.devices = classes.run.devices = {Device::cpu};
    classes.classes = 3;
    for (const SegmentOptions& options : {convex, classes, on_cpu()}) {
      const Segmentation want = segment(image, options), found = segment(turned.view(), options);
      EXPECT_EQ(found.mask, want.mask);
      EXPECT_EQ(found.level_set.data, want.level_set.data);
      EXPECT_EQ(found.report.mean_in, want.report.mean_in);
      EXPECT_EQ(found.report.means, want.report.means);
    }
  }
}

// An image that NumPy and this file compute alike: u = cos(x/9) cos(y/7) + 0.3 sin(1.7 x + 2.3 y).
Image waves(std::int64_t n) {
  Image image(Grid{n, n, 1}, 1);
  for (std::int64_t y = 0; y < n; ++y)
    for (std::int64_t x = 0; x < n; ++x) {
      const double i = static_cast<double>(x), j = static_cast<double>(y);
      image.data[static_cast<std::size_t>(y * n + x)] =
          static_cast<float>(std::cos(i / 9) * std::cos(j / 7) + 0.3 * std::sin(1.7 * i + 2.3 * j));
    }
  return image;
}

// skimage.segmentation.chan_vese 0.26.0 (NumPy, double) of waves(96) as float64, extended_output: recorded
// once.
TEST(Segment, GivesWhatScikitImageGave) {
  struct Fact {
    double mu;
    int iterations, inside;
    double mean_in, mean_out, first_energy, last_energy;
  };
  for (const Fact& fact : {
           Fact{0.25, 114, 4825, 0.403301731, -0.455075378, 1188.976046899, 514.879890622},
           Fact{0.05, 500, 4728, 0.420592055, -0.454738050, 582.466805512, 322.820744307},
           Fact{1.0, 43, 4651, 0.400451542, -0.419453505, 3463.385702099, 525.734329667},
       })
    for (const Inside inside : {Inside::start, Inside::bright}) {
      SegmentOptions options;  // but for what a larger mu needs, the defaults of the method
      options.method = Method::level_set;
      options.run.devices = {Device::cpu};
      options.mu = fact.mu;
      if (fact.mu > 0.25) options.tolerance = 1e-3, options.max_iterations = 500;
      options.inside = inside;
      const Segmentation got = segment(waves(96), options);
      EXPECT_NEAR(got.report.iterations, fact.iterations, 1);
      EXPECT_NEAR(double(got.report.inside), fact.inside, 2);
      EXPECT_NEAR(got.report.mean_in, fact.mean_in, 1e-4);
      EXPECT_NEAR(got.report.mean_out, fact.mean_out, 1e-4);
      EXPECT_NEAR(got.report.energy.front(), fact.first_energy, 1e-5 * fact.first_energy);
      EXPECT_NEAR(got.report.energy.back(), fact.last_energy, 1e-3 * fact.last_energy);
    }
}

// Nothing makes a step of this size descend, and in three dimensions single steps do not; all together do.
TEST(Segment, EnergyFallsOnAnImageWithoutNoise) {
  const auto plane = segment(segment_phantom({120, 90, 1}, 0).image, on_cpu()).report.energy;
  for (std::size_t k = 1; k < plane.size(); ++k) EXPECT_LE(plane[k], plane[k - 1] * (1 + 1e-6)) << k;
  EXPECT_LT(plane.back(), 0.5 * plane.front());
  const auto volume = segment(segment_phantom({40, 30, 20}, 0).image, on_cpu()).report.energy;
  EXPECT_LT(volume.back(), 0.5 * volume.front());
}

TEST(Segment, DoesNotDependOnTheNumberOfThreads) {
  SegmentOptions options = on_cpu();
  options.max_iterations = 15;
  const Image image = segment_phantom({300, 200, 3}, 2).image;
  const RunScope one_thread({.threads = 1});
  const Segmentation one = segment(image, options);
  const RunScope five_threads({.threads = 5});
  const Segmentation five = segment(image, options);
  EXPECT_EQ(one.level_set.data, five.level_set.data);
  EXPECT_EQ(one.report.energy, five.report.energy);
}

TEST(Segment, ValuesOfSomebodyElseGiveTheBitsOfAnImage) {
  const Image image = segment_phantom({60, 50, 4}, 2).image;
  std::vector<float> within(image.data.size() + 3);
  std::ranges::copy(image.data, within.begin() + 3);
  const ImageView view{image.grid, 1, std::span(within).subspan(3)};
  const Segmentation of_image = segment(image, on_cpu()), of_view = segment(view, on_cpu());
  EXPECT_EQ(of_image.mask, of_view.mask);
  EXPECT_EQ(of_image.level_set.data, of_view.level_set.data);
}

// With a weight for either side, the one that was asked for has lambda_in, whatever the start makes of it.
TEST(Segment, WeightsBelongToTheSideAskedFor) {
  SegmentOptions options = on_cpu();
  options.lambda_in = 1.5, options.inside = Inside::bright;
  const Image image = waves(96);
  const Segmentation bright = segment(image, options);
  Image negative = image;
  for (float& v : negative.data) v = -v;
  options.inside = Inside::dark;
  const Segmentation dark = segment(negative, options);
  EXPECT_GE(oracle::dice(bright.mask, dark.mask), 0.999);
}

// Neither had moved when it said that it had converged.
TEST(Segment, TheLevelSetNeverSaysThatItConverged) {
  const Image image = segment_phantom({128, 128, 1}, 5).image;
  for (const Start start : {Start::checkerboard, Start::disk}) {
    SegmentOptions options;
    options.method = Method::level_set;
    options.run.devices = {Device::cpu};
    options.start = start;
    if (start == Start::checkerboard) options.mu = 1;
    const Segmentation got = segment(image, options);
    EXPECT_FALSE(got.report.converged);
    EXPECT_GT(got.report.iterations, 100) << name(start);
    EXPECT_GE(oracle::dice(got.mask, segment_phantom({128, 128, 1}, 5).truth), 0.97) << name(start);
  }
}

TEST(Segment, ChoosesTheSideThatWasAskedFor) {
  const SegmentPhantom phantom = segment_phantom({90, 80, 1}, 5);
  SegmentOptions options = on_cpu();
  const Segmentation bright = segment(phantom.image, options);
  options.inside = Inside::dark;
  const Segmentation dark = segment(phantom.image, options);
  EXPECT_GT(bright.report.mean_in, bright.report.mean_out);
  EXPECT_LT(dark.report.mean_in, dark.report.mean_out);
  EXPECT_NEAR(bright.report.mean_in, dark.report.mean_out, 1e-3);
  EXPECT_NEAR(double(bright.report.inside + dark.report.inside), 90 * 80, 3);
  EXPECT_GE(oracle::dice(bright.mask, phantom.truth), 0.98);
}

TEST(Segment, MeansAreThoseOfTheMaskInTheImagesUnit) {
  Image image = segment_phantom({90, 80, 1}, 5).image;
  for (float& v : image.data) v = 400 + 1000 * v;
  const Segmentation got = segment(image, on_cpu());
  double in = 0, out = 0, count = 0;
  for (std::size_t v = 0; v < got.mask.size(); ++v)
    (got.mask[v] != 0 ? in : out) += double(image.data[v]), count += got.mask[v];
  EXPECT_NEAR(got.report.mean_in, in / count, 0.01);
  EXPECT_NEAR(got.report.mean_out, out / (double(got.mask.size()) - count), 0.01);
}

TEST(Segment, AStartFromAMaskNeedsFewIterations) {
  const SegmentPhantom phantom = segment_phantom({90, 80, 1}, 5);
  SegmentOptions options = on_cpu();
  options.start = Start::mask;
  options.start_mask = phantom.truth;
  options.tolerance = 1e-4;
  const Segmentation got = segment(phantom.image, options);
  EXPECT_GE(oracle::dice(got.mask, phantom.truth), 0.98);
}

TEST(Segment, StretchedVoxelsGiveTheContourOfTheSameBall) {
  // The ball is round in millimetres: half as many voxels along z.
  const auto volume = [](const Grid& grid) {
    SegmentOptions options = on_cpu();
    options.mu = 0.5;
    return static_cast<double>(segment(ball_in(grid), options).report.inside) * grid.spacing[2];
  };
  const double ball = 4.0 / 3 * std::numbers::pi * 1000;
  EXPECT_NEAR(volume({32, 32, 32}), ball, 0.03 * ball);
  EXPECT_NEAR(volume({32, 32, 16, {1, 1, 2}}), ball, 0.03 * ball);
}

TEST(Segment, UnitsOfTheSpacingDoNotMatter) {
  SegmentOptions options = on_cpu();
  options.max_iterations = 10;
  Image image = segment_phantom({40, 30, 10, {1, 1, 2.5}}, 5).image;
  const Segmentation millimetres = segment(image, options);
  image.grid.spacing = {1000, 1000, 2500};
  EXPECT_EQ(segment(image, options).level_set.data, millimetres.level_set.data);
}

TEST(SegmentStart, AMasksLevelSetIsTheDistanceToItsBorder) {
  const Grid grid{13, 11, 7};
  const std::array<double, 3> spacing{1, 1.5, 2};
  SegmentOptions options;
  options.start = Start::mask;
  for (std::int64_t v = 0; v < grid.voxels(); ++v) options.start_mask.push_back(v * 7919 % 31 < 3 ? 1 : 0);
  const std::vector<float> got = start_level_set(grid, spacing, options);
  const auto position = [&](std::int64_t v) {
    return std::array<double, 3>{static_cast<double>(v % 13), 1.5 * static_cast<double>(v / 13 % 11),
                                 2.0 * static_cast<double>(v / 143)};
  };
  std::vector<double> want;
  double largest = 0;
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    double nearest = 1e300;
    for (std::int64_t w = 0; w < grid.voxels(); ++w) {
      if (options.start_mask[std::size_t(v)] == options.start_mask[std::size_t(w)]) continue;
      const auto p = position(v), q = position(w);
      nearest = std::min(nearest, std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]));
    }
    want.push_back((options.start_mask[std::size_t(v)] != 0 ? 1 : -1) * (nearest - 0.5));
    largest = std::max(largest, nearest - 0.5);
  }
  for (std::size_t v = 0; v < want.size(); ++v) EXPECT_NEAR(double(got[v]), want[v] / largest, 1e-6) << v;
}

TEST(SegmentStart, TheBoxIsThreeQuartersOfEachAxis) {
  SegmentOptions options;
  options.start = Start::box;
  const std::vector<float> got = start_level_set({40, 16, 1}, {1, 1, 0}, options);
  std::int64_t inside = 0;
  for (const float v : got) inside += v > 0 ? 1 : 0;
  EXPECT_EQ(inside, 30 * 12);
  EXPECT_LT(got[0], 0);
}

TEST(SegmentStep, ArcTangentIsWithinItsBound) {
  double worst = 0;
  for (int k = -400'000; k <= 400'000; ++k) {
    const float x = static_cast<float>(std::sinh(k / 20'000.0));
    const float r = 1 / std::sqrt(1 + x * x);
    worst = std::max(worst, std::abs(double(arc_tangent(x, r)) - std::atan(double(x))));
  }
  EXPECT_LT(worst, 6e-7);
}

TEST(SegmentRows, AllInstructionSetsAgree) {
  std::vector<UpdateRow> sets{baseline::update_segment_row};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back(avx2::update_segment_row);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    sets.push_back(avx512::update_segment_row);
#endif
  const StepConstants constants{{1, 0.8F, 0.5F}, 0.25F, 1, 1.5F, 0.5F};
  const std::int64_t nx = 1301;
  const Image random = segment_phantom({nx, 6, 1}, 1).image;
  const auto row = [&](std::int64_t y) { return random.data.data() + y * nx; };
  for (const int dimensions : {2, 3}) {
    std::vector<std::vector<float>> after;
    std::vector<std::array<double, kStepSums>> sums;
    for (const UpdateRow update : sets) {
      after.emplace_back(nx);
      sums.push_back({});
      update(constants, 0.7F, 0.2F, dimensions,
             {nx, row(0), row(1), {row(2), row(3)}, {row(4), row(5)}, after.back().data()},
             sums.back().data());
    }
    for (std::size_t s = 1; s < sets.size(); ++s) {
      for (std::size_t x = 0; x < after[0].size(); ++x) EXPECT_NEAR(after[s][x], after[0][x], 2e-6) << x;
      for (std::size_t k = 0; k < kStepSums; ++k)
        EXPECT_NEAR(sums[s][k], sums[0][k], 1e-5 * std::abs(sums[0][k])) << k;
    }
  }
}

TEST(SegmentBadInput, VoxelsThatAreNoNumbersAreCounted) {
  Image image = segment_phantom({20, 10, 1}, 5).image;
  image.data[3] = std::numeric_limits<float>::quiet_NaN();
  image.data[77] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message(image, on_cpu()), "2 of 200 voxels are NaN or infinite; replace them by a value first");
}

TEST(SegmentBadInput, AConstantImageIsRefused) {
  Image image(Grid{20, 10, 1}, 1);
  std::ranges::fill(image.data, 7.5F);
  EXPECT_EQ(message(image, on_cpu()), "every voxel of the image is 7.5: there is nothing to segment");
}

TEST(SegmentBadInput, MoreThanOneChannelIsRefused) {
  EXPECT_EQ(message(Image(Grid{4, 4, 1}, 3), on_cpu()), "the image has 3 channels; one can be segmented");
}

TEST(SegmentBadInput, OptionsOutOfRangeAreNamed) {
  const Image image = segment_phantom({20, 10, 1}, 5).image;
  const auto with = [&](auto change) {
    SegmentOptions options = on_cpu();
    change(options);
    return message(image, options);
  };
  EXPECT_EQ(with([](SegmentOptions& o) { o.mu = -1; }), "mu is -1, it must be finite and at least 0");
  EXPECT_EQ(with([](SegmentOptions& o) { o.lambda_in = NAN; }),
            "lambda_in is nan, it must be finite and at least 0");
  EXPECT_EQ(with([](SegmentOptions& o) { o.lambda_in = o.lambda_out = 0; }),
            "lambda_in + lambda_out is 0, it must be above 0: else the image does not count");
  EXPECT_EQ(with([](SegmentOptions& o) { o.time_step = 0; }),
            "the time step is 0, it must be finite and above 0");
  EXPECT_EQ(with([](SegmentOptions& o) { o.tolerance = -1e-3; }),
            "the tolerance is -0.001, it must be finite and at least 0");
  EXPECT_EQ(with([](SegmentOptions& o) { o.max_iterations = 0; }),
            "the limit of iterations is 0, it must be at least 1");
}

TEST(SegmentBadInput, AStartMaskMustFitAndHaveTwoSides) {
  const Image image = segment_phantom({20, 10, 1}, 5).image;
  SegmentOptions options = on_cpu();
  options.start = Start::mask;
  EXPECT_EQ(message(image, options), "a start from a mask needs one: start_mask is empty");
  options.start_mask.assign(199, 1);
  EXPECT_EQ(message(image, options), "the mask has 199 voxels, the image 20 x 10 x 1 = 200");
  options.start_mask.assign(200, 1);
  EXPECT_EQ(message(image, options), "the start mask is not 0 everywhere: a contour needs two sides");
  options.start_mask.assign(200, 0);
  EXPECT_EQ(message(image, options), "the start mask is 0 everywhere: a contour needs two sides");
}

TEST(SegmentBadInput, NamesThatAreNoneListThoseThereAre) {
  EXPECT_EQ(parse_start("box"), Start::box);
  EXPECT_EQ(parse_start("ball"), Start::disk);
  EXPECT_EQ(name(Inside::dark), "dark");
  try {
    parse_start("circle");
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "start: 'circle' is none of checkerboard, disk, box and mask");
  }
}

TEST(Segment, StopsOnRequest) {
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(segment(segment_phantom({60, 60, 1}, 5).image, on_cpu()), Interrupted);
}

TEST(Segment, SaysThatThereIsNoGpu) {
  SegmentOptions options = on_cpu();
  options.run.devices = {Device::cuda};
  const Image image = segment_phantom({60, 60, 1}, 5).image;
  if (!cuda_devices().devices.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW(segment(image, options), NoDevice);
}

}  // namespace
}  // namespace warploom::imaging
