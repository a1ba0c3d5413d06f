#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "fold/partition.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {

/// The structure whose sum of 2 gamma p over its pairs and of the probabilities of its unpaired bases is
/// greatest, and that sum; each base in a run of a quadruplex counts gamma times that one's probability. A
/// pair that two unpaired bases outweigh is in none, so few are tried. Source: Do, Woods & Batzoglou,
/// Bioinformatics 22:e90 (2006).
/// @throws Interrupted
std::pair<std::string, double> most_accurate(const Panels& probabilities, const Tiling& tiling,
                                             std::span<const double> unpaired, double gamma,
                                             const QuadruplexSums* quadruplexes = nullptr,
                                             std::span<const QuadruplexSums::Found> found = {});
/// The same from the pairs that may be in it, and others, by i and j.
std::pair<std::string, double> most_accurate(std::span<const PairProbability> pairs,
                                             std::span<const double> unpaired, double gamma);

/// @throws BadInput: it is no pair of n bases
void check_pair(const PairProbability& pair, std::int64_t n);

}  // namespace warploom::fold
