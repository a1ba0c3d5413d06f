#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fold/loops.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {

inline bool may_pair(char a, char b) {
  return std::string("AU UA GC CG GU UG").find(std::string{a, b}) != std::string::npos;
}

/// Each quadruplex that begins at a base, drawn into `structure` while `visit` is called with the place
/// behind it.
inline void for_each_quadruplex(const std::string& sequence, std::string& structure, std::size_t begin,
                                const std::function<void(std::size_t)>& visit) {
  const std::string before = structure;
  const std::function<void(std::size_t, std::size_t, int)> runs = [&](std::size_t layers, std::size_t at,
                                                                      int run) {
    if (at + layers > sequence.size() || sequence.substr(at, layers) != std::string(layers, 'G')) return;
    structure.replace(at, layers, layers, '+');
    if (run == 3) {
      structure[at + layers - 1] = '~';
      visit(at + layers);
    }
    for (std::size_t linker = 1; run < 3 && linker <= 15; ++linker)
      runs(layers, at + layers + linker, run + 1);
    structure.replace(at, layers, before, at, layers);
  };
  for (std::size_t layers = 2; layers <= 7; ++layers) runs(layers, begin, 0);
}

/// Every structure of a short sequence.
inline void for_each_structure(const std::string& sequence, std::string& structure, std::size_t at,
                               std::vector<std::size_t>& open, const std::function<void()>& visit,
                               bool quadruplexes = false) {
  if (at == sequence.size()) {
    if (open.empty()) visit();
    return;
  }
  for_each_structure(sequence, structure, at + 1, open, visit, quadruplexes);
  structure[at] = '(';
  open.push_back(at);
  for_each_structure(sequence, structure, at + 1, open, visit, quadruplexes);
  open.pop_back();
  if (!open.empty() && at - open.back() > 3 && may_pair(sequence[open.back()], sequence[at])) {
    const std::size_t opened = open.back();
    open.pop_back();
    structure[at] = ')';
    for_each_structure(sequence, structure, at + 1, open, visit, quadruplexes);
    open.push_back(opened);
  }
  structure[at] = '.';
  if (quadruplexes)
    for_each_quadruplex(sequence, structure, at, [&](std::size_t behind) {
      for_each_structure(sequence, structure, behind, open, visit, true);
    });
}

/// Whether a structure is one that a constraint leaves.
inline bool fulfils(const std::string& structure, const std::string& constraint, bool enforced) {
  const std::vector<std::int64_t> partner = partners(structure);
  std::string brackets = constraint;
  for (char& c : brackets) c = c == '(' || c == ')' ? c : '.';
  const std::vector<std::int64_t> named = partners(brackets);
  for (std::int64_t k = 0; k < std::ssize(constraint); ++k) {
    const char c = constraint[static_cast<std::size_t>(k)];
    const std::int64_t with = partner[static_cast<std::size_t>(k)], name = named[static_cast<std::size_t>(k)];
    if (with < 0) {
      if (enforced && (c == '|' || name >= 0)) return false;
      continue;
    }
    if (c == 'x' || (c == '<' && with < k) || (c == '>' && with > k) || (name >= 0 && with != name))
      return false;
    for (std::int64_t l = k + 1; l < with; ++l)  // none crosses one that is named
      if (const std::int64_t other = named[static_cast<std::size_t>(l)];
          other >= 0 && (other < k || other > with))
        return false;
  }
  return true;
}

/// What each structure weighs, by evaluate(), which shares nothing with the sums. Without dangles energies
/// are whole hundredths at 37 C in the ensemble, too.
struct All {
  All(const std::string& sequence, const Model& model, const std::string& constraint = {}) {
    std::string structure(sequence.size(), '.');
    std::vector<std::size_t> open;
    const Loops loops(model);
    const Bases bases = bases_of(sequence, loops);
    const long double kt = (model.temperature + 273.15L) * 1.98717e-3L;
    for_each_structure(
        sequence, structure, 0, open,
        [&] {
          if (!constraint.empty() && !fulfils(structure, constraint, model.enforce_constraint)) return;
          try {
            const long double weight = std::exp(-evaluate(bases, structure, loops).energy / 100.L / kt);
            weights[structure] = weight, sum += weight;
          } catch (const BadInput&) {  // a loop that there is not
          }
        },
        model.quadruplexes);
    energy = static_cast<double>(-kt * std::log(sum));
  }
  double probability(std::int64_t i, std::int64_t j) const {
    long double of = 0;
    for (const auto& [structure, weight] : weights)
      if (partners(structure)[static_cast<std::size_t>(i - 1)] == j - 1) of += weight;
    return static_cast<double>(of / sum);
  }
  std::map<std::string, long double> weights;
  long double sum = 0;
  double energy = 0;
};

inline std::map<std::pair<std::int64_t, std::int64_t>, double> by_pair(const Ensemble& ensemble) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> all;
  for (const PairProbability& pair : ensemble.pairs) all[{pair.i, pair.j}] = pair.probability;
  return all;
}

inline Model without_dangles() {
  Model model;
  model.dangles = 0;
  return model;
}

/// By differences of three steps, whose error is of the sixth power of a step.
inline double slope(const std::function<double(int)>& energy) {
  return (45 * (energy(1) - energy(-1)) - 9 * (energy(2) - energy(-2)) + energy(3) - energy(-3)) / 60 * 100;
}

/// Samples are structures of the ensemble, as often as they weigh: Pearson's statistic over those that are
/// expected five times at least, and all others together, is below its mean by five deviations at most.
inline void expect_samples(const All& all, const std::vector<std::string>& samples) {
  const auto count = static_cast<double>(samples.size());
  std::map<std::string, int> counts;
  for (const std::string& sample : samples) {
    ASSERT_TRUE(all.weights.contains(sample)) << sample;
    ++counts[sample];
  }
  double statistic = 0, rest = 0, rest_count = 0;
  int kinds = 0;
  for (const auto& [structure, weight] : all.weights) {
    const double expected = static_cast<double>(weight / all.sum) * count;
    if (expected < 5) {
      rest += expected, rest_count += counts[structure];
      continue;
    }
    statistic += std::pow(counts[structure] - expected, 2) / expected;
    ++kinds;
  }
  if (rest >= 5)
    statistic += std::pow(rest_count - rest, 2) / rest;
  else
    EXPECT_LE(rest_count, rest + 5 * std::sqrt(rest) + 1);
  EXPECT_LT(statistic, kinds + 5 * std::sqrt(2. * kinds)) << samples.front();
}

}  // namespace warploom::fold
