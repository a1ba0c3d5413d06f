// What is particular to the CPU back end (pieces, threads, instruction sets) and what denoise.cpp does around
// any back end. solvers_test.cpp asks whether the minimum is found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "imaging/tv_inside.hpp"
#include "imaging/tv_rows.hpp"
#include "imaging/tv_sweep.hpp"
#include "oracle/phantom.hpp"
#include "oracle/tv.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorImage noisy_tensors(std::int64_t n) {
  TensorImage image = tensor_phantom(n);
  add_noise(image, 0.15, 1);
  return image;
}

/// A part of a phantom.
Image part_of(const Image& whole, std::array<std::int64_t, 3> begin, std::array<std::int64_t, 3> extent,
              int channels = kTensorChannels) {
  Image part(Grid{extent[0], extent[1], extent[2], whole.grid.spacing}, channels);
  for (int c = 0; c < channels; ++c)
    for (std::int64_t z = 0, v = 0; z < extent[2]; ++z)
      for (std::int64_t y = 0; y < extent[1]; ++y)
        for (std::int64_t x = 0; x < extent[0]; ++x, ++v)
          part.channel(c)[std::size_t(v)] = whole.channel(c % kTensorChannels)[std::size_t(
              ((z + begin[2]) * whole.grid.ny + y + begin[1]) * whole.grid.nx + x + begin[0])];
  return part;
}

DenoiseOptions options(Solver solver = Solver::accelerated) {
  DenoiseOptions result;
  result.solver = solver;
  result.lambda = 4;
  result.epsilon = solver == Solver::primal_dual ? 0 : 1e-2;
  result.run.devices = {Device::cpu};
  return result;
}

/// Largest |a - b|; NaN in both is equal, in one infinitely different.
float largest_difference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const float d = std::abs(a[i] - b[i]);
    largest = std::isnan(d) ? std::numeric_limits<float>::infinity() : std::max(largest, d);
  }
  return largest;
}

class EverySolver : public testing::TestWithParam<Solver> {};
INSTANTIATE_TEST_SUITE_P(, EverySolver,
                         testing::Values(Solver::accelerated, Solver::primal_dual, Solver::descent),
                         [](const auto& solver) {
                           std::string text(name(solver.param));
                           std::erase(text, '-');
                           return text;
                         });

// More than one tile along y and one slab along z.
TEST_P(EverySolver, GivesTheSameForAnyNumberOfThreads) {
  const Image start = part_of(noisy_tensors(72), {20, 0, 30}, {21, 72, 36});
  DenoiseOptions o = options(GetParam());
  o.max_iterations = 12;
  std::vector<Image> results;
  std::vector<double> objectives;
  for (const unsigned count : {1u, 2u, 5u}) {
    const RunScope scope({.threads = count});
    results.push_back(start);
    objectives.push_back(denoise_tensors(results.back(), {}, o).objective);
  }
  for (std::size_t k = 1; k < results.size(); ++k) {
    EXPECT_EQ(results[k].data, results[0].data);
    EXPECT_EQ(objectives[k], objectives[0]);
  }
}

/// A part of a ball that no plane cuts in the middle: rows that begin and end anywhere, and empty ones.
Mask part_of_a_ball(const Grid& grid) {
  Mask mask(std::size_t(grid.voxels()));
  for (std::int64_t z = 0, v = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x, ++v) {
        const auto square = [](double a) { return a * a; };
        mask[std::size_t(v)] =
            square((double(x) - 21) / 24) + square((double(y) - 30) / 33) + square((double(z) - 15) / 18) <
                1 &&
            v % 11 != 0;
      }
  return mask;
}

TEST_P(EverySolver, GivesTheSameForAnyNumberOfThreadsInAMask) {
  const Image start = part_of(noisy_tensors(72), {5, 0, 30}, {53, 72, 36});
  const Mask mask = part_of_a_ball(start.grid);
  DenoiseOptions o = options(GetParam());
  o.max_iterations = 8;
  std::vector<Image> results;
  std::vector<double> objectives;
  for (const unsigned count : {1u, 2u, 3u, 16u}) {
    const RunScope scope({.threads = count});
    results.push_back(start);
    objectives.push_back(denoise_tensors(results.back(), mask, o).objective);
  }
  for (std::size_t k = 1; k < results.size(); ++k) {
    EXPECT_EQ(results[k].data, results[0].data);
    EXPECT_EQ(objectives[k], objectives[0]);
  }
}

/// A pass of tensors in a part of a ball.
struct APass {
  APass() {
    add_noise(x, 0.05, 2);
    add_noise(before, 0.05, 3);
    for (Image* const image : {&noisy, &x, &before})
      for (int c = 0; c < kTensorChannels; ++c)
        for (std::size_t v = 0; v < mask.size(); ++v)
          if (mask[v] == 0) image->channel(c)[v] = kNan;
    problem.grid = noisy.grid;
    problem.tensor = problem.outside = true;
    problem.constants = {.channels = kTensorChannels, .lambda = 3, .epsilon = 0.01};
    for (int axis = 0; axis < 3; ++axis) problem.constants.inverse_spacing[axis] = 1 / (1 + 0.25 * axis);
    for (std::size_t c = 0; c < 6; ++c) problem.constants.weights[c] = double(kTensorWeights[c]);
    problem.noisy = noisy.data.data();
  }

  /// Packs what it reads if `packed`; the result is always.
  TvSums run(const InsideRows& inside, bool packed, unsigned threads, TvPass pass, Image& result) const {
    const RunScope scope({.threads = threads});
    const std::size_t values = std::size_t(inside.packed_values());
    std::vector<float> of_x(values), of_before(values), of_noisy(values), next(values);
    inside.pack(pass.x, of_x.data());
    inside.pack(pass.before, of_before.data());
    inside.pack(noisy.data.data(), of_noisy.data());
    if (packed) {
      pass.before = pass.before == pass.x ? of_x.data() : of_before.data();
      pass.x = of_x.data();
    }
    pass.planar = !packed;
    pass.next = next.data();
    pass.step = 0.01;
    pass.alpha = alpha;
    const TvSums sums = TvSweep(problem, inside, packed ? of_noisy.data() : nullptr).run(pass);
    inside.unpack(next.data(), result.data.data());
    return sums;
  }

  /// What lies inside.
  void expect_same(const Image& got, const Image& want) const {
    for (int c = 0; c < kTensorChannels; ++c)
      for (std::size_t v = 0; v < mask.size(); ++v)
        if (mask[v] != 0) {
          ASSERT_EQ(got.channel(c)[v], want.channel(c)[v]) << "channel " << c << ", voxel " << v;
        }
  }

  Image noisy = part_of(noisy_tensors(72), {5, 0, 30}, {53, 72, 36});
  Mask mask = part_of_a_ball(noisy.grid);
  Image x = noisy, before = noisy;
  TvProblem problem;
  double alpha[kTensorChannels] = {0.3, 0.2, 0.4, 0.5, 0.3, 0.6};
};

// Of what lies outside the mask nothing is read or written, and no sum may change. Beside a pass over whole
// rows that lie as in the image.
TEST(DenoiseCpu, APassOverWhatIsInsideHasTheBitsOfOneOverWholeRows) {
  const APass a;
  const InsideRows inside(a.problem), whole(a.problem, true);
  for (const bool descent : {false, true}) {
    const TvPass pass{.x = a.x.data.data(),
                      .before = a.before.data.data(),
                      .momentum = 0.4,
                      .descent = descent,
                      .factor = 0.7};
    Image want = a.noisy;
    const TvSums sums = a.run(whole, false, 1, pass, want);
    EXPECT_GT(sums.fidelity, 0);
    for (const unsigned threads : {1u, 2u, 9u})
      for (const bool packed : {false, true}) {
        Image next = a.noisy;
        const TvSums got = a.run(inside, packed, threads, pass, next);
        EXPECT_EQ(std::memcmp(&got, &sums, sizeof sums), 0);
        a.expect_same(next, want);
      }
  }
}

// So the x before need not be read.
TEST(DenoiseCpu, APassWithoutMomentumHasTheSameBitsForAnyXBefore) {
  const APass a;
  const InsideRows inside(a.problem);
  Image want = a.noisy, next = a.noisy;
  const float* const x = a.x.data.data();
  const TvSums sums = a.run(inside, true, 1, {.x = x, .before = a.before.data.data()}, want);
  const TvSums got = a.run(inside, true, 1, {.x = x, .before = x}, next);
  EXPECT_EQ(std::memcmp(&got, &sums, sizeof sums), 0);
  a.expect_same(next, want);
}

TEST(DenoiseCpu, PackedRowsHoldWhatIsInsideAndNoMore) {
  const APass a;
  const InsideRows inside(a.problem);
  std::vector<float> packed(std::size_t(inside.packed_values()), kNan);
  inside.pack(a.noisy.data.data(), packed.data());
  EXPECT_LT(packed.size(), a.noisy.data.size());
  Image got(a.noisy.grid, kTensorChannels);
  std::ranges::fill(got.data, 7.0F);
  inside.unpack(packed.data(), got.data.data());
  a.expect_same(got, a.noisy);
  EXPECT_EQ(got.data.front(), 7);  // outside all rows
}

// A flux that is wrong at the seam of two pieces would leave a gradient there.
TEST(DenoiseCpu, HasNoSeamsBetweenPieces) {
  const Image start = part_of(noisy_tensors(72), {34, 0, 30}, {5, 72, 36});
  Image image = start;
  DenoiseOptions o = options();
  o.tolerance = 1e-7;
  const DenoiseReport report = denoise_tensors(image, {}, o);
  ASSERT_EQ(report.stop, StopReason::converged);
  const oracle::TotalVariation functional(start, {}, true, o.lambda, o.epsilon);
  const oracle::Field result = functional.field(image);
  const double objective = functional.objective(result);
  EXPECT_NEAR(report.objective / objective, 1, 1e-6);
  EXPECT_LT(functional.gap_bound(result, 1e-3) / objective, 5e-7);
}

TEST(DenoiseCpu, MeasuresTheObjectiveOfTheStart) {
  Image start = part_of(noisy_tensors(72), {20, 0, 30}, {21, 72, 36});
  start.grid.spacing = {0.7, 1.3, 2};
  Image projected = start;
  floor_eigenvalues(projected, {});
  DenoiseOptions o = options();
  o.max_iterations = 1;
  Image image = start;
  const DenoiseReport report = denoise_tensors(image, {}, o);
  const oracle::TotalVariation functional(start, {}, true, o.lambda, o.epsilon);
  EXPECT_NEAR(report.objective / functional.objective(functional.field(projected)), 1, 1e-6);
  EXPECT_EQ(report.stop, StopReason::iteration_limit);
  EXPECT_EQ(report.iterations, 1);
}

TEST_P(EverySolver, LeavesVoxelsOutsideTheMaskAsTheyWere) {
  const Image start = noisy_tensors(14);
  Mask mask(std::size_t(start.grid.voxels()));
  for (std::size_t v = 0; v < mask.size(); ++v) mask[v] = v % 7 != 0 && v % 14 > 3 && v > 500;
  Image image = start;
  DenoiseOptions o = options(GetParam());
  o.max_iterations = 10;
  const DenoiseReport report = denoise_tensors(image, mask, o);
  EXPECT_EQ(report.outside, std::count(mask.begin(), mask.end(), 0));
  for (int c = 0; c < kTensorChannels; ++c)
    for (std::size_t v = 0; v < mask.size(); ++v) {
      if (mask[v] == 0)
        ASSERT_EQ(image.channel(c)[v], start.channel(c)[v]);
      else
        ASSERT_TRUE(std::isfinite(image.channel(c)[v]));
    }
}

TEST(DenoiseCpu, WhatIsOutsideTheMaskDoesNotMatter) {
  const Image start = noisy_tensors(14);
  Mask mask(std::size_t(start.grid.voxels()), 1);
  for (std::size_t v = 0; v < mask.size(); v += 5) mask[v] = 0;
  Image a = start, b = start;
  for (int c = 0; c < kTensorChannels; ++c)
    for (std::size_t v = 0; v < mask.size(); v += 5) b.channel(c)[v] = v % 2 == 0 ? kNan : 1e30F;
  DenoiseOptions o = options();
  o.max_iterations = 20;
  denoise_tensors(a, mask, o);
  denoise_tensors(b, mask, o);
  for (std::size_t v = 0; v < mask.size(); ++v)
    if (mask[v] != 0) {
      ASSERT_EQ(a.channel(1)[v], b.channel(1)[v]) << v;
    }
}

TEST(DenoiseCpu, VoxelsThatAreNotNumbersAreOutside) {
  const Image start = noisy_tensors(12);
  Mask mask(std::size_t(start.grid.voxels()), 1);
  mask[700] = mask[701] = 0;
  Image masked = start, broken = start;
  broken.channel(4)[700] = kNan;
  broken.channel(0)[701] = std::numeric_limits<float>::infinity();
  DenoiseOptions o = options();
  o.max_iterations = 20;
  denoise_tensors(masked, mask, o);
  const DenoiseReport report = denoise_tensors(broken, {}, o);
  EXPECT_EQ(report.outside, 2);
  EXPECT_EQ(broken.channel(0)[700], start.channel(0)[700]);
  EXPECT_TRUE(std::isnan(broken.channel(4)[700]));
  for (int c = 0; c < kTensorChannels; ++c)
    for (std::size_t v = 0; v < mask.size(); ++v)
      if (mask[v] != 0) {
        ASSERT_EQ(broken.channel(c)[v], masked.channel(c)[v]);
      }
}

TEST(DenoiseCpu, AMaskThatIsABoxGivesWhatTheBoxAloneGives) {
  const Image whole = noisy_tensors(20);
  Image box = part_of(whole, {3, 5, 7}, {9, 8, 6}), image = whole;
  Mask mask(std::size_t(whole.grid.voxels()));
  for (std::int64_t z = 7; z < 13; ++z)
    for (std::int64_t y = 5; y < 13; ++y)
      for (std::int64_t x = 3; x < 12; ++x) mask[std::size_t((z * 20 + y) * 20 + x)] = 1;
  denoise_tensors(box, {}, options());
  denoise_tensors(image, mask, options());
  EXPECT_EQ(part_of(image, {3, 5, 7}, {9, 8, 6}).data, box.data);
}

TEST(DenoiseCpu, CountsTensorsWithANegativeEigenvalue) {
  Image image = tensor_phantom(10);
  image.channel(0)[17] = -0.5F;
  image.channel(1)[400] = 9;
  EXPECT_EQ(denoise_tensors(image, {}, options()).projected, 2);
}

TEST_P(EverySolver, OneVoxelIsItsOwnMinimiser) {
  Image image(Grid{1, 1, 1}, kTensorChannels);
  image.data = {1, 0.1F, 0.2F, 2, 0.3F, 3};
  const Image start = image;
  DenoiseOptions o = options(GetParam());
  o.max_iterations = 3000;
  EXPECT_EQ(denoise_tensors(image, {}, o).stop, StopReason::converged);
  // Descent starts beside it. Where the gap allows, sqrt(2 E gap / lambda) of distance.
  EXPECT_LT(largest_difference(image.data, start.data), GetParam() == Solver::descent ? 2e-3F : 1e-6F);
}

// A voxel on its own: P(noisy) is the minimiser, as far as the gap says.
TEST(DenoiseCpu, ProjectsAVoxelOnItsOwn) {
  Image image(Grid{1, 1, 1}, kTensorChannels);
  image.data = {1, 2, 0, 1, 0, 0.5F};  // eigenvalues 3, -1, 0.5
  const DenoiseReport report = denoise_tensors(image, {}, options());
  EXPECT_EQ(report.projected, 1);
  EXPECT_LT(largest_difference(image.data, std::vector<float>{1.5F, 1.5F, 0, 1.5F, 0, 0.5F}), 1e-6F);
}

TEST(DenoiseCpu, ChannelsAreWeightedAlike) {
  Image two = part_of(noisy_tensors(12), {0, 0, 0}, {12, 12, 12}, 2);
  Image swapped = two;
  std::ranges::copy(two.channel(0), swapped.channel(1).begin());
  std::ranges::copy(two.channel(1), swapped.channel(0).begin());
  denoise_channels(two, {}, options());
  denoise_channels(swapped, {}, options());
  EXPECT_LT(largest_difference(two.channel(0), swapped.channel(1)), 1e-5F);
  EXPECT_LT(largest_difference(two.channel(1), swapped.channel(0)), 1e-5F);
}

TEST(DenoiseCpu, TakesAHundredChannels) {
  Image image = part_of(noisy_tensors(12), {0, 0, 0}, {12, 12, 3}, 100);
  EXPECT_EQ(denoise_channels(image, {}, options()).stop, StopReason::converged);
}

TEST(DenoiseCpu, AnInterruptLeavesTheImageUnchanged) {
  const Image start = noisy_tensors(12);
  Image image = start;
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(denoise_tensors(image, {}, options()), Interrupted);
  stop = false;
  EXPECT_EQ(image.data, start.data);
}

TEST(DenoiseCpu, RefusesWhatItCannotDo) {
  const Image good = noisy_tensors(8);
  const auto message = [&](auto change, const Mask& mask = {}, bool tensor = true) {
    return [&good, change, mask, tensor] {
      Image image = good;
      DenoiseOptions o = options();
      change(image, o);
      tensor ? denoise_tensors(image, mask, o) : denoise_channels(image, mask, o);
    };
  };
  const auto refuses = [](const char* text) { return ThrowsMessage<BadInput>(HasSubstr(text)); };
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.lambda = -1; }), refuses("lambda is -1"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.lambda = kNan; }), refuses("lambda is nan"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.epsilon = 0; }), refuses("only primal-dual takes 0"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.solver = Solver::primal_dual; }), refuses("give 0"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.tolerance = 0; }), refuses("tolerance is 0"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.max_iterations = 0; }), refuses("at least 1"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.descent_step = kNan; }),
              refuses("step of descent is nan"));
  EXPECT_THAT(message([](Image&, DenoiseOptions& o) { o.solver = Solver::descent; }, {}, false),
              refuses("Cholesky factor of a tensor"));
  EXPECT_THAT(message([](Image& i, DenoiseOptions&) { i = Image(Grid{2, 2, 2}, 5); }), refuses("this one 5"));
  EXPECT_THAT(message(
                  [](Image& i, DenoiseOptions&) {
                    i = Image(Grid{2, 2, 2}, 101);
                  },
                  {}, false),
              refuses("101 channels; 1 to 100"));
  EXPECT_THAT(message([](Image& i, DenoiseOptions&) { i.grid.spacing[1] = 0; }), refuses("along y is 0"));
  EXPECT_THAT(message([](Image& i, DenoiseOptions&) { i.data.pop_back(); }), refuses("has 3071 values"));
  EXPECT_THAT(message([](Image& i, DenoiseOptions&) { i.data[7] = 1e20F; }), refuses("voxel 7 of channel 0"));
  EXPECT_THAT(message([](Image&, DenoiseOptions&) {}, Mask(10, 1)), refuses("the mask has 10 voxels"));
  EXPECT_THAT(message([](Image&, DenoiseOptions&) {}, Mask(512, 0)), refuses("no voxel to denoise"));
}

// --- row loops of every instruction set, beside a plain one in double

std::vector<const TvRows*> sets_of_this_processor() {
  std::vector<const TvRows*> sets{&baseline::tv_rows};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&avx2::tv_rows);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    sets.push_back(&avx512::tv_rows);
#endif
  return sets;
}

TEST(TvRows, ProjectIsTheNearestSemidefiniteTensor) {
  constexpr std::int64_t n = 203;  // no multiple of any number of lanes
  Image tensors(Grid{n, 1, 1}, kTensorChannels);
  add_noise(tensors, 1, 3);
  for (int c = 0; c < kTensorChannels; ++c) {
    for (std::size_t v = 100; v < 140; ++v) tensors.channel(c)[v] *= 0.1F;
    tensors.channel(c)[5] = 0;
    tensors.channel(c)[9] = kNan;
  }
  for (const int c : {0, 3, 5})
    for (std::size_t v = 100; v < 140; ++v) tensors.channel(c)[v] += 1;  // positive definite
  for (const TvRows* set : sets_of_this_processor()) {
    std::vector<float> move(tensors.data.size(), 0.0F), next(tensors.data.size());
    const TvRow<const float> y{tensors.data.data(), n};
    const TvRowSums sums = set->project[1](y, {move.data(), n}, y, {next.data(), n}, n);
    double distance = 0;
    for (std::size_t v = 0; v < n; ++v) {
      std::array<double, 6> tensor, got;
      for (std::size_t c = 0; c < 6; ++c) {
        tensor[c] = tensors.channel(int(c))[v];
        got[c] = next[c * n + v];
      }
      if (v == 9) {
        EXPECT_TRUE(std::isnan(got[0]));
        continue;
      }
      const Eigen3 e = eigen(tensor);
      for (std::size_t i = 0, c = 0; i < 3; ++i)
        for (std::size_t j = i; j < 3; ++j, ++c) {
          double want = 0;
          for (std::size_t k = 0; k < 3; ++k)
            want += std::max(0.0, e.values[k]) * e.vectors[k][i] * e.vectors[k][j];
          ASSERT_NEAR(got[c], want, 2e-6 * (1 + std::abs(e.values[0]) + std::abs(e.values[2])))
              << "voxel " << v;
          distance += double{kTensorWeights[c]} * (tensor[c] - want) * (tensor[c] - want);
        }
    }
    EXPECT_NEAR(sums.mapping / distance, 1, 1e-5);
    EXPECT_NEAR(sums.turn / -distance, 1, 1e-5);  // here x is y
  }
}

TEST(TvRows, StoreWritesTheRowAndNothingElse) {
  std::vector<float> from(100);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = float(i) + 1;
  for (const TvRows* set : sets_of_this_processor())
    for (std::size_t begin = 0; begin < 20; ++begin)
      for (const std::size_t count : {0, 1, 15, 16, 37, 64}) {
        std::vector<float> to(100, -1);
        set->store(to.data() + begin, from.data(), std::int64_t(count));
        set->fence();
        for (std::size_t i = 0; i < to.size(); ++i)
          ASSERT_EQ(to[i], i >= begin && i < begin + count ? from[i - begin] : -1) << begin << ' ' << count;
      }
}

// What tv_inside.cpp leaves out of a row, whole vectors in front and behind without a voxel that counts.
TEST(TvRows, WhatIsOutsideAtARowsEndsChangesNoBit) {
  for (const std::int64_t n : {5, 16, 31, 53, 64, 115, 128, 203})
    for (const std::int64_t first : {std::int64_t{0}, n / 5, n / 2, n - 2})
      for (const std::int64_t last : {first, (first + n) / 2, n - 1}) {
        TvProblem problem;
        problem.grid = {n, 1, 1};
        problem.outside = true;
        std::vector<float> mask(std::size_t(n), 0.0F);
        for (std::int64_t v = 0; v < n; ++v)
          if (v < first || v > last) mask[std::size_t(v)] = kNan;
        problem.noisy = mask.data();
        const RowRange range = InsideRows(problem).at(0, 0);
        ASSERT_LE(range.begin, first);
        ASSERT_GT(range.end, last);
        const std::int64_t stride = (n + 31) / 16 * 16 + 16;
        Image rows(Grid{stride, 1, 1}, 24);
        add_noise(rows, 1, 7);
        for (int c = 0; c < 24; ++c) {
          const bool flux = c >= 18 && c < 21;  // they are 0 outside, the points NaN
          for (std::int64_t v = 0; v < stride; ++v)
            if (v - 16 < first || v - 16 > last) rows.channel(c)[std::size_t(v)] = flux ? 0 : kNan;
        }
        for (const TvRows* set : sets_of_this_processor()) {
          const float spacing[3] = {1, 0.5F, 2};
          const auto results = [&](std::int64_t begin, std::int64_t end) {
            Image r = rows;
            const auto at = [&](int c) { return r.channel(c).data() + 16 + begin; };
            const std::int64_t count = end - begin;
            std::vector<float> sums;
            sums.push_back(
                set->flux[1](at(0), at(1), at(2), spacing, 0.01F, at(18), at(19), at(20), at(21), count));
            sums.push_back(set->gradient[1](at(0), at(2), at(18), at(21), 0.3F, 0.7F, at(21), count));
            const TvRowSums step = set->step[1](at(0), at(21), at(1), at(22), count);
            const TvRowSums projected =
                set->project[1]({at(0), stride}, {at(6), stride}, {at(1), stride}, {at(12), stride}, count);
            sums.insert(sums.end(), {step.mapping, step.turn, projected.mapping, projected.turn});
            for (const int c : {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22})
              for (std::int64_t v = first; v <= last; ++v) sums.push_back(r.channel(c)[std::size_t(v + 16)]);
            return sums;
          };
          const std::vector<float> want = results(0, n), got = results(range.begin, range.end);
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
              << n << ": " << first << " to " << last;
        }
      }
}

TEST(TvRows, AllInstructionSetsAgree) {
  constexpr std::int64_t n = 75;
  Image rows(Grid{n + 2, 1, 1}, 12);
  add_noise(rows, 1, 4);
  rows.channel(0)[30] = rows.channel(1)[50] = kNan;
  const float spacing[3] = {1, 0.5F, 2};
  const auto results = [&](const TvRows& set) {
    Image r = rows;
    std::vector<float> sums;
    const auto at = [&r](int c) { return r.channel(c).data() + 1; };
    sums.push_back(set.flux[1](at(0), at(1), at(2), spacing, 0.01F, at(3), at(4), at(5), at(6), n));
    sums.push_back(set.gradient[1](at(0), at(2), at(3), at(6), 0.3F, 0.7F, at(7), n));
    const float* const x[3] = {at(0), at(1), at(2)};
    const float* const before[3] = {at(2), at(1), at(2)};
    sums.push_back(set.dual[1](x, before, 0.6F, spacing, 0.3F, 0.5F, at(8), at(9), at(10), n));
    set.divergence(at(8), at(9), at(4), at(10), at(5), spacing, at(11), n);
    r.data.insert(r.data.end(), sums.begin(), sums.end());
    return r.data;
  };
  const std::vector<float> want = results(baseline::tv_rows);
  for (const TvRows* set : sets_of_this_processor())
    EXPECT_LT(largest_difference(results(*set), want), 5e-5F);
}

}  // namespace
}  // namespace warploom::imaging
