#include "fold/quadruplex_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fold/partition.hpp"

namespace warploom::fold {
namespace {

constexpr int kMostLinked = 3 * kMostLinker;
using ByLinked = std::array<double, kMostLinked + 1>;  // by the bases of linkers so far

/// Whether a run of `layers` begins at a base.
struct RunsOf {
  const Quadruplexes& shapes;
  int layers;
  bool at(std::int64_t base) const { return shapes.run(base) >= layers; }
};

/// How many ways there are to the first of a number of runs, by the bases of linkers before it: each run is
/// `from`'s next.
ByLinked next_run(const RunsOf& runs, std::int64_t begin, const ByLinked& from) {
  ByLinked to = {};
  for (int l = 0; l <= kMostLinked; ++l) {
    if (from[static_cast<std::size_t>(l)] == 0) continue;
    for (int more = 1; more <= kMostLinker && l + more <= kMostLinked; ++more)
      if (runs.at(begin + l + more))
        to[static_cast<std::size_t>(l + more)] += from[static_cast<std::size_t>(l)];
  }
  return to;
}

}  // namespace

QuadruplexSums::QuadruplexSums(const Bases& s, const Weights& weights)
    : s_(s), weights_(weights), shapes_(s, weights.loops()) {
  const std::int64_t n = s.size();
  by_end_.resize(s.codes.size());
  for (std::int64_t i = 1; i <= n; ++i) {
    std::array<double, kMostBasesOfOne + 1> sums = {};  // by length
    for (int layers = kFewestLayers; layers <= shapes_.run(i); ++layers) {
      const RunsOf runs{shapes_, layers};
      ByLinked ways = {1};
      for (int run = 1; run < 4; ++run) ways = next_run(runs, i + run * layers, ways);
      for (int l = 3; l <= kMostLinked; ++l)
        if (ways[static_cast<std::size_t>(l)] > 0)
          sums[static_cast<std::size_t>(4 * layers + l)] +=
              ways[static_cast<std::size_t>(l)] * weights.quadruplex(layers, l);
    }
    for (std::int64_t length = 1; length <= kMostBasesOfOne; ++length)
      if (const double sum = sums[static_cast<std::size_t>(length)]; sum > 0)
        by_end_[static_cast<std::size_t>(i + length - 1)].push_back({i, sum}), ++count_;
  }
}

double QuadruplexSums::at(std::int64_t i, std::int64_t j) const {
  const std::span<const QuadruplexWeight> all = ending(j);
  const auto one = std::ranges::lower_bound(all, i, {}, &QuadruplexWeight::i);
  return one != all.end() && one->i == i ? one->weight : 0;
}

void QuadruplexSums::each_within(
    std::int64_t first, int rows, std::int64_t j,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t, double)>& take) const {
  for (int right = 0; right <= kMaxLoop && right < j - 1; ++right) {
    const std::int64_t q = j - 1 - right;
    const std::span<const QuadruplexWeight> all = ending(q);
    for (auto one = std::ranges::lower_bound(all, first + 1, {}, &QuadruplexWeight::i);
         one != all.end() && one->i <= first + rows + kMaxLoop; ++one)
      for (int left = 0; left + right <= kMaxLoop; ++left) {
        const std::int64_t i = one->i - 1 - left;
        if (i < first) break;
        if (i >= first + rows) continue;
        if (const double loop = weights_.around_quadruplex(s_, i, j, left, right); loop != 0)
          take(i, one->i, q, one->weight * loop);
      }
  }
}

void QuadruplexSums::around(std::int64_t first, int rows, std::int64_t j, double* sums) const {
  std::fill_n(sums, rows, 0.);
  each_within(first, rows, j,
              [&](std::int64_t i, std::int64_t, std::int64_t, double weight) { sums[i - first] += weight; });
}

QuadruplexShape QuadruplexSums::shape(std::int64_t i, std::int64_t j, double draw) const {
  QuadruplexShape taken;
  double left = draw * at(i, j);
  shapes_.shapes(i, j, [&](const QuadruplexShape& one, std::int32_t) {
    taken = one;
    left -= weights_.quadruplex(one.layers, one.linked());
    return left >= 0;
  });
  return taken;
}

QuadruplexShape QuadruplexSums::best(std::int64_t i, std::int64_t j) const {
  QuadruplexShape taken;
  const std::int32_t least = shapes_.at(i, j);
  shapes_.shapes(i, j, [&](const QuadruplexShape& one, std::int32_t energy) {
    taken = one;
    return energy != least;
  });
  return taken;
}

std::vector<QuadruplexSums::Found> QuadruplexSums::probabilities(const Problem& problem, const Partition& p,
                                                                 const Panels& pairs,
                                                                 const Panels& m1) const {
  const std::int64_t n = s_.size();
  std::vector<Found> found;
  const std::vector<double> worth = worth_of_ends(problem, p);
  const double intern = weights_.numbers().multi_intern, all = p.ends.back();
  std::vector<std::size_t> begin(static_cast<std::size_t>(n + 2), 0);  // where those that end at j begin
  for (std::int64_t j = 1; j <= n; ++j) {
    begin[static_cast<std::size_t>(j)] = found.size();
    for (const auto& [i, weight] : ending(j)) {
      const std::int64_t t = Tiling::strip_of(i);
      double probability = worth[static_cast<std::size_t>(j)] * p.ends[static_cast<std::size_t>(i - 1)] *
                           weight / all * power(p.end_exponent(i - 1) - p.end_exponent(j));
      double multi = 0;
      if (j <= p.tiling.last_of(t))
        multi = m1.column(t, j)[i - Tiling::first_row(t)] / all * weight * intern *
                power(-p.exponent(t, Tiling::tile_of(j)));
      found.push_back({i, j, probability + multi, multi});
    }
  }
  const auto place = [&](std::int64_t i, std::int64_t j) {
    const std::span<const QuadruplexWeight> those = ending(j);
    return begin[static_cast<std::size_t>(j)] +
           static_cast<std::size_t>(std::ranges::lower_bound(those, i, {}, &QuadruplexWeight::i) -
                                    those.begin());
  };
  for (std::int64_t t = 0; t < p.tiling.strips(); ++t)
    for (std::int64_t j = Tiling::first_row(t); j <= p.tiling.last_of(t); ++j)
      each_within(Tiling::first_row(t), kStripRows, j,
                  [&](std::int64_t x, std::int64_t i, std::int64_t q, double weight) {
                    const std::int64_t row = x - Tiling::first_row(t);
                    const double probability = pairs.column(t, j)[row];
                    if (probability != 0)
                      found[place(i, q)].probability += probability / p.b.column(t, j)[row] * weight *
                                                        power(-p.exponent(t, Tiling::tile_of(j)));
                  });
  return found;
}

std::vector<double> QuadruplexSums::in_runs(std::span<const Found> found) const {
  const std::int64_t n = s_.size();
  std::vector<double> of(static_cast<std::size_t>(n + 1), 0);  // by base from 0, differences first
  std::vector<std::vector<const Found*>> by_begin(static_cast<std::size_t>(n + 1));
  for (const Found& one : found) by_begin[static_cast<std::size_t>(one.i)].push_back(&one);
  for (std::int64_t i = 1; i <= n; ++i) {
    if (by_begin[static_cast<std::size_t>(i)].empty()) continue;
    for (int layers = kFewestLayers; layers <= shapes_.run(i); ++layers) {
      const RunsOf runs{shapes_, layers};
      // Ways to each run, and what is behind it, with the probability of the whole
      std::array<ByLinked, 4> ways = {ByLinked{1}};
      for (int run = 1; run < 4; ++run)
        ways[static_cast<std::size_t>(run)] =
            next_run(runs, i + run * layers, ways[static_cast<std::size_t>(run - 1)]);
      ByLinked behind = {};
      for (const Found* one : by_begin[static_cast<std::size_t>(i)]) {
        const std::int64_t linked = one->j - i + 1 - 4 * layers;
        if (linked >= 3 && linked <= kMostLinked)
          behind[static_cast<std::size_t>(linked)] =
              one->probability * weights_.quadruplex(layers, static_cast<int>(linked)) / at(i, one->j);
      }
      for (int run = 3; run >= 0; --run) {
        for (int l = 0; l <= kMostLinked; ++l) {
          const double probability = ways[static_cast<std::size_t>(run)][static_cast<std::size_t>(l)] *
                                     behind[static_cast<std::size_t>(l)];
          if (probability == 0) continue;
          const std::int64_t at = i - 1 + run * layers + l;
          of[static_cast<std::size_t>(at)] += probability;
          of[static_cast<std::size_t>(at + layers)] -= probability;
        }
        ByLinked before = {};
        for (int l = 0; l <= kMostLinked; ++l)
          for (int more = 1; more <= kMostLinker && l + more <= kMostLinked; ++more)
            if (runs.at(i + run * layers + l + more))
              before[static_cast<std::size_t>(l)] += behind[static_cast<std::size_t>(l + more)];
        behind = before;
      }
    }
  }
  for (std::size_t k = 1; k < of.size(); ++k) of[k] += of[k - 1];
  of.pop_back();
  for (double& probability : of) probability = std::max(probability, 0.);  // but for rounding
  return of;
}

}  // namespace warploom::fold
