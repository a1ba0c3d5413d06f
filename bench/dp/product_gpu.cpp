// Questions: how near do rectangular products come to the ceilings of gpu_bench_dp_ceiling, by type, storage
// and size of block? And, as the dissertation's Figure 12: how long does the product of two squares of n x n
// cells take beside a matrix multiplication of that size, a textbook's and cuBLAS's (where the loader finds
// it)?
//
// Fixed: random cells over POINTS points; one call, the products of a diagonal of blocks of EDGE cells that
// has BETWEEN blocks between itself and the main one: with one and EDGE = POINTS / 3, a single square.
// Timed: the launches, cells resident; `pairs` are additions with minimum, or multiplications with addition.
// Of each configuration random cells are compared with what they must be, bit for bit (sums of products:
// within what rounding allows); a difference ends the program with exit code 1.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../cublas.hpp"
#include "core/cuda/owners.hpp"
#include "dp/kernels.hpp"
#include "matrix_multiply.hpp"

namespace warploom::dp {
namespace {

bool all_right = true;

int multiprocessors() {
  int count = 0;
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  return count;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::int64_t least, std::int64_t largest,
                             std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto range = static_cast<std::uint64_t>(largest - least + 1);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(least + static_cast<std::int64_t>(engine() % range));
  return values;
}

template <class T>
DeviceArray<T> to_device(const std::vector<T>& values) {
  DeviceArray<T> copy = make_device<T>(values.size());
  cuda_check(cudaMemcpy(copy.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return copy;
}

/// A triangle of random cells, on the host and on the device.
template <class T, Arithmetic kArithmetic, bool kFactors>
class RandomTriangle {
  using Device = DeviceCells<T, kArithmetic>;
  using Stored = typename Device::Stored;
  static constexpr bool kNarrow = Device::kNarrow;
  // Floating point: multiples of 1, so large that sums of products round.
  static constexpr std::int64_t kMost = kNarrow ? kNarrowLargest : 50'000'000;

 public:
  explicit RandomTriangle(std::int64_t points)
      : host_cells_(random_values<Stored>(static_cast<std::size_t>(stored_cells(points)),
                                          kArithmetic == Arithmetic::non_negative ? 0 : -kMost, kMost, 1)),
        host_bases_(random_values<std::int32_t>(static_cast<std::size_t>(tile_place(0, tiles_along(points))),
                                                -3000, 3000, 2)),
        host_factors_(random_values<T>(static_cast<std::size_t>(points), 1, 500, 3)),
        cells_(to_device(host_cells_)),
        bases_(to_device(host_bases_)),
        factors_(to_device(host_factors_)),
        overflow_(to_device(std::vector<int>(1, 0))) {
    device = {cells_.get(), bases_.get(), overflow_.get(), points};
    terms.points = points;
    terms.factors = kFactors ? factors_.get() : nullptr;
    terms.non_negative = kArithmetic == Arithmetic::non_negative;
  }

  /// Whether cell (i, j) is what a fresh call with these k must leave.
  bool right(std::int64_t i, std::int64_t j, std::int64_t k_begin, std::int64_t k_end) const {
    Stored found;
    cuda_check(cudaMemcpy(&found, cells_.get() + cell_place(i, j), sizeof found, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    T best = kUnreachable<T>;
    for (std::int64_t k = k_begin; k < k_end; ++k) {
      T candidate = cell(i, k) + cell(k, j);
      if (kFactors) {
        const T factor = host_factors_[static_cast<std::size_t>(k)];
        const T weight =
            (host_factors_[static_cast<std::size_t>(i)] * host_factors_[static_cast<std::size_t>(j)]) *
            factor;
        candidate += weight;
      }
      best = std::min(best, candidate);
    }
    if (!kNarrow) return static_cast<T>(found) == best;
    const T base = base_of(i, k_begin) + base_of(k_begin, j);
    std::int32_t found_base = 0;
    cuda_check(cudaMemcpy(&found_base, bases_.get() + tile_place(i / kTile, j / kTile), sizeof found_base,
                          cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    return static_cast<T>(found_base) == base && static_cast<T>(found) == best - base;
  }

  /// Undoes what calls have written.
  void restore() {
    cuda_check(cudaMemcpy(cells_.get(), host_cells_.data(), host_cells_.size() * sizeof(Stored),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
    cuda_check(cudaMemcpy(bases_.get(), host_bases_.data(), host_bases_.size() * sizeof(std::int32_t),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
  }

  Device device;
  Terms<T> terms;

 private:
  T base_of(std::int64_t i, std::int64_t j) const {
    return kNarrow ? static_cast<T>(host_bases_[static_cast<std::size_t>(tile_place(i / kTile, j / kTile))])
                   : T(0);
  }
  T cell(std::int64_t i, std::int64_t j) const {
    return static_cast<T>(host_cells_[static_cast<std::size_t>(cell_place(i, j))]) + base_of(i, j);
  }

  std::vector<Stored> host_cells_;
  std::vector<std::int32_t> host_bases_;
  std::vector<T> host_factors_;
  DeviceArray<Stored> cells_;
  DeviceArray<std::int32_t> bases_;
  DeviceArray<T> factors_;
  DeviceArray<int> overflow_;
};

/// Launches back to back, each of so many pairs.
void time_launches(benchmark::State& state, double pairs, const std::function<void(cudaStream_t)>& launch) {
  const CudaStream stream = make_stream();
  const CudaEvent start = make_event(), end = make_event();
  constexpr int kLaunches = 5;
  for (auto _ : state) {
    cuda_check(cudaEventRecord(start.get(), stream.get()), "cudaEventRecord");
    for (int n = 0; n < kLaunches; ++n) launch(stream.get());
    cuda_check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    cuda_check(cudaEventSynchronize(end.get()), "products");
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
    state.SetIterationTime(1e-3 * milliseconds / kLaunches);
  }
  state.counters["pairs"] =
      benchmark::Counter(pairs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void fail(benchmark::State& state, std::int64_t i, std::int64_t j) {
  all_right = false;
  state.SkipWithError(("cell (" + std::to_string(i) + ", " + std::to_string(j) + ") is wrong").c_str());
}

template <class T, Arithmetic kArithmetic, bool kFactors>
void BM_Product(benchmark::State& state) {
  const std::int64_t points = state.range(0), edge = state.range(1), between = state.range(2);
  static std::unique_ptr<RandomTriangle<T, kArithmetic, kFactors>> triangle;  // making it takes long
  if (triangle == nullptr || triangle->device.points != points) {
    triangle.reset();
    triangle = std::make_unique<RandomTriangle<T, kArithmetic, kFactors>>(points);
  }
  triangle->restore();  // another call's blocks are operands of this one's
  Rectangular call;
  call.edge = edge;
  call.j = (between + 1) * edge;
  call.k_begin = edge;
  call.k_end = call.j;
  call.count = points / edge - between - 1;

  constexpr std::size_t kPartialBytes = std::size_t{64} << 20, kArrivals = 1 << 16;
  const DeviceArray<std::byte> partials = make_device<std::byte>(kPartialBytes);
  const DeviceArray<unsigned> arrivals = to_device(std::vector<unsigned>(kArrivals, 0));
  const SplitBuffers buffers{partials.get(), kPartialBytes, arrivals.get(), kArrivals};
  const int processors = multiprocessors();
  const double pairs = static_cast<double>(call.count * between) * static_cast<double>(edge * edge * edge);
  time_launches(state, pairs, [&](cudaStream_t stream) {
    launch_rectangular<T, kArithmetic, kFactors>(triangle->device, triangle->terms, call, buffers, processors,
                                                 stream);
  });

  std::mt19937 engine(4);
  for (int n = 0; n < 300; ++n) {
    const std::int64_t down = engine() % call.count * edge, i = down + engine() % edge,
                       j = down + call.j + engine() % edge;
    if (!triangle->right(i, j, down + call.k_begin, down + call.k_end)) {
      fail(state, i, j);
      break;
    }
  }
}

/// Of n x n random floats; multiply(a, b, c, n, stream).
template <class Multiply>
void time_matrix_multiplication(benchmark::State& state, const Multiply& multiply) {
  const int n = static_cast<int>(state.range(0));
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> host_a = random_values<float>(count, -1000, 1000, 1),
                     host_b = random_values<float>(count, -1000, 1000, 2), host_c(count);
  const DeviceArray<float> a = to_device(host_a), b = to_device(host_b), c = make_device<float>(count);
  time_launches(state, double(n) * n * n,
                [&](cudaStream_t stream) { multiply(a.get(), b.get(), c.get(), n, stream); });

  cuda_check(cudaMemcpy(host_c.data(), c.get(), count * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::mt19937 engine(4);
  for (int cell = 0; cell < 300; ++cell) {
    const std::size_t i = engine() % count / n * n, j = engine() % static_cast<std::size_t>(n);
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      const double product = double{host_a[i + k]} * host_b[k * n + j];
      sum += product;
      magnitude += std::abs(product);
    }
    // Each partial sum rounds, in whatever order.
    if (!(std::abs(host_c[i + j] - sum) <= n * 0x1p-23 * magnitude))
      return fail(state, static_cast<std::int64_t>(i) / n, static_cast<std::int64_t>(j));
  }
}

void BM_MatrixMultiplication(benchmark::State& state) {
  time_matrix_multiplication(state, launch_matrix_multiply);
}

void BM_CuBlas(benchmark::State& state) {
  static const CuBlas* const blas = CuBlas::open();
  if (blas == nullptr) return state.SkipWithError("no libcublas.so.13 or .12 was found: see LD_LIBRARY_PATH");
  time_matrix_multiplication(state,
                             [&](const float* a, const float* b, float* c, int n, cudaStream_t stream) {
                               if (!blas->multiply(a, b, c, n, stream))
                                 state.SkipWithError("cublasSgemm failed");
                             });
}

/// The sizes whose n the guide's table has; blocks of 16 and 32 on fewer points.
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"points", "edge", "between"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t between : {32, 128, 224}) benchmark->Args({16384, 64, between});
  benchmark->Args({16384, 256, 32});
  benchmark->Args({16384, 512, 16});
}
void small_sizes(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark);
  benchmark->Args({4096, 32, 64});
  benchmark->Args({4096, 16, 128});
}
BENCHMARK_TEMPLATE(BM_Product, std::int32_t, Arithmetic::plain, false)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, std::int32_t, Arithmetic::plain, true)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, std::int32_t, Arithmetic::narrow, false)->Apply(sizes);
BENCHMARK_TEMPLATE(BM_Product, float, Arithmetic::non_negative, false)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, float, Arithmetic::non_negative, true)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, float, Arithmetic::plain, false)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, float, Arithmetic::plain, true)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, std::int64_t, Arithmetic::plain, false)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, std::int64_t, Arithmetic::plain, true)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, double, Arithmetic::plain, false)->Apply(small_sizes);
BENCHMARK_TEMPLATE(BM_Product, double, Arithmetic::plain, true)->Apply(small_sizes);

/// Figure 12's. Of three blocks in a row the middle one holds the operands' k.
void squares(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"points", "edge", "between"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (std::int64_t n = 16; n <= 4096; n *= 2) benchmark->Args({3 * n, n, 1});
}
void multiplications(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("n")->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (std::int64_t n = 16; n <= 4096; n *= 2) benchmark->Arg(n);
}
BENCHMARK_TEMPLATE(BM_Product, float, Arithmetic::non_negative, false)
    ->Name("Figure12/Product")
    ->Apply(squares);
BENCHMARK(BM_MatrixMultiplication)->Name("Figure12/MatrixMultiplication")->Apply(multiplications);
BENCHMARK(BM_CuBlas)->Name("Figure12/CuBlas")->Apply(multiplications);

}  // namespace
}  // namespace warploom::dp

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return warploom::dp::all_right ? 0 : 1;
}
