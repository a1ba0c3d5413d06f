#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/fold/fold.hpp"

/// Scans: all windows of a long sequence, compared with windows of shuffled letters; all mutants of a
/// sequence.
namespace warploom::fold {

/// What a shuffled sequence keeps: how often each two letters stand side by side, and so the first and the
/// last letter; or how often each letter is there.
enum class Shuffle { dinucleotides, mononucleotides };

/// The letters in another order, each order that keeps what is to be kept with the same probability (within
/// 1e-7). The seed alone decides which it is.
/// @return capitals, U for T
/// @throws BadInput: a character that is no letter, no such Shuffle
/// Source: Altschul & Erickson, Mol. Biol. Evol. 2:526 (1985); the last edges by Wilson, STOC 1996.
std::string shuffled(std::string_view sequence, Shuffle kind, std::uint64_t seed);

inline constexpr std::int64_t kMostShuffles = 1'000'000;

struct WindowOptions {
  std::int64_t window = 120;  ///< bases of a window, 1 to 100,000
  std::int64_t step = 1;      ///< bases from the beginning of one to that of the next, >= 1
  bool structures = false;
  std::int64_t shuffles = 0;  ///< of each window; 0: none, else 2 to kMostShuffles
  Shuffle shuffle = Shuffle::dinucleotides;
  std::uint64_t seed = 1;  ///< of shuffles; those of a window depend on it and on where the window begins
};

/// Window k has bases 1 + k step to window + k step, counted from 1.
struct Windows {
  std::vector<std::int32_t> energies = {};   ///< [0.01 kcal/mol]
  std::vector<std::string> structures = {};  ///< dot-bracket; empty where they are not asked for
  // Of the shuffles of each window; empty where there are none.
  std::vector<double> means = {};       ///< of their energies [kcal/mol]
  std::vector<double> deviations = {};  ///< with n - 1 in place of n [kcal/mol]
  std::vector<double> z_scores = {};    ///< (energy - mean) / deviation; 0 where the deviation is 0
  /// (1 + those whose energy is at most the window's) / (1 + shuffles): how likely so low an energy is by
  /// chance.
  std::vector<double> p_values = {};
};

/// How many windows there are; 0 where the sequence is shorter than one. @throws BadInput (options out of
/// range, n < 0)
std::int64_t count_windows(std::int64_t n, const WindowOptions& options);

/// fold() of every window of a sequence as if it stood alone, with the same energies, and of its shuffles.
/// @param sequence  of any length >= window; letters as in fold()
/// @throws BadInput as fold(), also: options out of range, a sequence shorter than a window, a circle,
/// pseudo-energies;
///         OutOfMemory, Interrupted
/// @note Cost on a CPU: windows share the cells that they have in common, some 2 window cells a window in
/// place of
///       window^2 / 2; what each has for itself, the loop outside of all pairs, is window^2 / 2 additions.
///       Shuffles share nothing. On a GPU each window is folded by itself. Memory 16 window^2 bytes a thread.
///       The result does not depend on the device and the number of threads.
Windows fold_windows(std::string_view sequence, const WindowOptions& options = {}, const Model& model = {},
                     const Run& run = {});

struct MutantOptions {
  std::vector<std::int64_t> positions = {};  ///< that are mutated, counted from 1; empty: all
  bool structures = false;
};

struct Mutants {
  Folding wild_type = {};                    ///< with its structure
  std::vector<std::int64_t> positions = {};  ///< counted from 1, in the order asked for
  /// [positions, 4]: with A, C, G, U in that place [0.01 kcal/mol]. The letter that is there already has the
  /// energy of the wild type.
  std::vector<std::int32_t> energies = {};
  std::vector<std::string> structures = {};  ///< the same; empty where they are not asked for
};

/// fold() of a sequence with one letter exchanged, for each place and letter.
/// @throws BadInput as fold(), also: a position that is none of 1 to n, or twice; OutOfMemory, Interrupted
/// @note Cost: each of the 3 mutants a position takes .4 to .5 of a folding in the mean, a third of its
/// cells, where cells are kept (20 n^2 bytes; on a CPU, 256 bases and more, not dangles 3), else a whole one.
/// The result does not depend on the device and the number of threads.
Mutants fold_mutants(std::string_view sequence, const MutantOptions& options = {}, const Model& model = {},
                     const Run& run = {});

}  // namespace warploom::fold
