#include <array>
#include <utility>

#include "search/cuda_dtw.hpp"
#include "search/dtw_thread.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Instantiated for each radius below this: beyond, registers leave room for too few threads.
constexpr int kRadii = 49;
/// On an H200 16 rows at a time are 8 to 15 % faster than 8 up to a radius of 16, where registers allow them.
constexpr int rows(int radius) { return radius <= 16 ? 16 : 8; }
/// Instructions of a cell and, beside those of its cells, of a row.
constexpr double kCell = 3.125, kRow = 5.5;

using Kernel = void (*)(const DtwJob*, int);
template <int... kRadius>
constexpr std::array<Kernel, sizeof...(kRadius)> table(std::integer_sequence<int, kRadius...>) {
  return {dtw_thread<kRadius, rows(kRadius)>...};
}

}  // namespace

DtwKernel thread_kernel(std::int64_t length, std::int64_t radius) {
  DtwKernel kernel{.shape = DtwShape::thread, .size = static_cast<int>(radius)};
  if (radius < kRadii)
    kernel.cost = static_cast<double>(length) * (static_cast<double>(2 * radius + 1) * kCell + kRow);
  return kernel;
}

void launch_dtw_thread(const DtwBatch& batch, cudaStream_t stream) {
  static const auto kernels = table(std::make_integer_sequence<int, kRadii>());
  kernels[batch.kernel.size]<<<batch.blocks, kDtwThreads, 0, stream>>>(batch.jobs, batch.count);
  cuda_check(cudaGetLastError(), "launch of " + batch.kernel.name());
}

}  // namespace warploom::search
