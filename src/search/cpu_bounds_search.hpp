#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "search/cpu_dtw_batch.hpp"
#include "search/cpu_shared_costs.hpp"
#include "search/selection.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::search {

/// What threads count; see Effort.
struct CpuCounts {
  std::atomic<std::uint64_t> windows = 0, skipped = 0, bounded = 0, cells = 0;
  std::atomic<std::uint64_t> blocks = 0,
                             whole = 0;  ///< of windows; of them: computed whole, for want of luck
};

/// A Selection that several threads add to.
class SharedSelection {
 public:
  explicit SharedSelection(const JointTask& task)
      : selection_(task.limit, task.exclusion, task.max_distance), bound_(selection_.bound()) {}

  float bound() const { return bound_.load(std::memory_order_relaxed); }
  void add(std::span<const Candidate> candidates) {
    const std::lock_guard lock(mutex_);
    selection_.add(candidates);
    bound_.store(selection_.bound(), std::memory_order_relaxed);
  }
  std::vector<Candidate> finish() { return selection_.finish(); }
  std::vector<Candidate> kept() { return selection_.kept(); }

 private:
  std::mutex mutex_;
  Selection selection_;
  std::atomic<float> bound_;
};

/// Windows that are compared with one pattern.
struct CpuRange {
  std::int64_t first, last;  ///< windows that begin in [first, last)
  std::int64_t lead;         ///< their candidates' offset is less by this
  std::int32_t pattern;
};

/// What one thread does at a time: `size` windows from `begin` on.
struct CpuUnit {
  std::int64_t begin, size;
};
std::vector<CpuUnit> units_of(const CpuQuery& query, std::int64_t first, std::int64_t last);

/// The query in integers; null where costs that windows share exclude nothing.
std::optional<SharedCostsQuery> shared_costs_query(const CpuQuery& query);

/// Adds all windows that may be chosen, and others: those of which a lower bound tells that they may not are
/// not computed, and of the others' matrices only cells from which the bound can be reached.
/// @param prune  automatic: blocks after one in which bounds excluded too few go without
void search_bounded(const CpuQuery& query, const CpuRange& range, const JointTask& task, Prune prune,
                    SharedSelection& selection, CpuCounts& counts, Progress& progress);

}  // namespace warploom::search
