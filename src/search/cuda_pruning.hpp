#pragma once

/// The part of a Work that leaves out windows by lower bounds.

#include <map>
#include <vector>

#include "search/bounds_model.hpp"
#include "search/cuda_bounds.hpp"
#include "search/cuda_groups.hpp"
#include "search/cuda_memory.hpp"

namespace warploom::search {

/// A task whose windows are left out where lower bounds tell that they may be.
struct PrunedTask {
  ProfileEntry* profile;   ///< of the task's offsets
  std::int64_t offsets;    ///< in it
  std::int64_t exclusion;  ///< zone between candidates
  std::int64_t limit;      ///< candidates wanted
  std::int64_t length;     ///< of its longest pattern
  double matrix_cost;      ///< of its cheapest
  float most;              ///< farther ones are none
  bool always;             ///< whatever a sample says
  /// Where its groups of seeds are.
  Seeding seeds() const { return seeding(offsets, exclusion, limit, length, matrix_cost); }
};

class Pruning {
 public:
  bool empty() const { return all_.empty(); }
  void begin(const PrunedTask& task) {
    pruned_ = task;
    is_new_ = true;
  }
  /// Windows of the task that was begun last, compared by `matrices`, whose job `place` is. @return the
  /// number of its counts
  int add(const DeviceQuery& query, DtwGroups& matrices, DtwGroups::Place place, Carver& memory);
  /// Seeds of what was added last.
  std::int64_t seeds() const { return seeds_.back().blocks; }
  BoundCounts* counts() const { return counts_; }
  std::size_t counts_bytes() const { return all_.size() * sizeof(BoundCounts); }

  /// After the last was added. @return floats that launch() needs for edges
  std::int64_t finish(Carver& memory, Carver& results);
  void put(JobUpload& upload);
  /// All that comes before the list of windows is known.
  void launch(float* edges, cudaStream_t stream);
  /// Leaves in the jobs of matrices what counts say.
  void apply(const BoundCounts* counts, DtwGroups& matrices) const;

 private:
  PrunedTask pruned_{};
  bool is_new_ = false;                            // nothing was added to the task
  std::map<const float*, EnvelopeSample*> known_;  // by the query
  std::vector<EnvelopeJob> envelopes_;
  std::vector<SeedTask> tasks_;
  std::vector<BoundJob> seeds_, samples_, all_;  // the same jobs
  std::vector<int> task_of_job_;
  std::vector<DtwGroups::Place> places_;
  DtwGroups seed_matrices_;
  BoundCounts* counts_ = nullptr;
  std::int64_t longest_ = 0;
  struct {
    unsigned envelopes, seeds, samples, all;
  } blocks_{};
  struct {
    const EnvelopeJob* envelopes;
    const SeedTask* tasks;
    const BoundJob *seeds, *samples, *all;
  } device_{};
};

}  // namespace warploom::search
