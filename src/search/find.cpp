#include "warploom/search/find.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "search/assembly.hpp"
#include "search/plan.hpp"
#include "search/settle.hpp"
#include "search/thresholds.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

/// One query in one recording.
class Search {
 public:
  Search(Index& index, const Query& query, const FindOptions& options)
      : index_(index), query_(query), options_(options), channels_(std::ssize(index.signal())) {
    check_query(query, channels_);
    check_options(options, query, channels_);
    check_length(query, index.samples());
    plan_ = make_plan(query, options, options.band, index.normalization());
    if (plan_.groups.empty())
      throw BadInput("all channels of the query are constant: there is no shape to look for");
    assembling_ = assemble_options(options, query, plan_);
    assembly_.emplace(query, assembling_.max_lag);
  }

  Found run() {
    set_thresholds();
    std::vector<Task> tasks;
    std::vector<Source> sources;
    for (std::size_t g = 0; g < plan_.groups.size(); ++g)
      for (std::int32_t channel : channels_of(plan_.groups[g])) {
        tasks.push_back(task(g, channel, options_.candidates));
        sources.push_back({g, channel});
      }
    collect(plan_, tasks, sources, false);
    Found found;
    found.pairs = pairs_;
    found.candidates = std::ssize(assembly_->pieces());
    for (double band : options_.exhaust) exhaust(band);
    found.matches = settled(assembly_->best(assembling_));
    found.remarks = remarks(found);
    return found;
  }

 private:
  struct Source {
    std::size_t group;
    std::int32_t channel;
  };

  std::vector<std::int32_t> channels_of(const Group& group) const {
    return channels_for(query_.places[plan_.variant(group).query_channel], options_, channels_);
  }
  float& threshold(std::size_t group, std::int32_t channel) {
    return thresholds_[group * channels_ + channel];
  }

  void set_thresholds() {
    std::set<std::int64_t> lengths;
    if (!options_.max_distance && options_.significance != 1)
      for (const Group& group : plan_.groups) lengths.insert(std::ssize(plan_.patterns[group.plain].samples));
    const SampleWindows samples(index_.signal(), index_.normalization(), lengths);
    std::vector<Windows> windows;
    std::vector<std::pair<float*, double>> thresholds;  // of `windows`, and their significance
    thresholds_.assign(plan_.groups.size() * channels_, 0);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
      const Group& group = plan_.groups[g];
      const Pattern& pattern = plan_.patterns[group.plain];
      const std::vector<std::int32_t> some = channels_of(group);
      const std::int64_t trials = std::ssize(some) * (assembling_.max_lag + 1) * group.patterns;
      const double share = options_.significance / static_cast<double>(trials);
      for (std::int32_t channel : some) {
        check_interrupt();
        pairs_ += plan_.variant(group).rotation == 0 && plan_.variant(group).segment < 0;
        float& most = threshold(g, channel);
        if (options_.max_distance)
          most = static_cast<float>(*options_.max_distance);
        else if (options_.significance == 1)
          most = std::numeric_limits<float>::infinity();
        else {
          windows.push_back({group.plain, channel, samples.of(channel, std::ssize(pattern.samples))});
          thresholds.emplace_back(&most, share);
        }
      }
    }
    std::vector<std::vector<float>> distances = index_.distances(plan_.patterns, windows);
    parallel_for(std::ssize(windows), [&](std::int64_t w) {
      const auto& [most, share] = thresholds[w];
      *most = static_cast<float>(significant_distance(std::move(distances[w]), share));
    });
  }

  Task task(std::size_t g, std::int32_t channel, std::int64_t limit) {
    const Group& group = plan_.groups[g];
    Task task;
    task.channel = channel;
    task.first_pattern = group.first_pattern;
    task.patterns = group.patterns;
    task.limit = limit;
    task.exclusion = group.exclusion;
    task.max_distance = threshold(g, channel);
    return task;
  }

  void collect(const Plan& plan, std::span<const Task> tasks, std::span<const Source> sources,
               bool exhausted) {
    const std::vector<std::vector<Candidate>> best = index_.best(plan.patterns, tasks);
    std::vector<std::size_t> first = {0};  // piece of each task
    for (const std::vector<Candidate>& candidates : best) first.push_back(first.back() + candidates.size());
    std::vector<Piece> pieces(first.back());
    parallel_for(std::ssize(best), [&](std::int64_t t) {
      for (std::size_t k = 0; k < best[t].size(); ++k) {
        Piece& piece = pieces[first[t] + k];
        piece = piece_of(best[t][k], sources[t].channel, plan, query_, options_, channels_);
        piece.pair.exhausted = exhausted;
      }
    });
    assembly_->add(pieces);
    for (const std::vector<Candidate>& candidates : best)
      for (const Candidate& candidate : candidates) patterns_.push_back(&plan.patterns[candidate.pattern]);
  }

  std::vector<Match> settled(std::vector<Assembly::Result> results) {
    std::vector<Unsettled> unsettled;
    for (Assembly::Result& result : results) {
      Unsettled& some = unsettled.emplace_back(Unsettled{&result.match, {}});
      for (const std::int32_t piece : result.pieces) some.patterns.push_back(patterns_[piece]);
    }
    settle(index_, unsettled, assembling_.max_lag, assembling_.exclusion);
    std::vector<Match> matches;
    for (Assembly::Result& result : results) matches.push_back(std::move(result.match));
    std::stable_sort(matches.begin(), matches.end(), ranked_before);
    return matches;
  }

  /// Searches channels that good matches lack once more with a wider band, where they would have to be.
  void exhaust(double band) {
    AssembleOptions seeds = assembling_;
    seeds.limit = 4 * options_.limit;
    seeds.min_channels = 1;
    seeds.alternatives = 1;
    const Plan& plan = wider_plans_.emplace_back(make_plan(query_, options_, band, index_.normalization()));
    constexpr std::int32_t kAny = -1;
    std::set<std::int32_t> axes;
    for (const Group& group : plan.groups)
      if (group.axis) axes.insert(plan.variant(group).query_channel);
    std::vector<Task> tasks;
    std::vector<Source> sources;
    for (const auto& [match, pieces] : assembly_->best(seeds)) {
      if (match.matched == match.channels) continue;
      std::set<std::int32_t> found, taken;
      std::int64_t latest = match.first;
      std::int32_t rotation = kAny;  // that its axes are in
      for (const Pair& pair : match.pairs) {
        found.insert(pair.query_channel);
        taken.insert(pair.channel);
        latest = std::max(latest, pair.offset);
        if (axes.contains(pair.query_channel)) rotation = pair.rotation;
      }
      for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        const Variant& variant = plan.variant(plan.groups[g]);
        if (variant.segment >= 0 || found.contains(variant.query_channel)) continue;
        if (plan.groups[g].axis && rotation != kAny && variant.rotation != rotation) continue;
        for (std::int32_t channel : channels_of(plan.groups[g])) {
          if (taken.contains(channel)) continue;
          Task narrow = task(g, channel, 1);
          narrow.first = latest - seeds.max_lag;
          narrow.last = match.first + seeds.max_lag + 1;
          tasks.push_back(narrow);
          sources.push_back({g, channel});
        }
      }
    }
    collect(plan, tasks, sources, true);
  }

  std::vector<std::string> remarks(const Found& found) const {
    std::vector<std::string> all;
    for (std::int32_t channel : plan_.constant)
      all.push_back(channel_text(query_, channel) + " is constant: it has no shape and is not searched");
    if (!options_.max_distance && options_.significance < 1) {
      std::vector<float> some;
      for (float threshold : thresholds_)
        if (threshold > 0) some.push_back(threshold);
      if (!some.empty())
        all.push_back(fmt::format(
            "no largest distance was given: pairs count up to distances of {:.3g} to {:.3g}; up to there, the "
            "chance that a channel is found by accident at a place where it does not occur is {}",
            *std::min_element(some.begin(), some.end()), *std::max_element(some.begin(), some.end()),
            options_.significance));
    }
    if (!options_.max_distance && options_.significance == 1)
      all.push_back(
          "there is no threshold: every pair has candidates, and matches of many channels may be chance");
    if (assembly_->pieces().empty())
      all.push_back(fmt::format(
          "nothing was found: no channel of the query is anywhere within the threshold; raise the {}",
          options_.max_distance ? "largest distance" : "significance"));
    else if (found.matches.empty())
      all.push_back(fmt::format(
          "nothing was found: there are {} candidates, but nowhere of {} channels within the lag; ask for fewer channels or allow a larger lag",
          assembly_->pieces().size(), assembling_.min_channels));
    return all;
  }

  Index& index_;
  const Query& query_;
  const FindOptions& options_;
  std::int64_t channels_;  ///< of the recording
  Plan plan_;
  std::deque<Plan> wider_plans_;  ///< of exhausting
  AssembleOptions assembling_;
  std::vector<float> thresholds_;  ///< [groups][channels]
  std::int64_t pairs_ = 0;
  std::optional<Assembly> assembly_;
  std::vector<const Pattern*> patterns_;  ///< of the assembly's pieces
};

}  // namespace

Found find(Index& index, const Query& query, const FindOptions& options) {
  const RunScope scope(index.run());
  return Search(index, query, options).run();
}

Found find_labels(Index& index, std::span<const Query> queries, const FindOptions& options) {
  const RunScope scope(index.run());
  if (queries.empty()) throw BadInput("there are no queries: give at least one");
  Found all;
  std::vector<Match> matches;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    Found found = find(index, queries[q], options);
    all.pairs += found.pairs;
    all.candidates += found.candidates;
    for (const std::string& remark : found.remarks) all.remarks.push_back(queries[q].label + ": " + remark);
    for (Match& match : found.matches) {
      match.query = static_cast<std::int32_t>(q);
      matches.push_back(std::move(match));
    }
  }
  const auto key = [](const Match& match) {
    return std::tuple(-match.coverage, match.distance / match.matched, match.first, match.query);
  };
  std::stable_sort(matches.begin(), matches.end(),
                   [&](const Match& a, const Match& b) { return key(a) < key(b); });
  for (Match& match : matches) {
    if (std::ssize(all.matches) == options.limit) break;
    const auto overlaps = [&](const Match& other) {
      const std::int64_t common = std::min(match.last, other.last) - std::max(match.first, other.first);
      return 2 * common > std::min(match.last - match.first, other.last - other.first);
    };
    if (std::none_of(all.matches.begin(), all.matches.end(), overlaps))
      all.matches.push_back(std::move(match));
  }
  return all;
}

}  // namespace warploom::search
