#include "call.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "warploom/core/device.hpp"

namespace warploom::python {

Run run_of(const Asked& asked) {
  Run run{.threads = asked.threads};
  if (asked.device != "auto") run.devices = parse_devices(asked.device);
  return run;
}

namespace {

/// A thread's work, which the thread that called for it watches.
class Watched {
 public:
  Watched(const Asked& asked, const std::function<void(const Run&)>& work) : progress_(asked.progress) {
    Run run = run_of(asked);
    run.stop = &stop_;
    if (!progress_.is_none())
      run.progress = [this](const ProgressState& state) {
        const std::lock_guard lock(mutex_);
        if (!state.finished || state.done > 0) state_ = state;
      };
    thread_ = std::thread([this, run = std::move(run), &work] {
      std::exception_ptr failure;
      try {
        work(run);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      done_ = true;
      changed_.notify_one();
    });
  }

  /// With the GIL.
  void wait() {
    {
      const nb::gil_scoped_release released;
      std::unique_lock lock(mutex_);
      while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; })) {
        lock.unlock();
        look();
        lock.lock();
      }
      lock.unlock();
      thread_.join();
    }
    if (!raised_) show();
    if (raised_) std::rethrow_exception(raised_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void look() {
    if (stop_) return;  // it will end soon
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) raised_ = std::make_exception_ptr(nb::python_error());
    if (!raised_) show();
    if (raised_) stop_ = true;
  }

  void show() {
    std::optional<ProgressState> state;
    {
      const std::lock_guard lock(mutex_);
      state.swap(state_);
    }
    const auto now = std::chrono::steady_clock::now();
    if (!state || (!state->finished && now - shown_ < std::chrono::milliseconds(100))) return;
    shown_ = now;
    try {
      progress_(state->what, state->unit, state->done, state->total, state->elapsed, state->finished);
    } catch (nb::python_error&) {
      raised_ = std::current_exception();
    }
  }

  nb::object progress_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::optional<ProgressState> state_ = {};  // that was not told yet
  std::chrono::steady_clock::time_point shown_ = {};
  std::exception_ptr failure_ = {}, raised_ = {};  // of the work, of Python
  std::thread thread_ = {};
};

}  // namespace

void run_work(const Asked& asked, Length length, const std::function<void(const Run&)>& work) {
  if (length == Length::long_ || !asked.progress.is_none()) return Watched(asked, work).wait();
  std::optional<nb::gil_scoped_release> released;
  if (length == Length::brief) released.emplace();
  work(run_of(asked));
}

}  // namespace warploom::python
