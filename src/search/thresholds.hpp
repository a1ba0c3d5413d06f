#pragma once

#include <cstdint>
#include <map>
#include <set>
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
  /// @param lengths  of the windows that will be asked for
  SampleWindows(const Signal& signal, Normalization normalization, const std::set<std::int64_t>& lengths);
  /// Offsets of at most 1,024 windows, evenly spaced among those that touch no missing sample; where windows
  /// are normalised, less those that are constant.
  const std::vector<std::int64_t>& of(std::int32_t channel, std::int64_t length) const {
    return offsets_[channel].at(length);
  }

 private:
  std::vector<std::map<std::int64_t, std::vector<std::int64_t>>> offsets_;  // [channels], by length
};

}  // namespace warploom::search
