// minimise_cuda against minimise_cpu, and against itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "imaging/tv_cuda.hpp"
#include "imaging/tv_tiles.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::imaging {
namespace {

struct Shape {
  std::int64_t nx, ny, nz;
};

/// A problem and the images it points to.
struct Case {
  Image noisy, start;
  TvProblem problem;
};

/// @param holes  share of voxels that hold NaN
Case make_case(const Shape& shape, int channels, bool tensor, Solver solver, double holes = 0,
               std::array<double, 3> spacing = {1, 1, 1}) {
  Case c;
  const Grid grid{shape.nx, shape.ny, shape.nz, spacing};
  c.noisy = Image(grid, channels);
  const TensorImage phantom = tensor_phantom(std::max({shape.nx, shape.ny, shape.nz, std::int64_t{8}}));
  const std::int64_t n = phantom.grid.nx;
  const auto in_phantom = [&](std::int64_t v) {  // the middle of the phantom, where all its parts are
    const std::int64_t x = v % shape.nx + (n - shape.nx) / 2,
                       y = v / shape.nx % shape.ny + (n - shape.ny) / 2,
                       z = v / shape.nx / shape.ny + (n - shape.nz) / 2;
    return static_cast<std::size_t>((z * n + y) * n + x);
  };
  for (int k = 0; k < channels; ++k)
    for (std::int64_t v = 0; v < grid.voxels(); ++v)
      c.noisy.channel(k)[static_cast<std::size_t>(v)] = phantom.channel(k % 6)[in_phantom(v)];
  add_noise(c.noisy, 0.15, 11);
  std::int64_t inside = grid.voxels();
  if (holes > 0) {
    std::mt19937 engine(3);
    for (std::int64_t v = 1; v < grid.voxels(); ++v)
      if (static_cast<double>(engine()) < holes * 4294967296.0) {
        --inside;
        for (int k = 0; k < channels; ++k)
          c.noisy.channel(k)[static_cast<std::size_t>(v)] = std::numeric_limits<float>::quiet_NaN();
      }
  }
  c.start = c.noisy;
  if (tensor)  // positive semidefinite by diagonal dominance
    for (std::size_t v = 0; v < static_cast<std::size_t>(grid.voxels()); ++v) {
      const auto at = [&](int k) -> float& { return c.start.channel(k)[v]; };
      const float off = std::abs(at(1)) + std::abs(at(2)) + std::abs(at(4));
      for (const int k : {0, 3, 5}) at(k) = std::isnan(off) ? off : std::max(at(k), off);
    }
  TvConstants& k = c.problem.constants;
  k.channels = channels;
  k.max_iterations = 3000;
  k.lambda = 4;
  k.epsilon = solver == Solver::primal_dual ? 0 : 1e-2;
  k.tolerance = 1e-6;
  k.voxels = static_cast<double>(inside);
  const std::int64_t extent[3] = {grid.nx, grid.ny, grid.nz};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extent[axis] > 1) {
      k.inverse_spacing[axis] = 1 / spacing[axis];
      k.gradient_bound += 4 / (spacing[axis] * spacing[axis]);
    }
  for (std::size_t i = 0; i < static_cast<std::size_t>(channels); ++i)
    k.weights[i] = tensor ? double{kTensorWeights[i]} : 1.0;
  c.problem.grid = grid;
  c.problem.tensor = tensor;
  c.problem.outside = inside < grid.voxels();
  c.problem.solver = solver;
  return c;
}

struct Result {
  Image image;
  TvOutcome outcome;
};

Result on_gpu(const Case& c, const TvTuning& tuning = {}, std::uint64_t device_memory = 0,
              const std::vector<Device>& devices = {}) {
  TvProblem problem = c.problem;
  problem.noisy = c.noisy.data.data();
  const RunScope scope({.memory = device_memory});
  Result result{c.start, {}};
  result.outcome = minimise_cuda(problem, result.image.data.data(), devices, tuning);
  return result;
}

Result on_cpu(const Case& c) {
  TvProblem problem = c.problem;
  problem.noisy = c.noisy.data.data();
  Result result{c.start, {}};
  result.outcome = minimise_cpu(problem, result.image.data.data());
  return result;
}

/// Largest difference of two images; NaN must be in the same places.
double distance(const Image& a, const Image& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (std::isnan(a.data[i]) && std::isnan(b.data[i])) continue;
    const double d = std::abs(double{a.data[i]} - b.data[i]);
    largest = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(largest, d);
  }
  return largest;
}

bool same_bits(const Image& a, const Image& b) {
  return std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) == 0;
}

/// Both stop at a gap of 1e-6, or 1e-4: ||D - D*||^2 <= 2 gap E / lambda over the whole image.
void expect_agreement(const Case& c) {
  const Result gpu = on_gpu(c), cpu = on_cpu(c);
  ASSERT_FALSE(gpu.outcome.history.empty());
  EXPECT_NEAR(gpu.outcome.objective, cpu.outcome.objective, 1e-5 * cpu.outcome.objective);
  EXPECT_LT(distance(gpu.image, cpu.image), 2e-2);
  EXPECT_EQ(gpu.outcome.converged, cpu.outcome.converged);
  if (c.problem.tgv_ratio == 0) {  // which has no entry for every iteration
    EXPECT_EQ(gpu.outcome.history.back().iteration, static_cast<int>(gpu.outcome.history.size()));
  }
  // The first passes start from the same point and take the same decisions.
  for (std::size_t k = 0;
       k < std::min<std::size_t>({5, gpu.outcome.history.size(), cpu.outcome.history.size()}); ++k)
    EXPECT_NEAR(gpu.outcome.history[k].objective, cpu.outcome.history[k].objective,
                1e-5 * cpu.outcome.history[k].objective)
        << "iteration " << k + 1;
}

TEST(DenoiseGpu, AcceleratedAgreesWithTheCpu) {
  for (const Shape shape : {Shape{1, 1, 1}, {17, 9, 5}, {33, 34, 35}, {40, 33, 1}, {1, 7, 20}, {129, 3, 2}}) {
    SCOPED_TRACE(testing::Message() << shape.nx << " x " << shape.ny << " x " << shape.nz);
    expect_agreement(make_case(shape, 6, true, Solver::accelerated));
  }
}

TEST(DenoiseGpu, AcceleratedAgreesWithTheCpuWhereVoxelsAreMissing) {
  expect_agreement(make_case({33, 34, 35}, 6, true, Solver::accelerated, 0.2));
  expect_agreement(make_case({20, 20, 1}, 6, true, Solver::accelerated, 0.7));
}

TEST(DenoiseGpu, AcceleratedAgreesWithTheCpuAtAnisotropicSpacing) {
  expect_agreement(make_case({33, 20, 15}, 6, true, Solver::accelerated, 0.1, {0.5, 1, 3}));
}

TEST(DenoiseGpu, ChannelsAgreeWithTheCpu) {
  for (const int channels : {1, 3, 7, 100}) {
    SCOPED_TRACE(channels);
    expect_agreement(make_case({33, 17, 9}, channels, false, Solver::accelerated, channels == 3 ? 0.2 : 0));
    expect_agreement(make_case({18, 17, 1}, channels, false, Solver::primal_dual, channels == 3 ? 0.2 : 0));
  }
}

TEST(DenoiseGpu, DescentAgreesWithTheCpuStepByStep) {
  for (const double holes : {0.0, 0.2}) {
    Case c = make_case({17, 18, 19}, 6, true, Solver::descent, holes);
    c.problem.constants.max_iterations = 60;
    const Result gpu = on_gpu(c), cpu = on_cpu(c);
    ASSERT_EQ(gpu.outcome.history.size(), cpu.outcome.history.size());
    for (std::size_t k = 0; k < gpu.outcome.history.size(); ++k) {
      EXPECT_NEAR(gpu.outcome.history[k].objective, cpu.outcome.history[k].objective,
                  1e-5 * cpu.outcome.history[k].objective);
      EXPECT_NEAR(gpu.outcome.history[k].gap, cpu.outcome.history[k].gap, 1e-3 * cpu.outcome.history[k].gap);
    }
    EXPECT_LT(distance(gpu.image, cpu.image), 1e-4);
  }
}

TEST(DenoiseGpu, PrimalDualAgreesWithTheCpu) {
  for (const Shape shape : {Shape{17, 9, 5}, {33, 34, 35}, {40, 33, 1}}) {
    SCOPED_TRACE(testing::Message() << shape.nx << " x " << shape.ny << " x " << shape.nz);
    expect_agreement(make_case(shape, 6, true, Solver::primal_dual));
  }
  expect_agreement(make_case({33, 34, 35}, 6, true, Solver::primal_dual, 0.2, {1, 2, 1.5}));
}

class EverySolver : public testing::TestWithParam<Solver> {};
INSTANTIATE_TEST_SUITE_P(DenoiseGpu, EverySolver,
                         testing::Values(Solver::accelerated, Solver::descent, Solver::primal_dual),
                         [](const auto& parameter) {
                           std::string text(name(parameter.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST_P(EverySolver, GivesTheSameBitsTwice) {
  Case c = make_case({65, 34, 35}, 6, true, GetParam(), 0.1);
  c.problem.constants.max_iterations = 100;
  const Result first = on_gpu(c), second = on_gpu(c);
  EXPECT_TRUE(same_bits(first.image, second.image));
  EXPECT_EQ(first.outcome.objective, second.outcome.objective);
}

TEST_P(EverySolver, GivesTheSameBitsInSlabsAsInOnePiece) {
  Case c = make_case({33, 34, 35}, 6, true, GetParam(), 0.1);
  c.problem.constants.max_iterations = 30;
  const TvTuning tuning{.chunk = 4};
  const Result whole = on_gpu(c, tuning);
  EXPECT_EQ(whole.outcome.slabs, 1);
  for (const int share : {2, 3}) {
    const Result slabs =
        on_gpu(c, tuning, whole.outcome.device_bytes * 9 / 10 / static_cast<std::uint64_t>(share - 1));
    EXPECT_GT(slabs.outcome.slabs, share);
    EXPECT_TRUE(same_bits(whole.image, slabs.image));
    ASSERT_EQ(whole.outcome.history.size(), slabs.outcome.history.size());
    for (std::size_t k = 0; k < whole.outcome.history.size(); ++k)
      EXPECT_EQ(whole.outcome.history[k].objective, slabs.outcome.history[k].objective);
  }
}

/// As many parts as are asked for, on the GPUs there are.
std::vector<Device> parts(int count) {
  int gpus = 0;
  cuda_check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  std::vector<Device> devices;
  for (int k = 0; k < count; ++k) devices.push_back(Device::gpu(k % gpus));
  return devices;
}

void expect_the_same(const Result& one, const Result& other) {
  EXPECT_TRUE(same_bits(one.image, other.image));
  ASSERT_EQ(one.outcome.history.size(), other.outcome.history.size());
  for (std::size_t k = 0; k < one.outcome.history.size(); ++k) {
    EXPECT_EQ(one.outcome.history[k].objective, other.outcome.history[k].objective) << k;
    EXPECT_EQ(one.outcome.history[k].gap, other.outcome.history[k].gap) << k;
  }
  EXPECT_EQ(one.outcome.converged, other.outcome.converged);
}

TEST_P(EverySolver, GivesTheSameBitsOnSeveralDevicesAsOnOne) {
  for (const double holes : {0.0, 0.1}) {
    Case c = make_case({33, 34, 35}, 6, true, GetParam(), holes);
    c.problem.constants.max_iterations = 40;
    for (const int chunk : {1, 4, 7}) {
      const TvTuning tuning{.chunk = chunk, .split_from = 0};
      const Result one = on_gpu(c, tuning);
      EXPECT_EQ(one.outcome.devices, 1);
      for (const int count : {2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << "chunks of " << chunk << " planes on " << count);
        const Result several = on_gpu(c, tuning, 0, parts(count));
        EXPECT_EQ(several.outcome.devices, count);
        expect_the_same(one, several);
      }
    }
  }
}

TEST_P(EverySolver, TakesAsManyDevicesAsThereAreChunks) {
  Case c = make_case({17, 9, 3}, 6, true, GetParam());
  c.problem.constants.max_iterations = 25;
  const TvTuning tuning{.chunk = 1, .split_from = 0};
  const Result several = on_gpu(c, tuning, 0, parts(5));
  EXPECT_EQ(several.outcome.devices, 3);  // of a plane each
  expect_the_same(on_gpu(c, tuning), several);
  EXPECT_EQ(on_gpu(c, {}, 0, parts(2)).outcome.devices, 1);  // too small to be worth it
}

TEST(DenoiseGpu, ChannelsGiveTheSameBitsOnSeveralDevices) {
  for (const Solver solver : {Solver::accelerated, Solver::primal_dual})
    for (const int channels : {1, 7, 100}) {
      SCOPED_TRACE(channels);
      Case c = make_case({33, 17, 9}, channels, false, solver, channels == 7 ? 0.2 : 0);
      c.problem.constants.max_iterations = 30;
      const TvTuning tuning{.chunk = 2, .split_from = 0};
      expect_the_same(on_gpu(c, tuning), on_gpu(c, tuning, 0, parts(2)));
    }
}

TEST(DenoiseGpu, SeveralDevicesConvergeToTheSameBits) {
  const Case c = make_case({65, 34, 35}, 6, true, Solver::accelerated, 0.1);
  const TvTuning tuning{.chunk = 6, .split_from = 0};
  const Result one = on_gpu(c, tuning), several = on_gpu(c, tuning, 0, parts(2));
  EXPECT_TRUE(one.outcome.converged);
  expect_the_same(one, several);
}

TEST_P(EverySolver, GivesTheSameBitsInSlabsOnSeveralDevices) {
  Case c = make_case({33, 34, 35}, 6, true, GetParam(), 0.1);
  c.problem.constants.max_iterations = 30;
  const TvTuning tuning{.chunk = 1, .split_from = 0};
  const Result one = on_gpu(c, tuning);
  // Of each GPU: holds a slab of a few planes of each of two parts, but not half of the image.
  const Result slabs = on_gpu(c, tuning, one.outcome.device_bytes / 2, parts(2));
  EXPECT_EQ(slabs.outcome.devices, 2);
  EXPECT_GT(slabs.outcome.slabs, 4);
  expect_the_same(one, slabs);
}

TEST(DenoiseGpu, SeveralDevicesStopWhenInterrupted) {
  const Case c = make_case({17, 9, 5}, 6, true, Solver::accelerated);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(on_gpu(c, {.chunk = 1, .split_from = 0}, 0, parts(2)), Interrupted);
}

TEST_P(EverySolver, StopsAtTheLimitOfIterations) {
  for (const int limit : {1, 11, 12, 13, 24, 25}) {
    Case c = make_case({17, 9, 5}, 6, true, GetParam());
    c.problem.constants.max_iterations = limit;
    c.problem.constants.tolerance = 1e-12;
    const Result result = on_gpu(c);
    EXPECT_EQ(result.outcome.history.size(), static_cast<std::size_t>(limit));
    EXPECT_FALSE(result.outcome.converged);
  }
}

TEST_P(EverySolver, UsesAtMostSixTimesTheMemoryOfTheInput) {
  Case c = make_case({128, 128, 32}, 6, true, GetParam());
  c.problem.constants.max_iterations = 1;
  const Result result = on_gpu(c);
  EXPECT_LT(double(result.outcome.device_bytes), 6.01 * double(c.noisy.data.size() * sizeof(float)));
}

Case make_generalised(const Shape& shape, int channels, double holes = 0,
                      std::array<double, 3> spacing = {1, 1, 1}) {
  Case c = make_case(shape, channels, channels == 6, Solver::primal_dual, holes, spacing);
  c.problem.tgv_ratio = 2;
  c.problem.constants.tolerance = 1e-4;
  c.problem.constants.max_iterations = 10000;
  return c;
}

TEST(DenoiseGpu, GeneralisedVariationAgreesWithTheCpu) {
  for (const Shape shape : {Shape{1, 1, 1}, {17, 9, 5}, {33, 34, 35}, {40, 33, 1}, {1, 7, 20}, {129, 3, 2}}) {
    SCOPED_TRACE(testing::Message() << shape.nx << " x " << shape.ny << " x " << shape.nz);
    expect_agreement(make_generalised(shape, 6));
  }
  expect_agreement(make_generalised({33, 34, 35}, 6, 0.2, {1, 2, 1.5}));
  expect_agreement(make_generalised({20, 20, 1}, 6, 0.7));
  for (const int channels : {1, 3, 7}) {
    SCOPED_TRACE(channels);
    expect_agreement(make_generalised({17, 13, 9}, channels, channels == 3 ? 0.2 : 0));
  }
}

TEST(DenoiseGpu, GeneralisedVariationGivesTheSameBitsTwice) {
  Case c = make_generalised({65, 34, 35}, 6, 0.1);
  c.problem.constants.max_iterations = 100;
  const Result first = on_gpu(c), second = on_gpu(c);
  EXPECT_TRUE(same_bits(first.image, second.image));
  EXPECT_EQ(first.outcome.objective, second.outcome.objective);
}

TEST(DenoiseGpu, GeneralisedVariationSaysHowMuchMemoryIsMissing) {
  const Case c = make_generalised({64, 64, 16}, 6);
  const Result whole = on_gpu(c);
  // 24 times the image, and padding of a plane and a row between components.
  EXPECT_LT(double(whole.outcome.device_bytes), 24 * 1.1 * double(c.noisy.data.size() * sizeof(float)));
  try {
    on_gpu(c, {}, whole.outcome.device_bytes - 1);
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(whole.outcome.device_bytes)));
    EXPECT_THAT(error.what(), testing::HasSubstr("use the CPU, or total variation"));
  }
  EXPECT_TRUE(on_gpu(c, {}, whole.outcome.device_bytes).outcome.converged);
}

TEST(DenoiseGpu, GeneralisedVariationStopsWhenInterrupted) {
  const Case c = make_generalised({17, 9, 5}, 6);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(on_gpu(c), Interrupted);
  stop = false;
  EXPECT_TRUE(on_gpu(c).outcome.converged);
}

TEST(DenoiseGpu, EveryTileGivesTheSameResult) {
  const Case c = make_case({65, 34, 35}, 6, true, Solver::accelerated, 0.1);
  const Result first = on_gpu(c, {.tile = 0});
  for (int tile = 1; tile < kTensorTiles; ++tile) {
    const Result other = on_gpu(c, {.tile = tile, .chunk = 7});
    EXPECT_NEAR(other.outcome.objective, first.outcome.objective, 1e-6 * first.outcome.objective);
    EXPECT_LT(distance(other.image, first.image), 1e-2);
  }
}

TEST(DenoiseGpu, ResultsArePositiveSemidefiniteToRounding) {
  const Result result = on_gpu(make_case({33, 34, 35}, 6, true, Solver::accelerated));
  const auto at = [&](int k, std::size_t v) { return double{result.image.channel(k)[v]}; };
  for (std::size_t v = 0; v < result.image.channel(0).size(); ++v) {
    const double xx = at(0, v), xy = at(1, v), xz = at(2, v), yy = at(3, v), yz = at(4, v), zz = at(5, v);
    const double trace = xx + yy + zz;
    // With 1e-5 of the trace added to each eigenvalue all leading minors are positive.
    const double a = xx + 1e-5 * trace, b = yy + 1e-5 * trace, c = zz + 1e-5 * trace;
    ASSERT_GE(a, 0) << v;
    ASSERT_GE(a * b - xy * xy, 0) << v;
    ASSERT_GE(a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz), 0) << v;
  }
}

TEST(DenoiseGpu, SaysHowMuchMemoryIsMissing) {
  const Case c = make_case({64, 64, 16}, 6, true, Solver::accelerated);
  try {
    on_gpu(c, {}, 100000);
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("needs at least"));
    EXPECT_THAT(error.what(), testing::HasSubstr("bytes are free or allowed"));
  }
}

TEST(DenoiseGpu, StopsWhenInterrupted) {
  const Case c = make_case({17, 9, 5}, 6, true, Solver::accelerated);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(on_gpu(c), Interrupted);
  stop = false;
  EXPECT_TRUE(on_gpu(c).outcome.converged);
}

}  // namespace
}  // namespace warploom::imaging
