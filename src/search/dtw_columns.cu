#include <algorithm>
#include <array>
#include <utility>

#include "search/cuda_dtw.hpp"
#include "search/dtw_columns.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Columns of a lane: even numbers, from kLeast to kMost, or, of one lane or in several rounds of all,
/// kFewest to kMost. Fewer would pay too often for a step, more would leave room for too few threads.
constexpr int kFewest = 16, kLeast = 48, kMost = 96;
/// Those of kernels that test cells against the band, and have 32 lanes.
constexpr int kBandedColumns = 32;
/// Instructions of a cell and, beside those of its cells, of a step of two rows in each lane; a cell's more
/// for the test.
constexpr double kCell = 3.05, kStep = 60, kTest = 2.5;

using Kernel = void (*)(const DtwJob*, int, unsigned, float*, std::int64_t);
template <int kLanes, ColumnRounds kRounds, int kFirst, int... kIndex>
constexpr std::array<Kernel, sizeof...(kIndex)> table(std::integer_sequence<int, kIndex...>) {
  return {dtw_columns<kLanes, kFirst + 2 * kIndex, kRounds>...};
}
template <int kLanes, ColumnRounds kRounds = ColumnRounds::one, int kFirst = kLeast>
Kernel from_table(int columns) {
  static const auto kernels =
      table<kLanes, kRounds, kFirst>(std::make_integer_sequence<int, (kMost - kFirst) / 2 + 1>());
  return kernels[(columns - kFirst) / 2];
}

Kernel find(const DtwKernel& kernel) {
  if (kernel.shape == DtwShape::banded_columns) return dtw_columns<32, kBandedColumns, ColumnRounds::banded>;
  if (kernel.shape == DtwShape::column_rounds) return from_table<32, ColumnRounds::many>(kernel.size);
  switch (kernel.lanes) {
    case 1:
      return from_table<1, ColumnRounds::one, kFewest>(kernel.size);
    case 2:
      return from_table<2>(kernel.size);
    case 4:
      return from_table<4>(kernel.size);
    case 8:
      return from_table<8>(kernel.size);
    case 16:
      return from_table<16>(kernel.size);
    default:
      return from_table<32>(kernel.size);
  }
}

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

}  // namespace warploom::search
