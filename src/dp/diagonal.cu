/// Bottom-up with one launch a diagonal of small blocks, for problems that are too small to fill a GPU. As
/// soon as the blocks of a diagonal are finished, the next launch does every product that they make possible:
/// the last ones of the diagonal after it, which it then finishes, and beside them those of all later
/// diagonals. So no sum is long, and none has to be shared out.

#include <algorithm>
#include <string>

#include "dp/closure.cuh"
#include "dp/kernel_parameters.cuh"
#include "dp/kernels.hpp"
#include "dp/product.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::dp {
namespace {

constexpr int kEdge = kDiagonalEdge;

/// Thread block (x, y): the x-th block of the diagonal that is y after that of (i, j). Its products are those
/// with an operand on the diagonal before that of (i, j); the other operand is y + 1 from the main diagonal.
/// Launch: block Product::kThreads; grid (count, later): `count` blocks of the diagonal of (i, j), and
/// `later` is such that the other operands are finished: no more than (j - i) / edge - 1, at least 1; edge =
/// kEdge.
template <class T, Arithmetic kArithmetic, bool kFactors>
__global__ void __launch_bounds__(Product<T, kArithmetic, kFactors, kEdge>::kThreads,
                                  Product<T, kArithmetic, kFactors, kEdge>::kResident)
    diagonal(WARPLOOM_DP_PARAMETERS) {
  using Multiply = Product<T, kArithmetic, kFactors, kEdge>;
  using Finish = Closure<T, kArithmetic, kFactors, kEdge, Multiply::kThreads>;
  __shared__ struct {
    union {
      typename Multiply::Shared product;
      typename Finish::Best best;
    };
    typename Finish::Tables tables;
  } shared;
  WARPLOOM_DP_ASSEMBLE;
  const std::int64_t before = j - i - edge;  // distance of the diagonal before, below 0: there is none
  j += std::int64_t{blockIdx.y} * edge;
  if (j >= points) return;
  const bool last = blockIdx.y == 0;
  if (last) Finish::prepare(m, terms, i, j, shared.tables);

  T* const block = cells + cell_place(i, j);
  Multiply product;
  if (j - i >= 2 * before - edge) {  // the block's first products
    product.reset();
  } else {
    product.start([&](int row, int column) { return block[row * kTile + column]; });
  }
  const std::int64_t count = before <= 0 ? 0 : j - i == 2 * before ? 1 : 2;
  product.run(
      m, terms, i, j, count, [&](std::int64_t t) { return t == 0 ? i + before : j - before; },
      [](std::int64_t) {}, 0, shared.product);
  product.each([&](int row, int column, T value) {
    (last ? shared.best.cells[row][column] : block[row * kTile + column]) = value;
  });
  if (!last) return;
  __syncthreads();
  Finish::finish_prepared(m, terms, i, j, shared.best, shared.tables);
}

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_diagonal(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, std::int64_t d,
                     cudaStream_t stream) {
  const std::int64_t count = (m.points + kEdge - 1) / kEdge - d;
  const std::int64_t later = std::max<std::int64_t>(std::min(d - 1, count), 1);
  diagonal<T, kArithmetic, kFactors><<<dim3(static_cast<unsigned>(count), static_cast<unsigned>(later)),
                                       Product<T, kArithmetic, kFactors, kEdge>::kThreads, 0, stream>>>(
      WARPLOOM_DP_ARGUMENTS(m, terms, 0, d * kEdge, kEdge));
  cuda_check(cudaGetLastError(), "launch of block diagonal " + std::to_string(d));
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors)                                        \
  template void launch_diagonal<T, kArithmetic, kFactors>(const DeviceCells<T, kArithmetic>&, \
                                                          const Terms<T>&, std::int64_t, cudaStream_t);
WARPLOOM_DP_PLAIN_ARITHMETICS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
