#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/fold/fold.hpp"

namespace warploom::fold {

struct PairProbability {
  std::int64_t i = 0, j = 0;  ///< counted from 1, i < j
  double probability = 0;
};

/// What is asked of an ensemble beside its energy.
struct EnsembleOptions {
  bool probabilities = true;  ///< of pairs, and what follows from them; they take two thirds of the time
  double cutoff = 1e-5;       ///< pairs that are less probable are not listed; 0 to 1
  /// Of the structure of greatest expected accuracy: what a pair counts for each of its bases beside an
  /// unpaired base, which counts 1; 0: there is none.
  double gamma = 1;
  std::int64_t samples = 0;  ///< structures to draw, each with its probability; 0 to 10,000,000
  std::uint64_t seed = 1;    ///< of these; the same ones are drawn with any number of threads
  bool gradient = false;     ///< with probabilities; some 500 additions for each cell of n^2 / 2
};

/// d(ensemble energy) / d(numbers of a section of a parameter file), both in the same unit.
struct SectionGradient {
  std::string name = {};                 ///< as in the file: "stack", "stack_enthalpies", "ML_params"
  std::vector<std::int64_t> shape = {};  ///< of Triloops and the like: a loop, and its two numbers
  std::vector<double> values = {};       ///< in the file's order; of Misc five, the last that of long loops
};

/// Derivatives of an ensemble's energy: how often what a number is paid for is there, in the mean. Of
/// pseudo-energies: an unpaired base's is Ensemble::unpaired, a paired one's 1 less that, and that of the
/// pair (i, j) its probability.
struct EnsembleGradient {
  std::vector<SectionGradient> sections = {};
  std::vector<double> stack = {};  ///< by each base's pseudo-energy of stacks (PseudoEnergies::stack)
};

/// All structures of a sequence, each weighing exp(-energy / kT).
struct Ensemble {
  double energy = 0;                        ///< -kT ln of the sum of all weights [kcal/mol]
  double kt = 0;                            ///< [kcal/mol]
  std::vector<PairProbability> pairs = {};  ///< by i and j
  /// With Model::quadruplexes, by their ends: of any way to lay their runs from i to j. By j and i
  std::vector<PairProbability> quadruplexes = {};
  std::vector<double> in_quadruplexes = {};  ///< of each base, to lie in a run of one; empty: there are none
  std::vector<double> unpaired = {};      ///< of each base, the probability that it is in no pair and no run
  double diversity = 0;                   ///< mean number of pairs in which two structures differ
  std::string centroid = {};              ///< the pairs that are in more than half of the ensemble
  double centroid_distance = 0;           ///< mean number of pairs in which a structure differs from it
  std::string mea = {};                   ///< the structure of greatest expected accuracy
  double accuracy = 0;                    ///< its
  std::vector<std::string> samples = {};  ///< dot-bracket
  EnsembleGradient gradient = {};

  /// Of a structure with this energy [kcal/mol].
  double probability_of(double structure_energy) const;
};

/// McCaskill's partition function, with fold()'s recurrences and loops: sums in place of minima. Energies are
/// not cut to whole hundredths, and what neighbours of a stem add at ends and in multiloops is smoothed about
/// 0, as RNAfold -p has it. Without lonely pairs those are left out that could never stack, as there; a pair
/// may still stand alone. A constraint that is enforced leaves out the structures in which a base that has to
/// pair does not; no penalty stands for it. In a circle all kinds of loops join the ends; it takes 4 n^2
/// bytes more.
/// @param sequence, constraint  as fold()'s
/// @throws BadInput as fold(), also: dangles 1 or 3 (RNAfold -p takes them as 2), a
///         cutoff, gamma or samples out of range, a temperature at which a loop may have less than
///         -19 kT ln 2, an enforced constraint that no structure fulfils; OutOfMemory, Interrupted
/// @note Tolerance: sums of doubles with a power of two for each tile, so that nothing overflows at any
///       length. Within 1e-12 of the sums over all structures of up to 17 bases; probabilities within 1e-13
///       of ViennaRNA's in sequences of up to 200. Cost: n^3 / 2 multiplications with additions, and some
///       hundreds a cell of the n^2 / 2. Memory 20 n^2 bytes. Where pairs have a span L, only what lies in
///       the band of it is computed and kept: n L^2 multiplications and 40 n (L + 64) bytes. Threads share
///       one sequence by strips of rows. The result does not depend on their number, in its last bits on the
///       processor's instructions. A GPU has no samples, gradients, pseudo-energies, circles and enforced
///       constraints (BadInput where it is named), takes 24 n^2 bytes of its memory with any span (16 n^2 of
///       one sequence where there are no more), and sums in another order: within 1e-9 of the CPU's energy,
///       relative, and 1e-8 of probabilities, tested; 1e-14 were seen.
/// Source: McCaskill, Biopolymers 29:1105 (1990).
Ensemble ensemble(std::string_view sequence, const Model& model = {}, const EnsembleOptions& options = {},
                  const Run& run = {}, std::string_view constraint = {});

/// Many, each by one thread where they are short. The order is kept; the k-th has the seed options.seed + k.
/// @param constraints  none, or one a sequence
/// @throws as for one, naming the sequence's place, counted from 1
std::vector<Ensemble> ensembles(std::span<const std::string> sequences, const Model& model = {},
                                const EnsembleOptions& options = {}, const Run& run = {},
                                std::span<const std::string> constraints = {});

/// What ensemble() takes of memory for n bases; 0 for n <= 0. @throws BadInput (n above 100,000)
/// @param max_span  Model::max_span
std::uint64_t bytes_to_sum(std::int64_t n, const EnsembleOptions& options = {}, std::int64_t max_span = 0);

/// A letter a base, as RNAfold -p has it: '(' and ')' where two thirds of the ensemble pair with a later base
/// and with an earlier one, '.' where they do not pair; '{', '}' and '|' where more pair than not, ',' where
/// less do.
/// @throws BadInput: a pair that is none of its bases
std::string pairing_letters(const Ensemble& ensemble);

}  // namespace warploom::fold
