// Sums outside of all pairs by a block for 64 bases, in the simulator, from the CPU's sums.
#include "fold/simulated_sums.hpp"

namespace warploom::fold {
namespace {

TEST(EndBlocks, OneAfterAnother) {
  Model model;
  model.dangles = 0;
  SimulatedSums batch({random_sequence(140, 6), random_sequence(64, 7), random_sequence(1, 1)}, model);
  batch.ends(1, sim::Schedule::in_order);
}

TEST(EndBlocks, WaitForEachOther) {
  SimulatedSums batch({random_sequence(260, 1), random_sequence(65, 2), random_sequence(128, 3),
                       random_sequence(5, 4), random_sequence(197, 5, "GC")},
                      {});
  batch.ends(4);
}

TEST(EndBlocks, FitAnyLengthOfALastBlock) {
  for (const std::size_t n : {63, 66, 79, 95, 97, 127, 129}) {
    SimulatedSums batch({random_sequence(n, static_cast<std::uint32_t>(n))}, {});
    batch.ends(3);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace warploom::fold
