// On a GPU: the CPU's energies, and structures that have them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

void expect_the_cpus(const std::vector<std::string>& sequences, const Model& model) {
  const std::vector<Folding> cpu = fold(sequences, model, {.devices = {Device::cpu}});
  const std::vector<Folding> gpu = fold(sequences, model, {.devices = {Device::cuda}});
  ASSERT_EQ(gpu.size(), cpu.size());
  for (std::size_t k = 0; k < cpu.size(); ++k) {
    EXPECT_EQ(gpu[k].energy, cpu[k].energy) << sequences[k].size() << " bases, sequence " << k;
    EXPECT_EQ(evaluate(sequences[k], gpu[k].structure, model).energy, cpu[k].energy);
  }
}

TEST(FoldOnAGpu, ManyShortOnes) {
  Random random(1);
  std::vector<std::string> sequences;
  for (int k = 0; k < 3'000; ++k) sequences.push_back(random_sequence(1 + random.below(160), random));
  expect_the_cpus(sequences, {});
}

TEST(FoldOnAGpu, AMixtureOfLengths) {
  Random random(2);
  std::vector<std::string> sequences;
  for (const std::size_t n : {1, 5, 127, 128, 129, 255, 256, 257, 600, 900, 1'200, 1'999, 3, 40})
    for (int k = 0; k < 4; ++k) sequences.push_back(random_sequence(n, random));
  expect_the_cpus(sequences, {});
}

TEST(FoldOnAGpu, ALongOne) {
  Random random(3);
  expect_the_cpus({random_sequence(4'500, random)}, {});
}

TEST(FoldOnAGpu, Repeats) {
  std::string gc, au;
  for (int k = 0; k < 700; ++k) gc += "GC", au += "AU";
  expect_the_cpus(
      {gc, au, std::string(900, 'A'), std::string(300, 'N'), std::string(500, 'G') + std::string(500, 'C')},
      {});
}

TEST(FoldOnAGpu, EveryOption) {
  Random random(4);
  for (int k = 0; k < 24; ++k) {
    Model model;
    model.temperature = random.chance(50) ? 37 : static_cast<double>(random.below(90));
    model.dangles = random.chance(50) ? 2 : 0;
    model.lonely_pairs = random.chance(50);
    model.gu = random.chance(75);
    model.gu_closing = random.chance(50);
    model.max_span = random.chance(50) ? 0 : 10 + random.below(300);
    std::vector<std::string> sequences;
    for (int s = 0; s < 40; ++s)
      sequences.push_back(
          random_sequence(1 + random.below(400), random, random.chance(25) ? "ACGUN" : "ACGU"));
    SCOPED_TRACE(k);
    expect_the_cpus(sequences, model);
  }
}

TEST(FoldOnAGpu, Constraints) {
  Random random(5);
  std::vector<std::string> sequences, constraints;
  for (int k = 0; k < 200; ++k) {
    const std::size_t n = 1 + random.below(k % 20 == 0 ? 1'500 : 200);
    sequences.push_back(random_sequence(n, random));
    constraints.push_back(k % 5 == 0 ? std::string() : random_sequence(n, random, "..........xx<>|"));
  }
  // What lies within a pair stays there.
  sequences.push_back("GGGAAAGGGAAACCCAAACCCAGGGAAACCC");
  constraints.push_back("..(" + std::string(15, '.') + ")" + std::string(12, '.'));
  Model model;
  model.max_span = 150;
  const std::vector<Folding> cpu = fold(sequences, model, {.devices = {Device::cpu}}, constraints);
  const std::vector<Folding> gpu = fold(sequences, model, {.devices = {Device::cuda}}, constraints);
  for (std::size_t k = 0; k < cpu.size(); ++k) {
    EXPECT_EQ(gpu[k].energy, cpu[k].energy) << sequences[k] << '\n' << constraints[k];
    for (std::size_t at = 0; at < constraints[k].size(); ++at)
      if (constraints[k][at] == 'x') {
        EXPECT_EQ(gpu[k].structure[at], '.') << sequences[k] << '\n' << constraints[k];
      }
  }
}

TEST(FoldOnAGpu, StopsWhileAKernelRuns) {
  Random random(6);
  const std::string sequence = random_sequence(60'000, random);  // takes seconds
  std::atomic<bool> stop = false;
  std::thread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  EXPECT_THROW(fold(sequence, {}, {.devices = {Device::cuda}, .stop = &stop}), Interrupted);
  asks.join();
}

TEST(FoldOnAGpu, RefusesWhatItCannotDo) {
  Model enforced, circle, three;
  enforced.enforce_constraint = true, circle.circular = true, three.dangles = 3;
  EXPECT_THROW(fold("GGGGAAAACCCC", enforced, {.devices = {Device::cuda}}, "xxxx...|...."), BadInput);
  EXPECT_THROW(fold("GGGGAAAACCCC", circle, {.devices = {Device::cuda}}), BadInput);
  EXPECT_THROW(fold("GGGGAAAACCCC", three, {.devices = {Device::cuda}}), BadInput);
  EXPECT_THROW(fold(std::vector<std::string>{"ACGU", "AC-U"}, {}, {.devices = {Device::cuda}}), BadInput);
  EXPECT_THROW(fold(std::string(3'000, 'A'), {}, {.devices = {Device::cuda}, .memory = 10'000'000}),
               OutOfMemory);
}

}  // namespace
}  // namespace warploom::fold
