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

/// Energies and structures, of all positions if none are given.
void expect_each_alone(const std::string& sequence, const std::vector<std::int64_t>& positions,
                       const Model& model, const Run& run = {}) {
  const Mutants mutants = fold_mutants(sequence, {.positions = positions, .structures = true}, model, run);
  ASSERT_EQ(mutants.positions.size(), positions.empty() ? sequence.size() : positions.size());
  ASSERT_EQ(mutants.energies.size(), mutants.positions.size() * 4);
  EXPECT_EQ(mutants.wild_type.energy, fold(sequence, model).energy);
  std::vector<std::string> each;
  for (std::size_t k = 0; k < mutants.energies.size(); ++k) {
    each.push_back(sequence);
    each.back()[static_cast<std::size_t>(mutants.positions[k / 4] - 1)] = "ACGU"[k % 4];
  }
  const std::vector<Folding> alone = fold(each, model);
  for (std::size_t k = 0; k < each.size(); ++k) {
    ASSERT_EQ(mutants.energies[k], alone[k].energy)
        << sequence << " " << mutants.positions[k / 4] << " " << k % 4;
    ASSERT_EQ(mutants.structures[k], alone[k].structure);
  }
}

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
    expect_each_alone(random_sequence(random, 1 + random() % 40, round % 3 == 0 ? "GGCCAN" : "ACGU"), {},
                      model);
  }
}

// Long enough for whole strips and pieces of columns that do not see what is changed.
TEST(Mutants, OfLongSequencesAreThoseOfEachMutantAlone) {
  std::mt19937 random(7);
  for (int round = 0; round < 16; ++round) {
    const Model model{.dangles = round % 4,
                      .lonely_pairs = round % 3 != 1,
                      .max_span = round % 8 == 5 ? 150 : 0,
                      .circular = round % 8 == 2,
                      .quadruplexes = round % 8 == 4};
    const std::string sequence = random_sequence(random, round < 2 ? 255 + round : 257 + random() % 400,
                                                 round % 4 == 0 ? "GGGCA" : "ACGU");
    const auto n = std::ssize(sequence);
    std::vector<std::int64_t> positions{1, n};  // and those beside strips' and kept columns' borders
    for (const std::int64_t border : {64 * (1 + round % 3), 128 * (1 + round % 2), 66 * (1 + round % 3)})
      positions.push_back(border + round % 5 - 2);
    positions.push_back(static_cast<std::int64_t>(n / 2 + random() % 20));
    std::ranges::sort(positions);
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    expect_each_alone(sequence, positions, model, {.threads = 1 + static_cast<unsigned>(round) % 3});
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
