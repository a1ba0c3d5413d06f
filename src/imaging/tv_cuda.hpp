#pragma once

/// The parts of minimise_cuda.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cuda/owners.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_kernels.hpp"

namespace warploom::imaging {

/// What minimise_cuda chooses by itself, for benchmarks and tests.
struct TvTuning {
  int tile = -1;  ///< of tv_tiles.hpp
  int chunk = 0;  ///< planes that a block goes through
};
TvOutcome minimise_cuda(const TvProblem& problem, float* image, const TvTuning& tuning);

/// Images of the size of the input that a solver works on, as host or as device pointers.
struct TvImages {
  float* noisy = nullptr;
  float* points[3] = {};  ///< that x, the x before, and the next x take in turn
  float* p = nullptr;     ///< three in one
};
/// How many those are, and how many of them are points.
int image_count(Solver solver);
int point_count(Solver solver);

struct TvLaunch {
  TvKernel kernel;
  TvPlanes planes;  ///< of whole images
};
/// What to launch before the first pass, and in pass k (from 0).
std::vector<TvLaunch> first_launches(Solver solver, const TvRun& run, const TvImages& images);
std::vector<TvLaunch> pass_launches(Solver solver, const TvRun& run, const TvImages& images, std::int64_t k);
/// The point that was measured last, when `passes` were made.
float* measured_point(Solver solver, const TvImages& images, std::int64_t passes);

/// State, sums and log of a minimisation on the device.
class TvSession {
 public:
  /// @param state  of the solver, State being AcceleratedState, DescentState or PrimalDualState
  TvSession(const TvProblem& problem, const TvTuning& tuning);
  /// The solver's state at the start.
  void begin(double largest_trace, cudaStream_t stream);

  const TvRun& run() const { return run_; }
  std::uint64_t device_bytes() const { return bytes_; }

 private:
  const TvProblem& problem_;
  TvRun run_;
  std::uint64_t bytes_ = 0;
  DeviceArray<double> partials_;
  DeviceArray<TvConstants> constants_;
  DeviceArray<std::byte> state_;
  DeviceArray<TvCoefficients> coefficients_;
  DeviceArray<unsigned> ticket_;
  DeviceArray<TvProgress> log_;
};

/// Passes whose progress the device's log holds: a multiple of the turns that the points take, 2 or 3.
inline constexpr int kLogLength = 12;

/// Takes over the entries of a log that are new. @return whether the minimisation is done
bool record(const TvProgress* log, TvOutcome& outcome);

/// Minimises with as many planes at a time on the device as `memory` [bytes] holds; `image` as in
/// minimise_cuda.
/// @throws OutOfMemory (not even one chunk of planes fits)
void minimise_in_slabs(const TvProblem& problem, TvSession& session, std::uint64_t memory,
                       double largest_trace, float* image, TvOutcome& outcome);

}  // namespace warploom::imaging
