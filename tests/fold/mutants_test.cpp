#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::fold {
namespace {

TEST(Mutants, AreThoseOfEachMutantAloneUnderEveryOption) {
  std::mt19937 random(6);
  for (int round = 0; round < 12; ++round) {
    const Model model{.temperature = round % 5 == 0 ? 20.0 : 37.0,
                      .dangles = round % 4,
                      .lonely_pairs = round % 3 != 0,
                      .gu = round % 7 != 0,
                      .gu_closing = round % 6 != 0,
                      .max_span = round % 8 == 1 ? 20 : 0,
                      .circular = round % 4 == 2,
                      .quadruplexes = round % 8 == 4};
    const std::string sequence =
        random_sequence(random, 1 + random() % 40, round % 3 == 0 ? "GGCCAN" : "ACGU");
    const Mutants mutants = fold_mutants(sequence, {.structures = true}, model);
    ASSERT_EQ(mutants.positions.size(), sequence.size());
    ASSERT_EQ(mutants.energies.size(), sequence.size() * 4);
    EXPECT_EQ(mutants.wild_type.energy, fold(sequence, model).energy);
    std::vector<std::string> each;
    for (std::size_t k = 0; k < mutants.energies.size(); ++k)
      each.push_back(sequence), each.back()[k / 4] = "ACGU"[k % 4];
    const std::vector<Folding> alone = fold(each, model);
    for (std::size_t k = 0; k < each.size(); ++k) {
      ASSERT_EQ(mutants.energies[k], alone[k].energy) << sequence << " " << each[k];
      ASSERT_EQ(mutants.structures[k], alone[k].structure);
    }
  }
}
TEST(Mutants, OfSomePositionsComeInTheirOrder) {
  const std::string sequence = "GGGGAAAACCCC";
  const Mutants all = fold_mutants(sequence), some = fold_mutants(sequence, {.positions = {12, 1, 5}});
  EXPECT_EQ(some.positions, (std::vector<std::int64_t>{12, 1, 5}));
  EXPECT_TRUE(some.structures.empty());
  for (std::size_t k = 0; k < 12; ++k)
    EXPECT_EQ(some.energies[k],
              all.energies[static_cast<std::size_t>(some.positions[k / 4] - 1) * 4 + k % 4]);
  // By hand: a hairpin of three pairs where the outer one is lost.
  EXPECT_EQ(all.energies[0], fold("AGGGAAAACCCC").energy);
  EXPECT_EQ(all.energies[2], -540);
}
TEST(Mutants, AreRefusedWithTheReason) {
  const auto message = [](const std::string& sequence, const MutantOptions& options) -> std::string {
    try {
      fold_mutants(sequence, options);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("ACGU", {.positions = {5}}),
            "position 5 of a sequence of 4 bases; they are counted from 1");
  EXPECT_EQ(message("ACGU", {.positions = {0}}),
            "position 0 of a sequence of 4 bases; they are counted from 1");
  EXPECT_EQ(message("ACGU", {.positions = {2, 3, 2}}), "position 2 is there twice");
  EXPECT_EQ(message("", {}), "the sequence has no bases");
}

}  // namespace
}  // namespace warploom::fold
