#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"
#include "search/seen.hpp"

namespace warploom::search {

/// The median of values and what their deviation is, told by the median absolute deviation: of finite ones,
/// at most 1,024, evenly spaced.
struct Usual {
  float middle = 0, deviation = 0;
  explicit Usual(std::span<const float> values);
  /// How many deviations it is less than usual; 0 where there are none.
  float less(float value) const { return deviation > 0 ? (middle - value) / deviation : 0; }
};

/// What thirds of a query's channels say of windows, each third at its most alike: in any of its candidates,
/// with either sign and a lag, without a path. That depends neither on a right assignment nor on lags that
/// change within a match, as where somebody else moves faster.
class Thirds {
 public:
  /// @param whole  of the whole query in `searched`; @param unusual  whether unusual() will be asked for
  Thirds(const Correlations& whole, const Searched& searched, const Query& query, const FindOptions& options,
         bool unusual);

  /// [windows of `whole`] Correlations, their mean.
  const std::vector<float>& alike() const { return alike_; }
  /// [windows] How unusual the best third of each channel is among windows: deviations of the logarithm of
  /// the distance that is left, their mean over channels.
  const std::vector<float>& unusual() const { return unusual_; }

 private:
  std::vector<float> alike_, unusual_;
};

}  // namespace warploom::search
