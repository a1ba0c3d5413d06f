// f in the simulator, from C of the CPU: thread blocks that wait for each other.
#include "fold/simulated_batch.hpp"

namespace warploom::fold {
namespace {

TEST(FoldEnds, OfABatch) {
  Simulated batch({random_sequence(300, 1), random_sequence(1, 2), random_sequence(129, 3, "ACGUN")}, {});
  batch.end(2, sim::Schedule::adversarial);
}

TEST(FoldEnds, WithoutDangles) {
  Model model;
  model.dangles = 0, model.max_span = 150;
  Simulated batch({random_sequence(260, 4), random_sequence(128, 5)}, model);
  batch.end(3, sim::Schedule::random);
}

}  // namespace
}  // namespace warploom::fold
