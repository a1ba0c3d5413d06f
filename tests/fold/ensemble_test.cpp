#include "warploom/fold/ensemble.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "fold/all_structures.hpp"
#include "fold/energy_tables.hpp"
#include "fold/ensemble_oracle.hpp"
#include "fold/random_sequence.hpp"
#include "fold/sections.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/dot_plot.hpp"

namespace warploom::fold {
namespace {

TEST(Ensemble, IsTheSumOverAllStructures) {
  std::mt19937 random(1);
  for (int k = 0; k < 40; ++k) {
    const std::string sequence = random_sequence(random, 10 + k % 8, k % 2 == 0 ? "ACGU" : "GGCCAU");
    Model model = without_dangles();
    model.gu = k % 3 != 0, model.gu_closing = k % 5 != 0;
    const All all(sequence, model);
    const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0});
    EXPECT_NEAR(ensemble.energy, all.energy, 1e-12 * (1 + std::abs(all.energy))) << sequence;
    const auto found = by_pair(ensemble);
    for (std::int64_t i = 1; i <= std::ssize(sequence); ++i)
      for (std::int64_t j = i + 1; j <= std::ssize(sequence); ++j) {
        const auto one = found.find({i, j});
        EXPECT_NEAR(one == found.end() ? 0 : one->second, all.probability(i, j), 1e-12)
            << sequence << ' ' << i << ' ' << j;
      }
  }
}

/// Up to 2,000 bases by bench/fold/ensemble_oracle.cpp.
TEST(Ensemble, IsThatOfLongDouble) {
  struct Case {
    std::size_t bases;
    double temperature;
    int dangles;
  };
  std::mt19937 random(21);
  for (const auto [bases, temperature, dangles] : {Case{150, 37, 2}, {70, 60, 0}, {100, 10, 2}}) {
    const std::string sequence = random_sequence(random, bases, "ACGUGC");
    Model model;
    model.temperature = temperature, model.dangles = dangles;
    const EnsembleOracle oracle(sequence, model);
    const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0});
    EXPECT_NEAR(ensemble.energy / oracle.energy(), 1, 1e-13);
    auto found = by_pair(ensemble);
    for (std::int64_t i = 1; i <= std::ssize(sequence); ++i)
      for (std::int64_t j = i + 1; j <= std::ssize(sequence); ++j)
        ASSERT_NEAR((found[{i, j}]), oracle.probability(static_cast<int>(i), static_cast<int>(j)), 1e-13)
            << i << ' ' << j << ' ' << sequence;
  }
}

/// Lines of sequence, temperature, dangles, without lonely pairs, constraint or '-', energy, diversity, and
/// pairs with their probabilities: ViennaRNA 2.8.0's.
TEST(Ensemble, IsViennaRnas) {
  std::ifstream file(WARPLOOM_TESTS_DIR "/fold/viennarna_ensemble.tsv");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string sequence, constraint;
    Model model;
    bool no_lonely_pairs = false;
    double energy = 0, diversity = 0, probability = 0;
    words >> sequence >> model.temperature >> model.dangles >> no_lonely_pairs >> constraint >> energy >>
        diversity;
    model.lonely_pairs = !no_lonely_pairs;
    const Ensemble ensemble =
        fold::ensemble(sequence, model, {.cutoff = 0}, {}, constraint == "-" ? "" : constraint);
    EXPECT_NEAR(ensemble.energy, energy, 1e-6 * (1 + std::abs(energy))) << line;  // single precision there
    EXPECT_NEAR(ensemble.diversity, diversity, 1e-5 * (1 + diversity)) << line;
    const auto found = by_pair(ensemble);
    std::int64_t i = 0, j = 0;
    while (words >> i >> j >> probability) {
      ASSERT_TRUE(found.contains({i, j})) << line;
      EXPECT_NEAR(found.at({i, j}), probability, 1e-8) << i << ' ' << j << ' ' << line;
    }
    ++count;
  }
  EXPECT_GE(count, 60);
}

/// With a span strips are shorter than the sequence; what is in the whole of it is computed there. All of it
/// is where a constraint names a long pair, which pairs with nothing else.
TEST(Ensemble, OfABandIsThatOfTheWhole) {
  std::mt19937 random(22);
  for (const auto& [n, span] :
       {std::pair(300, 20), {300, 33}, {300, 64}, {300, 96}, {300, 97}, {500, 129}, {200, 5}}) {
    const std::string sequence = "G" + random_sequence(random, static_cast<std::size_t>(n - 2)) + "C";
    Model model;
    model.max_span = span;
    const EnsembleOptions options{.cutoff = 0, .samples = 20, .gradient = true};
    std::string constraint(sequence.size(), '.');
    constraint.front() = constraint.back() = 'x';
    const Ensemble band = ensemble(sequence, model, options, {.threads = 2}, constraint);
    constraint.front() = '(', constraint.back() = ')';
    const Ensemble whole = ensemble(sequence, model, options, {}, constraint);
    // What is around all others weighs as a pair does, by all that it contains.
    double around = 0;
    for (const PairProbability& pair : whole.pairs)
      if (pair.i == 1 && pair.j == n) around = pair.probability;
    EXPECT_NEAR(whole.energy, band.energy + band.kt * std::log1p(-around), 1e-9 * std::abs(band.energy))
        << span;
    EXPECT_LT(bytes_to_sum(n, {}, span), bytes_to_sum(n, {}));
    for (const PairProbability& pair : band.pairs) EXPECT_LT(pair.j - pair.i, span);
    for (const std::string& sample : band.samples)
      for (std::int64_t i = 0; const std::int64_t partner : partners(sample)) EXPECT_LT(partner - i++, span);
    double sum = 0;
    for (const PairProbability& pair : band.pairs) sum += 2 * pair.probability;
    for (const double alone : band.unpaired) sum += alone;
    EXPECT_NEAR(sum, n, 1e-10 * n);
  }
}

TEST(Ensemble, ABaseIsUnpairedOrInOnePair) {
  std::mt19937 random(2);
  for (const std::size_t n : {63, 64, 65, 96, 97, 128, 129, 300}) {
    const Ensemble ensemble = fold::ensemble(random_sequence(random, n), {}, {.cutoff = 0});
    std::vector<double> sum = ensemble.unpaired;
    for (const PairProbability& pair : ensemble.pairs) {
      EXPECT_LE(pair.probability, 1 + 1e-12);
      sum[static_cast<std::size_t>(pair.i - 1)] += pair.probability;
      sum[static_cast<std::size_t>(pair.j - 1)] += pair.probability;
    }
    for (const double one : sum) EXPECT_NEAR(one, 1, 1e-11);
  }
}

/// Its sum is beyond 10^308 by far, and those of its halves are.
TEST(Ensemble, OfStrongRepeatsDoesNotOverflow) {
  std::string sequence;
  for (int k = 0; k < 550; ++k) sequence += "GC";
  const Ensemble ensemble = fold::ensemble(sequence);
  EXPECT_LT(ensemble.energy, -1000);
  EXPECT_LE(ensemble.energy, fold::fold(sequence).energy / 100. + .5);  // smoothing takes a little
  for (const PairProbability& pair : ensemble.pairs)
    ASSERT_TRUE(pair.probability >= 0 && pair.probability < 1.000001);
}

TEST(Ensemble, HasTheSameBitsWithAnyNumberOfThreads) {
  std::mt19937 random(3);
  const std::string sequence = random_sequence(random, 500);
  const Ensemble one = ensemble(sequence, {}, {}, {.threads = 1}),
                 three = ensemble(sequence, {}, {}, {.threads = 3});
  EXPECT_EQ(one.energy, three.energy);
  ASSERT_EQ(one.pairs.size(), three.pairs.size());
  for (std::size_t k = 0; k < one.pairs.size(); ++k)
    EXPECT_EQ(one.pairs[k].probability, three.pairs[k].probability);
}

TEST(Ensemble, CentroidAndAccuracyAreTheBestOfAllStructures) {
  std::mt19937 random(4);
  for (int k = 0; k < 12; ++k) {
    const std::string sequence = random_sequence(random, 15, "GGCCAU");
    const Ensemble ensemble = fold::ensemble(sequence, {}, {.cutoff = 0, .gamma = 1. + k % 3});
    const auto pairs = by_pair(ensemble);
    double least = 1e9, most = 0;
    std::string structure(sequence.size(), '.');
    std::vector<std::size_t> open;
    for_each_structure(sequence, structure, 0, open, [&] {
      const std::vector<std::int64_t> partner = partners(structure);
      double distance =
          std::accumulate(ensemble.pairs.begin(), ensemble.pairs.end(), 0.,
                          [](double sum, const PairProbability& pair) { return sum + pair.probability; });
      double accuracy = 0;
      for (std::int64_t i = 0; i < std::ssize(partner); ++i) {
        if (partner[static_cast<std::size_t>(i)] < 0)
          accuracy += ensemble.unpaired[static_cast<std::size_t>(i)];
        if (partner[static_cast<std::size_t>(i)] <= i) continue;
        const auto found = pairs.find({i + 1, partner[static_cast<std::size_t>(i)] + 1});
        const double probability = found == pairs.end() ? 0 : found->second;
        distance += 1 - 2 * probability, accuracy += 2 * (1 + k % 3) * probability;
      }
      least = std::min(least, distance), most = std::max(most, accuracy);
    });
    EXPECT_NEAR(ensemble.centroid_distance, least, 1e-9) << sequence;
    EXPECT_NEAR(ensemble.accuracy, most, 1e-9) << sequence;
  }
}

TEST(Ensemble, SamplesComeWithTheirProbabilities) {
  const std::string sequence = "GGCAAAGCCGAAAGGC";
  const Model model = without_dangles();
  const Ensemble ensemble =
      fold::ensemble(sequence, model, {.probabilities = false, .samples = 20'000, .seed = 7});
  ASSERT_EQ(ensemble.samples.size(), 20'000);
  expect_samples(All(sequence, model), ensemble.samples);
  EXPECT_EQ(fold::ensemble(sequence, model, {.probabilities = false, .samples = 50, .seed = 7}).samples,
            std::vector<std::string>(ensemble.samples.begin(), ensemble.samples.begin() + 50));
}

TEST(Ensemble, SamplesOfALongSequencePairAsOftenAsItSays) {
  std::mt19937 random(5);
  const std::string sequence = random_sequence(random, 150);
  constexpr int kSamples = 4'000;
  const Ensemble ensemble = fold::ensemble(sequence, {}, {.cutoff = 0, .samples = kSamples});
  std::map<std::pair<std::int64_t, std::int64_t>, double> counts;
  for (const std::string& sample : ensemble.samples) {
    const std::vector<std::int64_t> partner = partners(sample);
    for (std::int64_t i = 0; i < std::ssize(partner); ++i)
      if (partner[static_cast<std::size_t>(i)] > i)
        ++counts[{i + 1, partner[static_cast<std::size_t>(i)] + 1}];
  }
  const auto expected = by_pair(ensemble);
  for (const auto& [pair, count] : counts) ASSERT_TRUE(expected.contains(pair));
  for (const auto& [pair, probability] : expected)
    EXPECT_NEAR(counts[pair] / kSamples, probability,
                6 * std::sqrt(probability * (1 - probability) / kSamples) + 2e-3);
}

TEST(Ensemble, LettersSayHowBasesPair) {
  Ensemble ensemble;
  ensemble.unpaired.assign(8, 1);
  ensemble.pairs = {{1, 8, .9}, {2, 7, .6}, {3, 7, .3}, {4, 6, .4}};
  EXPECT_EQ(pairing_letters(ensemble), "({.,.,))");
}

TEST(Ensemble, ManyAreEachAsAlone) {
  std::mt19937 random(6);
  std::vector<std::string> sequences;
  for (const std::size_t n : {1, 4, 5, 40, 130}) sequences.push_back(random_sequence(random, n));
  const std::vector<Ensemble> all = ensembles(sequences, {}, {}, {.threads = 2});
  for (std::size_t k = 0; k < sequences.size(); ++k) {
    const Ensemble one = ensemble(sequences[k]);
    EXPECT_EQ(all[k].energy, one.energy);
    EXPECT_EQ(all[k].mea, one.mea);
  }
  EXPECT_EQ(all[0].energy, 0);
  EXPECT_EQ(all[0].mea, ".");
}

TEST(Ensemble, PseudoEnergiesCount) {
  const std::string sequence = "GGGAAAUCC";
  Model model = without_dangles();
  model.pseudo.stack.assign(sequence.size(), -30);
  const All all(sequence, model);
  EXPECT_NEAR(ensemble(sequence, model).energy, all.energy, 1e-12);
}

/// With it no difference of loops' sides costs exactly the most: there is no slope there.
constexpr const char* kNoKink = "## RNAfold parameter file v2.0\n# NINIO\n50 50 220\n";

/// A parameter file with one number of a section changed.
double energy_with(const std::string& sequence, Model model, const std::string& section, std::size_t count,
                   std::size_t place, int number) {
  std::string text = kNoKink + ("# " + section) + '\n';
  for (std::size_t k = 0; k < count; ++k) text += k == place ? std::to_string(number) + ' ' : "* ";
  model.parameters = parse_parameters(text, "changed");
  return ensemble(sequence, model, {.probabilities = false}).energy;
}

void expect_slopes(const std::string& sequence, Model model) {
  model.parameters = parse_parameters(kNoKink, "without a kink");
  const Ensemble ensemble = fold::ensemble(sequence, model, {.gradient = true});
  const EnergyTables& tables = model.parameters.tables();
  std::map<std::string, const SectionGradient*> found;
  for (const SectionGradient& section : ensemble.gradient.sections) found[section.name] = &section;
  int compared = 0;
  const auto compare = [&](const std::string& name, std::size_t count, std::size_t place, int number) {
    const double expected =
        slope([&](int step) { return energy_with(sequence, model, name, count, place, number + step); });
    // The more loops pay for a number, the larger is a step: of multiloops' bases that is many.
    EXPECT_NEAR(found.at(name)->values[place], expected, name == "ML_params" ? 2e-4 : 2e-6)
        << name << ' ' << place << ' ' << sequence;
    ++compared;
  };
  for (const bool enthalpies : {false, true})
    visit_tables(enthalpies ? tables.enthalpy : tables.free,
                 [&](std::string_view table, const auto& values, const Indices& indices, bool) {
                   const std::string name = std::string(table) + (enthalpies ? "_enthalpies" : "");
                   std::vector<const std::int32_t*> places;
                   add_places(values, indices, places);
                   const std::vector<double>& slopes = found.at(name)->values;
                   ASSERT_EQ(slopes.size(), places.size());
                   for (std::size_t k = 0, some = 0; k < places.size() && some < 5; ++k)
                     if (std::abs(slopes[k]) > 1e-3) compare(name, places.size(), k, *places[k]), ++some;
                 });
  const Energies &g = tables.free, &h = tables.enthalpy;
  const int multi[] = {g.multi_base,    h.multi_base,   g.multi_closing,
                       h.multi_closing, g.multi_intern, h.multi_intern};
  const int asymmetry[] = {g.asymmetry, h.asymmetry, tables.most_asymmetry};
  for (std::size_t k = 0; k < 6; ++k) compare("ML_params", 6, k, multi[k]);
  for (std::size_t k = 0; k < 3; ++k) compare("NINIO", 3, k, asymmetry[k]);
  compare("Misc", 4, 2, g.terminal_au), compare("Misc", 4, 3, h.terminal_au);
  EXPECT_GE(compared, 40);
}

TEST(EnsembleGradient, OfEnergiesIsTheSlope) {
  std::mt19937 random(11);
  expect_slopes(random_sequence(random, 70), {});
  expect_slopes(random_sequence(random, 90, "GGCCAU"), {.temperature = 25});
  // A multiloop, a loop of more than five bases' asymmetry, and a hairpin of more than 30
  expect_slopes("GGGAAGGGCAAAAGCCCAGGCCAAAGGCCAACCCAGGGCAAAAAAAAAGCGCAACGCACCC", {.dangles = 0});
}

TEST(EnsembleGradient, OfSpecialHairpinsAndLongOnes) {
  const std::string tetraloop = "GGGCAACGGCCC", longer = "GGGGGG" + std::string(40, 'A') + "CCCCCC";
  const Ensemble one = ensemble(tetraloop, {}, {.gradient = true});
  const EnergyTables tables = Parameters().tables();
  double sum = 0;
  for (const SectionGradient& section : one.gradient.sections)
    if (section.name == "Tetraloops")
      for (std::size_t k = 0; k < tables.free.tetraloops.size(); ++k) {
        const double expected = slope([&](int step) {
          EnergyTables changed = tables;
          changed.free.tetraloops[k].second += step;
          Model model;
          model.parameters = Parameters(std::make_shared<EnergyTables>(changed));
          return ensemble(tetraloop, model, {.probabilities = false}).energy;
        });
        EXPECT_NEAR(section.values[2 * k], expected, 1e-7) << k;
        sum += expected;
      }
  EXPECT_GT(sum, .5);
  const Ensemble two = ensemble(longer, {}, {.gradient = true});
  for (const SectionGradient& section : two.gradient.sections)
    if (section.name == "Misc") {
      const double expected = slope([&](int step) {
        EnergyTables changed = tables;
        changed.long_loop += step;
        Model model;
        model.parameters = Parameters(std::make_shared<EnergyTables>(changed));
        return ensemble(longer, model, {.probabilities = false}).energy;
      });
      EXPECT_NEAR(section.values[4], expected, 1e-7);
      EXPECT_GT(expected, .2);
    }
}

TEST(EnsembleGradient, OfPseudoEnergiesIsHowBasesPair) {
  std::mt19937 random(12);
  const std::string sequence = random_sequence(random, 50);
  Model model;
  model.pseudo.stack.assign(50, -20);
  model.pseudo.unpaired.assign(50, 15);
  model.pseudo.paired.assign(50, .1);
  const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0, .gradient = true});
  for (std::size_t k = 0; k < 50; k += 7) {
    const auto energy = [&](std::vector<std::int32_t> PseudoEnergies::*list, int step) {
      Model changed = model;
      (changed.pseudo.*list)[k] += step;
      return fold::ensemble(sequence, changed, {.probabilities = false}).energy;
    };
    EXPECT_NEAR(ensemble.gradient.stack[k],
                slope([&](int step) { return energy(&PseudoEnergies::stack, step); }), 1e-6);
    EXPECT_NEAR(ensemble.unpaired[k],
                slope([&](int step) { return energy(&PseudoEnergies::unpaired, step); }), 1e-6);
    EXPECT_NEAR(1 - ensemble.unpaired[k], slope([&](int step) {
                  Model changed = model;
                  changed.pseudo.paired[k] += step / 100.;
                  return fold::ensemble(sequence, changed, {.probabilities = false}).energy;
                }),
                1e-6);
  }
}

/// Each pair closes a loop, each unpaired base lies in one, and each structure has the same bases.
TEST(EnsembleGradient, CountsWhatProbabilitiesSay) {
  std::mt19937 random(13);
  const std::string sequence = random_sequence(random, 200);
  const Ensemble ensemble = fold::ensemble(sequence, {}, {.cutoff = 0, .gradient = true});
  double pairs = 0, outer = 0, stacks = 0;
  for (const PairProbability& pair : ensemble.pairs) pairs += pair.probability;
  for (const SectionGradient& section : ensemble.gradient.sections) {
    const double sum = std::accumulate(section.values.begin(), section.values.end(), 0.);
    for (const std::string_view loops : {"stack", "bulge", "int11", "int21", "int22", "interior", "hairpin"})
      if (section.name == loops) outer += sum;
    if (section.name.ends_with("oops"))
      for (std::size_t k = 0; k < section.values.size(); k += 2) outer += section.values[k];
    if (section.name == "ML_params") outer += section.values[2];
    if (section.name == "stack") stacks = sum;
    // A bulge of one base pays for the stack over it, too.
    if (section.name == "bulge") outer -= section.values[1];
    if (section.name.ends_with("_enthalpies")) {
      EXPECT_EQ(sum, 0) << section.name;  // at 37 C
    }
    EXPECT_EQ(
        std::accumulate(section.shape.begin(), section.shape.end(), std::int64_t{1}, std::multiplies<>()),
        std::ssize(section.values));
  }
  EXPECT_NEAR(outer, pairs, 1e-11 * pairs);
  EXPECT_GT(stacks, 20);
  EXPECT_TRUE(fold::ensemble(sequence).gradient.sections.empty());
  EXPECT_THROW(fold::ensemble(sequence, {}, {.probabilities = false, .gradient = true}), BadInput);
}

TEST(EnsembleGradient, HasTheSameBitsWithAnyNumberOfThreads) {
  std::mt19937 random(14);
  const std::string sequence = random_sequence(random, 300);
  const Ensemble one = ensemble(sequence, {}, {.gradient = true}, {.threads = 1}),
                 three = ensemble(sequence, {}, {.gradient = true}, {.threads = 3});
  for (std::size_t k = 0; k < one.gradient.sections.size(); ++k)
    EXPECT_EQ(one.gradient.sections[k].values, three.gradient.sections[k].values);
}

TEST(Ensemble, WhatThereIsNotIsRefused) {
  const auto refuses = [](const std::function<void(Model&)>& change, const std::string& says) {
    Model model;
    change(model);
    try {
      ensemble("GGGGAAAACCCC", model);
      ADD_FAILURE() << says;
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refuses([](Model& m) { m.dangles = 1; }, "dangles 1");
  refuses([](Model& m) { m.temperature = -200; }, "at -200 C");
  refuses([](Model& m) { m.temperature = -273.15; }, "at -273.15 C");
}

TEST(DotPlot, HasASquareAPair) {
  const std::string sequence = "GGGGAAAACCCC";
  const Ensemble ensemble = fold::ensemble(sequence);
  const std::string svg = dot_plot_svg(sequence, "((((....))))", ensemble);
  const auto squares = std::count(svg.begin(), svg.end(), 'z');
  EXPECT_GE(squares, 8);  // four of the structure, and of the ensemble as many at least
  EXPECT_THROW(dot_plot_svg(sequence, "....", ensemble), BadInput);
  EXPECT_THROW(dot_plot_svg("", "", {}), BadInput);
}

}  // namespace
}  // namespace warploom::fold
