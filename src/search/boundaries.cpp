#include "warploom/search/boundaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "search/plan.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

constexpr double kMostSlack = 0.45;
constexpr std::int64_t kSamplesOfChannel = 128;  // that a channel is brought to, at most...
constexpr std::int64_t kSamplesOnGrid = 32;      // ...and on the coarse grid
constexpr std::int64_t kGridSteps = 8;           // of it to each side
constexpr std::int64_t kShortestMatch = 4;       // samples of a match

/// What a move costs: of 3 to 10, which differ little, on nine of 110 inertial recordings and all plantar
/// ones. What else was tried is in docs/results/search.md.
constexpr double kReluctance = 4;
constexpr double kNothing = 1e-12;  // a mean squared difference that is as good as none

/// A channel of the query, and where its window lies in the recording.
struct Part {
  std::vector<float> query;  ///< brought to a number of samples, normalised
  std::span<const float> recorded;
  std::int64_t first, last;
  double sum = 0, squares = 0;  ///< of the query
};

/// How windows of all parts fit, moved by so much at both ends.
class Fit {
 public:
  Fit(std::vector<Part> parts, Normalization normalization)
      : parts_(std::move(parts)),
        normalization_(normalization),
        count_(parts_[0].query.size()),
        places_(count_) {}

  /// The mean squared difference; infinity where it is more than `most`, or a window leaves the recording, is
  /// too short or misses samples.
  double cost(std::int64_t at_begin, std::int64_t at_end, double most) {
    const double most_of_all = most * static_cast<double>(parts_.size() * count_);
    double sum = 0;
    for (const Part& part : parts_) {
      sum += cost(part, part.first + at_begin, part.last + at_end);
      if (!(sum <= most_of_all)) return std::numeric_limits<double>::infinity();
    }
    return sum / static_cast<double>(parts_.size() * count_);
  }

 private:
  /// A sample of a window that is brought to as many as the query: between two of the recording's.
  struct Place {
    std::int64_t before;
    double share;  ///< of the one after
  };

  void place(std::int64_t length) {
    const double step = static_cast<double>(length - 1) / static_cast<double>(count_ - 1);
    for (std::size_t k = 0; k < count_; ++k) {
      const double at = static_cast<double>(k) * step;
      const auto before = std::min(static_cast<std::int64_t>(at), length - 2);
      places_[k] = {before, at - static_cast<double>(before)};
    }
    placed_ = length;
  }

  double cost(const Part& part, std::int64_t first, std::int64_t last) {
    if (first < 0 || last > std::ssize(part.recorded) || last - first < kShortestMatch)
      return std::numeric_limits<double>::infinity();
    if (placed_ != last - first) place(last - first);
    const float* const samples = part.recorded.data() + first;
    // About the first sample, so that a large mean costs no digits.
    const double shift = samples[0], n = static_cast<double>(count_);
    double sum = 0, squares = 0, products = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      const auto [before, share] = places_[k];
      const double x = samples[before] + share * (samples[before + 1] - samples[before]) - shift;
      sum += x;
      squares += x * x;
      products += part.query[k] * x;
    }
    double mean = 0, scale = 1;
    if (normalization_ == Normalization::z) {
      mean = sum / n;
      const double variance = squares / n - mean * mean, least = kConstantDeviation * (mean + shift);
      scale = variance <= least * least ? 0 : 1 / std::sqrt(variance);
    } else {
      mean = -shift;
    }
    const double of_window = squares - 2 * mean * sum + n * mean * mean, of_both = products - mean * part.sum;
    return part.squares - 2 * scale * of_both + scale * scale * of_window;
  }

  std::vector<Part> parts_;
  Normalization normalization_;
  std::size_t count_;
  std::vector<Place> places_;  // [count_] of windows of the length that was placed last
  std::int64_t placed_ = 0;
};

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// @param count  of samples that each channel of the query is brought to
std::vector<Part> parts_of(const Signal& signal, const Query& query, const Match& match,
                           Normalization normalization, std::int64_t count) {
  const std::int64_t samples = std::ssize(signal[0]);
  std::vector<Part> parts;
  std::set<std::int32_t> known;
  for (const Pair& pair : match.pairs) {
    if (pair.query_channel < 0 || pair.query_channel >= std::ssize(query.channels) || pair.channel < 0 ||
        pair.channel >= std::ssize(signal) || !(pair.scale >= .01 && pair.scale <= 100) ||
        pair.offset < -samples || pair.offset > samples)
      throw BadInput(fmt::format(
          "a match pairs channel {} of the query with channel {} at {}, scaled by {}: the query has "
          "{} channels, the recording {} of {} samples",
          std::int64_t{pair.query_channel} + 1, std::int64_t{pair.channel} + 1, pair.offset, pair.scale,
          query.channels.size(), signal.size(), samples));
    if (!known.insert(pair.query_channel).second) continue;  // another part of this channel
    const auto length = std::max(
        kShortestMatch, std::int64_t{std::llround(pair.scale * static_cast<double>(query.length()))});
    Part part{stretch(query.channels[static_cast<std::size_t>(pair.query_channel)], count),
              signal[static_cast<std::size_t>(pair.channel)], pair.offset, pair.offset + length};
    const Moments of = moments(part.query, normalization);
    for (float& x : part.query) {
      x = static_cast<float>(of.normalised(x)) * (pair.negated ? -1.F : 1.F);
      part.sum += x;
      part.squares += static_cast<double>(x) * x;
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) throw BadInput("a match without pairs has no boundaries");
  return parts;
}

}  // namespace

Boundaries refine_boundaries(const Signal& signal, const Query& query, const Match& match,
                             Normalization normalization, const BoundaryOptions& options) {
  check(normalization);
  if (signal.empty()) throw BadInput("a recording without channels: there is nothing to refine a match in");
  check_query(query, std::ssize(signal));
  if (!(options.slack >= 0 && options.slack <= kMostSlack))
    throw BadInput(fmt::format("slack is {}: it must be from 0 to {}", options.slack, kMostSlack));
  const std::vector<Part> parts =
      parts_of(signal, query, match, normalization, std::min(query.length(), kSamplesOnGrid));
  std::vector<std::int64_t> begins, ends;
  for (const Part& part : parts) {
    begins.push_back(part.first);
    ends.push_back(part.last);
  }
  const std::int64_t first = median(begins), last = median(ends), samples = std::ssize(signal[0]);
  const std::int64_t reach = samples_of(options.slack, last - first);

  struct Move {
    std::int64_t at_begin = 0, at_end = 0;
    double judged = std::numeric_limits<double>::infinity();
  } best;
  const auto length = static_cast<double>(std::max<std::int64_t>(last - first, 1));
  const auto look = [&](Fit& fit, std::int64_t at_begin, std::int64_t at_end) {
    if (std::max(std::abs(at_begin), std::abs(at_end)) > reach) return;
    const auto move = [&](std::int64_t by) { return std::pow(static_cast<double>(by) / length, 2); };
    const double moved = kReluctance * (move(at_begin) + move(at_end));
    constexpr double kRounding = 1e-9;
    // Beyond this it is not judged better than the best.
    const double most = best.judged < std::numeric_limits<double>::max()
                            ? std::exp(best.judged - moved) + kRounding
                            : std::numeric_limits<double>::max();
    const double judged = std::log(std::max(fit.cost(at_begin, at_end, most), kNothing)) + moved;
    if (judged < best.judged) best = {at_begin, at_end, judged};
  };
  std::int64_t step = std::max<std::int64_t>(1, (reach + kGridSteps - 1) / kGridSteps);
  Fit coarse(parts, normalization);
  look(coarse, 0, 0);  // is near the best, so that most others are soon seen to be worse
  for (std::int64_t a = -reach / step * step; a <= reach; a += step)
    for (std::int64_t b = -reach / step * step; b <= reach; b += step) look(coarse, a, b);
  Fit fine(parts_of(signal, query, match, normalization, std::min(query.length(), kSamplesOfChannel)),
           normalization);
  const auto on_grid = std::exchange(best, {});
  look(fine, 0, 0);
  look(fine, on_grid.at_begin, on_grid.at_end);
  for (bool done = false; !done;) {
    const auto [a, b, judged] = best;
    for (std::int64_t i = -1; i <= 1; ++i)
      for (std::int64_t j = -1; j <= 1; ++j) look(fine, a + i * step, b + j * step);
    if (best.judged < judged) continue;
    done = step == 1;
    step = (step + 1) / 2;
  }
  Boundaries found{std::clamp<std::int64_t>(first + best.at_begin, 0, samples - 1), last + best.at_end};
  found.last = std::clamp(found.last, found.first + 1, samples);
  return found;
}

void refine_all(const Signal& signal, std::span<const Query* const> queries, std::span<Match> matches,
                Normalization normalization, const Apart& apart, const BoundaryOptions& options) {
  constexpr double kMostExclusion = 1000;
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  if (!(apart.exclusion >= 0 && apart.exclusion <= kMostExclusion))
    throw BadInput(fmt::format("exclusion is {}: it must be from 0 to {}", apart.exclusion, kMostExclusion));
  if (queries.size() != matches.size() || std::ranges::count(queries, nullptr) > 0)
    throw BadInput(fmt::format("{} matches of {} queries are to be refined: give the query of each",
                               matches.size(), queries.size() - std::ranges::count(queries, nullptr)));
  std::multimap<std::int64_t, std::size_t> by_place;  // where they were found
  std::int64_t longest = 0;
  for (std::size_t k = 0; k < matches.size(); ++k) {
    if (!(-kFar <= matches[k].first && matches[k].first <= matches[k].last && matches[k].last <= kFar))
      throw BadInput(fmt::format("a match from {} to {}: it must lie between -2^60 and 2^60",
                                 matches[k].first, matches[k].last));
    matches[k].refined.reset();
    by_place.emplace(matches[k].first, k);
    longest = std::max(longest, matches[k].last - matches[k].first);
  }
  std::vector<Boundaries> refined(matches.size());
  parallel_for(std::ssize(matches), [&](std::int64_t k) {
    check_interrupt();
    if (matches[k].in_parts()) return;
    refined[k] = refine_boundaries(signal, *queries[k], matches[k], normalization, options);
  });
  for (std::size_t k = 0; k < matches.size(); ++k) {
    Boundaries own = refined[k];
    const std::int64_t exclusion = samples_of(apart.exclusion, queries[k]->length());
    // Begin and end move by less than a length, so that what is farther is not near.
    const std::int64_t reach = exclusion + 3 * longest;
    const auto end = by_place.upper_bound(matches[k].first + reach);
    bool stays = false;
    for (auto at = by_place.lower_bound(matches[k].first - reach); at != end; ++at) {
      const Match& match = matches[at->second];
      const Boundaries other = match.boundaries();
      if (at->second == k) continue;
      if (apart.shared) {
        const std::int64_t common = std::min(own.last, other.last) - std::max(own.first, other.first);
        stays = stays || 2 * common > std::min(own.last - own.first, other.last - other.first);
      } else if (match.query == matches[k].query && match.first < matches[k].first) {
        own.first = std::max(own.first, other.first + exclusion + 1);
      } else if (match.query == matches[k].query && match.first > matches[k].first) {
        own.first = std::min(own.first, other.first - exclusion - 1);
      }
    }
    if (!stays && !matches[k].in_parts() && own.first < own.last) matches[k].refined = own;
  }
}

}  // namespace warploom::search
