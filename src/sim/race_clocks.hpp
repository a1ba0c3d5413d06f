#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace warploom::sim {

/// A moment of one worker's race detection: counts the synchronisations of its blocks. No two blocks have one
/// in common, so that a moment tells its block. 0: never.
using Time = std::int32_t;

/// A time for each thread of a block. Shared by all who know the same; copied before it changes.
using ThreadTimes = std::shared_ptr<std::vector<Time>>;

/// What somebody knows of one block: up to which time accesses of its threads come before what he does.
struct BlockClock {
  Time floor = 0;  ///< of all threads
  // What most releases know beyond that, without a vector: one warp and one thread of it.
  std::uint32_t warp = 0, thread = 0;
  Time warp_floor = 0, thread_time = 0;
  ThreadTimes each;  ///< may be null

  Time of(std::uint32_t t) const;
  bool covers(const BlockClock& other) const;
  /// Calls visit(thread, time) for what exceeds the floor; a thread may come several times.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (each)
      for (std::uint32_t t = 0; t < each->size(); ++t)
        if ((*each)[t] > floor) visit(t, (*each)[t]);
    if (warp_floor > floor)
      for (std::uint32_t t = warp * 32; t < warp * 32 + 32; ++t) visit(t, warp_floor);
    if (thread_time > floor) visit(thread, thread_time);
  }
};

/// The later of both, thread by thread.
BlockClock join(const BlockClock& a, const BlockClock& b);

/// What somebody knows of many blocks: a persistent map from block number to BlockClock. Copies cost nothing,
/// and a join of two that grew from one costs only where they differ, so that a chain of blocks, each of
/// which learns what the one before knew, stays cheap. It is a Patricia tree (Okasaki & Gill, Workshop on ML,
/// 1998) whose operations return an operand where that is the result.
class Clock {
 public:
  struct Node;

  bool empty() const { return root_ == nullptr; }
  const BlockClock* find(std::uint64_t block) const;
  void join(const Clock& other);
  void join(std::uint64_t block, const BlockClock& known);
  bool operator==(const Clock&) const = default;  ///< the same tree, not merely an equal one

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace warploom::sim
