#pragma once

/// What solve_cuda.cpp launches. Host functions; each template is instantiated for the types and arithmetics
/// that WARPLOOM_DP_ARITHMETICS lists.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "dp/decompose.hpp"
#include "dp/device_cells.cuh"

namespace warploom::dp {

/// (type, arithmetic, has factors)
#define WARPLOOM_DP_PLAIN_INT32(X)          \
  X(std::int32_t, Arithmetic::plain, false) \
  X(std::int32_t, Arithmetic::plain, true)
#define WARPLOOM_DP_INT32(X) \
  WARPLOOM_DP_PLAIN_INT32(X) \
  X(std::int32_t, Arithmetic::narrow, false)
#define WARPLOOM_DP_INT64(X)                \
  X(std::int64_t, Arithmetic::plain, false) \
  X(std::int64_t, Arithmetic::plain, true)
#define WARPLOOM_DP_FLOAT(X)                \
  X(float, Arithmetic::plain, false)        \
  X(float, Arithmetic::plain, true)         \
  X(float, Arithmetic::non_negative, false) \
  X(float, Arithmetic::non_negative, true)
#define WARPLOOM_DP_DOUBLE(X)         \
  X(double, Arithmetic::plain, false) \
  X(double, Arithmetic::plain, true)
/// Of cells that are stored as they are.
#define WARPLOOM_DP_PLAIN_ARITHMETICS(X) \
  WARPLOOM_DP_PLAIN_INT32(X) WARPLOOM_DP_INT64(X) WARPLOOM_DP_FLOAT(X) WARPLOOM_DP_DOUBLE(X)
#define WARPLOOM_DP_ARITHMETICS(X) \
  WARPLOOM_DP_INT32(X) WARPLOOM_DP_INT64(X) WARPLOOM_DP_FLOAT(X) WARPLOOM_DP_DOUBLE(X)
/// Which of them a unit instantiates: CMakeLists.txt has the longest sources compiled type by type.
#ifndef WARPLOOM_PART
#define WARPLOOM_PART WARPLOOM_DP_ARITHMETICS
#endif

/// Room for the partial results of split products and the counters of who comes last.
struct SplitBuffers {
  void* partials = nullptr;
  std::uint64_t partial_bytes = 0;
  unsigned* arrivals = nullptr;  // zero before and after each launch
  std::int64_t arrival_count = 0;
};

/// One launch for one call; few blocks are split along k, as far as the buffers go.
template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_rectangular(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, const Rectangular& call,
                        const SplitBuffers& buffers, int multiprocessors, cudaStream_t stream);

/// One launch for one call. @throws BadInput (merged: an edge above 64)
template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_triangular(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms,
                       const TriangularBlock& call, Triangular method, cudaStream_t stream);

/// The edge of launch_diagonal()'s blocks.
inline constexpr int kDiagonalEdge = 32;
/// Finishes diagonal d of blocks, 0 the main one; to be called for d = 0, 1, 2, ..., one after the other:
/// each launch also does all products of later diagonals that the one before has made possible. Not narrow.
template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_diagonal(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, std::int64_t d,
                     cudaStream_t stream);

/// One block of one problem of a batch.
struct BlockTask {
  std::int32_t problem, row, column;  // in blocks of the launch's edge
};

/// One problem, or a batch; or one problem that several shards solve, each with all of its cells: a GPU each,
/// or several on one. Shard `column % shards` owns a column of blocks: it computes them and stores each that
/// is finished to the others, and then its flag. Flags of all shards are zero before any of them starts.
template <class T, Arithmetic kArithmetic>
struct PersistentLaunch {
  const DeviceCells<T, kArithmetic>* cells = nullptr;  // a problem each (of one that is shared: a shard
                                                       // each), in device memory, as are all that follow
  const Terms<T>* terms = nullptr;                     // a problem each
  const std::int64_t* first_flag = nullptr;            // of a problem
  unsigned* flags = nullptr;  // a block each, at first_flag + tile_place(row, column); zero before
  const BlockTask* tasks =
      nullptr;  // sorted so that a block comes after all that it needs; of the shards here
  std::int64_t task_count = 0;
  unsigned long long* next_task = nullptr;  // zero before; above task_count afterwards
  const int* stop = nullptr;                // not 0: end soon, whatever is not done
  int edge = 64;                            // 32 or 64; narrow: 64
  int multiprocessors = 0;                  // use those with an smid below this; 0: all
  int shards = 1;
  unsigned* const* shard_flags = nullptr;  // more than 1: instead of `flags`, a shard's each
};
/// @throws BadInput (another edge; narrow: not 64), Error (blocks need more shared memory than the device
/// has)
template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_persistent(const PersistentLaunch<T, kArithmetic>& launch, cudaStream_t stream);

struct TraceCounts {
  unsigned long long splits;         // the result: how many TraceBuffers::splits are written
  unsigned long long queued, taken;  // places of the queue
  int open;  // cells in the queue, or being searched, without the first; below 0: all is done
};
/// In device memory, whatever they hold before.
struct TraceBuffers {
  Split* splits = nullptr;              // points - 2
  unsigned long long* queue = nullptr;  // points / 2
  TraceCounts* counts = nullptr;
};
/// The decisions behind the optimum of a solved problem, in any order; none where it is unreachable. A split
/// with k = j is none at all: the cells are not those of the terms.
template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_trace(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, const TraceBuffers& buffers,
                  cudaStream_t stream);

/// values[p] = cell places[p] of all that are stored; all in device memory.
template <class T, class Stored>
void launch_gather(const Stored* cells, const std::int32_t* bases,  // null: not narrow
                   const std::int64_t* places, T* values, int count, cudaStream_t stream);

}  // namespace warploom::dp
