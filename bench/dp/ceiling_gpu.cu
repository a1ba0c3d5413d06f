// Question: how many additions with their minimum can a GPU do in a second, by type and form of the
// instructions? These are the ceilings that the engine is measured against.
// Fixed: accumulators in registers, each lowered by sums of its neighbours and a value that changes from
// round to round, in as many threads as a multiprocessor holds. Timed: the kernel. `pairs` counts an
// addition with its minimum as one; `pairs_per_clock` is that of a multiprocessor at its highest clock.
// BM_Copy is the memory's bandwidth.

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cuda/owners.hpp"

namespace {

using namespace warploom;

constexpr int kWidth = 16;  // accumulators of a thread
constexpr int kThreads = 256, kRounds = 4096;

// min(best, x + a), or the minimum with y + b, too; kPairs a call.

struct Int32 {
  using Word = int;
  static constexpr int kPairs = 1;
  static __device__ Word lower(Word best, Word x, Word a, Word, Word) { return __viaddmin_s32(x, a, best); }
};
struct Int16x2 {
  using Word = unsigned;
  static constexpr int kPairs = 2;
  static __device__ Word lower(Word best, Word x, Word a, Word, Word) { return __viaddmin_s16x2(x, a, best); }
};
struct Int64 {
  using Word = long long;
  static constexpr int kPairs = 1;
  static __device__ Word lower(Word best, Word x, Word a, Word, Word) { return min(best, x + a); }
};
struct Float {
  using Word = float;
  static constexpr int kPairs = 1;
  static __device__ Word lower(Word best, Word x, Word a, Word, Word) { return fminf(best, x + a); }
};
/// Where no sum is negative, floats compare as integers of their bits, of which three have a minimum at
/// once.
struct FloatNonNegative {
  using Word = float;
  static constexpr int kPairs = 2;
  static __device__ Word lower(Word best, Word x, Word a, Word y, Word b) {
    return __int_as_float(__vimin3_s32(__float_as_int(best), __float_as_int(x + a), __float_as_int(y + b)));
  }
};
struct Double {
  using Word = double;
  static constexpr int kPairs = 1;
  static __device__ Word lower(Word best, Word x, Word a, Word, Word) { return x + a < best ? x + a : best; }
};

/// Launch: any grid, blocks of kThreads. `start` and `result` hold a word a thread.
template <class Form>
__global__ void __launch_bounds__(kThreads, 4)
    lower_all(const typename Form::Word* start, typename Form::Word* result, int rounds) {
  using Word = typename Form::Word;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  Word best[kWidth], x = start[thread], y = x / 2;
  const Word step = x / 4;
#pragma unroll
  for (int n = 0; n < kWidth; ++n) best[n] = x * static_cast<Word>(n + 2);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int n = 0; n < kWidth; ++n)
      best[n] = Form::lower(best[n], x, best[(n + 1) % kWidth], y, best[(n + 2) % kWidth]);
    x += step;
    y += step;
  }
  Word sum = 0;
#pragma unroll
  for (int n = 0; n < kWidth; ++n) sum += best[n];
  result[thread] = sum;
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

/// Calls work(), which asks for something of the device, and takes its time there.
template <class Work>
void measure(benchmark::State& state, Work work) {
  const CudaEvent start = make_event(), end = make_event();
  for (auto _ : state) {
    cuda_check(cudaEventRecord(start.get()), "cudaEventRecord");
    work();
    cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
    cuda_check(cudaEventSynchronize(end.get()), "what is measured");
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
    state.SetIterationTime(1e-3 * milliseconds);
  }
}

template <class Form>
void BM_Ceiling(benchmark::State& state) {
  using Word = typename Form::Word;
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount), blocks = 8 * multiprocessors;
  const auto threads = static_cast<std::size_t>(blocks * kThreads);
  std::vector<Word> values(threads);
  for (std::size_t n = 0; n < threads; ++n) values[n] = static_cast<Word>(1 + n * 2654435761U % 30000);
  const DeviceArray<Word> from = make_device<Word>(threads), to = make_device<Word>(threads);
  cuda_check(cudaMemcpy(from.get(), values.data(), threads * sizeof(Word), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  measure(state, [&] {
    lower_all<Form><<<static_cast<unsigned>(blocks), kThreads>>>(from.get(), to.get(), kRounds);
    cuda_check(cudaGetLastError(), "launch");
  });
  const double pairs = static_cast<double>(threads) * kRounds * kWidth * Form::kPairs;
  const double all = pairs * static_cast<double>(state.iterations());
  state.counters["pairs"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["pairs_per_clock"] = benchmark::Counter(
      all / (1e3 * attribute(cudaDevAttrClockRate) * multiprocessors), benchmark::Counter::kIsRate);
}
BENCHMARK_TEMPLATE(BM_Ceiling, Int32)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Ceiling, Int16x2)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Ceiling, Int64)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Ceiling, Float)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Ceiling, FloatNonNegative)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Ceiling, Double)->UseManualTime()->Unit(benchmark::kMicrosecond);

/// Bytes read and written.
void BM_Copy(benchmark::State& state) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const DeviceArray<std::byte> from = make_device<std::byte>(kBytes), to = make_device<std::byte>(kBytes);
  cuda_check(cudaMemset(from.get(), 0x5a, kBytes), "cudaMemset");
  measure(state, [&] {
    cuda_check(cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * kBytes));
}
BENCHMARK(BM_Copy)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
