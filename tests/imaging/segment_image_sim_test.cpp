// What a GPU does with an image before it is segmented and after, in the simulator with the race detector,
// beside the CPU's loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imaging/segment_image_kernels.hpp"
#include "imaging/segment_phantom.hpp"
#include "imaging/segment_work.hpp"
#include "imaging/strided.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::imaging {
namespace {

constexpr std::uint32_t kBlocks = 3, kThreads = 256;

template <class T>
std::pair<T, T> two(const std::vector<T>& parts) {
  return {std::accumulate(parts.begin(), parts.begin() + kBlocks, T{}),
          std::accumulate(parts.begin() + kBlocks, parts.end(), T{})};
}

class SegmentImageKernels : public testing::TestWithParam<bool> {
 protected:
  SegmentImageKernels() {
    if (GetParam())
      for (std::size_t v = 0; v < image.data.size(); ++v) mask.push_back(v % 64 > 3 ? 1 : 0);
    if (!mask.empty()) mask_at = machine.upload(std::span(mask));
  }

  template <class... Values>
  void launch(std::string_view kernel, const Values&... values) {
    sim::Arguments arguments;
    (arguments.add(values), ...);
    sim::LaunchOptions options;
    options.grid = {kBlocks}, options.block = {kThreads};
    options.races = true;
    std::string symbol;
    for (const ptx::Function& function : machine.module().functions)
      if (function.entry && function_name(function.name).ends_with(kernel)) symbol = function.name;
    const sim::Outcome outcome = machine.launch(symbol, arguments, options);
    EXPECT_TRUE(outcome.completed);
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }
  template <class T>
  std::vector<T> fetched(sim::Address from, std::size_t count) const {
    std::vector<T> out(count);
    machine.download(from, std::span(out));
    return out;
  }
  /// u of the CPU, there.
  sim::Address scaled_there(const ScaledImage& scaled) { return machine.upload(std::span(scaled.data)); }

  sim::Machine machine{ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "segment_image_kernels.ptx")};
  const Grid grid{61, 23, 5};
  Image image = segment_phantom(grid, 3).image;
  const std::int64_t voxels = grid.voxels();
  const std::size_t count = image.data.size();
  Mask mask = {};
  sim::Address mask_at = 0;
  const sim::Address counts = machine.allocate(2 * kBlocks * sizeof(std::uint64_t)),
                     sums = machine.allocate(2 * kBlocks * sizeof(double)), found = machine.allocate(count),
                     level_set = machine.allocate(4 * count);
};

TEST_P(SegmentImageKernels, ScaleAsTheCpu) {
  const auto values = machine.upload(std::span(image.data));
  launch("image_range", values, mask_at, voxels, counts, sums);
  const ScaledImage want = scaled_image({grid, 1, image.data}, mask);
  const auto [counted, bad] = two(fetched<std::uint64_t>(counts, 2 * kBlocks));
  EXPECT_EQ(static_cast<std::int64_t>(counted), want.voxels);
  EXPECT_EQ(bad, 0u);
  const std::vector<float> ends = fetched<float>(sums, 2 * kBlocks);
  const float low = *std::min_element(ends.begin(), ends.begin() + kBlocks),
              high = *std::max_element(ends.begin() + kBlocks, ends.end());
  EXPECT_EQ(double(low), want.low);
  EXPECT_EQ(double(high) - double(low), want.scale);

  launch("image_scale<false>", values, mask_at, voxels, want.low, want.scale, values, sums);  // in place
  EXPECT_EQ(fetched<float>(values, count), want.data);
  const auto [sum, squares] = two(fetched<double>(sums, 2 * kBlocks));
  EXPECT_NEAR(sum, want.sum, 1e-10 * want.sum);
  EXPECT_NEAR(squares, want.squares, 1e-10 * want.squares);

  ScaledImage roots = want;
  take_roots(roots);
  launch("image_scale<true>", values, mask_at, voxels, 0.0, 1.0, values, sums);
  EXPECT_EQ(fetched<float>(values, count), roots.data);
}

TEST_P(SegmentImageKernels, CountWhatIsNotFinite) {
  image.data[65] = std::numeric_limits<float>::quiet_NaN();
  image.data[70] = -std::numeric_limits<float>::infinity();
  image.data[0] = std::numeric_limits<float>::infinity();  // of the mask's rest
  launch("image_range", machine.upload(std::span(image.data)), mask_at, voxels, counts, sums);
  EXPECT_EQ(two(fetched<std::uint64_t>(counts, 2 * kBlocks)).second, mask.empty() ? 3u : 1u);
}

TEST_P(SegmentImageKernels, SeeTheCpusNoise) {
  const ScaledImage scaled = scaled_image({grid, 1, image.data}, mask);
  const NoiseSample sample = noise_sample(grid);
  const auto sizes = machine.allocate(4 * static_cast<std::uint64_t>(sample.count()));
  launch("image_noise", scaled_there(scaled), mask_at, sample, sizes);
  auto differences = fetched<float>(sizes, static_cast<std::size_t>(sample.count()));
  std::erase_if(differences, [](float one) { return one < 0; });
  const double noise = noise_of(differences, sample.axes);
  EXPECT_EQ(noise, finest_noise(scaled.data.data(), grid, mask));
  EXPECT_GT(noise, 0);
}

TEST_P(SegmentImageKernels, GatherAsTheCpu) {
  const Turned turned(image);
  const sim::Address there = machine.upload(std::span(turned.values)) + turned.first * sizeof(float);
  ImageGather gather{grid.nx, grid.ny, grid.nz, {}, 700, 3000};
  std::ranges::copy(turned.strides, gather.stride);
  launch("image_gather", there, gather, level_set);
  const auto begin = image.data.begin() + gather.first;
  EXPECT_EQ(fetched<float>(level_set, 3000), std::vector<float>(begin, begin + gather.count));
}

TEST_P(SegmentImageKernels, CutAsTheCpu) {
  Mask want_mask(count);
  std::vector<float> want(count);
  const auto work = segment_work_cpu({grid, 1, image.data}, mask, {want_mask.data(), want.data()});
  const ScaledImage scaled = scaled_image({grid, 1, image.data}, mask);
  std::vector<float> v = scaled.data;
  v[66] = 0.5F;  // the threshold itself
  for (const Cut& by : {Cut{true, false, 0.5F}, Cut{true, true, 0.5F}, Cut{}, Cut{false, true, 0}}) {
    const SideSums sides = work->cut(v.data(), by);
    const ImageCut cut{int{by.found}, int{by.dark}, by.threshold, scaled.low, scaled.scale, 0};
    launch("image_cut", scaled_there(scaled), machine.upload(std::span(v)), mask_at, voxels, cut, found,
           level_set, counts, sums);
    EXPECT_EQ(fetched<std::uint8_t>(found, count), want_mask);
    EXPECT_EQ(fetched<float>(level_set, count), want);
    const auto [dark, bright] = two(fetched<std::uint64_t>(counts, 2 * kBlocks));
    EXPECT_EQ(static_cast<double>(dark), sides.number[0]);
    EXPECT_EQ(static_cast<double>(bright), sides.number[1]);
    // Values come from u, which is rounded.
    const auto [dark_sum, bright_sum] = two(fetched<double>(sums, 2 * kBlocks));
    EXPECT_NEAR(dark_sum, sides.sum[0], 1e-6 * scaled.scale * double(count));
    EXPECT_NEAR(bright_sum, sides.sum[1], 1e-6 * scaled.scale * double(count));
  }
}

TEST_P(SegmentImageKernels, BeginAndEndALevelSetAsTheCpu) {
  const Mask all;
  Mask want_mask(count);
  std::vector<float> want(count);
  const auto work = segment_work_cpu({grid, 1, image.data}, all, {want_mask.data(), want.data()});
  work->start({});
  const std::vector<double> waves = checkerboard_waves(grid);
  launch("image_waves", machine.upload(std::span(waves)), grid.nx, grid.ny, grid.nz, level_set);
  EXPECT_EQ(fetched<float>(level_set, count), want);

  const ScaledImage scaled = scaled_image({grid, 1, image.data}, {});
  launch("image_content", scaled_there(scaled), level_set, voxels, counts, sums);
  const Content content = work->content();
  EXPECT_EQ(static_cast<double>(two(fetched<std::uint64_t>(counts, 2 * kBlocks)).first), content.inside);
  EXPECT_NEAR(two(fetched<double>(sums, 2 * kBlocks)).first, content.inside_image,
              1e-10 * content.inside_image);

  work->finish(-1);
  launch("image_sides", level_set, voxels, -1.0F, found);
  EXPECT_EQ(fetched<float>(level_set, count), want);
  EXPECT_EQ(fetched<std::uint8_t>(found, count), want_mask);
}

INSTANTIATE_TEST_SUITE_P(Masks, SegmentImageKernels, testing::Bool());

}  // namespace
}  // namespace warploom::imaging
