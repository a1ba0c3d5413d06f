// Sums over all structures in the simulator, with the race detector: thread blocks that wait for each other.
// B, M1 and M are those of the CPU.
#include "fold/simulated_sums.hpp"

namespace warploom::fold {
namespace {

TEST(SumInside, ShortOnes) {
  SimulatedSums batch({random_sequence(1, 1), random_sequence(40, 2), random_sequence(70, 3)}, {});
  batch.inside(2, sim::Schedule::in_order);
}

TEST(SumInside, ProductsOfBlocks) {
  SimulatedSums batch({random_sequence(200, 4)}, {});
  batch.inside(3, sim::Schedule::adversarial);
}

TEST(SumInside, ProductsOfSeveralTiles) {
  SimulatedSums batch({random_sequence(390, 5)}, {}, {}, true);
  batch.inside(3, sim::Schedule::random);
}

TEST(SumInside, OfAModel) {
  Model model;
  model.temperature = 25, model.dangles = 0, model.lonely_pairs = false, model.gu_closing = false,
  model.max_span = 60;
  SimulatedSums batch({random_sequence(135, 6, "ACGUN")}, model);
  batch.inside(2, sim::Schedule::random);
}

TEST(SumInside, OfConstraints) {
  std::string constraint(100, '.');
  for (std::size_t k = 0; k < 20; ++k) constraint[7 * k % 100] = "x<>|"[k % 4];
  SimulatedSums batch({random_sequence(100, 10)}, {}, {constraint});
  batch.inside(1, sim::Schedule::in_order);
}

TEST(SumInside, PowersOfTwoThatDiffer) {
  Model model;
  model.temperature = -20;
  SimulatedSums batch({std::string(90, 'G') + std::string(90, 'C')}, model);
  batch.inside(2, sim::Schedule::in_order);
}

}  // namespace
}  // namespace warploom::fold
