// One kernel that solves a batch of triangles. Thread blocks take tasks, blocks of cells, in an order in
// which each comes after all that it needs, and wait for the flags of what is still being computed. The task
// that is first of those not finished never waits, so that no block waits for ever, however few fit a device.
// The waiting is short: of block (I, J) the products with the middle blocks K need only cells of half the
// span and come first, those with the two ends, which end at the block diagonal before, last.
//
// Several GPUs share a problem, a kernel each: what a block waits for is then also computed by others, in the
// same order, so that the first block of all that is not finished never waits, as long as all kernels run.

#include <algorithm>
#include <cstdint>

#include "core/cuda/system_atomics.cuh"
#include "dp/closure.cuh"
#include "dp/kernels.hpp"
#include "dp/product.cuh"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device_atomics.cuh"

namespace warploom::dp {
namespace {

/// Products whose flags are looked at together: two lanes of a warp each, and one lane looks at the stop
/// flag.
constexpr int kAhead = 8;
constexpr int kStopLane = 31;

__device__ bool is_set(const int* stop) {
  return stop != nullptr && *static_cast<const volatile int*>(stop) != 0;
}
__device__ int multiprocessor() {
  int id;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// What a thread block works on, in shared memory, where it is not lost when an acquiring load empties the
/// L1.
template <class T, Arithmetic kArithmetic>
struct Task {
  DeviceCells<T, kArithmetic> cells;
  Terms<T> terms;
  unsigned* flags;
  std::int32_t problem, row, column;  // problem < 0: there is no task left
  std::int32_t shard;                 // that owns it, whose cells and flags these are
};

template <class T>
__device__ void copy_by_warp(T& to, const T& from) {
  static_assert(sizeof(T) % sizeof(unsigned) == 0 && std::is_trivially_copyable_v<T>);
  for (unsigned w = threadIdx.x; w < sizeof(T) / sizeof(unsigned); w += warpSize)
    reinterpret_cast<unsigned*>(&to)[w] = reinterpret_cast<const unsigned*>(&from)[w];
}

/// The first warp takes the next task.
template <class T, Arithmetic kArithmetic>
__device__ void take(const PersistentLaunch<T, kArithmetic>& launch, Task<T, kArithmetic>& task) {
  unsigned long long ticket = 0;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(launch.next_task, 1ULL);
    if (is_set(launch.stop)) ticket = static_cast<unsigned long long>(launch.task_count);
  }
  ticket = __shfl_sync(~0U, ticket, 0);
  if (ticket >= static_cast<unsigned long long>(launch.task_count)) {
    task.problem = -1;
    return;
  }
  const BlockTask next = launch.tasks[ticket];
  const bool shared = launch.shards > 1;
  const int shard = shared ? next.column % launch.shards : 0;
  copy_by_warp(task.cells, launch.cells[shared ? shard : next.problem]);
  copy_by_warp(task.terms, launch.terms[next.problem]);
  if (threadIdx.x == 0) {
    task.flags = shared ? launch.shard_flags[shard] : launch.flags + launch.first_flag[next.problem];
    task.shard = shard;
    task.problem = next.problem;
    task.row = next.row;
    task.column = next.column;
  }
}

/// Stores the task's block, which is finished, to the other shards, and its flag. All threads call.
template <class T, Arithmetic kArithmetic, int kEdge, int kThreads>
__device__ void store_to_others(const PersistentLaunch<T, kArithmetic>& launch,
                                const Task<T, kArithmetic>& task) {
  using Cells = DeviceCells<T, kArithmetic>;
  constexpr int kCount = 16 / static_cast<int>(sizeof(typename Cells::Stored)), kAcross = kEdge / kCount;
  const std::int64_t first = cell_place(std::int64_t{task.row} * kEdge, std::int64_t{task.column} * kEdge);
  const std::int64_t tile = first / (kTile * kTile);
  for (int shard = 0; shard < launch.shards; ++shard) {
    if (shard == task.shard) continue;
    const Cells& to = launch.cells[shard];
    for (int n = static_cast<int>(threadIdx.x); n < kEdge * kAcross; n += kThreads) {
      const std::int64_t place = first + n / kAcross * kTile + n % kAcross * kCount;
      *reinterpret_cast<uint4*>(to.cells + place) =
          __ldcg(reinterpret_cast<const uint4*>(task.cells.cells + place));
    }
    if constexpr (Cells::kNarrow)
      if (threadIdx.x == 0) to.bases[tile] = task.cells.bases[tile];
  }
  __syncthreads();
  if (threadIdx.x < warpSize) {
    if (const int shard = static_cast<int>(threadIdx.x); shard < launch.shards && shard != task.shard)
      store_release_system(launch.shard_flags[shard] + tile_place(task.row, task.column), 1);
    __syncwarp();  // the first lane takes the next task
  }
}

/// The other blocks that a task's block is made of. Keeps in registers only what is not in shared memory: the
/// product needs all there are.
template <class T, Arithmetic kArithmetic>
class Operands {
 public:
  /// @param shared  other shards set flags, too
  __device__ Operands(const Task<T, kArithmetic>& task, const int* stop, bool shared)
      : task_(task), stop_(stop), shared_(shared) {}

  /// Blocks strictly between.
  __device__ int count() const { return max(task_.column - task_.row - 1, 0); }
  /// The block whose product is t-th: the middle one, then left and right of it in turns.
  __device__ int at(int t) const {
    const int away = (t + 1) / 2;
    return middle() + (t % 2 == 0 ? away : -away);
  }
  /// Waits until both operands of block k's product are finished. All threads call.
  __device__ void wait_for_product(int k) {
    const int away = k - middle();
    const int t = away >= 0 ? 2 * away : -2 * away - 1;
    if (t < finished_) return;
    const int lane = static_cast<int>(threadIdx.x), ahead = t + lane / 2;
    const bool looks = lane < 2 * kAhead && ahead < count();
    const int between = looks ? at(ahead) : k;
    const std::int64_t flag =
        lane % 2 == 0 ? tile_place(task_.row, between) : tile_place(between, task_.column);
    finished_ = t + wait(looks, flag, count() - t);
  }
  /// The same of the blocks on the diagonal. Those of a block further from it are finished when its products
  /// are.
  __device__ void wait_for_diagonal() const {
    const int lane = static_cast<int>(threadIdx.x), block = lane == 0 ? task_.row : task_.column;
    wait(lane < 2, tile_place(block, block), 1);
  }

 private:
  __device__ int middle() const { return (task_.row + 1 + task_.column) / 2; }

  /// Waits until the flags of the first pair of lanes are set. All threads call; only the first warp looks.
  /// @return the number of leading pairs whose flags are set, at least 1; up to `all` if the kernel is to
  /// stop
  __device__ int wait(bool looks, std::int64_t flag, int all) const {
    int pairs = 0;
    if (threadIdx.x < warpSize) {
      bool set = false;
      do {
        if (looks && !set)
          set = (shared_ ? load_acquire_system(task_.flags + flag) : load_acquire(task_.flags + flag)) != 0;
        pairs = (__ffs(static_cast<int>(~__ballot_sync(~0U, set))) - 1) / 2;
        if (__any_sync(~0U, threadIdx.x == kStopLane && is_set(stop_))) pairs = min(all, warpSize);
      } while (pairs == 0);
    }
    return __syncthreads_count(static_cast<int>(threadIdx.x) < pairs);
  }

  const Task<T, kArithmetic>& task_;
  const int* stop_;
  const bool shared_;
  int finished_ = 0;  // products, in their order, whose operands are known to be finished
};

template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
struct Methods {
  using Rectangle = Product<T, kArithmetic, kFactors, kEdge>;
  static constexpr int kThreads = Rectangle::kThreads, kResident = Rectangle::kResident;
  using Triangle = Closure<T, kArithmetic, kFactors, kEdge, kThreads>;
  // Small blocks, where waiting counts, have the tables of the triangular part ready before they wait for
  // their operands; large ones have no room for that.
  static constexpr bool kPrepared = kEdge == 32;
  struct SharedPrepared {
    union {
      typename Rectangle::Shared rectangle;
      typename Triangle::Best best;
    };
    typename Triangle::Tables tables;
    Task<T, kArithmetic> task;
  };
  struct SharedLate {
    union {
      typename Rectangle::Shared rectangle;
      struct {
        typename Triangle::Best best;
        typename Triangle::Tables tables;
      };
    };
    Task<T, kArithmetic> task;
  };
  using Shared = std::conditional_t<kPrepared, SharedPrepared, SharedLate>;
};

template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
__global__ void __launch_bounds__(Methods<T, kArithmetic, kFactors, kEdge>::kThreads,
                                  Methods<T, kArithmetic, kFactors, kEdge>::kResident)
    persistent(PersistentLaunch<T, kArithmetic> launch) {
  using M = Methods<T, kArithmetic, kFactors, kEdge>;
  extern __shared__ uint4 memory[];
  typename M::Shared& shared = *reinterpret_cast<typename M::Shared*>(memory);
  if (launch.multiprocessors > 0 && multiprocessor() >= launch.multiprocessors) return;
  for (;;) {
    if (threadIdx.x < warpSize) take(launch, shared.task);
    __syncthreads();
    const Task<T, kArithmetic>& task = shared.task;
    if (task.problem < 0) return;
    const std::int64_t i = std::int64_t{task.row} * kEdge, j = std::int64_t{task.column} * kEdge;
    Operands operands(task, launch.stop, launch.shards > 1);
    const bool diagonal = task.row == task.column;
    if (!diagonal && (M::kPrepared || operands.count() == 0)) operands.wait_for_diagonal();
    if (M::kPrepared) M::Triangle::prepare(task.cells, task.terms, i, j, shared.tables);
    if (operands.count() > 0) {
      int base = 0;
      if constexpr (kArithmetic == Arithmetic::narrow) {
        const int first = operands.at(0);
        operands.wait_for_product(first);
        base =
            task.cells.bases[tile_place(task.row, first)] + task.cells.bases[tile_place(first, task.column)];
      }
      typename M::Rectangle product;
      product.reset();
      product.run(
          task.cells, task.terms, i, j, operands.count(),
          [&](std::int64_t t) { return std::int64_t{operands.at(static_cast<int>(t))} * kEdge; },
          [&](std::int64_t k) { operands.wait_for_product(static_cast<int>(k / kEdge)); }, base,
          shared.rectangle);
      product.each([&](int r, int c, T value) { shared.best.cells[r][c] = base + value; });
    } else {
      for (int cell = static_cast<int>(threadIdx.x); cell < kEdge * kEdge; cell += M::kThreads)
        shared.best.cells[cell / kEdge][cell % kEdge] = kUnreachable<T>;
    }
    if (!M::kPrepared) M::Triangle::prepare(task.cells, task.terms, i, j, shared.tables);
    __syncthreads();
    M::Triangle::finish_prepared(task.cells, task.terms, i, j, shared.best, shared.tables);
    __syncthreads();
    if (threadIdx.x == 0) store_release(task.flags + tile_place(task.row, task.column), 1);
    if (launch.shards > 1) store_to_others<T, kArithmetic, kEdge, M::kThreads>(launch, task);
  }
}

template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
void launch_with_edge(const PersistentLaunch<T, kArithmetic>& launch, cudaStream_t stream) {
  using M = Methods<T, kArithmetic, kFactors, kEdge>;
  const auto kernel = persistent<T, kArithmetic, kFactors, kEdge>;
  const int bytes = static_cast<int>(sizeof(typename M::Shared));
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "shared memory of " + std::to_string(bytes) + " bytes for blocks of edge " + std::to_string(kEdge));
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "cudaFuncSetAttribute");
  int device = 0, multiprocessors = 0, resident = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, M::kThreads, bytes),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  // With a limit, thread blocks beyond those that fit: some of them come to allowed multiprocessors only
  // after others have left the rest.
  constexpr std::int64_t kSpare = 8;
  const std::int64_t fitting = std::int64_t{resident} * multiprocessors;
  const std::int64_t blocks =
      launch.multiprocessors > 0 ? kSpare * fitting : std::min(fitting, launch.task_count);
  kernel<<<static_cast<unsigned>(blocks), M::kThreads, bytes, stream>>>(launch);
  cuda_check(cudaGetLastError(), "launch of the persistent kernel");
}

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
void launch_persistent(const PersistentLaunch<T, kArithmetic>& launch, cudaStream_t stream) {
  if (launch.task_count == 0) return;
  if constexpr (kArithmetic != Arithmetic::narrow)
    if (launch.edge == 32) return launch_with_edge<T, kArithmetic, kFactors, 32>(launch, stream);
  if (launch.edge != kTile)
    throw BadInput(
        "blocks of the persistent kernel have an edge of 32 or 64, or with narrow storage of 64, not " +
        std::to_string(launch.edge));
  launch_with_edge<T, kArithmetic, kFactors, static_cast<int>(kTile)>(launch, stream);
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors)                                               \
  template void launch_persistent<T, kArithmetic, kFactors>(const PersistentLaunch<T, kArithmetic>&, \
                                                            cudaStream_t);
WARPLOOM_PART(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
