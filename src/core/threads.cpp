#include "warploom/core/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/current_scope.hpp"
#include "core/forks.hpp"
#include "core/spare_threads.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

constexpr unsigned kMostThreads = 1024;

unsigned processors() {
  static std::atomic<unsigned> count = 0;
  if (count == 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    count =
        std::max(1u, known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::thread::hardware_concurrency());
  }
  return count;
}

thread_local bool inside_body = false;
thread_local const SpareThreads* spare_of_thread = nullptr;

// One call of parallel_for: threads take the next k until there is none.
struct Work {
  std::int64_t count;
  const std::function<void(std::int64_t)>& body;
  unsigned places;  // for threads beside the caller's
  const RunScope* scope = current_scope();
  unsigned generation = fork_generation();
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex{};
  std::exception_ptr error{};  // guarded by mutex
  // Guarded by the pool's mutex:
  unsigned helpers = 0;
  std::condition_variable left{};

  bool open() const { return next < count && helpers < places; }
  // A body forked, and this is the child: the threads that helped are not here, nor is what they did.
  bool forked() const { return generation != fork_generation(); }

  // Until there is no k left or, between two of them, leave() says so.
  template <class Leave>
  void run(const Leave& leave) {
    inside_body = true;
    current_scope() = scope;
    for (std::int64_t k; (k = next.fetch_add(1)) < count;) {
      try {
        body(k);
      } catch (...) {
        if (forked()) break;
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
      if (leave()) break;
    }
    inside_body = false;
  }
};

// Threads that wait for work until the process ends, as many as a call ever asked for. Each caller works on
// its own call and waits for nobody but the threads that help with it; these go where fewest help.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(Work& work) {
    bool all = false;
    {
      const std::lock_guard lock(mutex_);
      try {
        while (threads_.size() < work.places) threads_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {  // no more threads are to be had: those that there are do the work
      }
      all = work.places >= threads_.size();
      works_.push_back(&work);
      ++begun_;
    }
    if (all)
      wake_.notify_all();
    else
      for (unsigned k = 0; k < work.places; ++k) wake_.notify_one();
    work.run([&] { return work.forked(); });
    if (work.forked())
      throw Error(
          "the process was forked inside a body of parallel_for, and the body returned in the child, where the rest of "
          "that work is missing: end the child in the body, or fork outside");
    std::unique_lock lock(mutex_);
    std::erase(works_, &work);
    work.left.wait(lock, [&] { return work.helpers == 0; });
  }

 private:
  // The open call with the fewest helpers, or null. Under the mutex.
  Work* choose() const {
    Work* best = nullptr;
    for (Work* work : works_)
      if (work->open() && (best == nullptr || work->helpers < best->helpers)) best = work;
    return best;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Work* work = nullptr;
      wake_.wait(lock, [&] { return stopping_ || (work = choose()) != nullptr; });
      if (stopping_) return;
      ++work->helpers;
      const unsigned begun = begun_;
      lock.unlock();
      // A call that began since may need the thread more.
      work->run([&] { return begun_ != begun || work->forked(); });
      if (work->forked()) std::_Exit(EXIT_FAILURE);  // the child of this thread has no caller to go back to
      current_scope() = nullptr;
      lock.lock();
      if (--work->helpers == 0) work->left.notify_one();
    }
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  std::vector<Work*> works_;
  bool stopping_ = false;
  std::atomic<unsigned> begun_ = 0;  // calls so far, also read without the mutex
};

PerProcess<Pool> pool;

}  // namespace

SpareThreads::Scope::Scope(const SpareThreads& spare) : outer_(std::exchange(spare_of_thread, &spare)) {}
SpareThreads::Scope::~Scope() { spare_of_thread = outer_; }

unsigned threads() {
  const unsigned asked = current_run().threads;
  if (inside_body) return 1;
  if (asked == 0) return processors();
  const unsigned spare = spare_of_thread == nullptr ? 0 : spare_of_thread->count();
  return std::min(asked + spare, std::max(kMostThreads, processors()));
}

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  if (!body) throw BadInput("parallel_for was given an empty function for its body");
  const std::int64_t most = std::min<std::int64_t>(count, threads());
  if (most <= 1) {
    // Not Work::run(): a body that this thread is in goes on afterwards.
    for (std::int64_t k = 0; k < count; ++k) body(k);
    return;
  }
  Work work{count, body, static_cast<unsigned>(most - 1)};
  pool.get().run(work);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace warploom
