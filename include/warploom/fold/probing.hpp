#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::fold {

/// What an experiment says of a structure, as energies beside the loops'. Each list is empty or has a number
/// for each base.
struct PseudoEnergies {
  std::vector<std::int32_t> stack =
      {};  ///< two pairs that stack add those of their four bases [0.01 kcal/mol]
  std::vector<std::int32_t> unpaired = {};  ///< an unpaired base adds its own [0.01 kcal/mol]
  /// A pair adds those of its bases; their sum is rounded to 0.01 [kcal/mol].
  std::vector<double> paired = {};
};

/// Reactivities of n bases (SHAPE, DMS) as RNAfold's --shape reads them: lines of a position, counted from 1,
/// perhaps a letter, and a reactivity, between blanks; a line without a reactivity is a base without one;
/// lines that begin with '#' and empty ones are skipped.
/// @return a number a base; negative: there is none
/// @throws BadInput (n < 1), ParseError with the line: no position, one outside of 1..n or given twice, a
///         reactivity that is no number, more words; a file without a position
std::vector<double> parse_reactivities(std::string_view content, const std::string& name, std::int64_t n);

/// Stacks get slope ln(reactivity + 1) + intercept [kcal/mol] for each base that has a reactivity, rounded.
/// @throws BadInput: a reactivity, slope or intercept that is not finite, an energy beyond +-100 kcal/mol
/// Source: Deigan, Li, Mathews & Weeks, PNAS 106:97 (2009).
PseudoEnergies deigan(std::span<const double> reactivities, double slope = 1.8, double intercept = -0.6);

/// With q the probability that a base is unpaired, q beta for each paired base and (1 - q) beta for each
/// unpaired one [kcal/mol].
/// @param conversion  from reactivity r to q, cut to 0..1, as RNAfold's --shapeConversion: "O", (ln r + 2.29)
/// / 1.6;
///        "L", (r - .2) / .68, both with other numbers as "Os1.6i-2.29"; "M", piecewise linear; "S", r
///        itself; "C0.25", 1 from .25 on, else 0
/// @param unknown  q of bases without a reactivity
/// @throws BadInput: a reactivity or beta that is not finite, another conversion, `unknown` outside of 0..1,
///         an energy beyond +-100 kcal/mol
/// Source: Zarringhalam, Meyer, Dotu, Chuang & Clote, PLoS ONE 7:e45160 (2012).
PseudoEnergies zarringhalam(std::span<const double> reactivities, double beta = 0.89,
                            std::string_view conversion = "O", double unknown = 0.5);

}  // namespace warploom::fold
