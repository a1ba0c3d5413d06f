// The decisions behind an optimum, found in the finished cells. A thread block searches the splits of one
// cell and goes on with the longer of the two parts; the shorter goes to a queue, from which idle blocks
// take. A chain of n cells so costs n searches without a hand-over, and a balanced tree is searched by all
// blocks.

#include <algorithm>
#include <cstdint>

#include "dp/kernels.hpp"
#include "dp/product.cuh"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device_atomics.cuh"

namespace warploom::dp {
namespace {

constexpr int kThreads = 512;
/// Splits that a thread looks at between two barriers, after the first one.
constexpr int kSplitsAtOnce = 8;

template <class T, Arithmetic kArithmetic>
__device__ T cell(const DeviceCells<T, kArithmetic>& m, std::int64_t i, std::int64_t j) {
  const T stored = m.cells[cell_place(i, j)];
  if constexpr (kArithmetic == Arithmetic::narrow) return m.bases[tile_place(i / kTile, j / kTile)] + stored;
  return stored;
}

/// The candidates for one cell.
template <class T, Arithmetic kArithmetic, bool kFactors>
class Candidates {
 public:
  __device__ Candidates(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, std::int64_t i,
                        std::int64_t j)
      : m_(m), terms_(terms), i_(i), j_(j), value_(cell(m, i, j)), weight_(terms.weight(i, j)) {
    if constexpr (kFactors) ends_ = product(terms.product_sign, product(terms.factors[i], terms.factors[j]));
  }

  __device__ bool reachable() const { return value_ != kUnreachable<T>; }
  __device__ bool is_pair() const {
    if (!terms_.may_pair(i_, j_)) return false;
    const T inner = j_ - i_ == 2 ? T(0) : cell(m_, i_ + 1, j_ - 1);
    return finished(inner + terms_.score(i_, j_), weight_) == value_;
  }
  __device__ bool is_split(std::int64_t k) const {
    T candidate = cell(m_, i_, k) + cell(m_, k, j_);
    if constexpr (kFactors) candidate = sum(candidate, product(ends_, terms_.factors[k]));
    return finished(candidate, weight_) == value_;
  }

 private:
  const DeviceCells<T, kArithmetic>& m_;
  const Terms<T>& terms_;
  std::int64_t i_, j_;
  T value_, weight_, ends_{};
};

/// The least k of [begin, end) at which the cell splits, or `end`. All threads of the block call.
template <int kEach, class Candidates>
__device__ std::int64_t search(const Candidates& candidates, std::int64_t begin, std::int64_t end) {
  __shared__ unsigned least;  // above `begin`
  constexpr unsigned kNone = ~0U;
  for (; begin < end; begin += kEach * kThreads) {
    if (threadIdx.x == 0) least = kNone;
    bool found[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t k = begin + e * kThreads + threadIdx.x;
      found[e] = candidates.is_split(min(k, end - 1)) && k < end;  // without a branch: all loads at once
    }
    unsigned mine = kNone;
#pragma unroll
    for (int e = kEach - 1; e >= 0; --e)
      if (found[e]) mine = static_cast<unsigned>(e * kThreads) + threadIdx.x;
    if (__syncthreads_or(mine != kNone)) {
      if (mine != kNone) atomicMin(&least, mine);
      __syncthreads();
      const std::int64_t k = begin + least;
      __syncthreads();  // `least` may be used again
      return k;
    }
  }
  return end;
}

template <class Candidates>
__device__ std::int64_t find_split(const Candidates& candidates, std::int64_t begin, std::int64_t end) {
  const std::int64_t near = min(end, begin + kThreads);  // where ties abound, it is here
  const std::int64_t k = search<1>(candidates, begin, near);
  return k < near ? k : search<kSplitsAtOnce>(candidates, near, end);
}

using Packed = unsigned long long;
__device__ Packed pack(std::int64_t i, std::int64_t j) {
  return static_cast<Packed>(i) << 32 | static_cast<Packed>(j);
}

/// Entries of the queue that are ever used: each is the shorter part of a split, of two leaves or more.
__host__ __device__ std::int64_t queue_room(std::int64_t points) { return points / 2; }

/// By one thread: waits for a cell from the queue. @return 0 if there will be none
__device__ Packed take(const Packed* queue, unsigned long long room, TraceCounts& counts) {
  const unsigned long long ticket = atomicAdd(&counts.taken, 1ULL);
  for (;;) {
    if (ticket < room)
      if (const Packed next = load_acquire(queue + ticket); next != 0) return next;
    if (load_relaxed(&counts.open) < 0) return 0;
  }
}

template <class T, Arithmetic kArithmetic, bool kFactors>
__global__ void __launch_bounds__(kThreads)
    trace(typename DeviceCells<T, kArithmetic>::Stored* cells, std::int32_t* bases, std::int64_t points,
          Terms<T> terms, const T* factors, Split* splits, Packed* queue, TraceCounts* all_counts) {
  __shared__ Packed taken;
  const DeviceCells<T, kArithmetic> m{cells, bases, nullptr, points};
  terms.factors = factors;
  TraceCounts& counts = *all_counts;
  Packed next = blockIdx.x == 0 ? pack(0, points - 1) : 0;  // counts.open does not count this one
  for (;;) {
    if (next == 0) {
      if (threadIdx.x == 0) taken = take(queue, static_cast<unsigned long long>(queue_room(points)), counts);
      __syncthreads();
      next = taken;
      if (next == 0) return;
      __syncthreads();
    }
    const auto i = static_cast<std::int64_t>(next >> 32), j = static_cast<std::int64_t>(next & 0xFFFFFFFFU);
    next = 0;
    const Candidates<T, kArithmetic, kFactors> candidates(m, terms, i, j);
    Packed other = 0;
    if (j - i >= 2 && candidates.reachable()) {
      std::int64_t k = i;
      if (candidates.is_pair()) {
        if (j - i >= 4) next = pack(i + 1, j - 1);
      } else {
        k = find_split(candidates, i + 1, j);
        const bool found = k < j;
        const Packed left = found && k - i >= 2 ? pack(i, k) : 0,
                     right = found && j - k >= 2 ? pack(k, j) : 0;
        const bool left_first = k - i >= j - k;
        next = left_first ? left : right;  // the longer one; 0 only if both are
        other = left_first ? right : left;
      }
      if (threadIdx.x == 0) splits[atomicAdd(&counts.splits, 1ULL)] = {i, k, j};
    }
    if (threadIdx.x == 0) {
      if (other != 0) {
        atomicAdd(&counts.open, 1);  // before anybody sees the entry
        store_release(queue + atomicAdd(&counts.queued, 1ULL), other);
      }
      if (next == 0) atomicAdd(&counts.open, -1);
    }
  }
}

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_trace(const DeviceCells<T, kArithmetic>& m, const Terms<T>& terms, const TraceBuffers& buffers,
                  cudaStream_t stream) {
  const std::size_t queue_bytes = static_cast<std::size_t>(queue_room(m.points)) * sizeof(Packed);
  cuda_check(cudaMemsetAsync(buffers.queue, 0, queue_bytes, stream), "cudaMemset");
  cuda_check(cudaMemsetAsync(buffers.counts, 0, sizeof(TraceCounts), stream), "cudaMemset");
  int device = 0, multiprocessors = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  const std::int64_t blocks = std::min<std::int64_t>(multiprocessors, 1 + queue_room(m.points));
  trace<T, kArithmetic, kFactors><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      m.cells, m.bases, m.points, terms, terms.factors, buffers.splits, buffers.queue, buffers.counts);
  cuda_check(cudaGetLastError(), "launch of the trace");
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors)                                                      \
  template void launch_trace<T, kArithmetic, kFactors>(const DeviceCells<T, kArithmetic>&, const Terms<T>&, \
                                                       const TraceBuffers&, cudaStream_t);
WARPLOOM_DP_ARITHMETICS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
