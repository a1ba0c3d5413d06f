#include "fold/accuracy.hpp"

#include <algorithm>
#include <vector>

#include "warploom/core/progress.hpp"

namespace warploom::fold {
namespace {

struct Gain {
  std::int64_t k;
  double value;
  bool quadruplex = false;  ///< from k on; its value is that of all its bases
};

/// @param gains  by the pair's second base; none is of a longer pair than `span`
std::pair<std::string, double> best_of(const std::vector<std::vector<Gain>>& gains, std::int64_t span,
                                       std::span<const double> unpaired,
                                       const QuadruplexSums* quadruplexes = nullptr) {
  const std::int64_t n = std::ssize(unpaired);
  const auto alone = [&](std::int64_t i) { return unpaired[static_cast<std::size_t>(i - 1)]; };
  // best[j][i]: of i..j; 0 where there is none. Rows that begin no part are not needed, but few; those
  // farther from j than a pair are not there but for the first, which has place 0.
  std::vector<std::vector<double>> best(static_cast<std::size_t>(n + 1));
  const auto begin = [&](std::int64_t j) { return std::max<std::int64_t>(1, j - span); };
  const auto place = [&](std::int64_t i, std::int64_t j) {
    return i == 1 ? 0 : static_cast<std::size_t>(i - begin(j) + 1);
  };
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return j < i ? 0 : best[static_cast<std::size_t>(j)][place(i, j)];
  };
  best[0].assign(1, 0);
  for (std::int64_t j = 1; j <= n; ++j) {
    std::vector<double>& here = best[static_cast<std::size_t>(j)];
    here.assign(static_cast<std::size_t>(j - begin(j) + 2), 0);
    here[0] = at(1, j - 1) + alone(j);
    for (std::int64_t i = std::max<std::int64_t>(begin(j), 2); i <= j; ++i)
      here[place(i, j)] = at(i, j - 1) + alone(j);
    for (const Gain& gain : gains[static_cast<std::size_t>(j)]) {
      const double inside = gain.value + (gain.quadruplex ? 0 : at(gain.k + 1, j - 1));
      here[0] = std::max(here[0], at(1, gain.k - 1) + inside);
      for (std::int64_t i = std::max<std::int64_t>(begin(j), 2); i <= gain.k; ++i) {
        double& cell = here[place(i, j)];
        cell = std::max(cell, at(i, gain.k - 1) + inside);
      }
    }
    if (j % 64 == 0) check_interrupt();
  }
  std::string structure(static_cast<std::size_t>(n), '.');
  std::vector<std::pair<std::int64_t, std::int64_t>> open{{1, n}};
  while (!open.empty()) {
    auto [i, j] = open.back();
    open.pop_back();
    while (j >= i) {
      const Gain* taken = nullptr;
      if (at(i, j) != at(i, j - 1) + alone(j))
        for (const Gain& gain : gains[static_cast<std::size_t>(j)])
          if (gain.k >= i &&
              at(i, j) == at(i, gain.k - 1) + (gain.value + (gain.quadruplex ? 0 : at(gain.k + 1, j - 1))))
            taken = &gain;
      if (taken == nullptr) {
        --j;
        continue;
      }
      if (taken->quadruplex) {
        draw(quadruplexes->best(taken->k, j), true, structure);
      } else {
        structure[static_cast<std::size_t>(taken->k - 1)] = '(';
        structure[static_cast<std::size_t>(j - 1)] = ')';
        open.emplace_back(taken->k + 1, j - 1);
      }
      j = taken->k - 1;
    }
  }
  return {structure, at(1, n)};
}

}  // namespace

std::pair<std::string, double> most_accurate(const Panels& probabilities, const Tiling& tiling,
                                             std::span<const double> unpaired, double gamma,
                                             const QuadruplexSums* quadruplexes,
                                             std::span<const QuadruplexSums::Found> found) {
  const std::int64_t n = tiling.n;
  const auto alone = [&](std::int64_t i) { return unpaired[static_cast<std::size_t>(i - 1)]; };
  std::vector<std::vector<Gain>> gains(static_cast<std::size_t>(n + 1));  // by the pair's second base
  for (std::int64_t j = 1; j <= n; ++j)
    for (std::int64_t t = tiling.first_strip(Tiling::tile_of(j)); t <= Tiling::strip_of(j); ++t) {
      const double* probability = probabilities.column(t, j);
      const std::int64_t first = Tiling::first_row(t);
      for (std::int64_t r = 0; r < kStripRows && first + r < j - kMinHairpin; ++r)
        if (const double value = 2 * gamma * probability[r]; value > alone(first + r) + alone(j))
          gains[static_cast<std::size_t>(j)].push_back({first + r, value});
    }
  std::int64_t span = tiling.span;
  for (const auto& [i, j, probability, multi] : found) {
    QuadruplexShape shape = quadruplexes->best(i, j);
    shape.i = 1;
    std::string runs(static_cast<std::size_t>(j - i + 1), '.');
    double value = 0, instead = 0;
    draw(shape, true, runs);
    for (std::int64_t k = i; k <= j; ++k) {
      instead += alone(k);
      value += runs[static_cast<std::size_t>(k - i)] == '.' ? alone(k) : gamma * probability;
    }
    if (value <= instead) continue;
    gains[static_cast<std::size_t>(j)].push_back({i, value, true});
    span = std::max(span, j - i + 1);
  }
  return best_of(gains, span, unpaired, quadruplexes);
}

std::pair<std::string, double> most_accurate(std::span<const PairProbability> pairs,
                                             std::span<const double> unpaired, double gamma) {
  std::vector<std::vector<Gain>> gains(unpaired.size() + 1);
  std::int64_t span = 1;
  for (const auto& [i, j, probability] : pairs)
    if (const double value = 2 * gamma * probability;
        value > unpaired[static_cast<std::size_t>(i - 1)] + unpaired[static_cast<std::size_t>(j - 1)]) {
      gains[static_cast<std::size_t>(j)].push_back({i, value});
      span = std::max(span, j - i + 1);
    }
  return best_of(gains, span, unpaired);
}

}  // namespace warploom::fold
