#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/fold/parameters.hpp"
#include "warploom/fold/probing.hpp"

namespace warploom::fold {

/// Which structures there are, and what they cost.
struct Model {
  Parameters parameters = {};
  double temperature = 37;  ///< [C], -273.15 to 1000
  /// What the bases beside a pair add at ends and in multiloops (RNAfold's -d): 2, both neighbours of each
  /// pair, whether paired or not; 0, nothing; 1, unpaired neighbours, each for one pair alone, whichever way
  /// costs least; 3, as 1, and two helices without a base between them may stack in multiloops
  int dangles = 2;
  bool lonely_pairs = true;   ///< false: each pair stacks on another
  bool gu = true;             ///< G-U pairs form
  bool gu_closing = true;     ///< false: G-U pairs only within stacks, at ends and as stems of multiloops
  std::int64_t max_span = 0;  ///< bases from one of a pair to the other, both counted, at most; 0: any
                              ///< number. A pair that a constraint names may be longer, as in RNAfold
  /// The last base is joined to the first. Dangles 0 or 2 alone: with 1 and 3 RNAfold's energies of circles
  /// are not those that it gives the structures. A circle without pairs costs kT (4.385 + 1.5 ln n).
  bool circular = false;
  /// Bases have to pair where the constraint has '(' and ')', with each other, and '|', with any; not '<' and
  /// '>', as in RNAfold.
  bool enforce_constraint = false;
  /// G-quadruplexes form: four runs of 2 to 7 G with 1 to 15 bases between, outside of all pairs, in
  /// multiloops, or alone within a pair. Dangles 0 or 2, linear sequences, pseudo-energies of stacks alone,
  /// no enforced constraint; one that leaves pairs out says nothing of them, as in RNAfold.
  bool quadruplexes = false;
  PseudoEnergies pseudo = {};  ///< of a sequence; what is folded with it has its length;
                               ///< with dangles 3 none of stacks
};

struct Folding {
  /// Dot-bracket, a letter a base; '+' for the G of a quadruplex, '~' for its last, as RNAfold 2.8.
  std::string structure = {};
  std::int32_t energy = 0;  ///< [0.01 kcal/mol]
};

/// The secondary structure without pseudoknots whose free energy is least, by Zuker's recurrences: with
/// C(i,j) the least energy of i..j where i and j pair, M(i,j) where one or more stems of a multiloop lie in
/// i..j,
///
///   C(i,j) = min(hairpin(i,j), interior(i,j,p,q) + C(p,q), closing(i,j) + M(i+1,k) + M(k+1,j-1))
///   M(i,j) = min(C(i,j) + stem, M(i,j-1) + b, M(i+1,j) + b, M(i,k) + M(k+1,j))
///   F(j)   = min(F(j-1), F(i-1) + C(i,j) + end),  interior loops of at most 30 unpaired bases.
///
/// Exact: the energy is ViennaRNA's to the last hundredth; of several structures of that energy this is one.
/// @param sequence  n >= 1 letters; A C G U (T is U), small ones too; any other letter pairs with nothing
/// @param constraint  empty, or a letter a base, as RNAfold's -C has them: '.' and '|' anything,
///         'x' unpaired, '<' pairs with a later base if it pairs, '>' with an earlier one, '(' and ')' with
///         each other if they pair; what crosses such a pair is left out. It leaves pairs out and forces
///         none, but for Model::enforce_constraint
/// @throws BadInput (empty, a character that is no letter, more than 100,000 bases, a model out of range; a
///         constraint of another length, with another letter, or with brackets that do not match or cannot
///         pair, or that no structure fulfils where it is enforced), OutOfMemory, Interrupted
/// @note Cost: some 215 additions and minima a cell of the n^2 / 2 for interior loops; for multiloops one for
///       each candidate of a column, few in random sequences, up to n / 2 in repeats. Memory 4 n^2 bytes;
///       with a span L far below n, 16 L^2 + 8 n and time that grows as n L, but with circles, quadruplexes,
///       pseudo-energies and enforced constraints.
///       Threads share one sequence by strips of rows. The result does not depend on their number.
/// Source: Zuker & Stiegler, NAR 9:133 (1981); interior loops: Lyngso, Zuker & Pedersen, Bioinformatics
/// 15:440 (1999); candidates: Wexler, Zilberstein & Ziv-Ukelson, J. Comp. Biol. 14:856 (2007).
Folding fold(std::string_view sequence, const Model& model = {}, const Run& run = {},
             std::string_view constraint = {});

/// Many, each by one thread where they are short. The order is kept. Both calls fold on a GPU where `run`
/// names one, and where it names no device and a CPU would need longer than a GPU takes to start: the same
/// energies, 4 n^2 bytes and 1 to 34 kB a base there. What a GPU does not do (dangles 1 and 3, circles,
/// constraints that are enforced, pseudo-energies) is refused where one is named, else the CPU does it.
/// @param constraints  none, or one a sequence
/// @throws as for one, naming the sequence's place, counted from 1
std::vector<Folding> fold(std::span<const std::string> sequences, const Model& model = {},
                          const Run& run = {}, std::span<const std::string> constraints = {});

/// Where fold() folds these. @throws BadInput, NoDevice: a GPU is named that is not there or does not do this
Device device_for(std::span<const std::string> sequences, const Model& model = {}, const Run& run = {});

inline constexpr std::int32_t kMostDelta = 10'000;  ///< of suboptimal() [0.01 kcal/mol]
/// Every structure whose energy is at most `delta` [0.01 kcal/mol] above the least, each once, in no
/// particular order.
/// @param take  gets each as it is found; returns whether to go on
/// @return how many were taken
/// @throws BadInput as fold(), also: delta below 0 or above kMostDelta, dangles 1 or 3, quadruplexes;
///         OutOfMemory, Interrupted
/// @note Cost: n^3 / 6 steps once, then up to n^2 steps for each structure. Memory 6 n^2 bytes, and the
///       steps that are still to be tried, at most n for each part of a structure.
/// Source: Wuchty, Fontana, Hofacker & Schuster, Biopolymers 49:145 (1999).
std::int64_t suboptimal(std::string_view sequence, std::int32_t delta,
                        const std::function<bool(const Folding&)>& take, const Model& model = {},
                        const Run& run = {}, std::string_view constraint = {});

/// @throws BadInput where fold() would for this sequence and constraint
void check_sequence(std::string_view sequence, std::string_view constraint = {}, const Model& model = {});

/// Bytes that folding n bases takes; 0 for n <= 0. @throws BadInput (n above 100,000)
/// @param max_span  Model::max_span: far below n, they are folded in pieces
std::uint64_t bytes_to_fold(std::int64_t n, std::int64_t max_span = 0);

/// A loop of a structure, with its closing pair; bases are counted from 1.
struct Loop {
  enum class Kind { exterior, hairpin, interior, multi, quadruplex };
  Kind kind = Kind::exterior;
  std::int64_t i = 0, j = 0;  ///< the closing pair, or a quadruplex's ends; 0, 0 of the exterior loop
  std::int64_t p = 0, q = 0;  ///< the inner pair of an interior loop (stack, bulge), or the ends of the
                              ///< quadruplex alone within it; 0 else
  std::int32_t energy = 0;    ///< [0.01 kcal/mol]
};

struct Evaluation {
  std::int32_t energy = 0;       ///< of all loops [0.01 kcal/mol]
  std::vector<Loop> loops = {};  ///< the exterior loop, then by closing pair
};

/// The free energy of a given structure, loop by loop.
/// @param structure  dot-bracket of the sequence's length, with '+' for quadruplexes, whatever the model has;
///         the last '+' of one may be '~'
/// @throws BadInput: as fold(); another letter than ( . ) + ~, brackets that do not match, bases that do not
///         pair or lie too close (with their places, counted from 1), a '+' that is of no quadruplex, a loop
///         that the model does not allow
Evaluation evaluate(std::string_view sequence, std::string_view structure, const Model& model = {});

/// Partners of a dot-bracket structure, counted from 0; -1 where unpaired or in a quadruplex.
/// @throws BadInput: another letter than ( . ) + ~, brackets that do not match (with the place, counted from
/// 1)
std::vector<std::int64_t> partners(std::string_view structure);

}  // namespace warploom::fold
