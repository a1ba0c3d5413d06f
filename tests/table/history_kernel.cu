#include <cstddef>

#include "history_kernel.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/table/device_table.cuh"

namespace warploom::table {

static_assert(sizeof(LinePool) == sizeof(pool_image(3, 7)));
static_assert(offsetof(LinePool, next_fresh) == 0 && offsetof(LinePool, end) == 4);

namespace {

__device__ std::uint64_t global_time() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

/// Any grid and block, one dimension.
template <class Key, class Value>
__global__ void record_history(Word* lines, LinePool* pool, Placement placement, const HistoryStep* steps,
                               HistoryAnswer* answers, std::uint32_t threads, std::uint32_t each) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const DeviceTable<Key, Value> table(DeviceLines(lines, pool), placement);
  for (std::uint32_t i = thread * each; i < (thread + 1) * each; ++i) {
    const HistoryStep step = steps[i];
    HistoryAnswer answer;
    // What the operation did is done when the second reading is taken: the fence waits for it.
    __threadfence();
    answer.called = global_time();
    const auto result =
        table.perform(step.operation, static_cast<Key>(step.key), static_cast<Value>(step.operand));
    __threadfence();
    answer.returned = global_time();
    answer.outcome = result.outcome;
    answer.value = result.value;
    answers[i] = answer;
  }
}

__global__ void measure_clock(std::uint64_t* least_and_greatest) {
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  std::uint64_t before = global_time();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = global_time();
    if (now == before) continue;
    least = now - before < least ? now - before : least;
    greatest = now - before > greatest ? now - before : greatest;
    before = now;
  }
  least_and_greatest[0] = least;
  least_and_greatest[1] = greatest;
}

}  // namespace

template <class Key, class Value>
void launch_record_history(const DeviceMemory& memory, const HistoryStep* steps, HistoryAnswer* answers,
                           std::uint32_t threads, std::uint32_t each, cudaStream_t stream) {
  constexpr std::uint32_t kThreadsPerBlock = 64;
  record_history<Key, Value>
      <<<(threads + kThreadsPerBlock - 1) / kThreadsPerBlock, kThreadsPerBlock, 0, stream>>>(
          memory.lines, memory.pool, memory.placement, steps, answers, threads, each);
  cuda_check(cudaGetLastError(), "launch of record_history");
}

void launch_measure_clock(std::uint64_t* least_and_greatest, cudaStream_t stream) {
  measure_clock<<<1, 1, 0, stream>>>(least_and_greatest);
  cuda_check(cudaGetLastError(), "launch of measure_clock");
}

template void launch_record_history<std::uint32_t, std::uint32_t>(const DeviceMemory&, const HistoryStep*,
                                                                  HistoryAnswer*, std::uint32_t,
                                                                  std::uint32_t, cudaStream_t);
template void launch_record_history<std::uint64_t, std::uint64_t>(const DeviceMemory&, const HistoryStep*,
                                                                  HistoryAnswer*, std::uint32_t,
                                                                  std::uint32_t, cudaStream_t);

}  // namespace warploom::table
