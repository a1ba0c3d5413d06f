#include "core/forks.hpp"

#include <pthread.h>

#include <atomic>
#include <new>

namespace warploom {
namespace {

std::atomic<unsigned> generation = 0;
std::recursive_mutex mutex;

// Before main(), so before any fork that matters.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  ++generation;
  new (&mutex) std::recursive_mutex;
});

}  // namespace

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }
std::recursive_mutex& per_process_mutex() { return mutex; }

}  // namespace warploom
