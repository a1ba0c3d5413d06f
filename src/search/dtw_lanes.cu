#include <array>
#include <utility>

#include "search/cuda_dtw.hpp"
#include "search/dtw_lanes.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Diagonals of a lane: from kLeast to kLeast + kSizes - 1 whatever the number of lanes, so that bands of 2 *
/// kLeast diagonals and more have a kernel without gaps; of 32 lanes more, at the cost of fewer threads at a
/// time.
constexpr int kLeast = 16, kSizes = 17, kMostSizes = 79;
/// Rows between two moves of the query's samples; fewer where registers are short.
constexpr int rows_of(int diagonals) { return diagonals > 48 ? 4 : 8; }
/// Instructions of a cell and, beside those of its cells, of a row in each lane.
constexpr double kCell = 3.125, kRow = 12;

using Kernel = void (*)(const DtwJob*, int);
template <int kLanes, int... kIndex>
constexpr std::array<Kernel, sizeof...(kIndex)> table(std::integer_sequence<int, kIndex...>) {
  return {dtw_lanes<kLanes, kLeast + kIndex, rows_of(kLeast + kIndex)>...};
}

Kernel find(int lanes, int diagonals) {
  static const auto two = table<2>(std::make_integer_sequence<int, kSizes>());
  static const auto four = table<4>(std::make_integer_sequence<int, kSizes>());
  static const auto eight = table<8>(std::make_integer_sequence<int, kSizes>());
  static const auto sixteen = table<16>(std::make_integer_sequence<int, kSizes>());
  static const auto all = table<32>(std::make_integer_sequence<int, kMostSizes>());
  const int index = diagonals - kLeast;
  switch (lanes) {
    case 2:
      return two[index];
    case 4:
      return four[index];
    case 8:
      return eight[index];
    case 16:
      return sixteen[index];
    default:
      return all[index];
  }
}

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
  for (int lanes = 2; lanes <= 32; lanes *= 2) {
    const std::int64_t diagonals = (band + lanes - 1) / lanes;
    if (diagonals < kLeast || diagonals >= kLeast + (lanes == 32 ? kMostSizes : kSizes)) continue;
    const int size = static_cast<int>(diagonals);
    const LaneBand lane = lane_band(static_cast<int>(length), static_cast<int>(radius), lanes, size);
    const double cost = static_cast<double>(lane.steps) * lanes * (size * kCell + kRow);
    if (cost < best.cost) best = {DtwShape::lanes, lanes, size, cost};
  }
  return best;
}

void launch_dtw_lanes(const DtwBatch& batch, cudaStream_t stream) {
  const Kernel kernel = find(batch.kernel.lanes, batch.kernel.size);
  const int bytes = 4 * lane_shared_floats(batch.length, batch.radius);
  if (bytes > 48 << 10)
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "asking for " + std::to_string(bytes) + " bytes of shared memory");
  kernel<<<batch.blocks, kDtwThreads, bytes, stream>>>(batch.jobs, batch.count);
  cuda_check(cudaGetLastError(), "launch of " + batch.kernel.name());
}

}  // namespace warploom::search
