#include "warploom/fold/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

bool has_lonely_pair(const std::vector<std::int64_t>& partner) {
  const auto n = std::ssize(partner);
  const auto pairs = [&](std::int64_t i, std::int64_t j) { return i >= 0 && j < n && partner[i] == j; };
  for (std::int64_t i = 0; i < n; ++i)
    if (partner[i] > i && !pairs(i - 1, partner[i] + 1) && !pairs(i + 1, partner[i] - 1)) return true;
  return false;
}

bool may_pair(char a, char b) {
  return std::string("AU UA GC CG GU UG").find(std::string{a, b}) != std::string::npos;
}

/// By the first base.
using QuadruplexesOf = std::vector<std::vector<std::string>>;

QuadruplexesOf quadruplexes_of(const std::string& sequence) {
  QuadruplexesOf all(sequence.size());
  for (std::size_t at = 0; at < sequence.size(); ++at)
    for (std::size_t layers = 2; 4 * layers + 3 + at <= sequence.size(); ++layers)
      for (std::size_t linkers = 0; linkers < 15 * 15 * 15; ++linkers) {
        const std::size_t a = linkers % 15 + 1, b = linkers / 15 % 15 + 1, c = linkers / 225 + 1;
        if (at + 4 * layers + a + b + c > sequence.size()) continue;
        const std::string run(layers, '+');
        const std::string one = run + std::string(a, '.') + run + std::string(b, '.') + run +
                                std::string(c, '.') + run.substr(1) + "~";
        bool fits = true;
        for (std::size_t k = 0; k < one.size(); ++k)
          fits = fits && (one[k] == '.' || sequence[at + k] == 'G');
        if (fits) all[at].push_back(one);
      }
  return all;
}

/// Every structure of a short sequence, one after another.
void for_each_structure(const std::string& sequence, const QuadruplexesOf& quadruplexes,
                        std::string& structure, std::size_t at, std::vector<std::size_t>& open,
                        const std::function<void()>& visit) {
  if (at == sequence.size()) {
    if (open.empty()) visit();
    return;
  }
  if (!quadruplexes.empty())
    for (const std::string& one : quadruplexes[at]) {
      const std::string before = structure;
      structure.replace(at, one.size(), one);
      for_each_structure(sequence, quadruplexes, structure, at + one.size(), open, visit);
      structure = before;
    }
  structure[at] = '.';
  for_each_structure(sequence, quadruplexes, structure, at + 1, open, visit);
  structure[at] = '(';
  open.push_back(at);
  if (open.size() <= sequence.size() - at - 1)
    for_each_structure(sequence, quadruplexes, structure, at + 1, open, visit);
  open.pop_back();
  if (!open.empty() && at - open.back() > 3 && may_pair(sequence[open.back()], sequence[at])) {
    const std::size_t opened = open.back();
    open.pop_back();
    structure[at] = ')';
    for_each_structure(sequence, quadruplexes, structure, at + 1, open, visit);
    open.push_back(opened);
  }
  structure[at] = '.';
}

/// Each structure that the model has, with its energy.
void for_each_in(const std::string& sequence, const Model& model,
                 const std::function<void(const std::string&, std::int32_t)>& visit) {
  std::string structure(sequence.size(), '.');
  std::vector<std::size_t> open;
  for_each_structure(sequence, model.quadruplexes ? quadruplexes_of(sequence) : QuadruplexesOf(), structure,
                     0, open, [&] {
                       const std::vector<std::int64_t> partner = partners(structure);
                       if (!model.lonely_pairs && has_lonely_pair(partner)) return;
                       for (std::int64_t i = 0; i < std::ssize(partner); ++i)
                         if (model.max_span > 0 && partner[i] - i + 1 > model.max_span) return;
                       std::int32_t energy = 0;
                       try {
                         energy = evaluate(sequence, structure, model).energy;
                       } catch (const BadInput&) {  // a loop that there is not
                         return;
                       }
                       visit(structure, energy);
                     });
}

std::int32_t least_of_all(const std::string& sequence, const Model& model) {
  std::optional<std::int32_t> least;
  for_each_in(sequence, model, [&](const std::string&, std::int32_t energy) {
    least = std::min(energy, least.value_or(energy));
  });
  return least.value();
}

TEST(Fold, IsTheLeastOfAllStructures) {
  std::mt19937 random(7);
  for (int round = 0; round < 24; ++round) {
    const std::string sequence = random_sequence(random, 8 + random() % 6, round % 3 == 0 ? "GC" : "GGCCAU");
    const Model model{.temperature = round % 4 == 0 ? 10.0 : 37.0,
                      .dangles = round % 5 < 4 ? round % 5 : 2,
                      .lonely_pairs = round % 2 == 0,
                      .gu = round % 7 != 0,
                      .gu_closing = round % 6 != 0,
                      .max_span = round % 9 == 0 ? 8 : 0};
    const Folding folding = fold(sequence, model);
    EXPECT_EQ(folding.energy, least_of_all(sequence, model)) << sequence << " round " << round;
    EXPECT_EQ(evaluate(sequence, folding.structure, model).energy, folding.energy);
  }
}

/// Two or three hairpins within a pair, with a base or none between, where multiloops cost less than nothing.
TEST(Fold, OfMultiloopsIsTheLeastOfAllStructures) {
  const Parameters parameters =
      parse_parameters("## RNAfold parameter file v2.0\n# ML_params\n10 10 -500 -500 -300 -300\n", "k.par");
  std::mt19937 random(11);
  const auto perhaps = [&] { return random_sequence(random, random() % 2, "AGCU"); };
  int multiloops = 0;
  for (int round = 0; round < 16; ++round) {
    std::string sequence = "G" + perhaps();
    for (int stems = round % 8 == 7 ? 3 : 2; stems > 0; --stems) {
      const std::string_view pair = std::array{"GC", "CG", "AU", "GU"}[random() % 4];
      sequence += pair[0] + random_sequence(random, 3, "AAU") + pair[1];
      if (stems == 2 || sequence.size() < 12) sequence += perhaps();
    }
    sequence += 'C';
    const Model model{.parameters = parameters, .temperature = 10, .dangles = round % 4};
    const Folding folding = fold(sequence, model);
    EXPECT_EQ(folding.energy, least_of_all(sequence, model)) << sequence << " round " << round;
    const Evaluation e = evaluate(sequence, folding.structure, model);
    EXPECT_EQ(e.energy, folding.energy);
    for (const Loop& loop : e.loops) multiloops += loop.kind == Loop::Kind::multi ? 1 : 0;
  }
  EXPECT_GE(multiloops, 5);
}

/// One alone, beside stems, within a pair with bases on both sides or on one, and in multiloops.
TEST(Fold, WithQuadruplexesIsTheLeastOfAllStructures) {
  const Parameters parameters =
      parse_parameters("## RNAfold parameter file v2.0\n# ML_params\n10 10 -500 -500 -300 -300\n", "k.par");
  std::mt19937 random(23);
  const auto some = [&](std::size_t most) { return random_sequence(random, random() % (most + 1), "AAC"); };
  int multiloops = 0, within = 0, found = 0;
  for (int round = 0; round < 24; ++round) {
    std::string quadruplex = "GG";
    for (int run = 0; run < 3; ++run)
      quadruplex += random_sequence(random, 1 + (round % 4 == 0 ? random() % 3 : 0), "AAU") + "GG";
    const std::string_view pair = std::array{"GC", "CG", "AU", "UG"}[random() % 4];
    std::string sequence =
        round % 4 == 0   ? some(2) + quadruplex + some(3)
        : round % 4 == 1 ? "C" + std::string(1, pair[0]) + some(3) + quadruplex + some(3) + pair[1] + "G"
        : round % 4 == 2 ? "C" + some(1) + quadruplex + some(1) + "CAAAG" + some(1) + "G"
                         : random_sequence(random, 14, "GGGGA") + "C";
    const Model model{.parameters = round % 4 == 2 ? parameters : Parameters(),
                      .temperature = round % 5 == 0 ? 60.0 : 37.0,
                      .dangles = round % 3 == 0 ? 0 : 2,
                      .lonely_pairs = round % 8 != 1,
                      .gu_closing = round % 8 < 5,
                      .quadruplexes = true};
    const Folding folding = fold(sequence, model);
    EXPECT_EQ(folding.energy, least_of_all(sequence, model)) << sequence << " round " << round;
    const Evaluation e = evaluate(sequence, folding.structure, model);
    EXPECT_EQ(e.energy, folding.energy);
    for (const Loop& loop : e.loops) {
      multiloops += loop.kind == Loop::Kind::multi ? 1 : 0;
      found += loop.kind == Loop::Kind::quadruplex ? 1 : 0;
      within +=
          loop.kind == Loop::Kind::interior && folding.structure[static_cast<std::size_t>(loop.p - 1)] == '+'
              ? 1
              : 0;
    }
  }
  EXPECT_GE(multiloops, 3);
  EXPECT_GE(within, 3);
  EXPECT_GE(found, 16);
}

TEST(Fold, RefusesQuadruplexesWithWhatTheyAreNotThereWith) {
  const std::string sequence = "GGAGGAGGAGG";
  EXPECT_EQ(fold(sequence, {.quadruplexes = true}).structure, "++.++.++.+~");
  for (const Model& model :
       {Model{.dangles = 1, .quadruplexes = true}, Model{.dangles = 3, .quadruplexes = true},
        Model{.circular = true, .quadruplexes = true},
        Model{.enforce_constraint = true, .quadruplexes = true},
        Model{.quadruplexes = true, .pseudo = {.unpaired = std::vector<std::int32_t>(11)}}})
    EXPECT_THROW(fold(sequence, model), BadInput);
  EXPECT_THROW(suboptimal(sequence, 0, [](const Folding&) { return true; }, {.quadruplexes = true}),
               BadInput);
}

/// Sequences, options and energies that ViennaRNA gave: bench/fold/viennarna.py --table.
TEST(Fold, HasViennaRnasEnergies) {
  std::ifstream file(WARPLOOM_TESTS_DIR "/fold/viennarna.tsv");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string sequence, constraint;
    Model model;
    int no_lonely_pairs = 0, no_gu = 0, no_gu_closing = 0, circular = 0, enforced = 0, quadruplexes = 0,
        energy = 0;
    words >> sequence >> model.temperature >> model.dangles >> no_lonely_pairs >> no_gu >> no_gu_closing >>
        model.max_span >> circular >> enforced >> quadruplexes >> constraint >> energy;
    ASSERT_TRUE(words) << line;
    model.lonely_pairs = no_lonely_pairs == 0, model.gu = no_gu == 0, model.gu_closing = no_gu_closing == 0;
    model.circular = circular == 1, model.enforce_constraint = enforced == 1;
    model.quadruplexes = quadruplexes == 1;
    if (constraint == "-") constraint.clear();
    EXPECT_EQ(fold(sequence, model, {}, constraint).energy, energy) << line;
    ++count;
  }
  EXPECT_GE(count, 200);
}

TEST(Fold, DoesNotDependOnThreadsNorOnTheBatch) {
  std::mt19937 random(3);
  const std::vector<std::string> sequences{random_sequence(random, 700), random_sequence(random, 20),
                                           random_sequence(random, 129, "GC"), "A"};
  const std::vector<Folding> wanted = fold(sequences, {}, {.threads = 1});
  for (const unsigned threads : {2u, 3u, 7u}) {
    const std::vector<Folding> batch = fold(sequences, {}, {.threads = threads});
    for (std::size_t k = 0; k < sequences.size(); ++k) {
      EXPECT_EQ(batch[k].energy, wanted[k].energy);
      EXPECT_EQ(batch[k].structure, wanted[k].structure);
      EXPECT_EQ(fold(sequences[k], {}, {.threads = threads}).structure, wanted[k].structure);
    }
  }
}

TEST(Fold, OfRepeatsAndOfNothingToPair) {
  std::string repeat;
  for (int k = 0; k < 150; ++k) repeat += "GC";
  EXPECT_EQ(fold(repeat).energy, -42270);  // RNAfold -422.70
  for (const std::string& none :
       {std::string(200, 'A'), std::string(200, 'N'), std::string("GC"), std::string("G")}) {
    const Folding folding = fold(none);
    EXPECT_EQ(folding.energy, 0);
    EXPECT_EQ(folding.structure, std::string(none.size(), '.'));
  }
}

TEST(Fold, RefusesWhatIsNoSequence) {
  EXPECT_THROW(fold(""), BadInput);
  EXPECT_THROW(fold("ACG-U"), BadInput);
  EXPECT_THROW(fold("ACGU", {.temperature = -300}), BadInput);
  EXPECT_THROW(fold("ACGU", {.max_span = -1}), BadInput);
  try {
    fold(std::vector<std::string>{"ACGU", "AC GU"});
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "sequence 2: the sequence's character 3 of 5 is no letter (byte 32)");
  }
}

/// Far below the length a span makes pieces, each with matrices of its own; with pseudo-energies, here of 0,
/// there is one. The structure's energy is summed again in each case.
TEST(Fold, InPiecesIsThatOfTheWhole) {
  std::mt19937 random(61);
  int with_pairs = 0;
  for (int round = 0; round < 8; ++round) {
    const std::size_t n = 1'030 + random() % 500;
    const std::string sequence = random_sequence(random, n, round % 2 == 0 ? "ACGU" : "GGCCAU");
    Model model{.dangles = round % 4, .lonely_pairs = round < 5, .max_span = 20 + 30 * round};
    std::string constraint;
    if (round % 3 == 0) {
      constraint.assign(n, '.');
      for (std::size_t k = 0; k < n; k += 17) constraint[k] = 'x';
      constraint[100] = '<', constraint[530] = '>';
    }
    const Folding pieces = fold(sequence, model, {}, constraint);
    EXPECT_LT(bytes_to_fold(static_cast<std::int64_t>(n), model.max_span),
              bytes_to_fold(static_cast<std::int64_t>(n)));
    model.pseudo.unpaired.assign(n, 0);
    EXPECT_EQ(pieces.energy, fold(sequence, model, {}, constraint).energy) << round << ' ' << sequence;
    const std::vector<std::int64_t> partner = partners(pieces.structure);
    for (std::int64_t i = 0; i < std::ssize(partner); ++i) {
      EXPECT_LT(partner[static_cast<std::size_t>(i)] - i, model.max_span);
      with_pairs += partner[static_cast<std::size_t>(i)] > i ? 1 : 0;
    }
  }
  EXPECT_GT(with_pairs, 1'000);
}

TEST(Fold, APairThatTheConstraintNamesMayBeLongerThanTheSpan) {  // as RNAfold has it
  const std::string sequence = "CCGCGGGGCC", constraint = "(......)..";
  EXPECT_EQ(fold(sequence, {.temperature = 0, .max_span = 7}, {}, constraint).energy, -289);
  EXPECT_EQ(fold(sequence, {.temperature = 0, .max_span = 7}).energy, -149);
}

TEST(Fold, RefusesWhatIsNoConstraint) {
  const auto refusal = [](const std::string& constraint) -> std::string {
    try {
      fold("GGGGAAAACCCC", {}, {}, constraint);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "folded";
  };
  EXPECT_EQ(refusal("((((....))))"), "folded");
  EXPECT_EQ(refusal("..."), "the constraint has 3 letters, the sequence 12");
  EXPECT_EQ(refusal("........)..."), "the constraint's ')' at 9 closes nothing");
  EXPECT_EQ(refusal("(..........."), "the constraint's '(' at 1 is not closed");
  EXPECT_EQ(refusal(".....y......"), "the constraint's character 6 is 'y'; it has . | x < > ( and )");
  EXPECT_EQ(refusal("....(....).."), "the constraint pairs bases 5 and 10, A and C, which cannot pair");
  EXPECT_EQ(refusal("......(..)..").substr(0, 24), "the constraint pairs bas");
}

TEST(Fold, EnforcesAConstraint) {
  const Model enforced{.enforce_constraint = true};
  EXPECT_EQ(fold("GGGGAAAACCCC", enforced, {}, "|...........").energy, -540);
  EXPECT_EQ(fold("GGGGAAAACCCC", enforced, {}, "(.......)...").structure.front(),
            '(');  // costs more than nothing
  EXPECT_GT(fold("GGGGAAAACCCC", enforced, {}, "(.......)...").energy, 0);
  EXPECT_EQ(fold("GGGGAAAACCCC", {}, {}, "(.......)...").energy, 0);
  EXPECT_THROW(fold("GGGGAAAACCCC", enforced, {}, "....|......."), BadInput);
}

TEST(Fold, OfACircleIsTheLeastOfAllStructures) {
  std::mt19937 random(13);
  for (int round = 0; round < 16; ++round) {
    const std::string sequence = random_sequence(random, 9 + random() % 6, round % 2 == 0 ? "GC" : "GGCCAU");
    const Model model{
        .temperature = round % 4 == 0 ? 10.0 : 37.0, .dangles = round % 3 == 0 ? 0 : 2, .circular = true};
    const Folding folding = fold(sequence, model);
    EXPECT_EQ(folding.energy, least_of_all(sequence, model)) << sequence << " round " << round;
    EXPECT_EQ(evaluate(sequence, folding.structure, model).energy, folding.energy);
  }
}

TEST(Fold, WithReactivitiesIsTheLeastOfAllStructures) {
  std::mt19937 random(17);
  for (int round = 0; round < 16; ++round) {
    const std::string sequence = random_sequence(random, 9 + random() % 6, "GGCCAU");
    std::vector<double> reactivities;
    for (std::size_t k = 0; k < sequence.size(); ++k)
      reactivities.push_back(static_cast<double>(random() % 25) / 10 - 0.4);
    Model model{.dangles = round % 4};
    model.pseudo = round % 2 == 0 ? deigan(reactivities) : zarringhalam(reactivities);
    const Folding folding = fold(sequence, model);
    EXPECT_EQ(folding.energy, least_of_all(sequence, model)) << sequence << " round " << round;
    EXPECT_EQ(evaluate(sequence, folding.structure, model).energy, folding.energy);
  }
}

TEST(Suboptimal, AreAllStructuresWithinTheRange) {
  std::mt19937 random(19);
  for (int round = 0; round < 12; ++round) {
    const std::string sequence = random_sequence(random, 10 + random() % 5, round % 2 == 0 ? "GC" : "GGCCAU");
    Model model{.dangles = round % 3 == 0 ? 0 : 2, .lonely_pairs = round % 4 != 1};
    if (round % 5 == 0) model.pseudo = deigan(std::vector<double>(sequence.size(), 0.5));
    const std::int32_t limit = fold(sequence, model).energy + 1000;
    std::map<std::string, std::int32_t> wanted, found;
    for_each_in(sequence, model, [&](const std::string& structure, std::int32_t energy) {
      if (energy <= limit) wanted[structure] = energy;
    });
    const std::int64_t count = suboptimal(
        sequence, 1000, [&](const Folding& f) { return found.emplace(f.structure, f.energy).second; }, model);
    EXPECT_EQ(found, wanted) << sequence << " round " << round;
    EXPECT_EQ(count, std::ssize(wanted));
  }
}
/// Circles, and constraints that are enforced.
TEST(Suboptimal, OfCirclesAndConstraintsAreAllStructuresWithinTheRange) {
  std::mt19937 random(29);
  for (int round = 0; round < 16; ++round) {
    const std::string sequence = random_sequence(random, 11 + random() % 5, round % 2 == 0 ? "GC" : "GGCCAU");
    const bool enforced = round % 4 < 2;
    const Model model{.dangles = round % 3 == 0 ? 0 : 2,
                      .lonely_pairs = round % 5 != 1,
                      .circular = round % 4 > 0,
                      .enforce_constraint = enforced};
    std::string constraint(enforced ? sequence.size() : 0, '.');
    if (enforced) constraint[random() % sequence.size()] = '|';
    std::map<std::string, std::int32_t> all, wanted, found;
    for_each_in(sequence, model, [&](const std::string& structure, std::int32_t energy) {
      for (std::size_t k = 0; k < constraint.size(); ++k)
        if (constraint[k] == '|' && structure[k] == '.') return;
      all[structure] = energy;
    });
    const auto collect = [&] {
      return suboptimal(
          sequence, 800, [&](const Folding& f) { return found.emplace(f.structure, f.energy).second; }, model,
          {}, constraint);
    };
    if (all.empty()) {
      EXPECT_THROW(collect(), BadInput);
      continue;
    }
    const auto energy = [](const auto& one) { return one.second; };
    const std::int32_t least = std::ranges::min_element(all, {}, energy)->second;
    for (const auto& [structure, of_it] : all)
      if (of_it <= least + 800) wanted[structure] = of_it;
    EXPECT_EQ(collect(), std::ssize(wanted));
    EXPECT_EQ(found, wanted) << sequence << " round " << round;
  }
}
TEST(Suboptimal, OfAHelixOfAnyLength) {  // none of it on the call stack
  const std::string sequence = std::string(700, 'G') + "AAAA" + std::string(700, 'C');
  int taken = 0;
  EXPECT_EQ(suboptimal(sequence, 0,
                       [&](const Folding& f) {
                         EXPECT_EQ(f.structure, std::string(700, '(') + "...." + std::string(700, ')'));
                         return ++taken < 3;
                       }),
            1);
}
TEST(Suboptimal, StopWhereNobodyTakesMore) {
  int taken = 0;
  EXPECT_EQ(suboptimal("GGGGGAAAACCCCC", 2000, [&](const Folding&) { return ++taken < 3; }), 3);
}

TEST(Suboptimal, RefuseEnergiesThat32BitsMayNotHoldAsFoldDoes) {
  const Model model{.parameters = parse_parameters(
                        "## RNAfold parameter file v2.0\n# ML_params\n0 0 -10000 -10000 0 0\n", "k.par")};
  const std::string sequence(30'000, 'A');
  EXPECT_THROW(fold(sequence, model), BadInput);
  EXPECT_THROW(suboptimal(
                   sequence, 0, [](const Folding&) { return true; }, model),
               BadInput);
}

TEST(Fold, StopsOnRequest) {
  std::mt19937 random(5);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(fold(random_sequence(random, 900), {}, {.threads = 2, .stop = &stop}), Interrupted);
}

TEST(Fold, SaysWhatItTakes) {
  EXPECT_EQ(bytes_to_fold(0), 0u);
  EXPECT_GT(bytes_to_fold(30'000), 3'600'000'000u);
}

}  // namespace
}  // namespace warploom::fold
