#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"
#include "search/seen.hpp"
#include "search/thirds.hpp"

namespace warploom::search {

/// A place in the reading that fits it alone: channels, signs and lags are no property of the recording.
struct OwnPlace {
  Reading reading = {};
  Nearby place = {};       ///< with its distance under this reading
  std::int64_t first = 0;  ///< where the earliest channel begins
  /// Logarithm of what ranks: that distance times the one that is left where each third of each channel is
  /// taken at its most alike, without a path: it does not depend on a right assignment, nor on lags that
  /// change.
  double order = 0;
};

/// At most `count` of the windows most like a query if each channel may be in any of its candidates, with
/// either sign and a lag; each with the reading that fits it and its distance.
std::vector<OwnPlace> own_places(const Correlations& correlations, const Searched& searched,
                                 const Query& query, const FindOptions& options, std::int64_t count);

/// Ranked, and farther apart than the exclusion zone.
std::vector<OwnPlace> in_order(std::vector<OwnPlace> places, const Correlations& correlations,
                               const Query& query, const FindOptions& options, const Thirds& thirds);

/// How much levels and sizes of channels, which normalised windows have not, agree with the query's under a
/// reading: 2 (mu mu' + sigma sigma') / (mu^2 + sigma^2 + mu'^2 + sigma'^2), a mean over channels and places,
/// from -1 to 1.
double likeness_of_levels(const Searched& searched, const Query& query, const FindOptions& options,
                          const Reading& reading, std::span<const std::int64_t> offsets);

/// How much better levels and sizes of channels, which normalised windows have not, agree with the query's if
/// channels and signs may be exchanged than under a reading (likeness_of_levels(); at most 2).
double gain_of_levels(const Correlations& correlations, const Searched& searched, const Query& query,
                      const FindOptions& options, const Reading& reading,
                      std::span<const std::int64_t> offsets);

}  // namespace warploom::search
