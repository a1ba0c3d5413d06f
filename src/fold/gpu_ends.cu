// f, the least energies of the first bases, of sequences whose columns many blocks share. A block takes 128
// columns, and with them the rows before as soon as f of those is there; the rows between them come last.
// Blocks take columns in such an order that what they wait for has been taken.

#include <algorithm>

#include "fold/gpu_kernels.hpp"
#include "fold/gpu_loops.cuh"
#include "fold/gpu_persistent.cuh"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device_atomics.cuh"

namespace warploom::fold::gpu {
namespace {

constexpr int kThreadsOfEnds = 512, kWarps = kThreadsOfEnds / 32;
constexpr int kOfAWarp = kRows / kWarps;  // columns
constexpr int kOfALane = kRows / 32;      // rows
constexpr unsigned kAll = ~0U;

struct Shared {
  Exterior exterior;
  std::int32_t cells[kRows][kRows];  // by column, of rows between the columns: C and what an outer stem adds
  std::int32_t best[kRows];          // of rows before the columns
  std::int32_t f[kRows + 1];         // from the base before the columns on
  int task;
};

class Chunk {
 public:
  __device__ Chunk(const Launch& launch, const Task& task, Shared& shared)
      : s_(launch.sequences[task.sequence]),
        shared_(shared),
        chunk_(task.strip),
        first_(1 + chunk_ * kRows),
        lane_(static_cast<int>(threadIdx.x) % 32),
        warp_(static_cast<int>(threadIdx.x) / 32),
        codes_(launch.codes + s_.codes),
        c_(launch.c + s_.cells),
        f_(launch.f + s_.bases),
        ended_(launch.ended + task.sequence) {}

  __device__ void run() {
    const std::int32_t* end[kOfAWarp];
#pragma unroll
    for (int k = 0; k < kOfAWarp; ++k) {
      const int j = min(column(k), s_.n);
      end[k] = shared_.exterior[outer_place(codes_[j], j < s_.n ? codes_[j + 1] : kBases)];
    }
    std::int32_t pair[kOfALane][kOfAWarp], best[kOfAWarp];
    load(chunk_, pair);
#pragma unroll
    for (int r = 0; r < kOfALane; ++r)
#pragma unroll
      for (int k = 0; k < kOfAWarp; ++k) {
        const int i = row(chunk_, r), j = column(k);
        shared_.cells[j - first_][i - first_] =
            j <= s_.n && i < j - kLeastHairpin ? whole(pair[r][k] + end[k][place_of(i)]) : kNone;
      }
#pragma unroll
    for (std::int32_t& least : best) least = kNone;
    for (int strip = 0; strip < chunk_; ++strip) {
      load(strip, pair);  // on their way while f is waited for
      wait(strip + 1);
#pragma unroll
      for (int r = 0; r < kOfALane; ++r) {
        const int i = row(strip, r), at = place_of(i);
        const std::int32_t f = __ldcg(f_ + i - 1);
#pragma unroll
        for (int k = 0; k < kOfAWarp; ++k) best[k] = lesser(best[k], pair[r][k] + f + end[k][at]);
      }
    }
#pragma unroll
    for (int k = 0; k < kOfAWarp; ++k) {
      const std::int32_t least = warp_least(best[k]);
      if (lane_ == k) shared_.best[column(k) - first_] = least;
    }
    __syncthreads();
    if (warp_ == 0) between();
    __syncthreads();
  }

 private:
  __device__ int column(int k) const { return first_ + warp_ * kOfAWarp + k; }
  __device__ int row(int strip, int r) const { return 1 + strip * kRows + r * 32 + lane_; }
  __device__ int place_of(int i) const {
    return i > s_.n ? 0 : outer_place(codes_[i], i > 1 ? codes_[i - 1] : kBases);
  }

  /// C of a strip's rows in the warp's columns; of those behind the last base anything.
  __device__ void load(int strip, std::int32_t (&pair)[kOfALane][kOfAWarp]) const {
#pragma unroll
    for (int k = 0; k < kOfAWarp; ++k) {
      const std::int32_t* const from = c_ + cell_of(s_.n, 1 + strip * kRows, min(column(k), s_.n)) + lane_;
#pragma unroll
      for (int r = 0; r < kOfALane; ++r) pair[r][k] = from[r * 32];
    }
  }

  /// Until so many chunks of f are there.
  __device__ void wait(int chunks) {
    if (seen_ >= chunks) return;
    int seen = 0;
    if (lane_ == 0) {
      do seen = static_cast<int>(load_relaxed(ended_));
      while (seen < chunks);
      fence_acq_rel();
    }
    __syncwarp();
    seen_ = __shfl_sync(kAll, seen, 0);
  }

  /// f of the columns, so many at a time that none needs the f of another, since a pair encloses three bases.
  __device__ void between() {
    constexpr int kAtOnce = kLeastHairpin + 2;
    wait(chunk_);
    std::int32_t before = chunk_ == 0 ? 0 : __ldcg(f_ + first_ - 1);
    if (lane_ == 0) shared_.f[0] = before;
    __syncwarp();
    for (int first = 0; first < kRows; first += kAtOnce) {
      std::int32_t best[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) best[k] = shared_.best[min(first + k, kRows - 1)];
#pragma unroll
      for (int r = 0; r < kOfALane; ++r) {
        const int row = r * 32 + lane_;
        if (row > first) continue;
        const std::int32_t f = shared_.f[row];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          best[k] = lesser(best[k], shared_.cells[min(first + k, kRows - 1)][row] + f);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        before = lesser(before, warp_least(best[k]));
        if (lane_ == 0 && first + k < kRows) shared_.f[first + k + 1] = before;
      }
      __syncwarp();
    }
    for (int r = 0; r < kOfALane; ++r)
      if (const int j = row(chunk_, r); j <= s_.n) f_[j] = shared_.f[r * 32 + lane_ + 1];
    if (chunk_ == 0 && lane_ == 0) f_[0] = 0;
    __syncwarp();
    if (lane_ == 0) store_release(ended_, static_cast<std::uint32_t>(chunk_ + 1));
  }

  const Sequence s_;
  Shared& shared_;
  const int chunk_, first_, lane_, warp_;
  const std::uint8_t* codes_;
  const std::int32_t* c_;
  std::int32_t* f_;
  std::uint32_t* ended_;
  int seen_ = 0;
};

__global__ void __launch_bounds__(kThreadsOfEnds, 1) fold_ends(const __grid_constant__ Launch launch) {
  extern __shared__ uint4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (*launch.stopped != 0) return;
  load_exterior(*launch.tables, shared.exterior);
  for (;;) {
    if (threadIdx.x == 0) shared.task = static_cast<int>(atomicAdd(launch.next_chunk, 1U));
    __syncthreads();
    const int task = shared.task;
    if (task >= launch.task_count) return;
    Chunk(launch, launch.chunks[task], shared).run();
  }
}

}  // namespace

void launch_ends(const Launch& launch, cudaStream_t stream) {
  launch_persistent(fold_ends, kThreadsOfEnds, sizeof(Shared), launch, stream);
}

}  // namespace warploom::fold::gpu
