#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"
#include "search/seen.hpp"

namespace warploom::search {

/// What thirds of a query's channels say of windows, each third at its most alike: in any of its candidates,
/// with either sign and a lag, without a path. That depends neither on a right assignment nor on lags that
/// change within a match, as where somebody else moves faster.
class Thirds {
 public:
  /// @param whole  of the whole query in `searched`
  Thirds(const Correlations& whole, const Searched& searched, const Query& query, const FindOptions& options);

  /// [windows of `whole`] Correlations, their mean.
  const std::vector<float>& alike() const { return alike_; }

 private:
  std::vector<float> alike_;
};

}  // namespace warploom::search
