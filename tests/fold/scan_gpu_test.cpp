#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "fold/random_sequence.hpp"
#include "warploom/core/device.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::fold {
namespace {

const Run kGpu{.devices = {Device::cuda}};

TEST(ScansOnAGpu, GiveTheCpusWindows) {
  std::mt19937 random(21);
  const std::string sequence = random_sequence(random, 900, "ACGUN");
  for (const int dangles : {0, 2}) {
    const WindowOptions options{.window = 90, .step = 3, .structures = true, .shuffles = 7, .seed = 4};
    const Windows cpu = fold_windows(sequence, options, {.dangles = dangles}),
                  gpu = fold_windows(sequence, options, {.dangles = dangles}, kGpu);
    EXPECT_EQ(gpu.energies, cpu.energies);
    EXPECT_EQ(gpu.means, cpu.means);
    EXPECT_EQ(gpu.deviations, cpu.deviations);
    EXPECT_EQ(gpu.z_scores, cpu.z_scores);
    EXPECT_EQ(gpu.p_values, cpu.p_values);
    for (std::size_t k = 0; k < gpu.energies.size(); ++k)
      EXPECT_EQ(evaluate(sequence.substr(3 * k, 90), gpu.structures[k], {.dangles = dangles}).energy,
                cpu.energies[k]);
  }
}
/// More shuffles than are on the way at a time.
TEST(ScansOnAGpu, GiveTheCpusShufflesOfManyBatches) {
  std::mt19937 random(22);
  const std::string sequence = random_sequence(random, 11);
  const WindowOptions options{.window = 10, .shuffles = 600'000};
  const Windows windows = fold_windows(sequence, options, {}, kGpu);
  WindowOptions few = options;
  few.shuffles = 3'000;
  const Windows cpu = fold_windows(sequence, few);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(windows.means[k], cpu.means[k], 1e-9 + 6 * cpu.deviations[k] / std::sqrt(3'000.));
}
TEST(ScansOnAGpu, GiveTheCpusMutants) {
  std::mt19937 random(23);
  const std::string sequence = random_sequence(random, 150);
  const Mutants cpu = fold_mutants(sequence), gpu = fold_mutants(sequence, {.structures = true}, {}, kGpu);
  EXPECT_EQ(gpu.energies, cpu.energies);
  EXPECT_EQ(gpu.wild_type.energy, cpu.wild_type.energy);
  EXPECT_EQ(gpu.structures.size(), 600u);
}

}  // namespace
}  // namespace warploom::fold
