#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "warploom/reuse/place.hpp"

/// Slow and obvious placement, and the random problems that tests and benchmarks share.
namespace warploom::oracle {

/// Fewest bytes of any placement, by trying every order: an object lies on the highest of the
/// interfering objects that come before it. n! steps; up to 8 objects.
std::uint64_t fewest_bytes_by_orders(const reuse::PlacementProblem& problem);

/// The same by orienting edges: every interfering pair has one object below the other, and an
/// orientation without cycles has its longest paths as offsets (Gallai, Roy). Starts with no pair
/// oriented and branches on a pair that overlaps; an orientation that grows as high as the best
/// placement known is left, and a component as high as its heaviest clique (found by trying all
/// sets) is done. Up to 16 objects.
std::uint64_t fewest_bytes_by_orientations(const reuse::PlacementProblem& problem);

/// Empty if `placement` is valid for `problem`, else what is wrong with it: an offset not aligned, two
/// interfering objects that overlap, or a total other than the highest end.
std::string fault(const reuse::PlacementProblem& problem, const reuse::Placement& placement);

/// Where random sizes and alignments come from.
enum class Sizes {
  bytes,   ///< 1 to 100 bytes, alignment 1 to 16
  words,   ///< 1 to 64 words of 4 bytes, alignment 4
  arrays,  ///< 1 to 64 elements of 1 to 16 bytes, aligned as the element: what CUDA source declares
  padded,  ///< 1 to 64 words, alignment 16 or, one in four, 32: what `reuse` asks for
};

/// Each pair interferes with probability `percent` / 100.
reuse::PlacementProblem random_graph(std::mt19937_64& random, std::uint32_t objects, unsigned percent,
                                     Sizes sizes);
/// Each object is born at a random one of 2 * objects program points and lives for 1 to `objects` points;
/// those whose lives share a point interfere.
reuse::PlacementProblem random_intervals(std::mt19937_64& random, std::uint32_t objects, Sizes sizes);
/// Two random graphs side by side, no edge between them.
reuse::PlacementProblem random_disconnected(std::mt19937_64& random, std::uint32_t objects, unsigned percent,
                                            Sizes sizes);
}  // namespace warploom::oracle
