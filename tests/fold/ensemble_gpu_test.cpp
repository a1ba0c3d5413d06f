// On a GPU: the CPU's ensembles.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {
namespace {

void expect_the_cpus(const std::vector<std::string>& sequences, const Model& model,
                     EnsembleOptions options = {}, const std::vector<std::string>& constraints = {}) {
  const std::vector<Ensemble> cpu =
      ensembles(sequences, model, options, {.devices = {Device::cpu}}, constraints);
  const std::vector<Ensemble> gpu =
      ensembles(sequences, model, options, {.devices = {Device::cuda}}, constraints);
  ASSERT_EQ(gpu.size(), cpu.size());
  for (std::size_t k = 0; k < cpu.size(); ++k) {
    SCOPED_TRACE(std::to_string(sequences[k].size()) + " bases, sequence " + std::to_string(k));
    EXPECT_EQ(gpu[k].kt, cpu[k].kt);
    EXPECT_NEAR(gpu[k].energy, cpu[k].energy, 1e-9 * std::max(1., std::abs(cpu[k].energy)));
    ASSERT_EQ(gpu[k].unpaired.size(), cpu[k].unpaired.size());
    for (std::size_t i = 0; i < cpu[k].unpaired.size(); ++i)
      ASSERT_NEAR(gpu[k].unpaired[i], cpu[k].unpaired[i], 1e-8) << "base " << i + 1;
    EXPECT_NEAR(gpu[k].diversity, cpu[k].diversity, 1e-8 * static_cast<double>(sequences[k].size()));
    EXPECT_NEAR(gpu[k].centroid_distance, cpu[k].centroid_distance,
                1e-8 * static_cast<double>(sequences[k].size()));
    EXPECT_NEAR(gpu[k].accuracy, cpu[k].accuracy, 1e-8 * static_cast<double>(sequences[k].size()));
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<double, double>> pairs;
    for (const PairProbability& pair : cpu[k].pairs) pairs[{pair.i, pair.j}].first = pair.probability;
    for (const PairProbability& pair : gpu[k].pairs) pairs[{pair.i, pair.j}].second = pair.probability;
    for (const auto& [place, p] : pairs)
      // One that is as probable as the cutoff, but for rounding, may be missing on one side.
      if (std::abs(std::max(p.first, p.second) - options.cutoff) > 1e-9) {
        ASSERT_NEAR(p.first, p.second, 1e-8) << place.first << ", " << place.second;
      }
    EXPECT_TRUE(std::ranges::is_sorted(
        gpu[k].pairs, {}, [](const PairProbability& pair) { return std::pair(pair.i, pair.j); }));
  }
}

TEST(EnsembleOnAGpu, ManyShortOnes) {
  Random random(1);
  std::vector<std::string> sequences;
  for (int k = 0; k < 1'500; ++k) sequences.push_back(random_sequence(1 + random.below(160), random));
  expect_the_cpus(sequences, {});
}

TEST(EnsembleOnAGpu, AMixtureOfLengths) {
  Random random(2);
  std::vector<std::string> sequences;
  for (const std::size_t n :
       {1, 5, 63, 64, 65, 96, 97, 127, 128, 129, 160, 161, 255, 256, 257, 600, 900, 1'200, 3, 40})
    for (int k = 0; k < 2; ++k) sequences.push_back(random_sequence(n, random));
  expect_the_cpus(sequences, {});
}

TEST(EnsembleOnAGpu, ALongOne) {
  Random random(3);
  expect_the_cpus({random_sequence(3'500, random)}, {});
}

TEST(EnsembleOnAGpu, Repeats) {
  std::string gc, au;
  for (int k = 0; k < 400; ++k) gc += "GC", au += "AU";
  expect_the_cpus(
      {gc, au, std::string(500, 'A'), std::string(300, 'N'), std::string(400, 'G') + std::string(400, 'C')},
      {});
}

TEST(EnsembleOnAGpu, EveryOption) {
  Random random(4);
  for (int k = 0; k < 16; ++k) {
    Model model;
    model.temperature = random.chance(50) ? 37 : static_cast<double>(random.below(90));
    model.dangles = random.chance(50) ? 2 : 0;
    model.lonely_pairs = random.chance(50);
    model.gu = random.chance(75);
    model.gu_closing = random.chance(50);
    model.max_span = random.chance(50) ? 0 : 10 + random.below(300);
    std::vector<std::string> sequences;
    for (int s = 0; s < 20; ++s)
      sequences.push_back(
          random_sequence(1 + random.below(400), random, random.chance(25) ? "ACGUN" : "ACGU"));
    SCOPED_TRACE(k);
    expect_the_cpus(sequences, model, {.cutoff = k % 2 == 0 ? 1e-5 : 0.01, .gamma = k % 3 == 0 ? 3. : 1.});
  }
}

TEST(EnsembleOnAGpu, Constraints) {
  Random random(5);
  std::vector<std::string> sequences, constraints;
  for (int k = 0; k < 60; ++k) {
    const std::size_t n = 1 + random.below(k % 20 == 0 ? 700 : 200);
    sequences.push_back(random_sequence(n, random));
    constraints.push_back(k % 5 == 0 ? std::string() : random_sequence(n, random, "..........xx<>|"));
  }
  Model model;
  model.max_span = 150;
  expect_the_cpus(sequences, model, {}, constraints);
}

TEST(EnsembleOnAGpu, EnergiesAlone) {
  Random random(6);
  std::vector<std::string> sequences;
  for (int k = 0; k < 50; ++k) sequences.push_back(random_sequence(1 + random.below(300), random));
  expect_the_cpus(sequences, {}, {.probabilities = false});
}

/// Few: the race detector takes its time.
TEST(EnsembleOnAGpu, FewToBeSanitized) {
  Random random(8);
  expect_the_cpus({random_sequence(170, random), random_sequence(50, random)}, {});
}

TEST(EnsembleOnAGpu, StopsWhileAKernelRuns) {
  Random random(7);
  const std::string sequence = random_sequence(20'000, random);
  std::atomic<bool> stop = false;
  std::thread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  EXPECT_THROW(ensemble(sequence, {}, {}, {.devices = {Device::cuda}, .stop = &stop}), Interrupted);
  asks.join();
}

TEST(EnsembleOnAGpu, RefusesWhatItCannotDo) {
  const warploom::Run gpu{.devices = {Device::cuda}};
  Model pseudo;
  pseudo.pseudo.stack.assign(12, -50);
  EXPECT_THROW(ensemble("GGGGAAAACCCC", pseudo, {}, gpu), BadInput);
  EXPECT_THROW(ensemble("GGGGAAAACCCC", {}, {.samples = 3}, gpu), BadInput);
  EXPECT_THROW(ensemble("GGGGAAAACCCC", {}, {.gradient = true}, gpu), BadInput);
  EXPECT_THROW(ensembles(std::vector<std::string>{"ACGU", "AC-U"}, {}, {}, gpu), BadInput);
  EXPECT_THROW(ensemble(std::string(3'000, 'A'), {}, {}, {.devices = {Device::cuda}, .memory = 10'000'000}),
               OutOfMemory);
}

}  // namespace
}  // namespace warploom::fold
