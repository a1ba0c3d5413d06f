#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::reuse {

/// What has to be placed: objects with a size and an alignment, and the pairs that must not overlap.
struct PlacementProblem {
  struct Object {
    std::uint64_t bytes = 0;      ///< > 0
    std::uint64_t alignment = 1;  ///< a power of two
  };
  std::vector<Object> objects = {};
  /// Interference graph: pairs (i, j), i != j, either order, repeats allowed.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = {};
};

enum class PlacementMethod {
  paper,    ///< Algorithm 1 of Moazeni et al. 2009: greedy colouring, one live object a partition
  greedy,   ///< offsets, size-descending best fit
  optimal,  ///< exact branch and bound over offsets
};

struct PlacementOptions {
  PlacementMethod method = PlacementMethod::optimal;
  std::uint32_t exact_up_to = 40;              ///< `optimal` is `greedy` above so many objects; at most 64
  std::chrono::milliseconds time_limit{1000};  ///< for `optimal`: then the best placement found is taken
};

struct Placement {
  std::vector<std::uint64_t> offsets = {};                  ///< one an object [bytes]
  std::uint64_t bytes = 0;                                  ///< max over objects of offset + bytes
  std::uint64_t lower_bound = 0;                            ///< proved: no placement is smaller
  PlacementMethod method = PlacementMethod::optimal;        ///< what was used in the end
  bool proved_optimal = false;                              ///< bytes == optimum, proved
  bool timed_out = false;                                   ///< the time limit ended the search
  std::vector<std::vector<std::uint32_t>> partitions = {};  ///< `paper` only: objects by colour
};

/// Offsets such that interfering objects do not overlap and every offset is a multiple of the
/// object's alignment. Objects without edges lie at 0. Ties go to the lower index; deterministic, except
/// that `optimal` past its time limit keeps the best found.
///
/// Cost: `paper` and `greedy` sort and scan each object's neighbours; `optimal` is exponential at worst
/// (the problem contains bin packing), measured in docs/guide/reuse-placement.md.
/// Source of `paper`: Moazeni, Bui, Sarrafzadeh, SASP 2009, Algorithm 1. Departures: the paper's loop
/// reaches only what is connected to b0 (here every component is entered), and it has no alignments (here
/// a partition takes the largest one of its objects).
/// @throws BadInput (zero size, alignment not a power of two, edge out of range or from an object to
///         itself, sizes and alignments that add up to more than 2^64 - 1, no such method)
Placement place(const PlacementProblem& problem, const PlacementOptions& options = {});

std::string_view name(PlacementMethod method);

}  // namespace warploom::reuse
