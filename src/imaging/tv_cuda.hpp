#pragma once

/// The parts of minimise_cuda.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cuda/owners.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_kernels.hpp"
#include "imaging/tv_launches.hpp"

namespace warploom::imaging {

/// What minimise_cuda chooses by itself, for benchmarks and tests.
struct TvTuning {
  int tile = -1;                 ///< of tv_tiles.hpp
  int chunk = 0;                 ///< planes that a block goes through
  std::int64_t split_from = -1;  ///< values that a device works on at least, of several
};
/// @param devices  that share the image; none: the current one
TvOutcome minimise_cuda(const TvProblem& problem, float* image, const std::vector<Device>& devices,
                        const TvTuning& tuning);

/// State, sums and log of a minimisation on the device.
class TvSession {
 public:
  /// @param sets  of partial sums
  TvSession(const TvProblem& problem, const TvTuning& tuning, int sets = 1);
  /// The solver's state at the start.
  void begin(double largest_trace, cudaStream_t stream);

  const TvRun& run() const { return run_; }
  /// With a set of partial sums.
  TvRun run(int set) const;
  std::uint64_t device_bytes() const { return bytes_; }

 private:
  const TvProblem& problem_;
  TvRun run_;
  std::uint64_t bytes_ = 0;
  std::size_t set_size_ = 0;
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

/// Makes devices current, and at its end the one that was. A device without a number is what is current.
class CurrentDevice {
 public:
  CurrentDevice() { cuda_check(cudaGetDevice(&first_), "cudaGetDevice"), now_ = first_; }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() { cudaSetDevice(first_); }
  void set(Device device) {
    if (device.ordinal < 0 || device.ordinal == now_) return;
    cuda_check(cudaSetDevice(device.ordinal), "cudaSetDevice");
    now_ = device.ordinal;
  }

 private:
  int first_ = 0, now_ = 0;
};

/// Of the current device [bytes], what the runtime allocates by itself left out.
std::uint64_t usable_memory();

/// What a device has of a pass's sums.
struct TvPart {
  Device device;
  TvRun run;
};
/// Copies those of the chunks of `share`; asked of the current device, which is the source's.
void send_partial_sums(TvKernel kernel, const TvShare& share, const TvPart& source, const TvPart& target,
                       cudaStream_t stream);

/// Minimises with as many planes at a time on the devices as their memory holds, each device with its share
/// of the image; `image` as in minimise_cuda.
/// @param tuning  with tile and chunk
/// @throws OutOfMemory (not even one chunk of planes fits)
void minimise_in_slabs(const TvProblem& problem, const std::vector<Device>& devices, const TvTuning& tuning,
                       double largest_trace, float* image, TvOutcome& outcome);

/// Bytes that each device needs at most, for its share of the image.
std::vector<std::uint64_t> team_bytes(const TvProblem& problem, const TvSession& session,
                                      const std::vector<TvShare>& shares);
/// Minimises on several devices, each with its share of the planes; `image` as in minimise_cuda.
/// @param tuning  with tile and chunk
void minimise_on_team(const TvProblem& problem, const std::vector<Device>& devices,
                      const std::vector<TvShare>& shares, const TvTuning& tuning, double largest_trace,
                      float* image, TvOutcome& outcome);

}  // namespace warploom::imaging
