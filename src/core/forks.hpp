#pragma once

#include <atomic>
#include <memory>

namespace warploom {

/// 0 in the process that was started, 1 in a child that it forked, and so on.
unsigned fork_generation();

/// What a process has one of and a forked child does not inherit, for its threads are not there and its locks
/// may be held by one of them: the child makes its own at the first use. The parent's is left in the child's
/// memory, since nothing can be said of its state.
template <class T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    const Entry* entry = entry_.exchange(nullptr);
    if (entry != nullptr && entry->generation == fork_generation()) delete entry;
  }

  template <class... Arguments>
  T& get(const Arguments&... arguments) {
    Entry* entry = entry_.load(std::memory_order_acquire);
    if (entry != nullptr && entry->generation == fork_generation()) return entry->value;
    // No function-static: a fork in the middle of its initialisation would lock the child out. Threads that
    // come at once each make one, and one is kept.
    auto made = std::make_unique<Entry>(arguments...);
    while (!entry_.compare_exchange_weak(entry, made.get()))
      if (entry != nullptr && entry->generation == made->generation) return entry->value;
    return made.release()->value;
  }

 private:
  struct Entry {
    template <class... Arguments>
    explicit Entry(const Arguments&... arguments) : value(arguments...) {}
    unsigned generation = fork_generation();
    T value;
  };
  std::atomic<Entry*> entry_ = nullptr;
};

}  // namespace warploom
