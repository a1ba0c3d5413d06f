#pragma once

#include <span>
#include <vector>

#include "warploom/search/match.hpp"
#include "warploom/search/matching.hpp"

/// Combinations of channels by trying everything.
namespace warploom::oracle {

/// All maximal matchings, in lexicographic order, out of all subsets of edges: 2^edges of them.
std::vector<search::Matching> maximal_matchings(std::span<const search::Edge> edges);

search::Worth worth(std::span<const search::Edge> edges, const search::Matching& matching);

/// What search::assemble() defines, word by word: the matchings of every piece, all ranked. With distances
/// that are multiples of a power of two all sums are exact.
std::vector<search::Match> assemble(std::span<const search::Piece> pieces, const search::Query& query,
                                    const search::AssembleOptions& options);

}  // namespace warploom::oracle
