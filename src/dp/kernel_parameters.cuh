#pragma once

/// What kernels that finish blocks are launched with. The members of DeviceCells and Terms are parameters of
/// their own, so that a launch can be written down in text.

#include "dp/device_cells.cuh"

/// (i, j) is the first block of a diagonal of blocks of `edge` cells.
#define WARPLOOM_DP_PARAMETERS                                                                             \
  typename DeviceCells<T, kArithmetic>::Stored *cells, std::int32_t *bases, int *overflow,                 \
      std::int64_t points, const T *leaves, const T *row_weight, const T *column_weight, const T *factors, \
      T product_sign, const T *cell_weight, const std::uint8_t *codes, const T *scores, int letters,       \
      std::int64_t minimum_span, std::int64_t i, std::int64_t j, int edge
/// The arguments for them, a block by block of a call.
#define WARPLOOM_DP_ARGUMENTS(m, terms, i, j, edge)                                                   \
  m.cells, m.bases, m.overflow, m.points, terms.leaves, terms.row_weight, terms.column_weight,        \
      terms.factors, terms.product_sign, terms.cell_weight, terms.codes, terms.scores, terms.letters, \
      terms.minimum_span, i, j, edge
/// In the kernel: i and j become those of the thread block's block, `m` and `terms` what they are elsewhere.
#define WARPLOOM_DP_ASSEMBLE                                                                               \
  i += std::int64_t{blockIdx.x} * edge;                                                                    \
  j += std::int64_t{blockIdx.x} * edge;                                                                    \
  const DeviceCells<T, kArithmetic> m{cells, bases, overflow, points};                                     \
  const Terms<T> terms {                                                                                   \
    points, leaves, row_weight, column_weight, factors, product_sign, cell_weight, codes, scores, letters, \
        minimum_span, /*non_negative=*/false                                                               \
  }
