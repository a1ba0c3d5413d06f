// Probabilities in the simulator, with the race detector, from sums of the CPU.
#include "fold/simulated_sums.hpp"

namespace warploom::fold {
namespace {

TEST(SumOutside, ShortOnes) {
  SimulatedSums batch({random_sequence(1, 1), random_sequence(40, 2), random_sequence(70, 3)}, {});
  batch.outside_of(2, sim::Schedule::in_order);
}

TEST(SumOutside, ProductsOfBlocks) {
  SimulatedSums batch({random_sequence(200, 4)}, {});
  batch.outside_of(3, sim::Schedule::adversarial);
}

TEST(SumOutside, ProductsOfSeveralTiles) {
  SimulatedSums batch({random_sequence(390, 5)}, {}, {}, true);
  batch.outside_of(3, sim::Schedule::random);
}

TEST(SumOutside, OfAModel) {
  Model model;
  model.temperature = 25, model.dangles = 0, model.lonely_pairs = false, model.gu_closing = false,
  model.max_span = 60;
  SimulatedSums batch({random_sequence(135, 6, "ACGUN")}, model);
  batch.outside_of(2, sim::Schedule::random);
}

TEST(SumOutside, PowersOfTwoThatDiffer) {
  Model model;
  model.temperature = -20;
  SimulatedSums batch({std::string(90, 'G') + std::string(90, 'C')}, model);
  batch.outside_of(2, sim::Schedule::in_order);
}

}  // namespace
}  // namespace warploom::fold
