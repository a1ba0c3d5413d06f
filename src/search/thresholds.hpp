#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "warploom/search/index.hpp"

namespace warploom::search {

/// z below which a normal variable stays with this probability; infinite at 0 and 1.
double normal_quantile(double probability);

/// The distance that a share `significance` of a pair's windows stays below, as FindOptions::significance
/// defines it: from distances at some of its windows, finite ones, in any order. 0 if there are none.
double significant_distance(std::vector<float> distances, double significance);

/// Windows of a recording that show what a pattern's distances are by chance.
class SampleWindows {
 public:
  explicit SampleWindows(const Signal& signal, Normalization normalization);
  /// Offsets of at most 1,024 windows, evenly spaced among those that touch no missing sample; where windows
  /// are normalised, less those that are constant.
  const std::vector<std::int64_t>& of(std::int32_t channel, std::int64_t length);

 private:
  const Signal& signal_;
  Normalization normalization_;
  using Run = std::pair<std::int64_t, std::int64_t>;  // [first, last) of samples of which none is missing
  std::vector<std::vector<Run>> runs_;                // [channels]
  std::map<std::pair<std::int32_t, std::int64_t>, std::vector<std::int64_t>> offsets_;
};

}  // namespace warploom::search
