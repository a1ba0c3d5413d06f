#include <string>

#include "search/cuda_dtw.hpp"
#include "search/dtw_lanes.cuh"
#include "search/dtw_part.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Lanes of a window.
constexpr int kFewest = 4, kAll = 32;
/// Diagonals of a lane. Bands with fewer are cheaper with half as many lanes, those of the fewest lanes with
/// one (dtw_thread.cu); only all lanes may have more than 32, at the cost of fewer threads at a time.
constexpr int least(int lanes) { return lanes == kFewest ? 25 : 17; }
constexpr int most(int lanes) { return lanes == kAll ? 94 : 32; }
constexpr int kernels(int lanes) { return most(lanes) - least(lanes) + 1; }
/// The kernel of this shape, and the other way round.
constexpr int index_of(int lanes, int diagonals) {
  int index = diagonals - least(lanes);
  while ((lanes /= 2) >= kFewest) index += kernels(lanes);
  return index;
}
constexpr int lanes_of(int index) {
  int lanes = kFewest;
  for (; index >= kernels(lanes); lanes *= 2) index -= kernels(lanes);
  return lanes;
}
constexpr int diagonals_of(int index) {
  const int lanes = lanes_of(index);
  return least(lanes) + index - index_of(lanes, least(lanes));
}
/// Rows between two moves of the query's samples; fewer where registers are short.
constexpr int rows_of(int diagonals) { return diagonals > 48 ? 4 : 8; }

}  // namespace

struct LaneKernels {
  using Kernel = void (*)(const DtwJob*, int);
  static constexpr int kCount = index_of(kAll, most(kAll)) + 1;
  template <int kIndex>
  static constexpr Kernel kernel() {
    constexpr int kDiagonals = diagonals_of(kIndex);
    return dtw_lanes<lanes_of(kIndex), kDiagonals, rows_of(kDiagonals)>;
  }
};
template <>
LaneKernels::Kernel kernel_of_part<LaneKernels, WARPLOOM_PART>(int place) {
  return kernel_of_this_part<LaneKernels, WARPLOOM_PART>(place);
}

#if WARPLOOM_PART == 0
namespace {

/// Instructions of a cell and, beside those of its cells, of a row in each lane.
constexpr double kCell = 3.125, kRow = 12;

/// Of shared memory that a block may have on the current device.
std::int64_t shared_bytes() {
  int device = 0, bytes = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "cudaDeviceGetAttribute");
  return bytes;
}

}  // namespace

DtwKernel lanes_kernel(std::int64_t length, std::int64_t radius) {
  DtwKernel best{.shape = DtwShape::lanes};
  const std::int64_t band = 2 * radius + 1;
  if (4 * (length + 2 * radius + kLaneReadAhead) > shared_bytes()) return best;
  for (int lanes = kFewest; lanes <= kAll; lanes *= 2) {
    const std::int64_t diagonals = (band + lanes - 1) / lanes;
    if (diagonals < least(lanes) || diagonals > most(lanes)) continue;
    const int size = static_cast<int>(diagonals);
    const LaneBand lane = lane_band(static_cast<int>(length), static_cast<int>(radius), lanes, size);
    const double cost = static_cast<double>(lane.steps) * lanes * (size * kCell + kRow);
    if (cost < best.cost) best = {DtwShape::lanes, lanes, size, cost};
  }
  return best;
}

void launch_dtw_lanes(const DtwBatch& batch, cudaStream_t stream) {
  const auto kernel = find_kernel<LaneKernels>(index_of(batch.kernel.lanes, batch.kernel.size));
  const int bytes = 4 * lane_shared_floats(batch.length, batch.radius);
  if (bytes > 48 << 10)
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "asking for " + std::to_string(bytes) + " bytes of shared memory");
  kernel<<<batch.blocks, kDtwThreads, bytes, stream>>>(batch.jobs, batch.count);
  cuda_check(cudaGetLastError(), "launch of " + batch.kernel.name());
}
#endif

}  // namespace warploom::search
