#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/recording.hpp"

namespace warploom::search {

/// A stretch of time with a label: a match, or what somebody annotated.
struct Interval {
  double onset = 0, duration = 0;  ///< [s]
  std::string label = {};
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
/// @throws BadInput (k outside [1, 10^7], shares outside [0, 1], negative or not finite times)
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
/// @throws BadInput (freedom outside [1, 10^8], another probability)
/// Cost: about 60 * freedom operations. Source: Abramowitz & Stegun, 26.7.3 and 26.7.4.
double student_quantile(std::int64_t freedom, double probability);

/// Matches of one recording, with where their queries came from.
struct StoredMatches {
  std::string name = {};                 ///< of the recording
  std::string file = {};                 ///< that was searched; empty if not known
  std::vector<std::string> labels = {};  ///< that were searched for, as far as known
  std::vector<Interval> matches = {};    ///< best first
  std::vector<Interval> sources = {};    ///< of queries, in this recording
};

/// What is annotated: in a .csv file with the header onset,duration,label, unless a label column is named, or
/// in a recording.
/// @throws BadInput (none in it; as io::read_recording()), ParseError
std::vector<Interval> read_truth(const std::filesystem::path& file, const io::RecordingOptions& reading);

/// Results of a recording, judged.
struct Judged {
  std::string name = {};
  Evaluation evaluation = {};
  std::string no_events = {};  ///< why there are none, if annotations have other labels only; see `label`
};

/// evaluate() against the annotations whose labels were searched for or found: others are not missing.
/// @param file   of the annotations, for messages
/// @param label  that matches are judged as if they bore; empty: their own
/// @throws BadInput as evaluate()
Judged judge(StoredMatches stored, std::span<const Interval> annotations, const std::string& file,
             const std::string& label, std::int64_t k, const Relevance& relevance = {});

/// What is told of an evaluation.
struct Measure {
  std::string_view name = {};
  double Evaluation::*value = {};
  bool of_events = {};  ///< means nothing where there are none
};
inline constexpr Measure kMeasures[] = {{"nDCG", &Evaluation::ndcg, true},
                                        {"precision", &Evaluation::precision, false},
                                        {"recall", &Evaluation::recall, true},
                                        {"coverage", &Evaluation::coverage, true}};

/// None where it means nothing. @throws BadInput (a measure without a member)
std::optional<double> value_of(const Evaluation& evaluation, const Measure& measure);
/// Over all recordings in which it means something. @throws BadInput (there are none)
Mean mean_of(std::span<const Judged> all, const Measure& measure);

}  // namespace warploom::search
