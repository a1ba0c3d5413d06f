#include "warploom/search/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::search {
namespace {

struct Stretch {
  double begin = 0, end = 0;
};
/// Disjoint, in order of time.
using Stretches = std::vector<Stretch>;

Stretches united(Stretches stretches) {
  std::ranges::sort(stretches, {}, &Stretch::begin);
  Stretches result;
  for (const Stretch& stretch : stretches)
    if (!result.empty() && stretch.begin <= result.back().end)
      result.back().end = std::max(result.back().end, stretch.end);
    else
      result.push_back(stretch);
  return result;
}

Stretches without(const Stretches& from, const Stretches& taken) {
  Stretches result;
  for (Stretch rest : from) {
    for (const Stretch& cut : taken) {
      if (cut.end <= rest.begin || cut.begin >= rest.end) continue;
      if (cut.begin > rest.begin) result.push_back({rest.begin, cut.begin});
      rest.begin = cut.end;
    }
    if (rest.begin < rest.end) result.push_back(rest);
  }
  return result;
}

double shared_time(const Stretches& stretches, const Interval& interval) {
  double time = 0;
  for (const Stretch& stretch : stretches)
    time += std::max(0.0, std::min(stretch.end, interval.end()) - std::max(stretch.begin, interval.onset));
  return time;
}

/// Of the interval's duration; of a moment 1 where it lies in a stretch.
double share_within(const Stretches& stretches, const Interval& interval) {
  if (interval.duration > 0) return shared_time(stretches, interval) / interval.duration;
  return std::ranges::any_of(stretches, [&](const Stretch& stretch) {
    return stretch.begin <= interval.onset && interval.onset <= stretch.end;
  });
}

double total_time(const Stretches& stretches) {
  return std::accumulate(stretches.begin(), stretches.end(), 0.0, [](double sum, const Stretch& stretch) {
    return sum + stretch.end - stretch.begin;
  });
}

double median_duration(std::span<const Interval> intervals) {
  if (intervals.empty()) return 0;
  std::vector<double> durations;
  for (const Interval& interval : intervals) durations.push_back(interval.duration);
  std::ranges::sort(durations);
  const std::size_t half = durations.size() / 2;
  return durations.size() % 2 == 1 ? durations[half] : (durations[half - 1] + durations[half]) / 2;
}

void check(std::span<const Interval> intervals, std::string_view what) {
  for (const Interval& interval : intervals)
    if (!std::isfinite(interval.onset) || !std::isfinite(interval.duration) || interval.duration < 0)
      throw BadInput(fmt::format("{} at {} s of {} s: times are finite and durations not negative", what,
                                 interval.onset, interval.duration));
}

void check_share(std::string_view name, double share) {
  if (!(share >= 0 && share <= 1))
    throw BadInput(fmt::format("{} {}: a share from 0 to 1 is expected", name, share));
}

/// Of a relevant result at rank i, from 0.
double gain(std::int64_t i) { return 1 / std::log2(static_cast<double>(i) + 2); }

/// What is annotated with one label, without the query's source, and what of it was found.
struct Annotated {
  Stretches events;  // as annotated; a moment begins and ends at once
  Stretches time;    // their union, less the source
  Stretches found;   // relevant results

  bool makes_relevant(const Interval& result, double overlap) const {
    // Without overlap asked for there must be some.
    return share_within(time, result) >= std::max(overlap, 1e-9) ||
           std::ranges::any_of(events, [&](const Stretch& event) {
             return event.begin == event.end && result.onset <= event.begin && event.begin <= result.end();
           });
  }
};

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

Evaluation evaluate(std::span<const Interval> results, std::span<const Interval> annotations,
                    std::span<const Interval> source, std::int64_t k, const Relevance& relevance) {
  constexpr std::int64_t kLastRank = 10'000'000;
  if (k < 1 || k > kLastRank)
    throw BadInput(fmt::format("results are judged up to rank {}; from 1 to {}", k, kLastRank));
  check_share("overlap", relevance.overlap);
  check_share("overlap with the query's source", relevance.self_overlap);
  check(results, "a result");
  check(annotations, "an annotation");
  check(source, "a query's source");

  Stretches own;
  for (const Interval& interval : source) own.push_back({interval.onset, interval.end()});
  own = united(std::move(own));

  std::map<std::string, Annotated> by_label;
  Evaluation evaluation;
  for (const Interval& event : annotations) {
    if (share_within(own, event) > 0.5) continue;
    by_label[event.label].events.push_back({event.onset, event.end()});
    ++evaluation.events;
  }
  for (auto& [label, annotated] : by_label) annotated.time = without(united(annotated.events), own);

  std::vector<Interval> judged;
  double gained = 0;
  for (const Interval& result : results) {
    if (std::ssize(judged) == k) break;
    if (share_within(own, result) > relevance.self_overlap) continue;
    judged.push_back(result);
    const auto annotated = by_label.find(result.label);
    if (annotated == by_label.end() || !annotated->second.makes_relevant(result, relevance.overlap)) continue;
    gained += gain(std::ssize(judged) - 1);
    ++evaluation.relevant;
    annotated->second.found.push_back({result.onset, result.end()});
  }
  evaluation.results = std::ssize(judged);
  evaluation.precision = ratio(static_cast<double>(evaluation.relevant), static_cast<double>(judged.size()));

  const double median = median_duration(judged);
  double annotated_time = 0, covered = 0, possible = 0;
  for (auto& [label, annotated] : by_label) {
    annotated.found = united(std::move(annotated.found));
    for (const Stretch& event : annotated.events)
      evaluation.events_found +=
          share_within(annotated.found, {event.begin, event.end - event.begin, label}) > 0;
    annotated_time += total_time(annotated.time);
    for (const Stretch& stretch : annotated.time) {
      const double duration = stretch.end - stretch.begin;
      covered += shared_time(annotated.found, {stretch.begin, duration, label});
      possible += median > 0 ? std::max(1.0, std::floor(duration / median)) : 1;
    }
  }
  evaluation.recall =
      ratio(static_cast<double>(evaluation.events_found), static_cast<double>(evaluation.events));
  evaluation.coverage = ratio(covered, annotated_time);
  possible =
      std::max({possible, static_cast<double>(evaluation.events), static_cast<double>(evaluation.relevant)});
  double ideal = 0;
  for (std::int64_t i = 0; i < k && static_cast<double>(i) < possible; ++i) ideal += gain(i);
  evaluation.ndcg = ratio(gained, ideal);
  return evaluation;
}

double student_quantile(std::int64_t freedom, double probability) {
  constexpr std::int64_t kMostFreedom = 100'000'000;
  if (freedom < 1 || freedom > kMostFreedom)
    throw BadInput(fmt::format("{} degrees of freedom; from 1 to {}", freedom, kMostFreedom));
  if (!(probability > 0 && probability < 1))
    throw BadInput(fmt::format("a probability of {}; above 0 and below 1", probability));
  // P(|t| < tan(angle) sqrt(freedom)) is a finite sum over powers of the cosine.
  const auto inside = [freedom](double angle) {
    const double cosine = std::cos(angle), square = cosine * cosine;
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1, sum = 0;
    for (std::int64_t power = odd ? 1 : 0; power <= freedom - 2; power += 2) {
      sum += term;
      term *= square * static_cast<double>(power + 1) / static_cast<double>(power + 2);
    }
    return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  };
  double low = 0, high = std::numbers::pi / 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (inside(middle) < probability ? low : high) = middle;
  }
  return std::tan(low) * std::sqrt(static_cast<double>(freedom));
}

Mean mean_with_confidence(std::span<const double> values) {
  if (values.empty()) throw BadInput("the mean of no values");
  const auto count = static_cast<double>(values.size());
  Mean mean;
  for (const double value : values) mean.value += value / count;
  if (values.size() == 1) {
    mean.half_width = std::numeric_limits<double>::infinity();
    return mean;
  }
  double squares = 0;
  for (const double value : values) squares += (value - mean.value) * (value - mean.value);
  mean.half_width = student_quantile(std::ssize(values) - 1, 0.95) * std::sqrt(squares / (count - 1) / count);
  return mean;
}

std::vector<Interval> read_truth(const std::filesystem::path& file, const io::RecordingOptions& reading) {
  std::vector<io::Annotation> annotations;
  constexpr std::string_view kHeader = "onset,duration,label";
  if (file.extension() == ".csv" && reading.label_column.empty()) {
    const std::string text = read_file(file);
    if (text.find(kHeader) > 3)  // behind a byte order mark at most
      throw BadInput(
          fmt::format("{}: no annotations: expected the header line {}, or `label_column` for a recording",
                      file.string(), kHeader));
    annotations = io::parse_annotations(text, file.string());
  } else {
    annotations = io::read_recording(file, reading).annotations;
    if (annotations.empty())
      throw BadInput(
          fmt::format("{}: it holds no annotations; `label_column` names a column that does", file.string()));
  }
  std::vector<Interval> truth;
  for (const auto& [onset, duration, label] : annotations) truth.push_back({onset, duration, label});
  return truth;
}

Judged judge(StoredMatches stored, std::span<const Interval> annotations, const std::string& file,
             const std::string& label, std::int64_t k, const Relevance& relevance) {
  std::set<std::string> searched(stored.labels.begin(), stored.labels.end()), there;
  if (!label.empty()) searched = {label};
  for (Interval& match : stored.matches) {
    if (!label.empty()) match.label = label;
    searched.insert(match.label);
  }
  std::vector<Interval> truth;
  for (const Interval& event : annotations) {
    there.insert(event.label);
    if (searched.contains(event.label)) truth.push_back(event);
  }
  std::string wrong;
  if (there.empty())
    wrong = fmt::format("{}: it holds no annotations", file);
  else if (truth.empty())
    wrong = fmt::format(
        "{}: none of its annotations ({}) is of the results' label '{}'; `label` says what they are", file,
        fmt::join(there, ", "), fmt::join(searched, "', '"));
  return {stored.name, evaluate(stored.matches, truth, stored.sources, k, relevance), wrong};
}

std::optional<double> value_of(const Evaluation& evaluation, const Measure& measure) {
  if (measure.value == nullptr)
    throw BadInput(fmt::format("the measure '{}' names no member of an evaluation", measure.name));
  if (measure.of_events && evaluation.events == 0) return std::nullopt;
  return evaluation.*measure.value;
}

Mean mean_of(std::span<const Judged> all, const Measure& measure) {
  std::vector<double> values;
  for (const Judged& judged : all)
    if (const auto value = value_of(judged.evaluation, measure)) values.push_back(*value);
  return mean_with_confidence(values);
}

}  // namespace warploom::search
