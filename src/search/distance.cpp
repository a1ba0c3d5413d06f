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

namespace {

/// Of sequences of equal length, a channel each: D(m-1, m-1), the cost of a cell being the sum over channels.
double path_cost(std::span<const std::span<const float>> query,
                 std::span<const std::span<const float>> window, std::int64_t radius,
                 Normalization normalization) {
  std::vector<Moments> of_query, of_window;
  for (std::size_t c = 0; c < query.size(); ++c) {
    of_query.push_back(moments(query[c], normalization));
    of_window.push_back(moments(window[c], normalization));
  }
  const auto length = static_cast<std::int64_t>(query[0].size());
  // Column j of the matrix at j + 1, so that there is a column before the first.
  const auto cells = static_cast<std::size_t>(length + 1);
  std::vector<double> above(cells, std::numeric_limits<double>::infinity()), row = above;
  above[0] = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    std::fill(row.begin(), row.end(), std::numeric_limits<double>::infinity());
    for (std::int64_t j = std::max<std::int64_t>(0, i - radius); j < length && j - i <= radius; ++j) {
      double cost = 0;
      for (std::size_t c = 0; c < query.size(); ++c) {
        const double difference = of_query[c].normalised(query[c][i]) - of_window[c].normalised(window[c][j]);
        cost += difference * difference;
      }
      row[j + 1] = cost + std::min({above[j + 1], row[j], above[j]});
    }
    std::swap(above, row);
  }
  return above[length];
}

void check_radius(std::int64_t radius) {
  if (radius < 0) throw BadInput(fmt::format("a band's radius is {}: it must be at least 0", radius));
}

}  // namespace

double dtw_distance(std::span<const float> query, std::span<const float> window, std::int64_t radius,
                    Normalization normalization) {
  if (query.size() != window.size() || query.empty())
    throw BadInput(fmt::format(
        "the distance of sequences of {} and {} samples: they must be of equal length, at least 1",
        query.size(), window.size()));
  check_radius(radius);
  return std::sqrt(path_cost({&query, 1}, {&window, 1}, radius, normalization) /
                   static_cast<double>(query.size()));
}

double joint_distance(std::span<const std::span<const float>> query,
                      std::span<const std::span<const float>> window, std::int64_t radius,
                      Normalization normalization, Warping warping) {
  if (query.size() != window.size() || query.empty())
    throw BadInput(fmt::format("the distance of {} and {} channels: there must be as many, at least 1",
                               query.size(), window.size()));
  for (std::size_t c = 0; c < query.size(); ++c)
    if (query[c].size() != query[0].size() || window[c].size() != query[0].size() || query[c].empty())
      throw BadInput(fmt::format(
          "channel {} has {} and {} samples, and channel 0 has {}: all must be of equal length, at "
          "least 1",
          c, query[c].size(), window[c].size(), query[0].size()));
  check_radius(radius);
  check(warping);
  double sum = 0;
  if (warping == Warping::together)
    sum = path_cost(query, window, radius, normalization);
  else
    for (std::size_t c = 0; c < query.size(); ++c)
      sum += path_cost(query.subspan(c, 1), window.subspan(c, 1), radius, normalization);
  return std::sqrt(sum / static_cast<double>(query.size() * query[0].size()));
}

}  // namespace warploom::search
