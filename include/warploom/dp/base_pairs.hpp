#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/dp/solve.hpp"

namespace warploom::dp {

struct BasePairOptions {
  Options solve = {};
  std::int64_t minimum_loop = 3;  ///< unpaired bases that a pair encloses at least, >= 0
  /// What a pair of each kind counts, >= 0; of 0 it may not form.
  std::int32_t gc = 1, au = 1, gu = 1;
  bool unknown = false;  ///< accept N, which pairs with nothing
};

/// A secondary structure without pseudoknots.
struct BasePairs {
  std::string sequence = {};               ///< in capitals, U for T
  std::vector<std::int64_t> partner = {};  ///< of each base, counted from 0; -1 where it is unpaired
  std::int64_t pairs = 0;
  std::int64_t score = 0;  ///< what the pairs count together
  Report report = {};
};

/// The structure whose base pairs count most, by Nussinov's recurrence over the points between bases:
///
///   m[i,i+1] = 0,  m[i,j] = max(m[i+1,j-1] + s(base i, base j-1) where j - i >= minimum_loop + 2,
///                               max over i < k < j of m[i,k] + m[k,j])
///
/// Solved in int32, or 16 bits a cell where solve() finds that they hold it; exact. Among structures that
/// count the same, solve()'s tie rule chooses: close a pair, else split as far left as possible.
/// @param sequence  n >= 1 of A C G U (T is U), in capitals or not; N where options say so
/// @throws BadInput (empty, another letter: with its position, counted from 1; a score or loop below 0, or
/// more
///         than int32 holds), and as solve()
/// @note Cost: that of solve() for n leaves, O(n^3). The most pairs are no prediction of the fold: that needs
///       an energy model, of which this recurrence is the multiloop part.
/// Source: Nussinov, Pieczenik, Griggs & Kleitman, SIAM J. Appl. Math. 35(1), 1978; Nussinov & Jacobson, PNAS
/// 77(11), 1980. The minimum loop and the weights are usual additions.
BasePairs base_pairs(std::string_view sequence, const BasePairOptions& options = {});

/// The same for many; short ones are solved together (solve_batch). The order is kept.
/// @throws as for one, naming the sequence's place, counted from 1
std::vector<BasePairs> base_pairs(std::span<const std::string> sequences,
                                  const BasePairOptions& options = {});

/// Of several, at least one, solved by one call: pairs together, and of more than one the seconds that the
/// call took, traceback included, since the reports of those that were solved together share theirs.
/// @throws BadInput (none)
Report report_of(std::span<const BasePairs> structures, double seconds);

/// "((..(...)))": a base each, '.' unpaired
std::string dot_bracket(const BasePairs& structure);

/// A connectivity table (CT): "n ENERGY = -score title", then a line a base: i, base, i-1, i+1 (0 after the
/// last), partner (0: unpaired), i; counted from 1. There is no energy: minus the score stands in its place.
/// @throws BadInput (no bases, partners that are not there, or not one a base; a score below 0)
std::string connectivity_table(const BasePairs& structure, std::string_view title);

/// A picture (SVG) of a structure: its bases along a line, 5' on the left, an arc over the line for each pair
/// in the colour of its kind, with a legend that counts each kind. Letters are shown if there are at most
/// 100. @throws as connectivity_table()
std::string arcs_svg(const BasePairs& structure);

}  // namespace warploom::dp
