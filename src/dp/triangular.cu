/// The triangular part of blocks, one launch a call, a thread block a block: as sub-blocks (see closure.cuh)
/// and in the dissertation's two ways.

#include <algorithm>
#include <string>

#include "dp/closure.cuh"
#include "dp/kernel_parameters.cuh"
#include "dp/kernels.hpp"
#include "dp/product.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::dp {
namespace {

template <int kEdge>
inline constexpr int kClosureThreads = kEdge == 64   ? 256
                                       : kEdge == 32 ? 128
                                                     : 64;

/// A cell that narrow storage holds 16 bits of.
__device__ std::int32_t above(std::int32_t base, std::int32_t stored) {
  return stored >= kNarrowUnreachable ? kUnreachable<std::int32_t> : base + stored;
}

/// Launch: grid count; block kClosureThreads<kEdge>; edge = kEdge.
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
__global__ void __launch_bounds__(kClosureThreads<kEdge>)
    triangular_blocked(WARPLOOM_DP_PARAMETERS, int fresh) {
  using Block = Closure<T, kArithmetic, kFactors, kEdge, kClosureThreads<kEdge>>;
  __shared__ typename Block::Shared shared;
  WARPLOOM_DP_ASSEMBLE;
  if (j >= points) return;
  if (i != j) {
    [[maybe_unused]] std::int32_t base = 0;
    if constexpr (kArithmetic == Arithmetic::narrow) base = bases[tile_place(i / kTile, j / kTile)];
    const auto* const block = cells + cell_place(i, j);
    for (int n = static_cast<int>(threadIdx.x); n < kEdge * kEdge; n += kClosureThreads<kEdge>) {
      const int row = n / kEdge, column = n % kEdge;
      T best = kUnreachable<T>;
      if (!fresh) {
        if constexpr (kArithmetic == Arithmetic::narrow) {
          best = above(base, block[row * kTile + column]);
        } else {
          best = block[row * kTile + column];
        }
      }
      shared.best.cells[row][column] = best;
    }
  }
  Block::finish(m, terms, i, j, shared);
}

/// Blocks of several tiles, which take in products of the block's own tiles. Launch: grid count; block
/// Product::kThreads; edge a multiple of kTile.
template <class T, Arithmetic kArithmetic, bool kFactors>
__global__ void __launch_bounds__(Product<T, kArithmetic, kFactors, kTile>::kThreads)
    triangular_tiled(WARPLOOM_DP_PARAMETERS, int fresh) {
  using Multiply = Product<T, kArithmetic, kFactors, kTile>;
  using Finish = Closure<T, kArithmetic, kFactors, kTile, Multiply::kThreads>;
  __shared__ union {
    typename Multiply::Shared product;
    typename Finish::Shared closure;
  } shared;
  WARPLOOM_DP_ASSEMBLE;
  if (j >= points) return;
  const bool diagonal = i == j;
  const int along = edge / static_cast<int>(kTile);
  for (int step = 0; step < (diagonal ? along : 2 * along - 1); ++step) {
    for (int tile = 0; tile < along; ++tile) {  // of one column of tiles after the other
      const int above_bottom = step - tile;
      const int tile_row = diagonal ? tile - step : along - 1 - above_bottom;
      if (tile_row < 0 || tile_row >= along) continue;
      const std::int64_t row = i + tile_row * kTile, column = j + tile * kTile;
      if (column >= points) continue;
      if (row != column) {
        // k in the block's tiles below the tile, then in those left of it; on the diagonal these are the
        // same.
        const std::int64_t below = diagonal ? tile - tile_row - 1 : along - 1 - tile_row;
        const std::int64_t left = diagonal ? 0 : tile;
        const auto order = [&](std::int64_t t) {
          return t < below ? row + (t + 1) * kTile : j + (t - below) * kTile;
        };
        [[maybe_unused]] std::int32_t base = 0;
        if constexpr (kArithmetic == Arithmetic::narrow) {
          const auto base_of = [&](std::int64_t r, std::int64_t c) {
            return bases[tile_place(r / kTile, c / kTile)];
          };
          if (!fresh) {
            base = base_of(row, column);
          } else if (below + left > 0) {
            base = base_of(row, order(0)) + base_of(order(0), column);
          }
        }
        Multiply product;
        product.reset();
        product.run(
            m, terms, row, column, below + left, order, [](std::int64_t) {}, base, shared.product);
        const auto* const block = cells + cell_place(row, column);
        product.each([&](int r, int c, T value) {
          if constexpr (kArithmetic == Arithmetic::narrow) {
            value = above(base, value);
            if (!fresh) value = least(value, above(base, block[r * kTile + c]));
          } else {
            if (!fresh) value = least(value, block[r * kTile + c]);
          }
          shared.closure.best.cells[r][c] = value;
        });
      }
      Finish::finish(m, terms, row, column, shared.closure);
      __syncthreads();
    }
  }
}

/// A block diagonal by diagonal, a thread a cell, a barrier after each. at(row, column) is a cell, wherever
/// it is kept.
template <bool kFactors, class T, class At>
__device__ void finish_diagonals(const Terms<T>& terms, std::int64_t i, std::int64_t j, int edge, bool fresh,
                                 At at) {
  const bool diagonal = i == j;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int step = diagonal ? 1 : 0; step < (diagonal ? edge : 2 * edge - 1); ++step) {
    const int first = diagonal ? step : max(0, step - edge + 1);
    const int end = diagonal ? edge : min(step + 1, edge);
    for (int n = first + thread; n < end; n += threads) {
      const std::int64_t row = diagonal ? i + n - step : i + edge - 1 - step + n, column = j + n;
      if (column >= terms.points) continue;
      if (column == row + 1) {
        at(row, column) = terms.leaves[row];
        continue;
      }
      T best = fresh || diagonal ? kUnreachable<T> : at(row, column);
      if (terms.may_pair(row, column))
        best =
            least(best, (row + 1 == column - 1 ? T(0) : at(row + 1, column - 1)) + terms.score(row, column));
      T weight = 0;
      if constexpr (kFactors) weight = terms.product_sign * (terms.factors[row] * terms.factors[column]);
      const auto add = [&](std::int64_t begin, std::int64_t stop) {
        for (std::int64_t k = begin; k < stop; ++k)
          best = least_candidate<kFactors>(best, at(row, k), at(k, column), weight,
                                           kFactors ? terms.factors[k] : T(0));
      };
      add(row + 1, min(i + edge, column));
      if (!diagonal) add(j, column);
      at(row, column) = finished(best, terms.weight(row, column));
    }
    __syncthreads();
  }
}

/// The dissertation's first option: the block and the two diagonal blocks merged in shared memory. Launch:
/// grid count; block edge, at least 32; dynamic shared memory 3 * edge * edge * sizeof(T), on the diagonal a
/// third of it.
template <class T, Arithmetic kArithmetic, bool kFactors>
__global__ void triangular_merged(WARPLOOM_DP_PARAMETERS, int fresh) {
  extern __shared__ __align__(16) unsigned char merged[];
  WARPLOOM_DP_ASSEMBLE;
  if (j >= points) return;
  T* const block = reinterpret_cast<T*>(merged);
  T* const of_rows = block + edge * edge;
  T* const of_columns = of_rows + edge * edge;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int n = thread; n < edge * edge; n += threads) {
    const int row = n / edge, column = n % edge;
    const bool kept = i != j && j + column < points;
    block[n] = kept && !fresh ? cells[cell_place(i + row, j + column)] : kUnreachable<T>;
    if (i != j && row < column) {
      of_rows[n] = cells[cell_place(i + row, i + column)];
      of_columns[n] = cells[cell_place(j + row, j + column)];
    }
  }
  __syncthreads();
  finish_diagonals<kFactors>(terms, i, j, edge, fresh != 0, [&](std::int64_t row, std::int64_t column) -> T& {
    if (row < i + edge) {
      if (column >= j) return block[(row - i) * edge + column - j];
      if (column < i + edge) return of_rows[(row - i) * edge + column - i];
    } else if (row >= j) {
      return of_columns[(row - j) * edge + column - j];
    }
    return cells[cell_place(row, column)];  // of a pair that closes around a cell outside the three blocks
  });
  for (int n = thread; n < edge * edge; n += threads)
    cells[cell_place(i + n / edge, j + n % edge)] = block[n];
}

/// Its second option: everything stays in global memory. Launch: grid count; block min(edge, 256), at
/// least 32.
template <class T, Arithmetic kArithmetic, bool kFactors>
__global__ void triangular_direct(WARPLOOM_DP_PARAMETERS, int fresh) {
  WARPLOOM_DP_ASSEMBLE;
  if (j >= points) return;
  for (int n = static_cast<int>(threadIdx.x); n < edge * edge; n += static_cast<int>(blockDim.x)) {
    const std::int64_t row = i + n / edge, column = j + n % edge;
    if (row / kTile <= column / kTile && column / kTile < tiles_along(points) &&
        (column <= row || column >= points))
      cells[cell_place(row, column)] = kUnreachable<T>;
  }
  finish_diagonals<kFactors>(terms, i, j, edge, fresh != 0, [&](std::int64_t row, std::int64_t column) -> T& {
    return cells[cell_place(row, column)];
  });
}

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_triangular(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms,
                       const TriangularBlock& call, Triangular method, cudaStream_t stream) {
  // Closing a block takes the type's own arithmetic: only the products of triangular_tiled() know of another.
  constexpr Arithmetic kOwn = kArithmetic == Arithmetic::narrow ? kArithmetic : Arithmetic::plain;
  const int edge = static_cast<int>(call.edge);
  const std::string what = "triangular blocks of " + std::to_string(edge) + " cells";
  const auto launch = [&](auto kernel, int threads, std::size_t dynamic_shared) {
    kernel<<<static_cast<unsigned>(call.count), static_cast<unsigned>(threads), dynamic_shared, stream>>>(
        WARPLOOM_DP_ARGUMENTS(m, terms, call.i, call.j, edge), call.fresh);
    cuda_check(cudaGetLastError(), "launch of " + std::to_string(call.count) + " " + what);
  };
  if (method == Triangular::blocked && edge > kTile)
    return launch(triangular_tiled<T, kArithmetic, kFactors>,
                  Product<T, kArithmetic, kFactors, kTile>::kThreads, 0);
  if (method == Triangular::blocked && edge == kTile)
    return launch(triangular_blocked<T, kOwn, kFactors, 64>, kClosureThreads<64>, 0);
  if constexpr (kArithmetic == Arithmetic::narrow) {
    throw BadInput(
        what + ", method " + std::string(name(method)) +
        ", with narrow storage: it needs blocks of at least 64 and the method blocked; choose these or "
        "plain storage");
  } else {
    switch (method) {
      case Triangular::blocked:
        if (edge == 32) return launch(triangular_blocked<T, kOwn, kFactors, 32>, kClosureThreads<32>, 0);
        return launch(triangular_blocked<T, kOwn, kFactors, 16>, kClosureThreads<16>, 0);
      case Triangular::merged: {
        if (edge > 64)
          throw BadInput(
              what +
              ", method merged: three of them have to fit shared memory; choose at most 64 cells or "
              "another method");
        const std::size_t bytes = (call.i == call.j ? 1 : 3) * sizeof(T) * call.edge * call.edge;
        const auto kernel = triangular_merged<T, kOwn, kFactors>;
        cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)),
                   std::to_string(bytes) + " bytes of shared memory for " + what + ", method merged");
        return launch(kernel, std::max(edge, 32), bytes);
      }
      case Triangular::direct:
        return launch(triangular_direct<T, kOwn, kFactors>, std::clamp(edge, 32, 256), 0);
    }
  }
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors)                                               \
  template void launch_triangular<T, kArithmetic, kFactors>(const DeviceCells<T, kArithmetic>&,      \
                                                            const Terms<T>&, const TriangularBlock&, \
                                                            Triangular, cudaStream_t);
WARPLOOM_PART(WARPLOOM_INSTANTIATE)

}  // namespace warploom::dp
