#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "fold/all_structures.hpp"
#include "fold/energy_tables.hpp"
#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/ensemble.hpp"

/// Ensembles with enforced constraints, of circles and with quadruplexes.
namespace warploom::fold {
namespace {

void expect_all(const std::string& sequence, const Model& model, const std::string& constraint) {
  const All all(sequence, model, constraint);
  const std::string names = sequence + ' ' + constraint;
  if (all.sum == 0) {
    EXPECT_THROW(ensemble(sequence, model, {}, {}, constraint), BadInput) << names;
    return;
  }
  const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0}, {}, constraint);
  EXPECT_NEAR(ensemble.energy, all.energy, 1e-12 * (1 + std::abs(all.energy))) << names;
  auto found = by_pair(ensemble);
  for (std::int64_t i = 1; i <= std::ssize(sequence); ++i)
    for (std::int64_t j = i + 1; j <= std::ssize(sequence); ++j)
      EXPECT_NEAR((found[{i, j}]), all.probability(i, j), 1e-12) << names << ' ' << i << ' ' << j;
}

/// A constraint that some structure of the sequence fulfils.
std::string random_constraint(std::mt19937& random, const std::string& structure) {
  const std::vector<std::int64_t> partner = partners(structure);
  std::string constraint(structure.size(), '.');
  for (std::size_t k = 0; k < structure.size(); ++k) {
    const std::int64_t with = partner[k];
    const auto draw = random() % 10;
    if (with < 0) {
      constraint[k] = draw < 1 ? 'x' : '.';
    } else if (draw < 3) {
      constraint[k] = '|';
    } else if (draw < 4) {
      constraint[k] = with > static_cast<std::int64_t>(k) ? '<' : '>';
    } else if (draw < 5 && with > static_cast<std::int64_t>(k)) {
      constraint[k] = '(', constraint[static_cast<std::size_t>(with)] = ')';
    }
    if (with >= 0 && with < static_cast<std::int64_t>(k) && constraint[static_cast<std::size_t>(with)] == '(')
      constraint[k] = ')';
  }
  return constraint;
}

/// Of numbers of loops of each kind.
void expect_slopes(const std::string& sequence, const Model& model, const std::string& constraint) {
  const Ensemble ensemble = fold::ensemble(sequence, model, {.gradient = true}, {}, constraint);
  const EnergyTables tables = Parameters().tables();
  const auto energy = [&](const std::function<void(EnergyTables&)>& change) {
    EnergyTables changed = tables;
    change(changed);
    Model of = model;
    of.parameters = Parameters(std::make_shared<EnergyTables>(changed));
    return fold::ensemble(sequence, of, {.probabilities = false}, {}, constraint).energy;
  };
  const auto compare = [&](const std::string& name, std::size_t place, auto&& number) {
    const double expected =
        slope([&](int step) { return energy([&](EnergyTables& t) { number(t) += step; }); });
    for (const SectionGradient& section : ensemble.gradient.sections)
      if (section.name == name) {
        EXPECT_NEAR(section.values[place], expected, 2e-5) << name << ' ' << place;
      }
  };
  compare("ML_params", 0, [](EnergyTables& t) -> std::int32_t& { return t.free.multi_base; });
  compare("ML_params", 2, [](EnergyTables& t) -> std::int32_t& { return t.free.multi_closing; });
  compare("ML_params", 4, [](EnergyTables& t) -> std::int32_t& { return t.free.multi_intern; });
  compare("Misc", 2, [](EnergyTables& t) -> std::int32_t& { return t.free.terminal_au; });
  for (std::size_t u = 1; u < 12; ++u) {
    compare("bulge", u, [u](EnergyTables& t) -> std::int32_t& { return t.free.bulge[u]; });
    compare("interior", u, [u](EnergyTables& t) -> std::int32_t& { return t.free.interior[u]; });
    if (u > 2) compare("hairpin", u, [u](EnergyTables& t) -> std::int32_t& { return t.free.hairpin[u]; });
  }
}

TEST(EnsembleForced, IsTheSumOverStructuresThatPairWhatHasTo) {
  std::mt19937 random(31);
  int forced = 0;
  for (int k = 0; k < 40; ++k) {
    Model model = without_dangles();
    model.enforce_constraint = true;
    std::string sequence = random_sequence(random, 12 + k % 5, k % 2 == 0 ? "GGCCAU" : "GCA");
    // One of its structures, at random
    const All all(sequence, without_dangles());
    auto one = all.weights.begin();
    std::advance(one, static_cast<std::ptrdiff_t>(random() % all.weights.size()));
    const std::string constraint = random_constraint(random, one->first);
    forced += constraint.find_first_of("|(") != std::string::npos ? 1 : 0;
    expect_all(sequence, model, constraint);
  }
  EXPECT_GT(forced, 15);
  Model model = without_dangles();
  model.enforce_constraint = true;
  expect_all("GGGGAAAACCCC", model, "|||||.......");
}

/// The structures in which a base pairs are as many as it says without force, and those in which two bases
/// pair with each other as their probability is: one base or pair after another, in sequences with multiloops
/// and large loops.
TEST(EnsembleForced, IsWhatProbabilitiesSay) {
  std::mt19937 random(32);
  for (const std::size_t n : {70, 130, 200}) {
    const std::string sequence = random_sequence(random, n);
    const std::string structure = fold::ensemble(sequence, {}, {.samples = 1, .seed = n}).samples.front();
    const std::vector<std::int64_t> partner = partners(structure);
    Model model;
    model.enforce_constraint = true;
    std::string constraint(n, '.');
    Ensemble before = ensemble(sequence, model, {.cutoff = 0}, {}, constraint);
    int steps = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::int64_t with = partner[k];
      if (with < 0 || constraint[k] != '.' || random() % 3 != 0) continue;
      const auto j = static_cast<std::size_t>(with);
      double share = 1 - before.unpaired[k];
      if (++steps % 2 == 0 && j > k && constraint[j] == '.') {
        constraint[k] = '(', constraint[j] = ')';
        share = by_pair(before)[{static_cast<std::int64_t>(k) + 1, with + 1}];
      } else {
        constraint[k] = '|';
      }
      const Ensemble after = ensemble(sequence, model, {.cutoff = 0}, {}, constraint);
      EXPECT_NEAR(after.energy, before.energy - before.kt * std::log(share), 1e-9)
          << sequence << ' ' << constraint;
      EXPECT_LT(after.unpaired[k], 1e-12);
      before = after;
    }
    EXPECT_GE(steps, 6);
  }
}

TEST(EnsembleForced, SamplesPairWhatHasTo) {
  const std::string sequence = "GGCAAAGCCGAAAGGC", constraint = "|........|......";
  Model model = without_dangles();
  model.enforce_constraint = true;
  const All all(sequence, model, constraint);
  expect_samples(all, ensemble(sequence, model, {.samples = 5'000}, {}, constraint).samples);
  std::mt19937 random(33);
  const std::string longer = random_sequence(random, 150);
  std::string forced(longer.size(), '.');
  const std::string structure = fold::ensemble(longer, {}, {.samples = 1}).samples.front();
  for (std::size_t k = 0; k < longer.size(); k += 3)
    if (structure[k] != '.') forced[k] = '|';
  for (const std::string& sample : ensemble(longer, model, {.samples = 50}, {}, forced).samples)
    EXPECT_TRUE(fulfils(sample, forced, true)) << sample;
}

/// Sums are 0 for a thousand columns, and then those of what the pair encloses: e^-330 kcal/mol and more.
TEST(EnsembleForced, OfALongPairDoesNotOverflow) {
  std::string sequence = std::string(62, 'A') + "G";
  for (int k = 0; k < 500; ++k) sequence += "GC";
  std::string constraint(sequence.size(), '.');
  sequence += "C" + std::string(30, 'A'), constraint += ")" + std::string(30, 'x');
  for (std::size_t k = 0; k < 62; ++k) constraint[k] = 'x';
  constraint[62] = '(';
  Model model;
  model.enforce_constraint = true;
  const Ensemble forced = ensemble(sequence, model, {.cutoff = .5}, {}, constraint),
                 free = ensemble(sequence, {}, {.cutoff = .5}, {}, constraint);
  EXPECT_NEAR(forced.energy, free.energy, .01);
  ASSERT_FALSE(forced.pairs.empty());
  EXPECT_NEAR(forced.pairs.front().probability, 1, 1e-12);
  EXPECT_EQ(forced.pairs.front().j, 1064);
}

TEST(EnsembleForced, GradientIsTheSlope) {
  std::mt19937 random(34);
  const std::string sequence = random_sequence(random, 90, "GGCCAU");
  std::string constraint(sequence.size(), '.');
  const std::string structure = fold::ensemble(sequence, {}, {.samples = 1, .seed = 5}).samples.front();
  for (std::size_t k = 0; k < sequence.size(); ++k)
    if (structure[k] != '.' && random() % 4 == 0) constraint[k] = '|';
  Model model;
  model.enforce_constraint = true;
  expect_slopes(sequence, model, constraint);
}

TEST(EnsembleOfACircle, IsTheSumOverAllStructures) {
  std::mt19937 random(41);
  for (int k = 0; k < 40; ++k) {
    Model model = without_dangles();
    model.circular = true, model.gu_closing = k % 3 != 0, model.enforce_constraint = k % 4 == 3;
    const std::string sequence = random_sequence(random, 11 + k % 6, k % 2 == 0 ? "GGCCAU" : "GCA");
    std::string constraint;
    if (k % 2 == 1) {
      const All all(sequence, model);
      auto one = all.weights.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(random() % all.weights.size()));
      constraint = random_constraint(random, one->first);
    }
    expect_all(sequence, model, constraint);
  }
}

/// Where a circle is cut does not matter: multiloops and all else about the origin.
TEST(EnsembleOfACircle, IsTheSameWhereverItIsCut) {
  std::mt19937 random(42);
  for (const std::size_t n : {60, 97, 160}) {
    const std::string sequence = random_sequence(random, n, "GGCCAU");
    Model model;
    model.circular = true;
    const EnsembleOptions options{.cutoff = 0, .gradient = true};
    const Ensemble whole = ensemble(sequence, model, options);
    const auto pairs = by_pair(whole);
    for (const std::size_t cut : {n / 3, n / 2, n - 7}) {
      const Ensemble turned = ensemble(sequence.substr(cut) + sequence.substr(0, cut), model, options);
      EXPECT_NEAR(turned.energy, whole.energy, 1e-11 * std::abs(whole.energy));
      EXPECT_NEAR(turned.diversity, whole.diversity, 1e-9);
      for (const PairProbability& pair : turned.pairs) {
        const auto place = [&](std::int64_t k) {
          return (k - 1 + static_cast<std::int64_t>(cut)) % static_cast<std::int64_t>(n) + 1;
        };
        const auto [i, j] = std::minmax({place(pair.i), place(pair.j)});
        const auto found = pairs.find({i, j});
        ASSERT_NEAR(pair.probability, found == pairs.end() ? 0 : found->second, 1e-12);
      }
      // A loop across the cut may be read the other way round.
      const auto sum = [](const SectionGradient& section) {
        return std::accumulate(section.values.begin(), section.values.end(), 0.);
      };
      for (std::size_t k = 0; k < whole.gradient.sections.size(); ++k)
        EXPECT_NEAR(sum(turned.gradient.sections[k]), sum(whole.gradient.sections[k]), 1e-9)
            << whole.gradient.sections[k].name;
      EXPECT_NEAR(turned.gradient.stack[n - cut], whole.gradient.stack[0], 1e-9);
    }
    std::vector<double> sum = whole.unpaired;
    for (const PairProbability& pair : whole.pairs)
      sum[static_cast<std::size_t>(pair.i - 1)] += pair.probability,
          sum[static_cast<std::size_t>(pair.j - 1)] += pair.probability;
    for (const double one : sum) EXPECT_NEAR(one, 1, 1e-11);
  }
}

TEST(EnsembleOfACircle, GradientIsTheSlope) {
  std::mt19937 random(43);
  Model model;
  model.circular = true;
  expect_slopes(random_sequence(random, 24, "GGCCAU"), model, {});
  expect_slopes(random_sequence(random, 80, "GGCCAU"), model, {});
}

TEST(EnsembleOfACircle, SamplesComeWithTheirProbabilities) {
  Model model = without_dangles();
  model.circular = true;
  const std::string sequence = "GGCAAAGCCGAAAGGC";
  expect_samples(All(sequence, model), ensemble(sequence, model, {.samples = 10'000}).samples);
  // Three stems, of which none lies within another; pairs as often as their probability is
  const std::string longer = "GGGGAAAACCCCAGGGGAAAACCCCAGGGGAAAACCCCA";
  constexpr int kSamples = 2'000;
  const Ensemble many = ensemble(longer, model, {.cutoff = 0, .samples = kSamples});
  std::map<std::pair<std::int64_t, std::int64_t>, double> counts;
  for (const std::string& sample : many.samples) {
    const std::vector<std::int64_t> partner = partners(sample);
    for (std::int64_t i = 0; i < std::ssize(partner); ++i)
      if (const std::int64_t with = partner[static_cast<std::size_t>(i)]; with > i)
        ++counts[{i + 1, with + 1}];
  }
  for (const auto& [pair, probability] : by_pair(many))
    EXPECT_NEAR(counts[pair] / kSamples, probability,
                6 * std::sqrt(probability * (1 - probability) / kSamples) + 2e-3);
}

TEST(EnsembleOfACircle, OfStrongRepeatsDoesNotOverflow) {
  std::string sequence;
  for (int k = 0; k < 450; ++k) sequence += "GC";
  Model model;
  model.circular = true;
  const Ensemble ensemble = fold::ensemble(sequence, model);
  EXPECT_NEAR(ensemble.energy, fold::ensemble(sequence).energy, 20);
  for (const PairProbability& pair : ensemble.pairs) ASSERT_LT(pair.probability, 1.000001);
}

/// Sequences with quadruplexes alone, within a pair, in multiloops, beside each other, with several ways to
/// lie.
const char* const kWithQuadruplexes[] = {"GGAGGAGGAGG",        "CAGGAGGAGGAGGAG",   "CCAAAGGAGGAGGAGGGG",
                                         "AGGGAGGGAGGGGAGGAA", "GGAGGAGGAGGAGGUCC", "GGGGGGGGGGGG",
                                         "GUGGUGGUGGUGGUGUC"};

TEST(EnsembleOfQuadruplexes, IsTheSumOverAllStructures) {
  for (const std::string sequence : kWithQuadruplexes) {
    Model model = without_dangles();
    model.quadruplexes = true;
    expect_all(sequence, model, {});
    const All all(sequence, model);
    const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0});
    // Each base's share in runs, and each quadruplex's by its ends
    std::vector<long double> in_runs(sequence.size(), 0);
    std::map<std::pair<std::int64_t, std::int64_t>, long double> by_ends;
    for (const auto& [structure, weight] : all.weights) {
      for (std::size_t k = 0; k < sequence.size(); ++k)
        if (structure[k] == '+' || structure[k] == '~') in_runs[k] += weight / all.sum;
      for (std::size_t k = 0; k < structure.size(); ++k) {
        if (structure[k] != '+') continue;
        const std::size_t end = structure.find('~', k);
        by_ends[{static_cast<std::int64_t>(k) + 1, static_cast<std::int64_t>(end) + 1}] += weight / all.sum;
        k = end;
      }
    }
    ASSERT_EQ(ensemble.in_quadruplexes.size(), sequence.size());
    for (std::size_t k = 0; k < sequence.size(); ++k)
      EXPECT_NEAR(ensemble.in_quadruplexes[k], static_cast<double>(in_runs[k]), 1e-12)
          << sequence << ' ' << k;
    EXPECT_EQ(ensemble.quadruplexes.size(), by_ends.size()) << sequence;
    for (const PairProbability& one : ensemble.quadruplexes)
      EXPECT_NEAR(one.probability, static_cast<double>(by_ends[{one.i, one.j}]), 1e-12) << sequence;
    expect_samples(all, fold::ensemble(sequence, model, {.probabilities = false, .samples = 10'000}).samples);
  }
}

/// Of a band it is that of the whole, and each base is in one pair, in one run or unpaired.
TEST(EnsembleOfQuadruplexes, OfLongSequencesSumsToOne) {
  std::mt19937 random(51);
  for (const std::size_t n : {100, 200, 330}) {
    const std::string sequence = random_sequence(random, n, "GGGGAUC");
    Model model;
    model.quadruplexes = true;
    Ensemble whole = ensemble(sequence, model, {.cutoff = 0, .samples = 5});
    double in_runs = 0;
    std::vector<double> sum = whole.unpaired;
    for (const PairProbability& pair : whole.pairs)
      sum[static_cast<std::size_t>(pair.i - 1)] += pair.probability,
          sum[static_cast<std::size_t>(pair.j - 1)] += pair.probability;
    for (std::size_t k = 0; k < n; ++k)
      in_runs += whole.in_quadruplexes[k], sum[k] += whole.in_quadruplexes[k];
    for (const double one : sum) EXPECT_NEAR(one, 1, 1e-11);
    EXPECT_GT(in_runs, 3);
    EXPECT_EQ(pairing_letters(whole).size(), n);
    for (const std::string& sample : whole.samples) EXPECT_LT(evaluate(sequence, sample, model).energy, 0);
    model.max_span = static_cast<std::int64_t>(n);
    EXPECT_EQ(ensemble(sequence, model).energy, whole.energy);
    model.max_span = 40;
    const Ensemble band = ensemble(sequence, model, {.cutoff = 0});
    EXPECT_GT(band.energy, whole.energy);
    double all = 0;
    for (const PairProbability& pair : band.pairs) all += 2 * pair.probability;
    for (std::size_t k = 0; k < n; ++k) all += band.unpaired[k] + band.in_quadruplexes[k];
    EXPECT_NEAR(all, static_cast<double>(n), 1e-9);
  }
}

TEST(EnsembleOfQuadruplexes, AreInTheBestGuesses) {
  const std::string sequence = "AGGGGAGGGGAGGGGAGGGGAGGCGAAAGCCA";
  Model model;
  model.quadruplexes = true;
  const Ensemble ensemble = fold::ensemble(sequence, model);
  const std::string expected = fold::fold(sequence, model).structure;
  EXPECT_NE(expected.find('~'), std::string::npos);
  EXPECT_EQ(ensemble.centroid, expected);
  EXPECT_EQ(ensemble.mea, expected);
  EXPECT_EQ(pairing_letters(ensemble)[2], '+');
}

/// Alone within a pair, as a stem of a multiloop, and outside. Their own energies are not in a parameter
/// file.
TEST(EnsembleOfQuadruplexes, GradientIsTheSlope) {
  std::mt19937 random(52);
  Model model;
  model.quadruplexes = true;
  expect_slopes("CCAAAGGAGGAGGAGGGGAGG", model, {});
  expect_slopes("GGGAGGAGGAGGAGGAGCAAAGCACCC", model, {});
  model.dangles = 0;
  expect_slopes(random_sequence(random, 70, "GGGGAUC"), model, {});
}

}  // namespace
}  // namespace warploom::fold
