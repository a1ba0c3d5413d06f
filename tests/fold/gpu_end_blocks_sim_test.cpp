// Sums outside of all pairs by a block for 64 bases, in the simulator, from the CPU's sums.
#include "fold/simulated_sums.hpp"

namespace warploom::fold {
namespace {

TEST(EndBlocks, OneAfterAnother) {
  Model model;
  model.dangles = 0;
  SimulatedSums batch({random_letters(140, 6), random_letters(64, 7), random_letters(1, 1)}, model);
  batch.ends(1, sim::Schedule::in_order);
}

TEST(EndBlocks, WaitForEachOther) {
  SimulatedSums batch({random_letters(260, 1), random_letters(65, 2), random_letters(128, 3),
                       random_letters(5, 4), random_letters(197, 5, "GC")},
                      {});
  batch.ends(4);
}

TEST(EndBlocks, FitAnyLengthOfALastBlock) {
  for (const std::size_t n : {63, 66, 79, 95, 97, 127, 129}) {
    SimulatedSums batch({random_letters(n, static_cast<std::uint32_t>(n))}, {});
    batch.ends(3);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace warploom::fold
