#pragma once

#include <mutex>

namespace warploom {

/// 0 in the process that was started, 1 in a child that it forked, and so on.
unsigned fork_generation();
/// Of all PerProcess; free again in a child, whatever thread of the parent held it.
std::recursive_mutex& per_process_mutex();

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
    if (entry_ != nullptr && entry_->generation == fork_generation()) delete entry_;
    entry_ = nullptr;  // who comes still later, in another static's destructor, gets a new one
  }

  /// No function-static would do: a fork in the middle of its initialisation would lock the child out.
  template <class... Arguments>
  T& get(const Arguments&... arguments) {
    const std::lock_guard lock(per_process_mutex());
    if (entry_ == nullptr || entry_->generation != fork_generation()) entry_ = new Entry(arguments...);
    return entry_->value;
  }

 private:
  struct Entry {
    template <class... Arguments>
    explicit Entry(const Arguments&... arguments) : value(arguments...) {}
    unsigned generation = fork_generation();
    T value;
  };
  Entry* entry_ = nullptr;
};

}  // namespace warploom
