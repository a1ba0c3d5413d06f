#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/core/device.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"

namespace warploom {

/// Where and how a piece of work runs: a member of its options, or its last argument. Plain data, which may
/// be copied and used by several threads at once. What is left unset is taken from the RunScope around the
/// call; what is unset there, too, is as said here.
///
/// A function copies the Run for the time of the call, an object (a search::Index, a table::HashTable) for
/// its life: so long `stop` and what the sinks refer to must live.
struct Run {
  std::vector<Device> devices =
      {};                    ///< unset: Device::best. Work that uses one device refuses several: BadInput
  std::uint64_t memory = 0;  ///< to be allocated on the device at most [bytes]; unset, 0: what is free
  /// Of the CPU, the caller's among them; unset, 0: one a processor. More than 1,024 and than processors are
  /// not taken.
  unsigned threads = 0;
  /// True asks the work to stop with Interrupted. Anybody may set it at any time, a signal handler, too. The
  /// requests of all scopes around a call count.
  const std::atomic<bool>* stop = nullptr;
  ProgressSink progress = {};              ///< unset: nothing is shown
  LogSink log = {};                        ///< unset: messages are dropped
  LogLevel threshold = LogLevel::warning;  ///< of `log`: what is less severe is not said
};

/// While it lives, work of the calling thread runs as `run` says, and so do the bodies of its parallel_for on
/// other threads. Threads of your own each open one. Scopes of a thread end in the opposite order.
class RunScope {
 public:
  explicit RunScope(Run run);
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope();

  /// As given, and what was unset as it is around.
  const Run& run() const { return run_; }
  bool stop_requested() const;

 private:
  Run run_;
  const RunScope* outer_;
};

/// Of the innermost scope of this thread, or one with nothing set.
const Run& current_run();
/// Of `available` bytes of the device that works, those that the current Run's `memory` allows.
std::uint64_t within_cap(std::uint64_t available);

/// A RunScope of work on one device, which it chooses as choose_device() does. A GPU that is named by its
/// number becomes the calling thread's current one, and at the end what was current is so again.
class DeviceScope {
 public:
  DeviceScope(const Run& run, std::string_view work, bool built_with_cuda);
  Device device() const { return device_; }

 private:
  RunScope scope_;
  Device device_;
  OnDevice current_;
};

}  // namespace warploom
