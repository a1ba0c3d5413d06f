#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/ranks.hpp"
#include "warploom/core/run.hpp"
#include "warploom/dp/problem.hpp"

namespace warploom::dp {

/// In which order blocks of the triangle are computed. All give the same cells.
enum class Decomposition {
  best,        ///< bottom_up on a CPU; on a GPU persistent
  bottom_up,   ///< a block diagonal after the other: all rectangular products, then all triangular blocks
  persistent,  ///< the same order in one kernel, where blocks wait for the blocks they need (GPU only)
  divide_and_conquer,  ///< the dissertation's Figure 10, each block once
  printed,             ///< Figure 10 as printed, which computes sub-triangles again
};
/// "auto", "bottom-up", "persistent", "divide-and-conquer", "printed". @throws BadInput naming them
Decomposition parse_decomposition(std::string_view text);
std::string_view name(Decomposition decomposition);

/// How the triangular part of a block is computed on a GPU, for bottom_up and both divide and conquers.
enum class Triangular {
  blocked,  ///< sub-blocks of 16 in shared memory, the innermost by one warp without block barriers
  merged,   ///< the dissertation's first option: three blocks merged in shared memory, a barrier a diagonal;
            ///< blocks of at most 64
  direct,   ///< its second: from global memory, a barrier a diagonal
};
/// "blocked", "merged", "direct". @throws BadInput naming them
Triangular parse_triangular(std::string_view text);
std::string_view name(Triangular triangular);

/// How cells are stored while the problem is solved.
enum class Storage {
  best,   ///< narrow where it is likely to hold
  plain,  ///< as the problem's type
  narrow  ///< int32 problems: 16 bits a cell and a 32-bit base a tile, which is exact: where a difference
          ///< within a tile does not fit, the problem is solved again with plain storage, and the report says
          ///< so
};
/// "auto", "plain", "narrow". @throws BadInput naming them
Storage parse_storage(std::string_view text);
std::string_view name(Storage storage);

struct Options {
  /// One device, or several GPUs that share one problem of at least 16,384 points (a smaller one if
  /// `decomposition` says persistent, else the first solves it). Each holds all cells.
  Run run = {};
  Decomposition decomposition = Decomposition::best;
  /// Edge of a block [cells]: 16, 32, 64, 128, 256 or 512; of persistent 32 or 64. 0: chosen by size and
  /// device.
  int block = 0;
  Triangular triangular = Triangular::blocked;
  Storage storage = Storage::best;
  /// One product of two blocks, and one triangular block, a call (a launch, on a GPU), as the dissertation's
  /// Table 1 counts them; otherwise all of a diagonal are in one.
  bool separate_calls = false;
  /// Measure phases apart; costs some waiting.
  bool phases = false;
  /// GPU, persistent only: use at most this many multiprocessors. 0: all.
  int multiprocessors = 0;
  /// Processes that share one problem on CPUs, bottom-up with blocks of 64 and plain storage: each holds
  /// every so manieth column of tiles. All of them call the same functions of the solution, as long as the
  /// ranks live. Null: none.
  Ranks* ranks = nullptr;
};

/// Blocks computed off the diagonal of blocks, as in the dissertation's Table 1.
struct Calls {
  std::int64_t triangular = 0, rectangular = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
};

struct Report {
  Device device = Device::cpu;  ///< where the cells are
  int devices = 1;              ///< that solved it; of ranks, how many
  Decomposition decomposition = Decomposition::bottom_up;
  int block = 0;
  std::string storage = {};   ///< "int16", "int32", "int64", "float32", "float64"
  std::string fallback = {};  ///< why plain storage was taken after narrow; empty if not
  Calls calls = {};           ///< 0 of persistent, which makes none
  std::int64_t launches = 0;  ///< of kernels; 0 on a CPU
  double pairs = 0;    ///< additions with their minimum that the recurrence asks for: (n+1) n (n-1) / 6
  double seconds = 0;  ///< of the solution, without transfers; on a GPU measured there
  double rectangular_seconds = 0, triangular_seconds = 0;  ///< with Options::phases
  double transfer_seconds = 0;                             ///< of input and optimum between host and device
  std::uint64_t bytes = 0;  ///< allocated for the solution where it was computed
};

/// One decision of an optimal solution: cell (i, j) is the sum of (i, k) and (k, j), or, where k = i, closes
/// as a pair around (i+1, j-1).
struct Split {
  std::int64_t i = 0, k = 0, j = 0;
  bool pair() const { return k == i; }
  friend bool operator==(const Split&, const Split&) = default;
};

namespace internal {
template <Value T>
class Store;
}

/// A solved problem. Copies share the cells, which stay where they were computed; one that is moved is
/// copied, so that what is left is whole.
template <Value T>
class Solution {
 public:
  /// solve() and solve_batch() make them. @throws BadInput (no store, or one without such an index)
  Solution(std::shared_ptr<const internal::Store<T>> store, std::int64_t index, Report report);
  Solution(const Solution&) = default;
  Solution& operator=(const Solution&) = default;

  std::int64_t points() const;
  /// m[0,n]; kUnreachable (of a maximum -kUnreachable) if there is no solution.
  T optimum() const { return optimum_; }
  /// m[i,j]. @throws BadInput (not 0 <= i < j < points()). Cost: on a GPU one small transfer.
  T value(std::int64_t i, std::int64_t j) const;
  /// All cells, on the host. Cost: as many bytes as Triangle<T>, and on a GPU their transfer.
  /// @throws OutOfMemory
  Triangle<T> table() const;
  /// The decisions behind the optimum, from the whole interval down, left before right; none if there is no
  /// solution. Ties: a pair before splits, splits with the least k; in floating point a tie is also what
  /// rounding makes equal: the first candidate is taken that gives the cell's value once the weight is added.
  /// No cell has stored its decision: k is looked for again in the cells that are visited, at most n - 1.
  /// Cost: O(n) to O(n^2) together.
  std::vector<Split> trace() const;
  const Report& report() const { return report_; }

 private:
  std::shared_ptr<const internal::Store<T>> store_;
  std::int64_t index_ = 0;  // within the store's batch
  T optimum_{};
  Report report_;
};

/// Solves one problem; see Problem for what. Cost: n^3 / 6 additions with minimum, about n^2 / 2 cells of
/// memory (what bytes_needed() says), which is asked for before it is allocated. Deterministic: the same
/// cells and decisions on every device, with every option.
/// @throws BadInput (no leaf, lengths that disagree, NaN, integers whose sums could leave the type's range,
///         options out of range or not for the device or for ranks), OutOfMemory (with needed and available
///         bytes), NoDevice, Interrupted
template <Value T>
Solution<T> solve(const Problem<T>& problem, const Options& options = {});

/// Solves many, short ones at once: on a GPU in one kernel (persistent), on a CPU several threads take one
/// each. The reports' seconds are those of the whole batch. @throws as solve, naming the problem's index
template <Value T>
std::vector<Solution<T>> solve_batch(std::span<const Problem<T>> problems, const Options& options = {});

/// Bytes that solve() will allocate on its device for cells and weights, whatever the decomposition (buffers
/// for split products, at most 64 MiB, come on top). @throws BadInput (a storage that is none)
template <Value T>
std::uint64_t bytes_needed(const Problem<T>& problem, Storage storage);

/// Whether every sum that the recurrence can meet fits the type with room to spare, as solve() demands: for
/// integers a bound from the largest terms. Always true of floating point.
template <Value T>
bool in_range(const Problem<T>& problem);

}  // namespace warploom::dp
