#pragma once

#include <algorithm>
#include <cstdint>

#include "dp/cpu_blocks.hpp"
#include "dp/cpu_cells.hpp"

namespace warploom::dp {

template <class T>
BlockFactors<T> block_factors(const PaddedTerms<T>& terms, std::int64_t i, std::int64_t k, std::int64_t j) {
  const T* p = terms->factors;
  if (p == nullptr) return {};
  return {p + i, p + k, p + j, terms->product_sign};
}

/// A block at (i, j) with what of the problem's terms concerns it; all but the cells around it, which pairing
/// needs.
/// @param cells,rows,columns  as in OpenBlock
template <class T>
OpenBlock<T> open_block(const PaddedTerms<T>& terms, int edge, std::int64_t i, std::int64_t j, T* cells,
                        const T* rows, const T* columns) {
  OpenBlock<T> block;
  block.edge = edge;
  const std::int64_t tiles = tiles_along(terms->points);
  if (tiles == 1 && edge == kTile && terms->points < edge) {  // all of a small problem
    block.live = static_cast<int>(terms->points);
    std::fill_n(cells, kTile * kTile, kUnreachable<T>);
  } else {
    block.live = edge;
  }
  block.i = i;
  block.j = j;
  block.cells = cells;
  block.rows = rows;
  block.columns = columns;
  block.leaves = terms->leaves + i;
  if (terms->row_weight != nullptr) {
    block.row_weight = terms->row_weight + i;
    block.column_weight = terms->column_weight + j;
  }
  if (terms->cell_weight != nullptr) block.cell_weight = terms->cell_weight + cell_place(i, j);
  block.factors = block_factors(terms, i, i, j);
  if (terms->codes != nullptr) {
    block.codes = terms->codes + i;
    block.scores = terms.profile() + j;
    block.score_pitch = tiles * kTile;
    block.minimum_span = terms->minimum_span;
  }
  return block;
}

}  // namespace warploom::dp
