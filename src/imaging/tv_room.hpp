#pragma once

#include <cstdint>
#include <memory>

#include "imaging/host_floats.hpp"
#include "imaging/tv_backend.hpp"

namespace warploom::imaging {

/// Memory for the points of a solver, which several minimisations of one image take one after the other: the
/// system clears what it gives anew, and that is as much as a pass reads and writes.
class TvRoom {
 public:
  /// Not initialised. @param k  0 or 1 @throws OutOfMemory
  float* point(std::size_t k, std::int64_t values) {
    if (values_ != values) points_[0].reset(), points_[1].reset();
    values_ = values;
    if (!points_[k]) points_[k] = std::make_unique<HostFloats>(values);
    return points_[k]->get();
  }

 private:
  std::unique_ptr<HostFloats> points_[2];
  std::int64_t values_ = 0;
};

/// As minimise_cpu() of tv_backend.hpp.
TvOutcome minimise_cpu(const TvProblem& problem, float* image, TvRoom& room);

}  // namespace warploom::imaging
