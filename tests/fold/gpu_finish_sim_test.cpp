// f, energies and structures in the simulator, from C and M of the CPU: a warp or a block a sequence.
#include "fold/simulated_batch.hpp"

namespace warploom::fold {
namespace {

std::vector<std::string> mixture() {
  return {random_sequence(1, 1),       random_sequence(90, 2),      random_sequence(4, 3),
          random_sequence(130, 4),     "GGGGAAAACCCCAGGGGAAAACCCC", "GGGAGGGAAACCCAGGGAAACCCACCC",
          random_sequence(60, 5, "GC")};
}

TEST(FoldFinish, OfAWarpASequence) {
  Simulated batch(mixture(), {});
  batch.finish("fold_finish<32>", 2, 128, sim::Schedule::adversarial);
}

TEST(FoldFinish, OfABlockASequence) {
  Simulated batch({mixture()[3], mixture()[5], random_sequence(200, 6)}, {});
  batch.finish("fold_finish<512>", 3, 512, sim::Schedule::adversarial);
}

TEST(FoldFinish, WithoutLonelyPairsAndDangles) {
  Model model;
  model.lonely_pairs = false, model.dangles = 0, model.gu_closing = false, model.temperature = 20;
  Simulated batch(mixture(), model);
  batch.finish("fold_finish<32>", 2, 128, sim::Schedule::in_order);
}

}  // namespace
}  // namespace warploom::fold
