#include <type_traits>

#include "tv_kernels.hpp"
#include "tv_primal_dual.cuh"

// The launches of the __global__ functions in tv_pass.cuh and tv_primal_dual.cuh, and with them their
// instances.

namespace warploom::imaging {
namespace {

constexpr int kTensor = 6;

/// Images of one launch that a block keeps apart: channels that are no tensor.
unsigned images(const TvRun& run) { return run.tensor ? 1U : static_cast<unsigned>(run.constants.channels); }

/// body(kernel, tile) of the instance that a run needs.
template <class Body>
cudaError_t with_pass(const TvRun& run, TvKernel kernel, const Body& body) {
  const auto either = [&](auto scheme, auto tile) {
    using Scheme = decltype(scheme);
    using Tile = decltype(tile);
    return run.outside ? body(tv_pass<Scheme, Tile, true>, tile) : body(tv_pass<Scheme, Tile, false>, tile);
  };
  if (kernel == TvKernel::descent) return either(TvDescent{}, TvDescentTile{});
  if (!run.tensor) return either(TvAccelerated<1>{}, TvChannelTile{});
  return with_tensor_tiles([&](auto... tile) {
    int index = 0;
    cudaError_t error = cudaErrorInvalidValue;
    ((index++ == run.tile ? void(error = either(TvAccelerated<kTensor>{}, tile)) : void()), ...);
    return error;
  });
}

template <class Body>
cudaError_t with_half(const TvRun& run, const Body& body) {
  using Six = std::integral_constant<int, kTensor>;
  using One = std::integral_constant<int, 1>;
  if (run.tensor) return run.outside ? body(Six{}, std::true_type{}) : body(Six{}, std::false_type{});
  return run.outside ? body(One{}, std::true_type{}) : body(One{}, std::false_type{});
}

bool is_half(TvKernel kernel) { return kernel != TvKernel::accelerated && kernel != TvKernel::descent; }

template <class Tile>
std::int64_t tiles_of(const TvRun& run, Tile) {
  return static_cast<std::int64_t>((run.nx + Tile::kWidth - 1) / Tile::kWidth) *
         ((run.ny + Tile::kHeight - 1) / Tile::kHeight);
}

template <class Tile>
dim3 grid_of(const TvRun& run, const TvPlanes& planes, Tile tile) {
  return {static_cast<unsigned>(tiles_of(run, tile)), static_cast<unsigned>(planes.chunks), images(run)};
}

template <class Kernel, class Tile>
cudaError_t count_blocks(Kernel kernel, Tile tile, const TvRun& run, std::int64_t& tiles, int& resident) {
  tiles = tiles_of(run, tile) * images(run);
  int device = 0, multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, Tile::kThreads, 0);
  resident *= multiprocessors;
  return error;
}

cudaError_t launch_half(const TvRun& run, TvKernel kernel, const TvPlanes& at, cudaStream_t stream) {
  const dim3 grid = grid_of(run, at, TvColumns{});
  const auto h = [&](int axis) { return static_cast<float>(run.constants.inverse_spacing[axis]); };
  return with_half(run, [&](auto channels, auto outside) {
    auto* state = static_cast<PrimalDualState*>(run.state);
    if (kernel == TvKernel::dual)
      tv_dual<channels(), outside()><<<grid, TvColumns::kThreads, 0, stream>>>(
          at.x, at.before, at.p, at.stride, run.nx, run.ny, run.nz, at.first_plane, at.first_chunk, run.chunk,
          h(0), h(1), h(2), state, run.coefficients, run.partials);
    else
      tv_primal<channels(), outside()><<<grid, TvColumns::kThreads, 0, stream>>>(
          at.noisy, at.x, at.next, at.p, at.stride, run.nx, run.ny, run.nz, at.first_plane, at.first_chunk,
          run.chunk, static_cast<float>(run.constants.lambda), h(0), h(1), h(2), run.device_constants, state,
          run.coefficients, run.partials, run.ticket, run.log, run.log_length,
          kernel == TvKernel::primal_begin ? 1 : 0);
    return cudaGetLastError();
  });
}

template <class Scheme, class... Arguments>
cudaError_t launch_pass(void (*kernel)(Arguments...), const TvRun& run, const TvPlanes& at, dim3 grid,
                        int threads, cudaStream_t stream) {
  const auto square = [&](int axis) {
    return static_cast<float>(run.constants.inverse_spacing[axis] * run.constants.inverse_spacing[axis]);
  };
  constexpr double kSmallest = 1e-37;  // what a float still holds: 1 / sqrt(0) is to be kept out
  const double epsilon_squared = fmax(run.constants.epsilon * run.constants.epsilon, kSmallest);
  kernel<<<grid, threads, 0, stream>>>(
      at.noisy, at.x, at.before, at.next, at.stride, run.nx, run.ny, run.nz, at.first_plane, at.first_chunk,
      run.chunk, static_cast<float>(run.constants.lambda), static_cast<float>(epsilon_squared), square(0),
      square(1), square(2), run.device_constants, static_cast<Scheme*>(run.state), run.coefficients,
      run.partials, run.ticket, run.log, run.log_length);
  return cudaGetLastError();
}

}  // namespace

TvPartialRows partial_rows(const TvRun& run, TvKernel kernel, int first_chunk, int chunks) {
  const int values = (run.tensor ? kTensor : 1) + (is_half(kernel) ? 2 : 3);
  std::int64_t tiles = 0;
  if (is_half(kernel))
    tiles = tiles_of(run, TvColumns{});
  else
    with_pass(run, kernel, [&](auto, auto tile) {
      tiles = tiles_of(run, tile);
      return cudaSuccess;
    });
  return {tiles * first_chunk, tiles * chunks, std::int64_t{images(run)} * values, tiles * run.chunks()};
}

std::int64_t partial_sums(const TvRun& run, TvKernel kernel) {
  const TvPartialRows all = partial_rows(run, kernel, 0, run.chunks());
  return all.rows * all.stride;
}

cudaError_t tv_blocks(const TvRun& run, TvKernel kernel, std::int64_t& tiles, int& resident) {
  if (!is_half(kernel))
    return with_pass(run, kernel,
                     [&](auto pass, auto tile) { return count_blocks(pass, tile, run, tiles, resident); });
  return with_half(run, [&](auto channels, auto outside) {
    return kernel == TvKernel::dual
               ? count_blocks(tv_dual<channels(), outside()>, TvColumns{}, run, tiles, resident)
               : count_blocks(tv_primal<channels(), outside()>, TvColumns{}, run, tiles, resident);
  });
}

cudaError_t launch_tv(const TvRun& run, TvKernel kernel, const TvPlanes& planes, cudaStream_t stream) {
  if (is_half(kernel)) return launch_half(run, kernel, planes, stream);
  return with_pass(run, kernel, [&](auto pass, auto tile) {
    using State = std::conditional_t<
        std::is_same_v<decltype(pass), decltype(&tv_pass<TvDescent, TvDescentTile, false>)>, DescentState,
        AcceleratedState>;
    return launch_pass<State>(pass, run, planes, grid_of(run, planes, tile), decltype(tile)::kThreads,
                              stream);
  });
}

}  // namespace warploom::imaging
