#include "warploom/search/euclidean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "selection.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "windows.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kWindowsAtOnce = 4096;  // windows that a thread takes at once
constexpr std::int64_t kSide = 64;             // windows side by side, whose sums stay in registers and L1

void check(const Signal& signal, const Query& query) {
  const auto m = query.length();
  if (m < 1) throw BadInput("the query is empty");
  if (query.places.size() != query.channels.size())
    throw BadInput(fmt::format("the query has {} channels and places for {}", query.channels.size(),
                               query.places.size()));
  const std::size_t samples = signal.empty() ? 0 : signal[0].size();
  for (const auto& channel : signal)
    if (channel.size() != samples)
      throw BadInput(
          fmt::format("channels of {} and of {} samples: all must be equally long", samples, channel.size()));
  for (const auto& channel : query.channels)
    if (std::ssize(channel) != m)
      throw BadInput(
          fmt::format("query channels of {} and of {} samples: all must be equally long", m, channel.size()));
  for (const std::int32_t place : query.places)
    if (place < 0 || place >= std::ssize(signal))
      throw BadInput(fmt::format("a query channel belongs to channel {} (from 0), and the recording has {}",
                                 place, signal.size()));
  if (m > static_cast<std::int64_t>(samples))
    throw BadInput(
        fmt::format("the query has {} samples, the recording {}: give a shorter query", m, samples));
}

/// Adds the root of the mean squared difference of kSide windows, which begin at `samples`, to `sums`.
void add_distances(const float* samples, const std::vector<float>& query, const float* mean,
                   const float* rest, const float* scale, float* sums) {
  std::array<float, kSide> squares{};
  for (std::size_t i = 0; i < query.size(); ++i) {
    const float* row = samples + i;
    const float q = query[i];
    for (std::size_t k = 0; k < kSide; ++k) {
      const float gap = ((row[k] - mean[k]) - rest[k]) * scale[k] - q;
      squares[k] += gap * gap;
    }
  }
  const float over = 1.0f / static_cast<float>(query.size());
  for (std::size_t k = 0; k < kSide; ++k) sums[k] += std::sqrt(squares[k] * over);
}

/// Adds the distances of the windows that begin at [first, first + sums.size()).
void add_channel(std::span<const float> channel, const std::vector<float>& query, std::int64_t first,
                 Normalization normalization, std::span<float> sums) {
  const std::int64_t count = std::ssize(sums), m = std::ssize(query);
  // The last windows side by side may reach beyond the channel's end.
  std::vector<float> samples(static_cast<std::size_t>(count + kSide + m), 0.0f);
  std::copy_n(channel.begin() + first, count + m - 1, samples.begin());
  WindowMoments moments;
  if (normalization == Normalization::z) moments = window_moments(channel, m, first, count);
  moments.mean.resize(static_cast<std::size_t>(count + kSide), 0.0f);
  moments.rest.resize(static_cast<std::size_t>(count + kSide), 0.0f);
  moments.scale.resize(static_cast<std::size_t>(count + kSide), 1.0f);
  std::vector<float> padded(static_cast<std::size_t>(count + kSide), 0.0f);
  for (std::int64_t k = 0; k < count; k += kSide)
    add_distances(samples.data() + k, query, moments.mean.data() + k, moments.rest.data() + k,
                  moments.scale.data() + k, padded.data() + k);
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += padded[k];
}

}  // namespace

std::vector<float> euclidean_profile(const Signal& signal, const Query& query, Normalization normalization,
                                     const Run& run) {
  const RunScope scope(run);
  check(signal, query);
  check(normalization);
  std::vector<std::vector<float>> patterns;
  for (const auto& channel : query.channels)
    patterns.push_back(normalization == Normalization::z
                           ? normalised(channel)
                           : std::vector<float>(channel.begin(), channel.end()));
  const std::int64_t windows = std::ssize(signal[0]) - query.length() + 1;
  std::vector<float> profile(static_cast<std::size_t>(windows), 0.0f);
  const std::int64_t blocks = (windows + kWindowsAtOnce - 1) / kWindowsAtOnce;
  Progress progress("comparing", static_cast<std::uint64_t>(windows), "windows");
  parallel_for(blocks, [&](std::int64_t block) {
    const std::int64_t first = block * kWindowsAtOnce, count = std::min(kWindowsAtOnce, windows - first);
    const auto sums =
        std::span(profile).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < patterns.size(); ++i)
      add_channel(signal[static_cast<std::size_t>(query.places[i])], patterns[i], first, normalization, sums);
    for (float& sum : sums)
      if (std::isnan(sum)) sum = std::numeric_limits<float>::infinity();
    progress.advance(static_cast<std::uint64_t>(count));
  });
  return profile;
}

std::vector<Match> find_euclidean(const Signal& signal, const Query& query, Normalization normalization,
                                  std::int64_t limit, std::int64_t exclusion, const Run& run) {
  if (limit < 1) throw BadInput(fmt::format("{} results wanted; at least 1", limit));
  if (exclusion < 0) throw BadInput(fmt::format("an exclusion zone of {} samples; at least 0", exclusion));
  const std::vector<float> profile = euclidean_profile(signal, query, normalization, run);
  Selection selection(limit, exclusion, std::numeric_limits<float>::max());
  for (std::size_t k = 0; k < profile.size(); ++k)
    if (profile[k] <= selection.bound()) selection.add({static_cast<std::int64_t>(k), profile[k], 0});

  const std::int64_t m = query.length();
  std::vector<Match> matches;
  for (const Candidate& candidate : selection.finish()) {
    Match match;
    match.label = query.label;
    match.first = candidate.offset;
    match.last = candidate.offset + m;
    match.matched = match.channels = static_cast<std::int32_t>(query.channels.size());
    match.coverage = 1;
    for (std::int32_t i = 0; i < match.channels; ++i) {
      const auto place = static_cast<std::size_t>(query.places[static_cast<std::size_t>(i)]);
      Pair pair;
      pair.query_channel = i;
      pair.channel = static_cast<std::int32_t>(place);
      pair.offset = candidate.offset;
      pair.length = pair.coverage = m;
      pair.distance = euclidean_distance(
          query.channels[static_cast<std::size_t>(i)],
          signal[place].subspan(static_cast<std::size_t>(candidate.offset), static_cast<std::size_t>(m)),
          normalization);
      match.distance += pair.distance;
      match.pairs.push_back(pair);
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace warploom::search
