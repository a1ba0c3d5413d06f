#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>

#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tool {

/// Lets work go on while what all of it holds is within a limit; alone anything may.
class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t limit) : limit_(std::max<std::uint64_t>(limit, 1)) {}

  /// In the gate while it lives.
  class In {
   public:
    /// @throws Interrupted
    In(MemoryGate& gate, std::uint64_t bytes)
        : gate_(gate), bytes_(std::clamp<std::uint64_t>(bytes, 1, gate.limit_)) {
      gate_.wait(
          [&] {
            return gate_.want_alone_ == 0 && (gate_.held_ == 0 || gate_.held_ + bytes_ <= gate_.limit_);
          },
          bytes_);
    }
    In(const In&) = delete;
    In& operator=(const In&) = delete;
    ~In() { gate_.leave(bytes_); }

   private:
    MemoryGate& gate_;
    std::uint64_t bytes_;
  };

  /// Alone in the gate while it lives: nobody else enters from when this waits for those who are in it.
  class Alone {
   public:
    /// @throws Interrupted
    explicit Alone(MemoryGate& gate) : wish_(gate), gate_(gate) {
      gate_.wait([&] { return gate_.held_ == 0; }, gate_.limit_);
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() { gate_.leave(gate_.limit_); }

   private:
    struct Wish {
      explicit Wish(MemoryGate& gate) : gate(gate) {
        const std::lock_guard lock(gate.mutex_);
        ++gate.want_alone_;
      }
      ~Wish() {
        const std::lock_guard lock(gate.mutex_);
        --gate.want_alone_;
        gate.changed_.notify_all();
      }
      MemoryGate& gate;
    };
    Wish wish_;
    MemoryGate& gate_;
  };

 private:
  template <class May>
  void wait(const May& may, std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    while (!may()) {
      changed_.wait_for(lock, kLook);
      check_interrupt();
    }
    held_ += bytes;
  }
  void leave(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    held_ -= bytes;
    changed_.notify_all();
  }

  static constexpr std::chrono::milliseconds kLook{100};
  const std::uint64_t limit_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::uint64_t held_ = 0;
  unsigned want_alone_ = 0;
};

/// Does `work` beside others that hold no more than the gate allows. Where memory is out, a GPU's or the
/// machine's, it is done once more when all others are done, and alone: what an item needs is known to the
/// size of its file.
/// @param others  whether there may be any; else nothing is tried again
/// @throws what the work throws
template <class Work>
void within_memory(MemoryGate& gate, std::uint64_t bytes, bool others, const std::string& item,
                   const Work& work) {
  std::string why;
  try {
    const MemoryGate::In in(gate, bytes);
    return work();
  } catch (const OutOfMemory& error) {
    if (!others) throw;
    why = error.what();
  } catch (const std::bad_alloc&) {
    if (!others) throw;
    why = "out of memory";
  }
  log(LogLevel::info, fmt::format("{}: {}; once more, alone", item, why));
  const MemoryGate::Alone alone(gate);
  work();
}

}  // namespace warploom::tool
