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

TEST(FoldStripsOfConstraints, AreTheCpus) {
  Model model;
  model.max_span = 80;
  const std::string sequence = random_sequence(140, 10);
  std::string constraint(140, '.');
  for (std::size_t k = 0; k < 30; ++k) constraint[7 * k % 140] = "x<>|"[k % 4];
  // A pair that is longer than the span.
  std::size_t last = 139;
  while ("UCGA"[std::string_view("ACGU").find(sequence[4])] != sequence[last]) --last;
  constraint[4] = '(', constraint[last] = ')';
  Simulated batch({sequence, random_sequence(30, 11)}, model, -1, {constraint, std::string(30, '.')});
  batch.fill(2, sim::Schedule::adversarial);
  batch.expect_right();
}

TEST(FoldStripsToBeStopped, ReturnAndSaySo) {
  Simulated batch({random_sequence(300, 5)}, {});
  batch.stop();
  batch.fill(2, sim::Schedule::adversarial);
  EXPECT_TRUE(batch.stopped());
}

TEST(FoldStripsOfRepeats, TryAllSplitsWhereTooManyAreCandidates) {
  Simulated batch({random_sequence(230, 9, "GC")}, {}, 32);
  batch.fill(2, sim::Schedule::in_order);
  batch.expect_right();
}

}  // namespace
}  // namespace warploom::fold
