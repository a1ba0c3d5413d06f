// The kernel of strips in the simulator, with the race detector: thread blocks that wait for each other.
// C and M are those of the CPU.
#include "fold/simulated_batch.hpp"

namespace warploom::fold {
namespace {

class FoldStrips : public testing::TestWithParam<sim::Schedule> {};

TEST_P(FoldStrips, FillCAndMOfABatch) {
  Simulated batch(
      {random_sequence(1, 1), random_sequence(40, 2), random_sequence(150, 3), random_sequence(129, 4)}, {});
  batch.fill(3, GetParam());
  batch.expect_right();
}

TEST_P(FoldStrips, WaitForTheStripAbove) {
  Simulated batch({random_sequence(300, 5)}, {});
  batch.fill(2, GetParam());
  batch.expect_right();
}

INSTANTIATE_TEST_SUITE_P(Schedules, FoldStrips,
                         testing::Values(sim::Schedule::in_order, sim::Schedule::adversarial),
                         [](const auto& schedule) {
                           std::string text(sim::name(schedule.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(FoldStripsOfAModel, AreTheCpus) {
  Model model;
  model.temperature = 25, model.dangles = 0, model.lonely_pairs = false, model.gu_closing = false,
  model.max_span = 60;
  Simulated batch({random_sequence(140, 6, "ACGUN"), random_sequence(90, 7, "GC")}, model);
  batch.fill(2, sim::Schedule::random);
  batch.expect_right();
}

TEST(FoldStripsOfRepeats, HaveMoreCandidatesThanAWarpHasLanes) {
  Simulated batch({random_sequence(230, 8, "GC")}, {});
  batch.fill(2, sim::Schedule::in_order);
  batch.expect_right();
}

TEST(FoldStripsOfRepeats, TryAllSplitsWhereTooManyAreCandidates) {
  Simulated batch({random_sequence(230, 9, "GC")}, {}, 32);
  batch.fill(2, sim::Schedule::in_order);
  batch.expect_right();
}

}  // namespace
}  // namespace warploom::fold
