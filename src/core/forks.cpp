#include "core/forks.hpp"

#include <pthread.h>

namespace warploom {
namespace {

std::atomic<unsigned> generation = 0;
// Before main(), so before any fork that matters.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });

}  // namespace

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace warploom
