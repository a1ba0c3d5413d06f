#include "tv_kernels.hpp"
#include "tv_primal_dual.cuh"

// Where several devices share an image each has the partial sums of all after a pass, and adds them as the
// pass's last block does on a single one, in the same order: they all take the same decision.

namespace warploom::imaging {
namespace {

constexpr int kThreads = 1024;  // a warp a sum, as long as there are

}  // namespace

/// Solver::accelerated and Solver::descent. Launch: one block of kThreads threads.
template <class Scheme>
__global__ void __launch_bounds__(kThreads)
    tv_advance(double* partials, unsigned blocks, unsigned images, const TvConstants* __restrict__ constants,
               typename Scheme::State* state, TvCoefficients* coefficients, unsigned* ticket, TvProgress* log,
               int log_length) {
  if (state->progress.done) return;
  if (threadIdx.x == 0) *ticket = 0;
  advance_state<kThreads, Scheme::kChannels, 3, TvSums>(
      TvPartials(partials, blocks, images), constants, state, log, log_length,
      [&](auto& s, const TvSums& sums, const TvConstants& c) {
        advance_pass<Scheme>(s, sums, c, *coefficients);
      });
}

/// Solver::primal_dual. Launch: one block of kThreads threads.
template <int channels>
__global__ void __launch_bounds__(kThreads)
    tv_advance_halves(double* partials, unsigned blocks, unsigned images,
                      const TvConstants* __restrict__ constants, PrimalDualState* state, TvCoefficients* k,
                      unsigned* ticket, TvProgress* log, int log_length, int begin_state) {
  if (state->progress.done) return;
  if (threadIdx.x == 0) *ticket = 0;
  advance_state<kThreads, channels, 2, PrimalDualSums>(
      TvPartials(partials, blocks, images), constants, state, log, log_length,
      [&](auto& s, const PrimalDualSums& sums, const TvConstants& c) {
        advance_halves(s, sums, c, *k, begin_state != 0);
      });
}

cudaError_t launch_tv_advance(const TvRun& run, TvKernel kernel, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(partial_rows(run, kernel, 0, run.chunks()).stride);
  const unsigned images = run.tensor ? 1U : static_cast<unsigned>(run.constants.channels);
  const auto pass = [&](auto scheme) {
    using Scheme = decltype(scheme);
    tv_advance<Scheme><<<1, kThreads, 0, stream>>>(run.partials, blocks, images, run.device_constants,
                                                   static_cast<typename Scheme::State*>(run.state),
                                                   run.coefficients, run.ticket, run.log, run.log_length);
  };
  const auto halves = [&](auto advance) {
    advance<<<1, kThreads, 0, stream>>>(
        run.partials, blocks, images, run.device_constants, static_cast<PrimalDualState*>(run.state),
        run.coefficients, run.ticket, run.log, run.log_length, kernel == TvKernel::primal_begin ? 1 : 0);
  };
  switch (kernel) {
    case TvKernel::accelerated:
      if (run.tensor)
        pass(TvAccelerated<6>{});
      else
        pass(TvAccelerated<1>{});
      break;
    case TvKernel::descent:
      pass(TvDescent{});
      break;
    case TvKernel::dual:  // is followed by the other half
      return cudaErrorInvalidValue;
    case TvKernel::primal:
    case TvKernel::primal_begin:
      if (run.tensor)
        halves(tv_advance_halves<6>);
      else
        halves(tv_advance_halves<1>);
      break;
  }
  return cudaGetLastError();
}

}  // namespace warploom::imaging
