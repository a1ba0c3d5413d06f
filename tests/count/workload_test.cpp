#include "warploom/count/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::table {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kDraws = 1 << 18;

template <class Key>
std::vector<Key> keys_of(const WorkloadOptions& options, std::size_t count = kDraws,
                         std::uint64_t first = 0) {
  std::vector<Key> keys(count);
  Workload<Key>(options).operations(first, {}, keys);
  return keys;
}

/// Kolmogorov's statistic: the greatest distance between the shares of draws below x and the distribution.
template <class Key, class Distribution>
double distance(std::vector<Key> keys, const Distribution& below) {
  std::ranges::sort(keys);
  const double n = static_cast<double>(keys.size());
  double most = 0;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const double x = std::ldexp(static_cast<double>(keys[k]), -8 * static_cast<int>(sizeof(Key)));
    most = std::max(most, std::abs(below(x) - static_cast<double>(k) / n));
  }
  return most * std::sqrt(n);
}
// One sample in 10^6 of the right distribution is further off.
constexpr double kFar = 2.7;

/// Of a normal distribution cut to [0, 1)
double normal_below(double x, double mean, double deviation) {
  const auto phi = [&](double at) { return std::erfc((mean - at) / deviation / std::sqrt(2)) / 2; };
  return (phi(x) - phi(0)) / (phi(1) - phi(0));
}

TEST(Workload, GeneratorsAreThePublishedOnes) {
  // The first outputs of Vigna's splitmix64.c started at 1234567.
  EXPECT_EQ(splitmix64(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(splitmix64(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(splitmix64(1234567, 2), 9817491932198370423u);
  EXPECT_EQ(mix32(0), 0u);
  EXPECT_EQ(mix32(1), 0x514e28b7u);  // MurmurHash3 of an empty text with seed 1
  EXPECT_EQ(key_of<std::uint32_t>(1), 0x514e28b7u);
  EXPECT_EQ(key_of<std::uint64_t>(1), 0xb456bcfc34c2cb2cu);
}

TEST(Workload, HalfDrawsIndexAndOperationFromOneNumber) {
  const Workload<std::uint32_t> workload(
      {.preload = 1000, .mix = {.insert = 20, .erase = 30}, .seed = 1234567});
  std::vector<std::uint32_t> keys(3);
  std::vector<Operation> operations(3);
  workload.operations(0, operations, keys);
  const std::uint64_t draws[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(keys[n], mix32(static_cast<std::uint32_t>((draws[n] >> 32) * 2000 >> 32))) << n;
    const auto die = draws[n] % (std::uint64_t{1} << 32) % 100;
    EXPECT_EQ(operations[n], die < 20   ? Operation::insert
                             : die < 50 ? Operation::erase
                                        : Operation::find)
        << n;
  }
}

TEST(Workload, HalfOfUpdatesSucceedAndHalfOfFindsHit) {
  const std::size_t preload = 4096;
  const Workload<std::uint32_t> workload({.preload = preload, .mix = mix_of_find(33)});
  std::vector<std::uint32_t> keys(preload);
  workload.preload(0, keys);
  std::unordered_set<std::uint32_t> present(keys.begin(), keys.end());
  EXPECT_EQ(present.size(), preload);
  keys.resize(200000);
  std::vector<Operation> operations(keys.size());
  workload.operations(0, operations, keys);
  std::map<Operation, std::pair<double, double>> done;  // operations, and those that succeeded
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const bool there = present.contains(keys[k]);
    auto& [all, succeeded] = done[operations[k]];
    all += 1;
    succeeded += operations[k] == Operation::insert ? !there : there;
    if (operations[k] == Operation::insert) present.insert(keys[k]);
    if (operations[k] == Operation::erase) present.erase(keys[k]);
  }
  EXPECT_EQ(done.size(), 3u);
  for (const auto& [operation, counts] : done)
    EXPECT_NEAR(counts.second / counts.first, 0.5, 0.03) << static_cast<int>(operation);
  EXPECT_NEAR(done[Operation::insert].first / 200000, 0.33, 0.005);
  EXPECT_NEAR(done[Operation::find].first / 200000, 0.34, 0.005);
}

TEST(Workload, UniformKeysAreUniform) {
  const auto identity = [](double x) { return x; };
  EXPECT_LT(distance(keys_of<std::uint32_t>({.distribution = Distribution::uniform}), identity), kFar);
  EXPECT_LT(distance(keys_of<std::uint64_t>({.distribution = Distribution::uniform}), identity), kFar);
  // All 64 bits are drawn.
  std::uint64_t low = 0;
  for (const std::uint64_t key : keys_of<std::uint64_t>({.distribution = Distribution::uniform}, 100))
    low |= key;
  EXPECT_EQ(low, ~std::uint64_t{0});
}

TEST(Workload, NormalKeysHaveTheirVarianceWithinTheUnitInterval) {
  for (const double variance : {0.01, 0.05, 0.5}) {
    const double deviation = std::sqrt(variance);
    const WorkloadOptions options{.distribution = Distribution::normal,
                                  .normals = {{.deviation = deviation}}};
    const auto below = [&](double x) { return normal_below(x, 0.5, deviation); };
    EXPECT_LT(distance(keys_of<std::uint32_t>(options), below), kFar) << variance;
    EXPECT_LT(distance(keys_of<std::uint64_t>(options), below), kFar) << variance;
  }
}

TEST(Workload, MixturesHaveTheirShares) {
  const WorkloadOptions options{.distribution = Distribution::normal,
                                .normals = {{.mean = 0.3, .deviation = 0.05, .weight = 3},
                                            {.mean = 0.7, .deviation = 0.1, .weight = 1}}};
  const auto below = [](double x) {
    return 0.75 * normal_below(x, 0.3, 0.05) + 0.25 * normal_below(x, 0.7, 0.1);
  };
  EXPECT_LT(distance(keys_of<std::uint32_t>(options), below), kFar);
}

TEST(Workload, ZipfRanksHaveTheirProbabilities) {
  for (const double exponent : {0.5, 0.99, 1.0, 2.0})
    for (const std::uint64_t universe : {1, 2, 1000}) {
      const WorkloadOptions options{
          .distribution = Distribution::zipf, .exponent = exponent, .preload = 0, .universe = universe};
      std::map<std::uint32_t, std::uint64_t> rank_of;
      std::vector<double> wanted, counts(universe);
      double total = 0;
      for (std::uint64_t rank = 1; rank <= universe; ++rank) {
        rank_of[key_of<std::uint32_t>(rank - 1)] = rank;
        wanted.push_back(std::pow(static_cast<double>(rank), -exponent));
        total += wanted.back();
      }
      for (const std::uint32_t key : keys_of<std::uint32_t>(options)) {
        ASSERT_TRUE(rank_of.contains(key));
        ++counts[rank_of[key] - 1];
      }
      double chi = 0, freedom = 0;
      for (std::uint64_t k = 0; k < universe; ++k) {
        const double expected = wanted[k] / total * kDraws;
        if (expected < 5) continue;
        chi += (counts[k] - expected) * (counts[k] - expected) / expected;
        freedom += 1;
      }
      EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << "exponent " << exponent << ", " << universe;
    }
}

TEST(Workload, ZipfPreloadsEverySecondRank) {
  std::vector<std::uint32_t> keys(4);
  Workload<std::uint32_t>({.distribution = Distribution::zipf, .preload = 4}).preload(0, keys);
  EXPECT_THAT(keys, ElementsAre(key_of<std::uint32_t>(0), key_of<std::uint32_t>(2), key_of<std::uint32_t>(4),
                                key_of<std::uint32_t>(6)));
}

TEST(Workload, AnyPartIsThatOfTheWhole) {
  for (const Distribution distribution :
       {Distribution::uniform, Distribution::normal, Distribution::half, Distribution::zipf}) {
    const Workload<std::uint64_t> workload({.distribution = distribution, .preload = 50000});
    std::vector<std::uint64_t> whole(50000), part(700);
    std::vector<Operation> operations(50000), some(700);
    workload.operations(0, operations, whole);
    workload.operations(20011, some, part);
    EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(20011, 700))) << name(distribution);
    EXPECT_TRUE(std::ranges::equal(some, std::span(operations).subspan(20011, 700))) << name(distribution);
    workload.preload(0, whole);
    workload.preload(20011, part);
    EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(20011, 700))) << name(distribution);
  }
}

TEST(Workload, DoesNotDependOnThreads) {
  const WorkloadOptions options{.distribution = Distribution::normal};
  const RunScope one_thread({.threads = 1});
  const auto one = keys_of<std::uint32_t>(options, 100000);
  const RunScope three_threads({.threads = 3});
  EXPECT_EQ(keys_of<std::uint32_t>(options, 100000), one);
}

TEST(Workload, SeedsAndPreloadsAreDifferentDraws) {
  for (const Distribution distribution : {Distribution::uniform, Distribution::normal}) {
    WorkloadOptions options{.distribution = distribution, .preload = 1000};
    std::set<std::uint64_t> all;
    for (const std::uint64_t key : keys_of<std::uint64_t>(options, 1000)) all.insert(key);
    std::vector<std::uint64_t> keys(1000);
    Workload<std::uint64_t>(options).preload(0, keys);
    all.insert(keys.begin(), keys.end());
    options.seed = 2014;
    for (const std::uint64_t key : keys_of<std::uint64_t>(options, 1000)) all.insert(key);
    EXPECT_EQ(all.size(), 3000u) << name(distribution);
  }
}

TEST(Workload, MixesOfTheDissertation) {
  for (const auto& [find, update, rest] : std::vector<std::array<int, 3>>{
           {33, 33, 34}, {50, 25, 50}, {60, 20, 60}, {80, 10, 80}, {90, 5, 90}, {100, 0, 100}, {0, 50, 0}}) {
    EXPECT_EQ(mix_of_find(find).insert, update);
    EXPECT_EQ(mix_of_find(find).erase, update);
    EXPECT_EQ(mix_of_find(find).find(), rest);
  }
  EXPECT_THROW(mix_of_find(101), BadInput);
}

TEST(Workload, DistributionsReadBack) {
  for (const Distribution distribution :
       {Distribution::uniform, Distribution::normal, Distribution::half, Distribution::zipf})
    EXPECT_EQ(parse_distribution(name(distribution)), distribution);
  EXPECT_THROW(parse_distribution("gauss"), BadInput);
}

TEST(Workload, RefusesWhatItCannotDraw) {
  const auto says = [](WorkloadOptions options) -> std::string {
    try {
      Workload<std::uint32_t> workload(std::move(options));
    } catch (const BadInput& error) {
      return error.what();
    }
    return "nothing";
  };
  using enum Distribution;
  EXPECT_THAT(says({.mix = {.insert = 70, .erase = 40}}), HasSubstr("shares are between 0 and 100"));
  EXPECT_THAT(says({.distribution = normal, .normals = {}}), HasSubstr("one part or more"));
  EXPECT_THAT(says({.distribution = normal, .normals = {{.deviation = 0}}}), HasSubstr("deviations above 0"));
  EXPECT_THAT(says({.distribution = normal, .normals = {{.mean = 2}}}), HasSubstr("means are in [0, 1]"));
  EXPECT_THAT(says({.preload = 10, .universe = 9}), HasSubstr("as many as are preloaded, 10"));
  EXPECT_THAT(says({.universe = (std::uint64_t{1} << 32) + 1}), HasSubstr("at most 2^32"));
  EXPECT_THAT(says({.distribution = zipf, .exponent = 0}), HasSubstr("exponent 0"));
  EXPECT_THAT(says({.distribution = zipf, .preload = 10, .universe = 12}), HasSubstr("every second one"));
  std::vector<std::uint32_t> keys(11);
  EXPECT_THROW(Workload<std::uint32_t>({.preload = 10}).preload(0, keys), BadInput);
  std::vector<Operation> operations(3);
  EXPECT_THROW(Workload<std::uint32_t>({}).operations(0, operations, keys), BadInput);
}

}  // namespace
}  // namespace warploom::table
