#pragma once

#include <atomic>

namespace warploom {

/// Several threads each do work of their own with a share of all threads. Who has no more work gives its
/// share here, and the parallel_for of those that still work take it, from their next call on: each may use
/// all that is spare, and the pool, which has no more threads than that, deals them out.
class SpareThreads {
 public:
  void give(unsigned threads) { count_ += threads; }
  unsigned count() const { return count_; }

  /// While it lives, threads() of the calling thread has the spare ones, too.
  class Scope {
   public:
    explicit Scope(const SpareThreads& spare);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    const SpareThreads* outer_;
  };

 private:
  std::atomic<unsigned> count_ = 0;
};

}  // namespace warploom
