#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "imaging/host_floats.hpp"
#include "imaging/tv_backend.hpp"
#include "imaging/tv_inside.hpp"

namespace warploom::imaging {

/// Memory of several minimisations of one noisy image, one after the other: what follows from that image, and
/// the points of a solver. The system clears what it gives anew, and that is as much as a pass reads and
/// writes.
class TvRoom {
 public:
  /// Of the first problem's mask, as of all.
  const InsideRows& inside(const TvProblem& problem) {
    if (!inside_) inside_.emplace(problem);
    return *inside_;
  }
  /// The noisy image, packed. @throws OutOfMemory
  const float* noisy(const TvProblem& problem) {
    if (!noisy_) {
      noisy_ = std::make_unique<HostFloats>(inside(problem).packed_values());
      inside_->pack(problem.noisy, noisy_->get());
    }
    return noisy_->get();
  }
  /// Not initialised. @param k  0, 1 or 2 @throws OutOfMemory
  float* point(std::size_t k, std::int64_t values) {
    if (values_ != values)
      for (auto& point : points_) point.reset();
    values_ = values;
    if (!points_[k]) points_[k] = std::make_unique<HostFloats>(values);
    return points_[k]->get();
  }

 private:
  std::optional<InsideRows> inside_;
  std::unique_ptr<HostFloats> noisy_, points_[3];
  std::int64_t values_ = 0;
};

/// As minimise_cpu() of tv_backend.hpp.
TvOutcome minimise_cpu(const TvProblem& problem, float* image, TvRoom& room);

}  // namespace warploom::imaging
