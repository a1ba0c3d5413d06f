#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/program.hpp"
#include "sim/race_clocks.hpp"
#include "sim/step.hpp"

namespace warploom::sim {

/// Hands out the moments of one worker and remembers whose they are.
class Timeline {
 public:
  /// After so many synchronisations in one launch time stands still: from there on races may be missed.
  static constexpr Time kEnd = std::numeric_limits<Time>::max() - 1;

  /// The block's next moment. `first` becomes the first of those since which no other block had one.
  Time advance(std::uint64_t block, Time& first);
  std::uint64_t owner(Time time) const;

 private:
  struct Run {
    Time first;
    std::uint64_t block;
  };
  Time last_ = 0;
  std::vector<Run> runs_;
};

/// What a strong write made visible to those who read it, and what reads it gave until a fence completes
/// them.
struct Released {
  Clock gpu;    ///< by releases at the scope of the GPU or wider
  Clock block;  ///< by releases at the scope of a block (`number`), or wider ones from that block
  std::uint64_t number = 0;
  bool empty() const { return gpu.empty() && block.empty(); }
  void join(const Released& other);
};

/// Happens-before as the threads of one block know it.
///
/// A barrier of all threads sets one number, a sync of all live lanes of a warp one number a warp. Barriers
/// of some threads, partial warp syncs and acquire patterns give single threads a vector of times of their
/// block-mates, shared by those who know the same, until the next barrier of all. What threads know of other
/// blocks, where the program's blocks can see each other, is a Clock each.
///
/// A fence followed by a strong write releases, a strong read followed by a fence acquires (PTX ISA, release
/// and acquire patterns). Two customs that the letter of the memory model does not cover count as well, for
/// they are older than it, hold on every GPU, and are everywhere. A barrier counts as the fence that
/// completes an acquire pattern for those who wait at it: NVIDIA's threadFenceReduction sample reads what
/// other blocks wrote after an atomic and __syncthreads alone. And what a thread has fenced is released by
/// the strong write of another that it synchronised with in between: all threads write and fence, then
/// __syncthreads, then one counts the block.
class BlockOrder {
 public:
  BlockOrder(Timeline& timeline, bool communicates) : timeline_(timeline), communicates_(communicates) {}

  void begin(std::uint64_t number, std::uint32_t threads);

  std::uint64_t number() const { return number_; }
  Time now() const { return now_; }
  /// Moments from here to now() are this block's.
  Time first() const { return first_; }
  Time floor() const { return floor_; }
  Time warp_floor(std::uint32_t warp) const { return warp_floor_[warp]; }

  /// What thread `other` of this block did at `time` comes before what `thread` does now.
  bool before(Time time, std::uint32_t other, std::uint32_t thread) const {
    return time <= floor_ || other == thread ||
           (other / kLanes == thread / kLanes && time <= warp_floor_[thread / kLanes]) ||
           (!threads_.empty() && threads_[thread].each && time <= (*threads_[thread].each)[other]);
  }
  /// The same of thread `other` of another block.
  bool before(Time time, std::uint64_t block, std::uint32_t other, std::uint32_t thread) const;

  void barrier_of_all();
  /// Lanes arrive at a barrier for which they do not wait.
  void announce(std::uint32_t warp, Mask lanes, std::uint32_t barrier);
  /// Those who wait come after each other, and after what was announced.
  void barrier(const std::vector<Mask>& waiting, std::uint32_t barrier);
  void warp_sync(std::uint32_t warp, Mask lanes, bool all_live);
  /// `sides`: acquire completes what was read before, release offers what comes before, acquire_release both.
  void fence(std::uint32_t warp, Mask lanes, Scope scope, Strength sides);

  /// What the thread knows of its block now.
  BlockClock clock_of(std::uint32_t thread) const;
  /// What it knows of other blocks.
  Clock foreign_of(std::uint32_t thread) const { return snapshot(thread).foreign; }
  /// What a strong write of the thread releases.
  Released release(std::uint32_t thread, bool releases, Scope scope) const;
  /// To be called after an instruction that releases without a fence.
  void released() { advance(); }
  /// A strong read of the thread read what was released.
  void acquire(std::uint32_t thread, const Released& from, bool acquires, Scope scope);
  /// The thread comes after all that `other` did so far, and after nothing that this one knows.
  void come_after(std::uint32_t thread, std::uint32_t other);
  /// Whether release() can be anything but empty for a relaxed write.
  bool has_fenced() const { return !fences_.empty() || fenced_; }

 private:
  struct Thread {
    ThreadTimes each;  ///< of block-mates, beyond the floors; null: nothing
    Clock foreign;
  };
  /// What a thread knew at some time.
  struct Snapshot {
    BlockClock own;
    Clock foreign;
  };
  using Snapshots = std::shared_ptr<const Snapshot>;
  struct Fences {
    Snapshots gpu, block;  ///< at the last fence of that scope or wider
    Released pending;      ///< read, but not yet followed by a fence
  };
  /// What several threads know together. Those who know the same share it, so that there is little to add.
  struct Together {
    BlockClock own;
    Clock foreign;
    const std::vector<Time>* last = nullptr;  ///< added last
    bool empty() const { return own.floor == 0 && !own.each; }
    void add(const BlockClock& known, const Clock& elsewhere, std::uint32_t threads);
  };
  struct Gathered {
    Together known, fenced;
  };

  /// Adds what the lanes of `of` know and have fenced.
  void gather(Gathered& to, const std::vector<Mask>& of) const;
  /// Takers come after each other, and after what was gathered.
  void share(const std::vector<Mask>& takers, Gathered& gathered);
  const std::vector<Mask>& only(std::uint32_t warp, Mask lanes);
  void advance() { now_ = timeline_.advance(number_, first_); }
  std::vector<Thread>& threads() {
    if (threads_.empty()) threads_.resize(count_);
    return threads_;
  }
  Fences& fences_of(std::uint32_t thread);
  Snapshot snapshot(std::uint32_t thread) const;
  Clock clock(const Snapshot& snapshot) const;
  void learn(std::uint32_t thread, const BlockClock& own);
  void learn(std::uint32_t thread, const Clock& clock);
  void complete(std::uint32_t thread, Scope scope);

  Timeline& timeline_;
  const bool communicates_;
  std::uint64_t number_ = 0;
  std::uint32_t count_ = 0;
  Time now_ = 0, first_ = 0, floor_ = 0;
  std::vector<Time> warp_floor_;
  std::vector<Mask> one_warp_;                   ///< what only() returns
  std::vector<Thread> threads_;                  ///< empty until somebody knows more than the floors
  std::vector<std::unique_ptr<Fences>> fences_;  ///< empty until the first fence or strong read of a release
  // What all threads know and have fenced.
  Clock foreign_;
  Snapshots fenced_;
  Gathered announced_[16];  ///< by barrier
};

}  // namespace warploom::sim
