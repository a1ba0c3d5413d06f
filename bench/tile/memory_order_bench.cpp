// The lecture's question on loop permutation, "Which one is better for row-major storage?": both orders of
// A[i][j + 1] = A[i][j] + B[j], as `warploom tile --permute` writes them, with the lines that the first-level
// cache fetched where the machine lets its counters be read.
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace {

using Order = void (*)(int n, int m, float* A, const float* B);

__attribute__((noinline)) void rows_inside(int n, int m, float* A, const float* B) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[std::int64_t{i} * (m + 1) + j + 1] = A[std::int64_t{i} * (m + 1) + j] + B[j];
}

__attribute__((noinline)) void columns_inside(int n, int m, float* A, const float* B) {
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++)
      A[std::int64_t{i} * (m + 1) + j + 1] = A[std::int64_t{i} * (m + 1) + j] + B[j];
}

/// Misses of loads in the first-level data cache, of this thread.
class MissCounter {
 public:
  MissCounter() {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HW_CACHE;
    wanted.config = PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8) |
                    (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
  }
  ~MissCounter() {
    if (file_ >= 0) close(file_);
  }
  MissCounter(const MissCounter&) = delete;
  MissCounter& operator=(const MissCounter&) = delete;

  bool works() const { return file_ >= 0; }
  std::uint64_t read_now() const {
    std::uint64_t count = 0;
    return read(file_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int file_ = -1;
};

void memory_order(benchmark::State& state, Order order) {
  const auto n = static_cast<int>(state.range(0));
  const auto size = static_cast<std::size_t>(n);
  std::vector<float> A(size * (size + 1)), B(size);
  for (std::size_t k = 0; k < A.size(); ++k) A[k] = static_cast<float>(k % 1021) * 1e-3f;
  for (std::size_t k = 0; k < B.size(); ++k) B[k] = static_cast<float>(k % 13) * 1e-6f;
  const MissCounter misses;
  const std::uint64_t before = misses.works() ? misses.read_now() : 0;
  for (auto _ : state) {
    order(n, n, A.data(), B.data());
    benchmark::ClobberMemory();
  }
  const std::int64_t iterations = state.iterations() * n * n;
  state.SetItemsProcessed(iterations);
  if (misses.works())
    state.counters["L1 misses an iteration"] =
        static_cast<double>(misses.read_now() - before) / static_cast<double>(iterations);
}

BENCHMARK_CAPTURE(memory_order, j_inside, rows_inside)
    ->Arg(2048)
    ->Arg(3072)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory_order, i_inside, columns_inside)
    ->Arg(2048)
    ->Arg(3072)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

}  // namespace
