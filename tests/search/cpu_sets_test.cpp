// What readings are fitted by and windows left out by, of each instruction set that this processor has.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "search/cpu_correlations.hpp"
#include "search/cpu_mean_bounds.hpp"

namespace warploom::search {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Set {
  std::string name;
  const CpuCorrelations* correlations;
  const CpuMeanBounds* bounds;
};

/// Those that this processor can run.
std::vector<Set> sets() {
  std::vector<Set> all = {{"baseline", &baseline::cpu_correlations, &baseline::cpu_mean_bounds}};
#if defined(WARPLOOM_HAS_avx2)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({"avx2", &avx2::cpu_correlations, &avx2::cpu_mean_bounds});
#endif
#if defined(WARPLOOM_HAS_avx512)
  if (WARPLOOM_PICK(cpu_correlations) == &avx512::cpu_correlations)
    all.push_back({"avx512", &avx512::cpu_correlations, &avx512::cpu_mean_bounds});
#endif
  return all;
}

std::vector<float> noise(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> all(count);
  for (float& x : all) x = normal(random);
  return all;
}

TEST(CpuCorrelations, OfWindowsSideBySideAreThoseOfWindowsApart) {
  for (const Set& set : sets())
    for (const std::int64_t length : {7, 16, 33, 80}) {
      const std::int64_t whole = (length + kCorrelationParts - 1) / kCorrelationParts * kCorrelationParts;
      constexpr std::int64_t kWindows = 103;
      const std::vector<float> samples = noise(kWindows + whole, 1), scale = noise(kWindows, 2);
      std::vector<float> pattern = noise(length, 3), all(kWindows), third, scales;
      pattern.resize(whole);
      set.correlations->correlate(samples.data(), 1, kWindows, pattern.data(), whole, scale.data(),
                                  all.data());
      for (std::int64_t w = 0; w < kWindows; w += 3) scales.push_back(scale[w]);
      third.resize(scales.size());
      set.correlations->correlate(samples.data(), 3, std::ssize(scales), pattern.data(), whole, scales.data(),
                                  third.data());
      for (std::int64_t k = 0; k < std::ssize(third); ++k)
        ASSERT_EQ(all[3 * k], third[k]) << set.name << ", " << length << " samples, window " << 3 * k;
    }
}

TEST(CpuCorrelations, SeveralAreAddedAsOneAfterTheOther) {
  for (const Set& set : sets()) {
    constexpr std::int64_t kCount = 143;
    std::vector<std::vector<float>> rows;
    std::vector<const float*> from;
    for (std::uint32_t k = 0; k < 5; ++k) rows.push_back(noise(kCount, 10 + k));
    for (const std::vector<float>& row : rows) from.push_back(row.data());
    const std::vector<float> factors = noise(5, 20);
    std::vector<float> one(kCount, 0.5F), all = one;
    for (std::size_t k = 0; k < rows.size(); ++k)
      set.correlations->add(factors[k], from[k], kCount, one.data());
    set.correlations->add_all(factors.data(), from.data(), std::ssize(rows), kCount, all.data());
    EXPECT_EQ(all, one) << set.name;
  }
}

TEST(CpuCorrelations, LargestLeftIsThatOfEachRow) {
  for (const Set& set : sets()) {
    constexpr std::int64_t kRow = 2 * kCorrelationParts, kRows = 7;
    std::vector<float> values = noise(kRow * kRows, 4), costs = noise(kRow, 5), left(kRows);
    std::fill_n(values.begin() + kRow, kRow, -9.F);  // nothing is left
    for (float& x : costs) x = std::abs(x);
    for (const bool absolute : {false, true}) {
      set.correlations->largest_left(values.data(), costs.data(), absolute, kRow, kRows, left.data());
      for (std::int64_t row = 0; row < kRows; ++row) {
        float largest = 0;
        for (std::int64_t k = 0; k < kRow; ++k) {
          const float x = values[row * kRow + k];
          largest = std::max(largest, (absolute ? std::abs(x) : x) - costs[k]);
        }
        EXPECT_EQ(left[row], largest) << set.name << ", row " << row;
      }
    }
  }
}

TEST(CpuCorrelations, BestTurnsHaveTheLikenessOfSingularValues) {
  using Matrix = std::array<double, 9>;
  const auto turn_of = [](std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::array<double, 4> q{};
    double size = 0;
    for (double& x : q) {
      x = normal(random);
      size += x * x;
    }
    for (double& x : q) x /= std::sqrt(size);
    const auto [w, x, y, z] = q;
    return Matrix{1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                  2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                  2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  };
  constexpr std::size_t kCount = 61;
  const std::vector<std::array<double, 3>> some = {{1, 0.5, 0.2},  {1, 0.5, -0.2}, {0.7, 0.7, 0.7},
                                                   {0.9, 1e-3, 0}, {0, 0, 0},      {2, 1.9, -1.8}};
  std::mt19937 random(6);
  std::array<std::vector<float>, 9> correlations;
  std::vector<double> expected;
  for (std::size_t w = 0; w < kCount; ++w) {
    const Matrix left = turn_of(random), right = turn_of(random);
    const std::array<double, 3>& values = some[w % some.size()];
    for (int x = 0; x < 3; ++x)
      for (int y = 0; y < 3; ++y) {
        double sum = 0;
        for (int k = 0; k < 3; ++k) sum += left[3 * x + k] * values[k] * right[3 * y + k];
        correlations[3 * x + y].push_back(static_cast<float>(sum));
      }
    expected.push_back(values[0] + values[1] + values[2]);
  }
  const std::vector<float> ones(kCount, 1.F), none(kCount, 0.F);
  CorrelatedSensor sensor{};
  for (int a = 0; a < 3; ++a) {
    sensor.axes[a] = ones.data();
    sensor.levels[a] = none.data();
    sensor.deviations[a] = 1;
  }
  for (int k = 0; k < 9; ++k) sensor.correlations[k] = correlations[k].data();
  for (const Set& set : sets()) {
    std::vector<float> likeness(kCount, 3.F);
    set.correlations->add_best_turns(sensor, kCount, likeness.data());
    for (std::size_t w = 0; w < kCount; ++w)
      EXPECT_NEAR(likeness[w], 3 + expected[w], 3e-4) << set.name << ", window " << w;
  }
  // Levels alone: the product of their sizes.
  const std::vector<float> level(kCount, 2.F);
  for (int a = 0; a < 3; ++a) {
    sensor.axes[a] = none.data();
    sensor.levels[a] = level.data();
    sensor.level[a] = 0.5;
  }
  for (const Set& set : sets()) {
    std::vector<float> likeness(kCount, 0.F);
    set.correlations->add_best_turns(sensor, kCount, likeness.data());
    for (const float x : likeness) EXPECT_NEAR(x, 3, 1e-4) << set.name;
  }
}

TEST(CpuCorrelations, SensorsAreWeighedByTheirSizes) {
  constexpr std::size_t kCount = 45;
  std::vector<float> deviations = noise(kCount, 7), means = noise(kCount, 8);
  for (float& x : deviations) x = 0.01F + x * x;
  for (float& x : means) x = 4 * x * x;
  for (const Set& set : sets())
    for (const SensorSizes& query : {SensorSizes{0.7, 1.5, 0.3}, SensorSizes{0, 1.5, 0.3}}) {
      std::vector<float> weights(kCount), of_levels(kCount);
      set.correlations->weigh_sensor(deviations.data(), means.data(), query, kCount, weights.data(),
                                     of_levels.data());
      for (std::size_t w = 0; w < kCount; ++w) {
        const double u = std::sqrt(query.deviation / deviations[w]);
        const double away = std::sqrt(query.mean) - std::sqrt(means[w]);
        const double level = 1 + away * away / (query.deviation + deviations[w] + query.wander);
        const double factor =
            query.deviation == 0 ? 1 : std::pow((u + 1 / u) / 2, 1.5) * std::pow(level, 0.75);
        EXPECT_NEAR(weights[w], 1 / factor, 1e-6) << set.name << ", window " << w;
        EXPECT_NEAR(of_levels[w], weights[w] / std::sqrt(deviations[w] + means[w] + query.wander), 1e-6)
            << set.name << ", window " << w;
      }
    }
}

TEST(CpuMeanBounds, PowersAreNoMoreAndNearlyWhatTheyBound) {
  std::vector<float> logarithms;
  for (float x = -130; x < 119; x += 0.0371F) logarithms.push_back(x);
  logarithms.resize(logarithms.size() / 16 * 16);
  for (const Set& set : sets()) {
    std::vector<float> least(logarithms.size());
    set.bounds->powers(logarithms.data(), 0.5F, std::ssize(least), least.data());
    for (std::size_t k = 0; k < least.size(); ++k) {
      const double power = std::exp2(logarithms[k] / 2.0);
      EXPECT_LE(least[k], power) << set.name << ", " << logarithms[k];
      EXPECT_GE(least[k], power * (1 - 1e-4)) << set.name << ", " << logarithms[k];
    }
    const std::vector<float> ends(16, kInfinity), far(16, -1e9F);
    set.bounds->powers(ends.data(), 0.5F, 16, least.data());
    EXPECT_EQ(least[0], kInfinity) << set.name;
    set.bounds->powers(far.data(), 0.5F, 16, least.data());
    EXPECT_EQ(least[0], 0) << set.name;
  }
}

TEST(CpuMeanBounds, DistancesThatArePutInStayBounds) {
  constexpr int kCount = 16;  // a whole vector of each
  const float share = 1 / 12.F;
  std::vector<float> distances(kCount), before(kCount), sum(kCount), keys(kCount);
  for (int k = 0; k < kCount; ++k) {
    distances[k] = 0.01F * std::exp2(static_cast<float>(k));
    before[k] = -3.F + static_cast<float>(k % 4);
    sum[k] = before[k] + 1.5F * static_cast<float>(k % 3);
    keys[k] = k % 5 == 0 ? kInfinity : k % 5 == 1 ? 1e6F : 0;
  }
  distances[7] = 0;
  for (const Set& set : sets()) {
    std::vector<float> sums = sum, least = keys;
    for (int k = 0; k < kCount; k += 4)  // a vector has four lanes at least; others do more at once
      if (set.name == "baseline" || (set.name == "avx2" && k % 8 == 0) || k == 0)
        set.bounds->put_in(distances.data() + k, before.data() + k, share, sums.data() + k, least.data() + k);
    for (int k = 0; k < kCount; ++k) {
      const double exact = sum[k] + 4 * std::log2(std::max(1e-7, double{distances[k]})) - before[k];
      EXPECT_LE(sums[k], exact) << set.name << ", " << k;
      EXPECT_GE(sums[k], exact - 4e-3) << set.name << ", " << k;
      if (keys[k] > 0)
        EXPECT_EQ(least[k], keys[k]) << set.name << ", " << k;
      else
        EXPECT_NEAR(least[k] / std::exp2(exact * share), 1, 1e-3) << set.name << ", " << k;
    }
  }
}

}  // namespace
}  // namespace warploom::search
