#pragma once

/// What solve.cpp asks of a back end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dp/terms.hpp"
#include "warploom/dp/solve.hpp"

namespace warploom::dp {

/// Bottom-up on a GPU: blocks of 32 up to this many points, one launch a diagonal, which measured (on one
/// H200, 32-bit types) faster than blocks of 64 with two.
inline constexpr std::int64_t kOneLaunchADiagonal = 4096;

/// A lane of a warp sets each one's flag.
inline constexpr std::size_t kMostShards = 32;

/// Options with nothing left to choose, and the problems as minima on the host.
template <class T>
struct Plan {
  std::span<const Terms<T>> problems;  // one, or a batch
  Decomposition decomposition = Decomposition::bottom_up;
  int block = 64;
  Triangular triangular = Triangular::blocked;
  bool narrow = false;  // int32 only
  bool separate_calls = false, phases = false;
  int multiprocessors = 0;
  std::vector<Device> devices = {};  // more than one: GPUs that share one problem, persistent
};

/// The solved cells of a batch, wherever they are; minima.
template <class T>
class Cells {
 public:
  virtual ~Cells() = default;
  virtual T value(std::int64_t problem, std::int64_t i, std::int64_t j) const = 0;
  /// Into `cells`, laid out as Triangle.
  virtual void copy(std::int64_t problem, std::span<T> cells) const = 0;
  /// See Solution::trace. In any order: solve.cpp sorts them.
  virtual std::vector<Split> trace(std::int64_t problem) const = 0;
};

template <class T>
struct Solved {
  std::unique_ptr<Cells<T>> cells;  // null: narrow storage did not hold, and the plan is to be made without
  Report report;                    // what the back end measured and counted; solve.cpp fills in the rest
};

/// Plan::problems may be released afterwards: what Cells needs of them is copied.
/// @throws OutOfMemory, Interrupted
template <class T>
Solved<T> solve_cpu(const Plan<T>& plan);
template <class T>
Solved<T> solve_cuda(const Plan<T>& plan);  // only where WARPLOOM_HAVE_CUDA

}  // namespace warploom::dp
