// Question: how close does an iteration of total-variation denoising on the CPU come to the speed of the
// memory, and what is it worth beside the loops one would write first? Fixed: the phantom with noise of .15
// um^2/ms, lambda 4, epsilon .01 (0 for primal-dual), no mask; the image as it is after the iterations
// before, from the noisy one on. Timed: iterations alone. The first ones bring new memory into use: an
// iteration is a twentieth of what 24 take longer than 4.
//
// bytes_per_second counts 96 bytes a voxel for an accelerated iteration on tensors (x, the x before and the
// noisy image read, the next x written), 72 for descent, 336 for the two half passes of primal-dual and 16
// for an accelerated one on one channel, 1056 for total generalised variation: what a pass that reads
// everything once moves. What pieces read beyond their edges is not counted. The triad a = b + s c counts 12
// bytes an element, as STREAM does. `Triad/written` writes as a compiler does it, for which the processor
// first reads what it will overwrite, so that 16 bytes move; `Triad/streamed` writes past the caches, as
// denoising does. The part of the memory's speed that is reached is the quotient of two rows.

#include <benchmark/benchmark.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cmath>
#include <map>
#include <vector>

#include "imaging/tv_backend.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

// --- the memory

constexpr std::int64_t kElements = std::int64_t{1} << 26;  // 3 x 256 MiB, far above any cache
constexpr std::int64_t kPiece = std::int64_t{1} << 16;

void triad_written(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c) {
  for (std::int64_t i = 0; i < kPiece; ++i) a[i] = b[i] + 3.0F * c[i];
}

void triad_streamed(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c) {
#if defined(__SSE2__)
  for (std::int64_t i = 0; i < kPiece; i += 4)
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(_mm_set1_ps(3.0F), _mm_load_ps(c + i))));
  _mm_sfence();
#else
  triad_written(a, b, c);
#endif
}

void BM_Triad(benchmark::State& state, void (*triad)(float*, const float*, const float*)) {
  const RunScope scope({.threads = static_cast<unsigned>(state.range(0))});
  std::vector<float> a(kElements), b(kElements), c(kElements);
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i % 1021);
    c[i] = static_cast<float>(i % 509);
  }
  for (auto _ : state) {
    parallel_for(kElements / kPiece, [&](std::int64_t piece) {
      const std::int64_t at = piece * kPiece;
      triad(a.data() + at, b.data() + at, c.data() + at);
    });
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 12 * kElements);
}
BENCHMARK_CAPTURE(BM_Triad, written, triad_written)
    ->Arg(1)
    ->Arg(0)
    ->ArgName("threads")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Triad, streamed, triad_streamed)
    ->Arg(1)
    ->Arg(0)
    ->ArgName("threads")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// --- the solvers

const TensorImage& noisy_phantom(std::int64_t n) {
  static std::map<std::int64_t, TensorImage> images;
  auto [at, is_new] = images.try_emplace(n);
  if (is_new) {
    at->second = tensor_phantom(n);
    add_noise(at->second, 0.15, 1);
  }
  return at->second;
}

TvProblem problem_of(const Image& noisy, Solver solver, int channels) {
  TvProblem problem;
  problem.grid = noisy.grid;
  problem.noisy = noisy.data.data();
  problem.solver = solver;
  problem.tensor = channels == kTensorChannels;
  TvConstants& k = problem.constants;
  k.channels = channels;
  k.lambda = 4;
  k.epsilon = solver == Solver::primal_dual ? 0 : 0.01;
  k.tolerance = 1e-30;
  k.voxels = static_cast<double>(noisy.grid.voxels());
  k.gradient_bound = 12;
  for (double& inverse : k.inverse_spacing) inverse = 1;
  for (int c = 0; c < channels; ++c)
    k.weights[c] = problem.tensor ? double{kTensorWeights[std::size_t(c)]} : 1;
  return problem;
}

void BM_Iteration(benchmark::State& state, Solver solver, int channels, int bytes) {
  const std::int64_t n = state.range(0);
  const RunScope scope({.threads = static_cast<unsigned>(state.range(1))});
  const TensorImage& noisy = noisy_phantom(n);
  TvProblem problem = problem_of(noisy, solver, channels);
  TensorImage image = noisy;
  if (problem.tensor) floor_eigenvalues(image, {});
  const auto seconds = [&](int iterations) {
    problem.constants.max_iterations = iterations;
    return minimise_cpu(problem, image.data.data()).seconds;
  };
  for (auto _ : state) {
    const double few = seconds(4);
    state.SetIterationTime((seconds(24) - few) / 20);
  }
  state.SetBytesProcessed(state.iterations() * noisy.grid.voxels() * bytes);
}
void sizes_and_threads(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "threads"})->Args({128, 1})->Args({128, 0})->Args({256, 1})->Args({256, 0});
  b->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_Iteration, accelerated, Solver::accelerated, kTensorChannels, 96)
    ->Apply(sizes_and_threads);
BENCHMARK_CAPTURE(BM_Iteration, descent, Solver::descent, kTensorChannels, 72)->Apply(sizes_and_threads);
BENCHMARK_CAPTURE(BM_Iteration, primal_dual, Solver::primal_dual, kTensorChannels, 336)
    ->Apply(sizes_and_threads);

// One in eight is followed by a look at the gap, which is counted.
void BM_GeneralisedIteration(benchmark::State& state) {
  const RunScope scope({.threads = static_cast<unsigned>(state.range(1))});
  const TensorImage& noisy = noisy_phantom(state.range(0));
  TvProblem problem = problem_of(noisy, Solver::primal_dual, kTensorChannels);
  problem.tgv_ratio = 2;
  TensorImage image = noisy;
  floor_eigenvalues(image, {});
  const auto seconds = [&](int iterations) {
    problem.constants.max_iterations = iterations;
    return minimise_cpu(problem, image.data.data()).seconds;
  };
  for (auto _ : state) {
    const double few = seconds(8);
    state.SetIterationTime((seconds(24) - few) / 16);
  }
  state.SetBytesProcessed(state.iterations() * noisy.grid.voxels() * 1056);
}
BENCHMARK(BM_GeneralisedIteration)
    ->ArgNames({"n", "threads"})
    ->Args({128, 1})
    ->Args({128, 0})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// A whole minimisation of the phantom to a relative gap.
void BM_GeneralisedWhole(benchmark::State& state) {
  const TensorImage& noisy = noisy_phantom(state.range(0));
  for (auto _ : state) {
    TensorImage image = noisy;
    const DenoiseReport report =
        denoise_tensors(image, {},
                        {.variation = Variation::generalised,
                         .solver = Solver::primal_dual,
                         .lambda = 4,
                         .epsilon = 0,
                         .tolerance = std::pow(10.0, -static_cast<double>(state.range(1))),
                         .run = {.devices = {Device::cpu}}});
    state.counters["iterations"] = report.iterations;
    state.counters["gap"] = report.gap;
    state.SetIterationTime(report.seconds);
  }
}
BENCHMARK(BM_GeneralisedWhole)
    ->ArgNames({"n", "tolerance_exponent"})
    ->Args({128, 3})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Iteration, accelerated_scalar, Solver::accelerated, 1, 16)->Apply(sizes_and_threads);

// --- the loops one would write first

/// An accelerated iteration in double precision: one array a quantity, one loop a step, voxels in the order
/// of memory.
class Straightforward {
 public:
  Straightforward(const TensorImage& noisy, const TensorImage& start)
      : n_(noisy.grid.nx),
        voxels_(noisy.grid.voxels()),
        noisy_(noisy.data.begin(), noisy.data.end()),
        x_(start.data.begin(), start.data.end()),
        before_(x_),
        y_(x_.size()),
        next_(x_.size()) {
    for (auto& flux : flux_) flux.resize(x_.size());
  }

  void iterate(double momentum, double step, const double* alpha, double lambda, double epsilon) {
    const std::int64_t plane = n_ * n_;
    // body(voxel, x, y, z, channel)
    const auto for_values = [&](const auto& body) {
      parallel_for(n_, [&](std::int64_t z) {
        for (int c = 0; c < kTensorChannels; ++c)
          for (std::int64_t y = 0; y < n_; ++y)
            for (std::int64_t x = 0; x < n_; ++x)
              body(static_cast<std::size_t>(c * voxels_ + z * plane + y * n_ + x), x, y, z, c);
      });
    };
    for_values([&](std::size_t v, auto...) { y_[v] = x_[v] + momentum * (x_[v] - before_[v]); });
    for_values([&](std::size_t v, std::int64_t x, std::int64_t y, std::int64_t z, int) {
      const double gx = x + 1 < n_ ? y_[v + 1] - y_[v] : 0;
      const double gy = y + 1 < n_ ? y_[v + std::size_t(n_)] - y_[v] : 0;
      const double gz = z + 1 < n_ ? y_[v + std::size_t(plane)] - y_[v] : 0;
      const double length = std::sqrt(gx * gx + gy * gy + gz * gz + epsilon * epsilon);
      flux_[0][v] = gx / length;
      flux_[1][v] = gy / length;
      flux_[2][v] = gz / length;
    });
    for_values([&](std::size_t v, std::int64_t x, std::int64_t y, std::int64_t z, int c) {
      const double divergence = flux_[0][v] - (x > 0 ? flux_[0][v - 1] : 0) + flux_[1][v] -
                                (y > 0 ? flux_[1][v - std::size_t(n_)] : 0) + flux_[2][v] -
                                (z > 0 ? flux_[2][v - std::size_t(plane)] : 0);
      next_[v] = y_[v] - step * (lambda * (y_[v] - noisy_[v]) - alpha[c] * divergence);
    });
    parallel_for(n_, [&](std::int64_t z) {
      for (std::int64_t v = z * plane; v < (z + 1) * plane; ++v) project(static_cast<std::size_t>(v));
    });
    before_.swap(x_);
    x_.swap(next_);
  }

 private:
  void project(std::size_t v) {
    std::array<double, 6> d;
    for (std::size_t c = 0; c < 6; ++c) d[c] = next_[c * std::size_t(voxels_) + v];
    const double minor = d[0] * d[3] - d[1] * d[1];
    if (d[0] > 0 && minor > 0 &&
        d[5] * minor - d[4] * (d[0] * d[4] - 2 * d[1] * d[2]) - d[3] * d[2] * d[2] > 0)
      return;
    const Eigen3 e = eigen(d);
    for (std::size_t i = 0, c = 0; i < 3; ++i)
      for (std::size_t j = i; j < 3; ++j, ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k)
          sum += std::max(0.0, e.values[k]) * e.vectors[k][i] * e.vectors[k][j];
        next_[c * std::size_t(voxels_) + v] = sum;
      }
  }

  std::int64_t n_, voxels_;
  std::vector<double> noisy_, x_, before_, y_, next_, flux_[3];
};

void BM_Straightforward(benchmark::State& state) {
  const RunScope scope({.threads = static_cast<unsigned>(state.range(1))});
  const TensorImage& noisy = noisy_phantom(state.range(0));
  TensorImage start = noisy;
  floor_eigenvalues(start, {});
  Straightforward solver(noisy, start);
  const double alpha[6] = {0.5, 0.25, 0.25, 0.5, 0.25, 0.5};  // as on this image, about
  for (auto _ : state) solver.iterate(0.8, 1.5e-3, alpha, 4, 0.01);
  state.SetBytesProcessed(state.iterations() * noisy.grid.voxels() * 96);
}
BENCHMARK(BM_Straightforward)
    ->ArgNames({"n", "threads"})
    ->Args({128, 1})
    ->Args({128, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom::imaging
