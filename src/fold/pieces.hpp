#pragma once

#include "fold/fill.hpp"

/// Long sequences whose pairs have a span: pieces that overlap, each with matrices of its own, in memory that
/// does not grow with the square of the length.
namespace warploom::fold {

/// Of a piece, where pairs span at most so many bases.
std::int64_t bases_of_a_piece(std::int64_t span);
/// Whether n bases are folded in pieces, where no pair is longer than `span`.
inline bool takes_pieces(std::int64_t n, std::int64_t span) { return n / 2 > bases_of_a_piece(span); }

/// The span of all pairs there may be, where the sequence is to be folded in pieces; 0: it is not.
std::int64_t span_for_pieces(const Bases& s, const Loops& loops, const Marks& marks, const Extras& extras);
/// @param span  of span_for_pieces() @param structure  false: the energy alone @throws as fold()
Folding fold_in_pieces(const Bases& s, const LoopTables& tables, const Marks& marks, std::int64_t span,
                       bool structure);

}  // namespace warploom::fold
