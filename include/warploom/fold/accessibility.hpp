#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {

struct AccessibilityOptions {
  std::int64_t window = 0;   ///< bases, 1 or more; 0: all of them
  std::int64_t stretch = 1;  ///< bases that are unpaired together, 1 to this many; at most 10,000
  double cutoff = .01;       ///< pairs that are less probable are not listed; 0 to 1
};

/// In the mean over all windows that have the bases in question.
struct Accessibility {
  std::vector<PairProbability> pairs = {};  ///< by i and j
  std::int64_t stretch = 0;
  /// [base][u - 1]: that the u bases which end with it, counted from 0, are unpaired; NaN where there are
  /// fewer.
  std::vector<double> unpaired = {};
};

/// The ensembles of all windows of a sequence: how probable it is in the mean that bases pair, and that
/// stretches of them do not (accessibilities), as RNAplfold has them. Pairs are Model::max_span long at most,
/// or as long as a window. What a base beside a stem adds counts across a window's ends, too.
/// @param sequence, model  as ensemble()'s
/// @throws BadInput as ensemble(), also: a window or a stretch out of range
/// @note Cost for windows of W bases, spans of L, stretches of U: n (L^2 + W L + U W) steps, not those of n
/// windows:
///       the derivative is linear in what is outside of all pairs, so one pass sums over all windows.
///       Memory 16 n (W + 4 L) bytes. The result does not depend on the number of threads.
/// Source: Bernhart, Hofacker & Stadler, Bioinformatics 22:614 (2006); Bernhart, Mueckstein & Hofacker, AMB
/// 6:3 (2011).
Accessibility accessibility(std::string_view sequence, const AccessibilityOptions& options = {},
                            const Model& model = {}, const Run& run = {});

}  // namespace warploom::fold
