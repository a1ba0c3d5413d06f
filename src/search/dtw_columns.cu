#include <algorithm>

#include "search/cuda_dtw.hpp"
#include "search/dtw_columns.cuh"
#include "search/dtw_part.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Columns of a lane: even numbers, of one lane from kFewest to kMost, of several from kLeast, which half as
/// many lanes or rounds would not do. Fewer would pay too often for a step, more would leave room for too few
/// threads.
constexpr int kFewest = 16, kLeast = 50, kMost = 96;
/// Those of kernels that test cells against the band, and have 32 lanes.
constexpr int kBandedColumns = 32;
/// Kernels by index: those of one lane, of 2, 4, ..., 32, of 32 in several rounds, and the one that tests.
constexpr int kOfOneLane = (kMost - kFewest) / 2 + 1, kOfLanes = (kMost - kLeast) / 2 + 1;
constexpr int kRounds = kOfOneLane + 5 * kOfLanes, kBanded = kRounds + kOfLanes;
constexpr int index_of(const DtwKernel& kernel) {
  if (kernel.shape == DtwShape::banded_columns) return kBanded;
  if (kernel.lanes == 1) return (kernel.size - kFewest) / 2;
  int index = kernel.shape == DtwShape::column_rounds ? kRounds : kOfOneLane;
  if (kernel.shape == DtwShape::columns)
    for (int lanes = 2; lanes < kernel.lanes; lanes *= 2) index += kOfLanes;
  return index + (kernel.size - kLeast) / 2;
}

}  // namespace

struct ColumnKernels {
  using Kernel = void (*)(const DtwJob*, int, unsigned, float*, std::int64_t);
  static constexpr int kCount = kBanded + 1;
  template <int kIndex>
  static constexpr Kernel kernel() {
    if constexpr (kIndex == kBanded) {
      return dtw_columns<32, kBandedColumns, ColumnRounds::banded>;
    } else if constexpr (kIndex < kOfOneLane) {
      return dtw_columns<1, kFewest + 2 * kIndex, ColumnRounds::one>;
    } else {
      constexpr int kColumns = kLeast + 2 * ((kIndex - kOfOneLane) % kOfLanes);
      if constexpr (kIndex >= kRounds)
        return dtw_columns<32, kColumns, ColumnRounds::many>;
      else
        return dtw_columns<2 << (kIndex - kOfOneLane) / kOfLanes, kColumns, ColumnRounds::one>;
    }
  }
};
template <>
ColumnKernels::Kernel kernel_of_part<ColumnKernels, WARPLOOM_PART>(int place) {
  return kernel_of_this_part<ColumnKernels, WARPLOOM_PART>(place);
}

#if WARPLOOM_PART == 0
namespace {

/// Instructions of a cell and, beside those of its cells, of a step of two rows in each lane; a cell's more
/// for the test.
constexpr double kCell = 3.05, kStep = 60, kTest = 2.5;

ColumnKernels::Kernel find(const DtwKernel& kernel) { return find_kernel<ColumnKernels>(index_of(kernel)); }

bool in_rounds(const DtwBatch& batch) {
  return batch.kernel.shape == DtwShape::column_rounds || batch.kernel.shape == DtwShape::banded_columns;
}

/// Of a kernel that needs memory for edges, as many blocks as run at a time.
unsigned grid_of(const DtwBatch& batch) {
  if (!in_rounds(batch)) return batch.blocks;
  int device = 0, processors = 0, blocks = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, find(batch.kernel), kDtwThreads, 0),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::min(batch.blocks, static_cast<unsigned>(blocks * processors));
}

/// Two rounds' edges, each of whole pairs of rows.
std::int64_t edge_stride(int length) { return (length + 1) / 2 * 4; }

}  // namespace

DtwKernel columns_kernel(std::int64_t length, std::int64_t radius) {
  DtwKernel best{.shape = DtwShape::columns};
  const auto try_size = [&](DtwShape shape, int lanes, int size, std::int64_t rounds, double cell) {
    const double steps = static_cast<double>(rounds * ((length + 1) / 2 + lanes - 1));
    const double cost = steps * lanes * (2 * size * cell + kStep);
    if (cost < best.cost) best = {shape, lanes, size, cost};
  };
  const auto rounds_of = [&](int columns) { return (length + columns - 1) / columns; };
  if (radius < length - 1) {
    try_size(DtwShape::banded_columns, 32, kBandedColumns, rounds_of(32 * kBandedColumns), kCell + kTest);
    return best;
  }
  for (int lanes = 1; lanes <= 32; lanes *= 2) {
    if (length > lanes * kMost) continue;
    const auto columns = static_cast<int>((length + lanes - 1) / lanes);
    try_size(DtwShape::columns, lanes, std::max((columns + 1) / 2 * 2, lanes == 1 ? kFewest : kLeast), 1,
             kCell);
  }
  if (length > 32 * kMost) {
    const std::int64_t rounds = rounds_of(32 * kMost);
    const auto columns = static_cast<int>((length + 32 * rounds - 1) / (32 * rounds));
    try_size(DtwShape::column_rounds, 32, (columns + 1) / 2 * 2, rounds, kCell);
  }
  return best;
}

std::int64_t edge_floats(const DtwBatch& batch) {
  if (!in_rounds(batch)) return 0;
  return grid_of(batch) * batch.kernel.windows_per_block() * edge_stride(batch.length);
}

void launch_dtw_columns(const DtwBatch& batch, cudaStream_t stream) {
  find(batch.kernel)<<<grid_of(batch), kDtwThreads, 0, stream>>>(batch.jobs, batch.count, batch.blocks,
                                                                 batch.edges, edge_stride(batch.length));
  cuda_check(cudaGetLastError(), "launch of " + batch.kernel.name());
}
#endif

}  // namespace warploom::search
