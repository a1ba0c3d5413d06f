#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace warploom {

class RunScope;

/// Long loops call this, directly or through Progress::advance. @throws Interrupted if Run::stop asks for it
void check_interrupt();

struct ProgressState {
  std::string what = {}, unit = {};  ///< "placing", "kernels"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  double elapsed = 0;       ///< [s]
  bool finished = false;    ///< the work ended, well or not; the last call for it
};

/// "placing 420/1000 kernels (42 %), 81 kernels/s, 0:07 left"
std::string progress_text(const ProgressState& state);

/// Shows progress to a person: see Run::progress. Called from any thread, one call at a time in the whole
/// process, at most ten times a second for each piece of work. Must not throw.
using ProgressSink = std::function<void(const ProgressState&)>;

/// One piece of long work, shown as the Run says in whose scope it began; lives as long as the work does.
/// Threads may share it.
class Progress {
 public:
  /// @param total  in `unit`; 0 if not known
  Progress(std::string what, std::uint64_t total, std::string unit);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Counts `n` more units as done. Cost: an atomic add and a clock reading.
  /// @throws Interrupted if Run::stop asks for it
  void advance(std::uint64_t n = 1);

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool finished);

  std::string what_, unit_;
  std::uint64_t total_;
  const RunScope* scope_;
  Clock::time_point start_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::int64_t> next_show_;  // [ns since start_]
  bool shown_ = false;                   // guarded as calls of the sink
};

}  // namespace warploom
