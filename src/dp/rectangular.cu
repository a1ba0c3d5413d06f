/// The rectangular part of blocks, one launch a call.

#include <algorithm>
#include <limits>
#include <string>

#include "dp/kernels.hpp"
#include "dp/product.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::dp {
namespace {

/// Thread block (x, y) computes the y-th share of the k of tile x, kEdge x kEdge cells; a block's tiles
/// follow each other row by row, then come those of the next block. The last of a tile's thread blocks to
/// arrive combines what the others have left in `partials`: a minimum does not depend on the order.
/// Launch: grid (count * (edge / kEdge)^2, shares); block Product::kThreads. `partials` holds kAccumulators
/// a thread block and `arrivals` a zero a tile, if there is more than one share; the zeros are left.
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
__global__ void __launch_bounds__(Product<T, kArithmetic, kFactors, kEdge>::kThreads,
                                  Product<T, kArithmetic, kFactors, kEdge>::kResident)
    rectangular(typename DeviceCells<T, kArithmetic>::Stored* cells, std::int32_t* bases, int* overflow,
                std::int64_t points, const T* factors, T product_sign, std::int64_t i, std::int64_t j,
                std::int64_t k_begin, std::int64_t k_end, int edge, int fresh,
                typename Product<T, kArithmetic, kFactors, kEdge>::Accumulator* partials,
                unsigned* arrivals) {
  using Block = Product<T, kArithmetic, kFactors, kEdge>;
  __shared__ typename Block::Shared shared;
  __shared__ bool last;

  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const int shares = static_cast<int>(gridDim.y), along = edge / kEdge, place = tile % (along * along);
  const std::int64_t down = std::int64_t{tile / (along * along)} * edge;
  i += down + place / along * kEdge;
  j += down + place % along * kEdge;
  if (j >= points) return;  // all shares of the tile
  k_begin += down;
  k_end += down;

  const DeviceCells<T, kArithmetic> m{cells, bases, overflow, points};
  Terms<T> terms;
  terms.points = points;
  terms.factors = factors;
  terms.product_sign = product_sign;

  const std::int64_t blocks = (k_end - k_begin) / kEdge;
  std::int32_t base = 0;
  if constexpr (kArithmetic == Arithmetic::narrow) {
    const auto base_of = [&](std::int64_t row, std::int64_t column) {
      return bases[tile_place(row / kTile, column / kTile)];
    };
    if (!fresh) {
      base = base_of(i, j);
    } else if (blocks > 0) {
      base = base_of(i, k_begin) + base_of(k_begin, j);
    }
  }

  Block block;
  block.reset();
  const std::int64_t first = blocks * share / shares, end = blocks * (share + 1) / shares;
  block.run(
      m, terms, i, j, end - first, [&](std::int64_t t) { return k_begin + (first + t) * kEdge; },
      [](std::int64_t) {}, base, shared);

  if (shares > 1) {
    auto* of_tile = partials + std::int64_t{tile} * shares * Block::kAccumulators;
    block.save(of_tile + share * Block::kAccumulators);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(arrivals + tile, 1U) == gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int other = 0; other < shares; ++other)
      if (other != share) block.merge(of_tile + other * Block::kAccumulators);
    if (threadIdx.x == 0) arrivals[tile] = 0;
  }

  auto* block_cells = cells + cell_place(i, j);
  block.each([&](int row, int column, T value) {
    auto& cell = block_cells[row * kTile + column];
    if (fresh || value < cell) cell = value;
  });
  if constexpr (kArithmetic == Arithmetic::narrow) {
    if (fresh && threadIdx.x == 0) bases[tile_place(i / kTile, j / kTile)] = base;
  }
}

/// Among how many thread blocks to share a tile's k. Estimated, in halves of what a block of k takes where
/// nothing else runs: the busiest multiprocessor has `load` thread blocks, the first of which hides the
/// waiting of none; each begins and ends in about the time of a block of k, and the last of a tile reads
/// what all the others leave.
int shares_of(std::int64_t tiles, std::int64_t blocks, std::int64_t most, int multiprocessors) {
  const auto ceiling = [](std::int64_t x, std::int64_t y) { return (x + y - 1) / y; };
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t shares = 1; shares <= std::min(most, blocks); ++shares) {
    const std::int64_t load = ceiling(tiles * shares, multiprocessors);
    const std::int64_t cost = 2 * (load + 1) * (ceiling(blocks, shares) + 1) + shares;
    if (cost < least) {
      least = cost;
      best = shares;
    }
  }
  return static_cast<int>(best);
}

template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
void launch(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, const Rectangular& call,
            const SplitBuffers& buffers, int multiprocessors, cudaStream_t stream) {
  using Block = Product<T, kArithmetic, kFactors, kEdge>;
  using Accumulator = typename Block::Accumulator;
  const std::int64_t along = call.edge / kEdge, tiles = call.count * along * along;
  const std::int64_t room =
      static_cast<std::int64_t>(buffers.partial_bytes / sizeof(Accumulator)) / Block::kAccumulators;
  const std::int64_t most = buffers.arrival_count >= tiles ? room / tiles : 1;
  const int shares = shares_of(tiles, (call.k_end - call.k_begin) / kEdge, most, multiprocessors);
  const auto kernel = rectangular<T, kArithmetic, kFactors, kEdge>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "cudaFuncSetAttribute of a rectangular product");
  kernel<<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(shares)), Block::kThreads, 0, stream>>>(
      m.cells, m.bases, m.overflow, m.points, terms.factors, terms.product_sign, call.i, call.j, call.k_begin,
      call.k_end, static_cast<int>(call.edge), call.fresh, static_cast<Accumulator*>(buffers.partials),
      buffers.arrivals);
  cuda_check(cudaGetLastError(), "launch of a rectangular product over " + std::to_string(tiles) + " tiles");
}

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_rectangular(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, const Rectangular& call,
                        const SplitBuffers& buffers, int multiprocessors, cudaStream_t stream) {
  if (call.edge >= 64)
    return launch<T, kArithmetic, kFactors, 64>(m, terms, call, buffers, multiprocessors, stream);
  if constexpr (kArithmetic == Arithmetic::narrow) {
    throw BadInput(
        "blocks of " + std::to_string(call.edge) +
        " cells with narrow storage: it needs blocks of at least 64; choose such a block or plain storage");
  } else {
    if (call.edge == 32)
      return launch<T, kArithmetic, kFactors, 32>(m, terms, call, buffers, multiprocessors, stream);
    return launch<T, kArithmetic, kFactors, 16>(m, terms, call, buffers, multiprocessors, stream);
  }
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors)                                            \
  template void launch_rectangular<T, kArithmetic, kFactors>(const DeviceCells<T, kArithmetic>&,  \
                                                             const Terms<T>&, const Rectangular&, \
                                                             const SplitBuffers&, int, cudaStream_t);
WARPLOOM_DP_ARITHMETICS(WARPLOOM_INSTANTIATE)

}  // namespace warploom::dp
