#pragma once

#include <memory>

#include "search/windows.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {

/// What a task is answered with.
enum class Choice {
  chosen,  ///< Index::best()
  kept  ///< of a part of a longer task: all candidates, in any order, that a choice among all of the longer
        ///< one's may take
};

/// What an Index runs on. Arguments were checked by index.cpp.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::vector<float> profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                                     std::int64_t count) = 0;
  virtual std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                                    std::span<const Windows> windows) = 0;
  virtual std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns,
                                                   std::span<const Task> tasks, Choice choice) = 0;
  virtual std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) = 0;
  virtual std::vector<std::vector<float>> distances(std::span<const JointPattern> patterns,
                                                    std::span<const JointWindows> windows) = 0;
  virtual std::vector<std::vector<Candidate>> best(std::span<const JointPattern> patterns,
                                                   std::span<const JointTask> tasks, Choice choice) = 0;
  /// Of all windows of a channel of the signal, kept for its life; null if this back end keeps none. They go
  /// on for kMostLanes windows that touch missing samples.
  virtual const WindowMoments* moments(std::int32_t /*channel*/, std::int64_t /*length*/) { return nullptr; }
  Effort effort;
};

std::unique_ptr<Backend> make_cpu_backend(const Signal& signal, const IndexOptions& options);
std::unique_ptr<Backend> make_cuda_backend(const Signal& signal, const IndexOptions& options);

}  // namespace warploom::search
