#pragma once

#include <functional>
#include <span>
#include <vector>

#include "fold/quadruplex.hpp"
#include "fold/weights.hpp"

namespace warploom::fold {

struct Problem;
struct Partition;
class Panels;

/// Of the quadruplexes from i to an end, the sum of their weights.
struct QuadruplexWeight {
  std::int64_t i;
  double weight;
};

/// Quadruplexes of a sequence in sums: as in folding one is a stem from its first base to its last, and has
/// all ways to lay its runs and linkers. What is given lives as long.
class QuadruplexSums {
 public:
  /// Cost: some 2,000 steps for each G and number of layers.
  QuadruplexSums(const Bases& s, const Weights& weights);
  bool empty() const { return count_ == 0; }
  std::int64_t count() const { return count_; }
  /// Those that end at j, by where they begin.
  std::span<const QuadruplexWeight> ending(std::int64_t j) const {
    return by_end_[static_cast<std::size_t>(j)];
  }
  /// 0: there is none.
  double at(std::int64_t i, std::int64_t j) const;
  /// By row of a strip: the sum of the quadruplexes alone within (i, j), with the loop around them.
  void around(std::int64_t first, int rows, std::int64_t j, double* sums) const;
  /// Each quadruplex alone within a pair (i, j) of a strip, with its loop's weight.
  void each_within(
      std::int64_t first, int rows, std::int64_t j,
      const std::function<void(std::int64_t i, std::int64_t p, std::int64_t q, double weight)>& take) const;
  /// The bases of one from i to j that has a share of `draw`, 0 to 1, of their weights before it.
  QuadruplexShape shape(std::int64_t i, std::int64_t j, double draw) const;
  /// Of the least energy.
  QuadruplexShape best(std::int64_t i, std::int64_t j) const;

  /// What in_runs() and the others are asked with: a quadruplex and its probability.
  struct Found {
    std::int64_t i, j;
    double probability;
    double multi;  ///< of it, as a stem of a multiloop
  };
  /// Those that there are, with their probabilities. @param pairs  the probabilities of pairs
  /// @param m1  what M1 is worth, as OutsideOptions has it
  std::vector<Found> probabilities(const Problem& problem, const Partition& p, const Panels& pairs,
                                   const Panels& m1) const;
  /// By base, counted from 0: how probable it is that it lies in a run of one.
  std::vector<double> in_runs(std::span<const Found> found) const;

 private:
  struct Runs;
  const Bases& s_;
  const Weights& weights_;
  Quadruplexes shapes_;
  std::int64_t count_ = 0;
  std::vector<std::vector<QuadruplexWeight>> by_end_ = {};
};

}  // namespace warploom::fold
