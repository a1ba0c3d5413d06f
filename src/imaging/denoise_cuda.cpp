#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/cuda/memory.hpp"
#include "imaging/tgv.hpp"
#include "imaging/tv_cuda.hpp"
#include "imaging/tv_factor.hpp"
#include "imaging/tv_tiles.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Planes that a block goes through: the fewest steps for the block that ends last. Each block computes the
/// plane below its own, too, and begins and ends.
int choose_chunk(int nz, std::int64_t tiles, int resident) {
  constexpr int kLongest = 64,
                kMostChunks = 65535;  // the former for slabs and for the precision of sums in float
  constexpr double kOverhead = 2.5;
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int chunk = (nz + kMostChunks - 1) / kMostChunks;
       chunk <= std::max(kLongest, (nz + kMostChunks - 1) / kMostChunks); ++chunk) {
    const std::int64_t blocks = tiles * ((nz + chunk - 1) / chunk);
    const double steps =
        static_cast<double>((blocks + resident - 1) / resident) * (std::min(chunk, nz) + kOverhead);
    if (steps < least) {
      least = steps;
      best = chunk;
    }
  }
  return std::min(best, nz);
}

TvKernel main_kernel(Solver solver) {
  return solver == Solver::accelerated ? TvKernel::accelerated
         : solver == Solver::descent   ? TvKernel::descent
                                       : TvKernel::primal;
}

std::size_t values(const TvProblem& problem) {
  return static_cast<std::size_t>(problem.grid.voxels()) *
         static_cast<std::size_t>(problem.constants.channels);
}

/// Over the whole image.
void launch(const TvRun& run, const std::vector<TvLaunch>& launches, cudaStream_t stream) {
  for (const TvLaunch& one : launches) {
    TvPlanes planes = one.planes;
    planes.stride = static_cast<std::int64_t>(run.nx) * run.ny * run.nz;
    planes.chunks = run.chunks();
    cuda_check(launch_tv(run, one.kernel, planes, stream), "a pass over the image");
  }
}

/// kLogLength passes, to be launched at once.
CudaOwner<cudaGraphExec_t> make_graph(const TvProblem& problem, const TvRun& run, const TvImages& images,
                                      cudaStream_t stream) {
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t captured = nullptr;
  try {
    for (int k = 0; k < kLogLength; ++k) launch(run, pass_launches(problem.solver, images, k), stream);
  } catch (...) {
    cudaStreamEndCapture(stream, &captured);
    CudaOwner<cudaGraph_t>{captured};
    throw;
  }
  cuda_check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  const CudaOwner<cudaGraph_t> graph(captured);
  cudaGraphExec_t executable = nullptr;
  cuda_check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  return CudaOwner<cudaGraphExec_t>(executable);
}

void iterate(const TvProblem& problem, const TvRun& run, const TvImages& images, cudaStream_t stream,
             TvOutcome& outcome) {
  const auto graph = make_graph(problem, run, images, stream);
  const PinnedArray<TvProgress> logs = make_pinned<TvProgress>(2 * kLogLength);
  const CudaEvent start = make_event(), ends[2] = {make_event(), make_event()};
  const WaitAtEnd wait(stream);
  Progress shown("denoising", 0, "iterations");
  cuda_check(cudaEventRecord(start.get(), stream), "cudaEventRecord");
  launch(run, first_launches(problem.solver, images), stream);
  // One graph ahead of what is known, so that the device does not wait; passes after the end return at once.
  for (int turn = 0;; ++turn) {
    TvProgress* const log = logs.get() + turn % 2 * kLogLength;
    cuda_check(cudaGraphLaunch(graph.get(), stream), "cudaGraphLaunch");
    cuda_check(cudaMemcpyAsync(log, run.log, kLogLength * sizeof *log, cudaMemcpyDeviceToHost, stream),
               "copying the progress");
    cuda_check(cudaEventRecord(ends[turn % 2].get(), stream), "cudaEventRecord");
    if (turn == 0) continue;
    const cudaEvent_t end = ends[(turn - 1) % 2].get();
    cuda_check(cudaEventSynchronize(end), "denoising on the device");
    const std::size_t known = outcome.history.size();
    const bool done = record(logs.get() + (turn - 1) % 2 * kLogLength, outcome);
    shown.advance(outcome.history.size() - known);
    if (!done) continue;
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end), "cudaEventElapsedTime");
    outcome.seconds = milliseconds * 1e-3;
    return;
  }
}

void minimise_in_one_piece(const TvProblem& problem, TvSession& session, double largest_trace, float* image,
                           TvOutcome& outcome) {
  const std::size_t count = values(problem), bytes = count * sizeof(float);
  const int images = image_count(problem.solver), points = point_count(problem.solver);
  const DeviceArray<float> memory = make_device<float>(count * static_cast<std::size_t>(images));
  outcome.device_bytes = session.device_bytes() + bytes * static_cast<std::size_t>(images);
  float* at = memory.get();
  const auto take = [&](std::size_t n) { return std::exchange(at, at + n * count); };
  TvImages on_device;
  on_device.noisy = take(1);
  for (int k = 0; k < points; ++k) on_device.points[k] = take(1);
  if (problem.solver == Solver::primal_dual) on_device.p = take(3);

  const CudaStream stream = make_stream();
  Clock::time_point start = Clock::now();
  PinnedPair staging(stream.get(), 4 << 20);
  staging.upload(on_device.noisy, problem.noisy, bytes);
  staging.upload(on_device.points[0], image, bytes);
  cuda_check(cudaStreamSynchronize(stream.get()), "copying the image to the device");
  outcome.transfer_seconds = seconds_since(start);

  session.begin(largest_trace, stream.get());
  if (problem.solver == Solver::accelerated)  // the x before the first
    cuda_check(cudaMemcpyAsync(on_device.points[2], on_device.points[0], bytes, cudaMemcpyDeviceToDevice,
                               stream.get()),
               "copying the image");
  if (on_device.p != nullptr)
    cuda_check(cudaMemsetAsync(on_device.p, 0, 3 * bytes, stream.get()), "cudaMemsetAsync");
  iterate(problem, session.run(), on_device, stream.get(), outcome);

  start = Clock::now();
  const auto passes = static_cast<std::int64_t>(outcome.history.size());
  staging.download(measured_point(problem.solver, on_device, passes), count,
                   [&](std::uint64_t begin, const float* data, std::uint64_t some) {
                     std::copy_n(data, some, image + begin);
                   });
  outcome.transfer_seconds += seconds_since(start);
}

}  // namespace

TvSession::TvSession(const TvProblem& problem, const TvTuning& tuning, int sets) : problem_(problem) {
  const Grid& grid = problem.grid;
  if (std::max({grid.nx, grid.ny, grid.nz, grid.nx * grid.ny}) > std::numeric_limits<int>::max())
    throw BadInput("an image of " + std::to_string(grid.nx) + " x " + std::to_string(grid.ny) + " x " +
                   std::to_string(grid.nz) + " voxels has more than 2^31 - 1 in a plane: use the CPU");
  run_.nx = static_cast<int>(grid.nx);
  run_.ny = static_cast<int>(grid.ny);
  run_.nz = static_cast<int>(grid.nz);
  run_.tensor = problem.tensor;
  run_.outside = problem.outside;
  run_.constants = problem.constants;
  run_.tile = tuning.tile >= 0 ? tuning.tile : best_tensor_tile(problem.grid.voxels());
  const TvKernel kernel = main_kernel(problem.solver);
  std::int64_t tiles = 0;
  int resident = 0;
  cuda_check(tv_blocks(run_, kernel, tiles, resident), "asking for the kernels' occupancy");
  run_.chunk = tuning.chunk > 0 ? tuning.chunk : choose_chunk(run_.nz, tiles, resident);
  run_.log_length = kLogLength;

  set_size_ = static_cast<std::size_t>(partial_sums(run_, kernel));
  const std::size_t count = set_size_ * static_cast<std::size_t>(sets);
  partials_ = make_device<double>(count);
  constants_ = make_device<TvConstants>(1);
  state_ = make_device<std::byte>(
      std::max({sizeof(AcceleratedState), sizeof(DescentState), sizeof(PrimalDualState)}));
  coefficients_ = make_device<TvCoefficients>(1);
  ticket_ = make_device<unsigned>(1);
  log_ = make_device<TvProgress>(kLogLength);
  bytes_ = count * sizeof(double) + sizeof(TvConstants) + sizeof(AcceleratedState) + sizeof(TvCoefficients) +
           sizeof(unsigned) + kLogLength * sizeof(TvProgress);
  run_.device_constants = constants_.get();
  run_.state = state_.get();
  run_.coefficients = coefficients_.get();
  run_.partials = partials_.get();
  run_.ticket = ticket_.get();
  run_.log = log_.get();
}

TvRun TvSession::run(int set) const {
  TvRun run = run_;
  run.partials += static_cast<std::size_t>(set) * set_size_;
  return run;
}

void TvSession::begin(double largest_trace, cudaStream_t stream) {
  const auto copy = [&](void* to, const auto& from) {
    cuda_check(cudaMemcpyAsync(to, &from, sizeof from, cudaMemcpyHostToDevice, stream),
               "copying the solver's state");
    cuda_check(cudaStreamSynchronize(stream), "copying the solver's state");
  };
  copy(constants_.get(), problem_.constants);
  copy(coefficients_.get(), TvCoefficients{});
  copy(ticket_.get(), 0U);
  cuda_check(cudaMemsetAsync(log_.get(), 0, kLogLength * sizeof(TvProgress), stream), "cudaMemsetAsync");
  switch (problem_.solver) {
    case Solver::accelerated:
      return copy(state_.get(), AcceleratedState{});
    case Solver::primal_dual:
      return copy(state_.get(), PrimalDualState{});
    case Solver::descent: {
      DescentState state;
      state.fixed = problem_.descent_step;
      state.largest = largest_trace;
      return copy(state_.get(), state);
    }
  }
}

bool record(const TvProgress* log, TvOutcome& outcome) {
  for (;;) {
    const TvProgress& entry = log[outcome.history.size() % kLogLength];
    if (entry.iteration != static_cast<int>(outcome.history.size()) + 1) return false;
    outcome.history.push_back({entry.iteration, entry.objective, entry.gap});
    outcome.objective = entry.objective;
    outcome.gap = entry.gap;
    outcome.converged = entry.converged;
    if (entry.done) return true;
  }
}

std::uint64_t usable_memory() {
  constexpr std::uint64_t kReserve = std::uint64_t{64} << 20;
  std::size_t free = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return within_cap(free > kReserve ? free - kReserve : 0);
}

namespace {

/// Whether each of the devices has the memory that is wanted of it, all its parts together.
bool have_memory(const std::vector<Device>& devices, const std::vector<std::uint64_t>& bytes) {
  for (const Device device : devices) {
    const OnDevice current(device);
    std::uint64_t wanted = 0;
    for (std::size_t k = 0; k < devices.size(); ++k)
      if (devices[k] == device) wanted += bytes[k];
    if (wanted > usable_memory()) return false;
  }
  return true;
}

}  // namespace

TvOutcome minimise_cuda(const TvProblem& problem, float* image, const std::vector<Device>& devices,
                        const TvTuning& tuning) {
  if (problem.tgv_ratio > 0) {
    one_device(devices, "denoising with total generalised variation");
    return minimise_tgv_cuda(problem, image);
  }
  cuda_check(cudaFree(nullptr), "starting CUDA");
  TvOutcome outcome;
  TvSession session(problem, tuning);
  const bool descent = problem.solver == Solver::descent;
  const double largest_trace = descent ? factorise(problem.grid, image) : 0;
  const TvRun& run = session.run();
  const TvTuning chosen{run.tile, run.chunk};
  // As many as are worth it, or the current one.
  const std::int64_t split_from =
      std::max<std::int64_t>(tuning.split_from < 0 ? kSplitFrom : tuning.split_from, 1);
  const std::int64_t count =
      std::min({std::ssize(devices), static_cast<std::int64_t>(values(problem)) / split_from,
                std::int64_t{run.chunks()}});
  std::vector<Device> used(devices.begin(), devices.begin() + std::max<std::int64_t>(count, 0));
  if (used.size() < 2) used = {Device::cuda};
  const std::vector<TvShare> shares = tv_shares(run.nz, run.chunk, static_cast<int>(used.size()));
  const std::uint64_t needed = std::uint64_t{values(problem)} * sizeof(float) *
                                   static_cast<std::uint64_t>(image_count(problem.solver)) +
                               session.device_bytes();
  if (!have_memory(used, used.size() > 1 ? team_bytes(problem, session, shares) : std::vector{needed}))
    minimise_in_slabs(problem, used, chosen, largest_trace, image, outcome);
  else if (used.size() > 1)
    minimise_on_team(problem, used, shares, chosen, largest_trace, image, outcome);
  else
    minimise_in_one_piece(problem, session, largest_trace, image, outcome);
  if (descent) multiply_factors(problem.grid, image);
  return outcome;
}

TvOutcome minimise_cuda(const TvProblem& problem, float* image, const std::vector<Device>& devices) {
  return minimise_cuda(problem, image, devices, {});
}

}  // namespace warploom::imaging
