#include "warploom/core/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace warploom {
namespace {

unsigned processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

thread_local bool inside_body = false;

// One call of parallel_for: threads take the next k until there is none.
struct Work {
  std::int64_t count;
  const std::function<void(std::int64_t)>& body;
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex{};
  std::exception_ptr error{};  // guarded by mutex

  void run() {
    inside_body = true;
    for (std::int64_t k; (k = next.fetch_add(1)) < count;) {
      try {
        body(k);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
    }
    inside_body = false;
  }
};

// Threads that wait for work until the process ends or their number changes.
class Pool {
 public:
  ~Pool() { stop(); }

  unsigned size() {
    const std::lock_guard lock(calls_);
    return size_;
  }

  void resize(unsigned count) {
    const std::lock_guard lock(calls_);
    stop();
    size_ = count == 0 ? processors() : count;
  }

  void run(Work& work) {
    const std::lock_guard lock(calls_);
    start();
    {
      const std::lock_guard state(mutex_);
      work_ = &work;
      busy_ = threads_.size();
      ++round_;
    }
    wake_.notify_all();
    work.run();
    std::unique_lock state(mutex_);
    done_.wait(state, [&] { return busy_ == 0; });
    work_ = nullptr;
  }

 private:
  void start() {
    while (threads_.size() + 1 < size_) threads_.emplace_back([this, seen = round_] { serve(seen); });
  }

  void stop() {
    {
      const std::lock_guard state(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    stopping_ = false;
  }

  void serve(std::uint64_t seen) {
    for (;;) {
      Work* work = nullptr;
      {
        std::unique_lock state(mutex_);
        wake_.wait(state, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        work = work_;
      }
      work->run();
      const std::lock_guard state(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex calls_;  // one piece of work at a time
  unsigned size_ = processors();
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, done_;
  Work* work_ = nullptr;
  std::size_t busy_ = 0;
  std::uint64_t round_ = 0;
  bool stopping_ = false;
};

Pool& pool() {
  static Pool pool;
  return pool;
}

}  // namespace

unsigned threads() { return inside_body ? 1 : pool().size(); }
void set_threads(unsigned count) { pool().resize(count); }

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  if (count <= 0) return;
  Work work{count, body};
  if (inside_body || count == 1) {
    // Not Work::run(): a body that this thread is in goes on afterwards.
    for (std::int64_t k = 0; k < count; ++k) body(k);
    return;
  }
  pool().run(work);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace warploom
