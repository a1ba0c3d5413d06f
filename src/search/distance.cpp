#include "warploom/search/distance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "search/windows.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {

std::int64_t band_radius(double fraction, std::int64_t length) {
  if (!(fraction >= 0))
    throw BadInput(
        fmt::format("a band's radius is {} of the length: it must be a number of at least 0", fraction));
  if (length < 1)
    throw BadInput(fmt::format("a band in a matrix of length {}: it must be at least 1", length));
  return static_cast<std::int64_t>(
      std::min(std::floor(fraction * static_cast<double>(length)), static_cast<double>(length - 1)));
}

double dtw_distance(std::span<const float> query, std::span<const float> window, std::int64_t radius,
                    Normalization normalization) {
  if (query.size() != window.size() || query.empty())
    throw BadInput(fmt::format(
        "the distance of sequences of {} and {} samples: they must be of equal length, at least 1",
        query.size(), window.size()));
  if (radius < 0) throw BadInput(fmt::format("a band's radius is {}: it must be at least 0", radius));
  const Moments of_query = moments(query, normalization), of_window = moments(window, normalization);
  const auto length = static_cast<std::int64_t>(query.size());
  // Column j of the matrix at j + 1, so that there is a column before the first.
  const auto cells = static_cast<std::size_t>(length + 1);
  std::vector<double> above(cells, std::numeric_limits<double>::infinity()), row = above;
  above[0] = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    std::fill(row.begin(), row.end(), std::numeric_limits<double>::infinity());
    for (std::int64_t j = std::max<std::int64_t>(0, i - radius); j < length && j - i <= radius; ++j) {
      const double difference = of_query.normalised(query[i]) - of_window.normalised(window[j]);
      row[j + 1] = difference * difference + std::min({above[j + 1], row[j], above[j]});
    }
    std::swap(above, row);
  }
  return std::sqrt(above[length] / static_cast<double>(length));
}

}  // namespace warploom::search
