#include "warploom/search/in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/joint_match.hpp"
#include "search/plan.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

/// What each channel adds along the one path of all of them: [C], its share of D(m-1, m-1).
std::vector<double> shares_of_path(std::span<const std::span<const float>> query,
                                   std::span<const std::span<const float>> window, std::int64_t radius,
                                   Normalization normalization) {
  const std::size_t channels = query.size(), length = query[0].size();
  std::vector<Moments> of_query, of_window;
  for (std::size_t c = 0; c < channels; ++c) {
    of_query.push_back(moments(query[c], normalization));
    of_window.push_back(moments(window[c], normalization));
  }
  // The sum and each channel's share of it, of the row above and of this one; column j at j + 1.
  struct Row {
    std::vector<double> sum, shares;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Row above{std::vector<double>(length + 1, kInfinity), std::vector<double>((length + 1) * channels)};
  Row row = above;
  above.sum[0] = 0;
  for (std::size_t i = 0; i < length; ++i) {
    std::fill(row.sum.begin(), row.sum.end(), kInfinity);
    const auto reach = static_cast<std::size_t>(radius);
    for (std::size_t j = i > reach ? i - reach : 0; j < length && j <= i + reach; ++j) {
      const Row& left = row;
      const double least = std::min({above.sum[j], above.sum[j + 1], left.sum[j]});
      const Row& from = left.sum[j] == least ? left : above;
      const std::size_t before = left.sum[j] == least || above.sum[j] == least ? j : j + 1;
      double cost = 0;
      for (std::size_t c = 0; c < channels; ++c) {
        const double difference = of_query[c].normalised(query[c][i]) - of_window[c].normalised(window[c][j]);
        cost += difference * difference;
        row.shares[(j + 1) * channels + c] = from.shares[before * channels + c] + difference * difference;
      }
      row.sum[j + 1] = least + cost;
    }
    std::swap(above, row);
  }
  return {above.shares.end() - static_cast<std::ptrdiff_t>(channels), above.shares.end()};
}

}  // namespace

Match match_of(const Signal& signal, Normalization normalization, const Query& query,
               const JointPattern& pattern, const Candidate& candidate,
               std::span<const std::int32_t> compared) {
  const std::int64_t length = pattern.length();
  std::vector<std::span<const float>> samples(pattern.samples.begin(), pattern.samples.end()), window;
  for (const std::int32_t channel : pattern.channels)
    window.push_back(signal[static_cast<std::size_t>(channel)].subspan(
        static_cast<std::size_t>(candidate.offset), static_cast<std::size_t>(length)));
  std::vector<double> shares;
  if (pattern.warping == Warping::together) {
    shares = shares_of_path(samples, window, std::min(pattern.radius, length - 1), normalization);
  } else {
    for (std::size_t c = 0; c < samples.size(); ++c) {
      const double distance = dtw_distance(samples[c], window[c], pattern.radius, normalization);
      shares.push_back(distance * distance * static_cast<double>(length));
    }
  }
  Match match;
  match.label = query.label;
  match.first = candidate.offset;
  match.last = candidate.offset + length;
  match.channels = static_cast<std::int32_t>(query.channels.size());
  match.matched = static_cast<std::int32_t>(compared.size());
  match.coverage = static_cast<double>(match.matched) / match.channels;
  match.distance = candidate.distance;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    Pair pair;
    pair.query_channel = compared[c];
    pair.channel = pattern.channels[c];
    pair.offset = pair.begin = candidate.offset;
    pair.length = length;
    pair.distance = std::sqrt(shares[c] / static_cast<double>(length));
    pair.scale = static_cast<double>(length) / static_cast<double>(query.length());
    pair.coverage = query.length();
    match.pairs.push_back(pair);
  }
  return match;
}

std::vector<std::int32_t> compared_channels(const Query& query, Normalization normalization) {
  std::vector<std::int32_t> channels;
  for (std::size_t c = 0; c < query.channels.size(); ++c)
    if (normalization != Normalization::z || moments(query.channels[c], normalization).scale != 0)
      channels.push_back(static_cast<std::int32_t>(c));
  return channels;
}

std::vector<JointPattern> joint_patterns(const Query& query, const InPlaceOptions& options,
                                         std::int64_t channels, Normalization normalization) {
  check(normalization);
  check(options.warping);
  check_query(query, channels);
  FindOptions same;
  same.limit = options.limit;
  same.band = options.band;
  same.exclusion = options.exclusion;
  same.scales = options.scales;
  same.max_distance = options.max_distance;
  check_options(same, query, channels);
  const std::vector<std::int32_t> compared = compared_channels(query, normalization);
  if (compared.empty())
    throw BadInput(
        "all channels of the query are constant: normalised, they say nothing; choose another query, or do not "
        "normalise");
  std::vector<JointPattern> patterns;
  for (const double scale : options.scales) {
    const std::int64_t length =
        std::max(std::int64_t{2}, std::int64_t{std::llround(scale * static_cast<double>(query.length()))});
    JointPattern pattern{.radius = band_radius(options.band, length), .warping = options.warping};
    for (const std::int32_t c : compared) {
      pattern.samples.push_back(stretch(query.channels[static_cast<std::size_t>(c)], length));
      pattern.channels.push_back(query.places[static_cast<std::size_t>(c)]);
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

std::vector<Match> find_in_place(Index& index, const Query& query, const InPlaceOptions& options) {
  const auto channels = std::ssize(index.signal());
  std::vector<JointPattern> patterns = joint_patterns(query, options, channels, index.normalization());
  // A scale at which the query is longer than the recording finds nothing there.
  std::erase_if(patterns, [&](const JointPattern& pattern) { return pattern.length() > index.samples(); });
  if (patterns.empty())
    throw BadInput(fmt::format("the query has {} samples and the recording {}: give a shorter query",
                               query.length(), index.samples()));
  JointTask task{.first_pattern = 0,
                 .patterns = static_cast<std::int32_t>(patterns.size()),
                 .limit = options.limit,
                 .exclusion = samples_of(options.exclusion, query.length())};
  if (options.max_distance) task.max_distance = static_cast<float>(*options.max_distance);
  const std::vector<std::int32_t> compared = compared_channels(query, index.normalization());
  std::vector<Match> matches;
  const std::vector<std::vector<Candidate>> found = index.best(patterns, {&task, 1});
  for (const Candidate& candidate : found[0])
    matches.push_back(match_of(index.signal(), index.normalization(), query,
                               patterns[static_cast<std::size_t>(candidate.pattern)], candidate, compared));
  return matches;
}

}  // namespace warploom::search
