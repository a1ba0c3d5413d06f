// Sums outside of all pairs, and lists of pairs, in the simulator, from the CPU's sums and probabilities.
#include "fold/simulated_sums.hpp"

namespace warploom::fold {
namespace {

TEST(SumEnds, AWarpASequence) {
  SimulatedSums batch({random_sequence(1, 1), random_sequence(70, 2), random_sequence(133, 3),
                       random_sequence(5, 4), random_sequence(64, 5)},
                      {});
  batch.ends(0);
}

TEST(SumsReadOff, AreTheProbabilities) {
  SimulatedSums batch({random_sequence(100, 8), random_sequence(3, 9), random_sequence(66, 10)}, {});
  batch.read({.cutoff = 1e-3, .gamma = 1});
}

}  // namespace
}  // namespace warploom::fold
