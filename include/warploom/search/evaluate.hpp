#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warploom::search {

/// A stretch of time with a label: a match, or what somebody annotated.
struct Interval {
  double onset = 0, duration = 0;  ///< [s]
  std::string label;
  double end() const { return onset + duration; }
};

struct Relevance {
  /// A result is relevant if at least this share of its duration lies in annotations of its label, or if it
  /// contains one that is a moment, without duration, as a heart beat's...
  double overlap = 0.5;
  /// ...and is left out of all counts if more than this share of it lies in the stretch that the query came
  /// from.
  double self_overlap = 0.1;
};

struct Evaluation {
  std::int64_t results = 0, relevant = 0;     ///< judged: those up to rank k that are no self-matches
  std::int64_t events = 0, events_found = 0;  ///< annotated; of them: touched by a relevant result
  double ndcg = 0;       ///< at k: sum of (2^rel - 1) / log2(i + 1) over ranks, over that of an ideal ranking
  double precision = 0;  ///< relevant results over results
  double recall = 0;     ///< annotated events that a relevant result touches, over annotated events
  double coverage = 0;   ///< annotated time that relevant results cover, over annotated time
};

/// Judges ranked results of one recording. Relevance is 0 or 1; self-matches are left out first, and what
/// follows moves up. What has nothing to be divided by (no results, no events) is 0.
///
/// The ideal ranking has min(k, possible) relevant results, where `possible` is the number of results of the
/// median duration of `results` that fit side by side into the annotated stretches, at least one into each,
/// and at least the number of annotated events and of relevant results.
///
/// Time of the query's source is no annotated time, and an event of which more than half lies there is none:
/// what is found in it does not count, so that not finding it must not count either.
/// @param annotations  of the labels that were searched for: of others they would be events that nobody could
/// find
/// @param source       where the query came from; empty if from elsewhere; labels do not matter
/// @throws BadInput (k < 1, shares outside [0, 1], negative or not finite times)
Evaluation evaluate(std::span<const Interval> results, std::span<const Interval> annotations,
                    std::span<const Interval> source, std::int64_t k, const Relevance& relevance = {});

/// Mean and half-width of its 95 % confidence interval, by Student's t over `values`; of one value infinite.
struct Mean {
  double value = 0, half_width = 0;
};
/// @throws BadInput (no values)
Mean mean_with_confidence(std::span<const double> values);

/// The t that |t| stays below with this probability: the two-sided quantile of Student's distribution.
/// @param freedom  degrees of it, >= 1 @param probability  in (0, 1)
/// Cost: about 60 * freedom operations. Source: Abramowitz & Stegun, 26.7.3 and 26.7.4.
double student_quantile(std::int64_t freedom, double probability);

}  // namespace warploom::search
