#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "search/backend.hpp"
#include "search/cpu_bounds_search.hpp"
#include "search/cpu_dtw_batch.hpp"
#include "search/windows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// All of a unit's distances. @return cells computed
std::int64_t unit_profile(const CpuQuery& query, const CpuWindowsOfAll& windows, float* distances) {
  DtwBatch batch(query);
  const int lanes = batch.lanes();
  std::int64_t cells = 0;
  for (std::int64_t t = 0; t < windows.count; t += lanes) {
    const std::int64_t count = std::min<std::int64_t>(lanes, windows.count - t);
    for (std::int64_t c = 0; c < query.count(); ++c) {
      const CpuWindows& of = windows.channels[c];
      if (windows.first + t + query.length + lanes - 1 <= std::ssize(query.channels[c].recorded)) {
        batch.load_adjacent(c, of.samples + t, of.lanes(t));
      } else {
        LaneWindows some;
        for (int l = 0; l < lanes; ++l) some.set(l, of, t + std::min<std::int64_t>(l, count - 1));
        batch.load(c, some.begin, some.moments());
      }
    }
    float of_lanes[kMostLanes];
    cells += batch.compute(of_lanes);
    for (std::int64_t l = 0; l < count; ++l)
      distances[t + l] = windows.missing(t + l) ? kInfinity : of_lanes[l];
  }
  return cells;
}

/// The moments of channels that are not too long: patterns of one length ask for the same ones. They are kept
/// when they are asked for the second time, or at once if somebody needs them anyhow: memory that is new
/// costs as much time as finding them.
class KeptMoments {
 public:
  void keep(std::span<const float> channel, std::int64_t length, bool at_once = false) {
    const std::int64_t count = std::ssize(channel) - length + 1;
    const auto [place, first_time] = moments_.try_emplace({channel.data(), length});
    WindowMoments& all = place->second;
    if ((first_time && !at_once) || count <= 0 || count > left_ || !all.mean.empty()) return;
    left_ -= count;
    const auto size = static_cast<std::size_t>(count);
    all = {std::vector<float>(size), std::vector<float>(size), std::vector<float>(size)};
    constexpr std::int64_t kPart = 4 * kMomentsBlock;
    parallel_for((count + kPart - 1) / kPart, [&](std::int64_t p) {
      const std::int64_t first = p * kPart;
      const WindowMoments some = window_moments(channel, length, first, std::min(kPart, count - first));
      for (const auto field : {&WindowMoments::mean, &WindowMoments::rest, &WindowMoments::scale})
        std::copy((some.*field).begin(), (some.*field).end(), (all.*field).begin() + first);
    });
    pad(all);
  }
  /// Null if they are not kept. Several threads may ask.
  const WindowMoments* of(std::span<const float> channel, std::int64_t length) const {
    const auto found = moments_.find({channel.data(), length});
    return found == moments_.end() || found->second.mean.empty() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<const float*, std::int64_t>, WindowMoments> moments_;
  std::int64_t left_ = std::int64_t{256 << 20} / static_cast<std::int64_t>(3 * sizeof(float));  // windows
};

class CpuBackend : public Backend {
 public:
  CpuBackend(const Signal& signal, const IndexOptions& options) : signal_(signal), options_(options) {}

  std::vector<float> profile(const Pattern& pattern, std::int32_t channel, std::int64_t first,
                             std::int64_t count) override {
    return profile_of(CpuQuery(signal_, channel, pattern, options_.normalization), first, count);
  }
  std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) override {
    return profile_of(CpuQuery(signal_, pattern, options_.normalization), first, count);
  }

  std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                            std::span<const Windows> windows) override {
    return distances_of(windows, [&](const Windows& some) {
      return CpuQuery(signal_, some.channel, patterns[some.pattern], options_.normalization);
    });
  }
  std::vector<std::vector<float>> distances(std::span<const JointPattern> patterns,
                                            std::span<const JointWindows> windows) override {
    return distances_of(windows, [&](const JointWindows& some) {
      return CpuQuery(signal_, patterns[some.pattern], options_.normalization);
    });
  }

  std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns, std::span<const Task> tasks,
                                           Choice choice) override {
    std::vector<JointTask> all;
    for (const Task& task : tasks)
      all.push_back({task.first_pattern, task.patterns, task.limit, task.exclusion, task.max_distance,
                     task.first, task.last});
    return best_of(
        all,
        [&](std::size_t t, std::int32_t p) {
          return CpuQuery(signal_, tasks[t].channel, patterns[p], options_.normalization);
        },
        [&](std::int32_t p) { return std::pair(std::ssize(patterns[p].samples), patterns[p].lead); }, choice);
  }
  std::vector<std::vector<Candidate>> best(std::span<const JointPattern> patterns,
                                           std::span<const JointTask> tasks, Choice choice) override {
    return best_of(
        tasks,
        [&](std::size_t, std::int32_t p) { return CpuQuery(signal_, patterns[p], options_.normalization); },
        [&](std::int32_t p) { return std::pair(patterns[p].length(), std::int64_t{0}); }, choice);
  }

  const WindowMoments* moments(std::int32_t channel, std::int64_t length) override {
    if (options_.normalization != Normalization::z) return nullptr;
    moments_.keep(signal_[channel], length, true);
    return moments_.of(signal_[channel], length);
  }

 private:
  std::vector<float> profile_of(CpuQuery query, std::int64_t first, std::int64_t count) {
    keep_moments(query);
    take_moments(query);
    std::vector<float> distances(static_cast<std::size_t>(count));
    const std::vector<CpuUnit> units = units_of(query, first, first + count);
    parallel_for(std::ssize(units), [&](std::int64_t u) {
      check_interrupt();
      const CpuWindowsOfAll windows(query, units[u].begin, units[u].size);
      unit_profile(query, windows, distances.data() + (units[u].begin - first));
    });
    return distances;
  }

  /// @param query_of  makes the query of a list of windows
  template <class SomeWindows, class QueryOf>
  std::vector<std::vector<float>> distances_of(std::span<const SomeWindows> windows,
                                               const QueryOf& query_of) {
    for (const SomeWindows& some : windows) keep_moments(query_of(some));
    std::vector<std::vector<float>> distances(windows.size());
    share_out(std::ssize(windows), [&](std::int64_t w) {
      CpuQuery query = query_of(windows[w]);
      take_moments(query);
      distances[w] = distances_at(query, windows[w].offsets);
    });
    return distances;
  }

  /// @param query_of  makes the query of a task's pattern
  /// @param extent_of  a pattern's length and lead
  template <class QueryOf, class ExtentOf>
  std::vector<std::vector<Candidate>> best_of(std::span<const JointTask> tasks, const QueryOf& query_of,
                                              const ExtentOf& extent_of, Choice choice) {
    const auto range_of = [&](const JointTask& task, std::int32_t pattern) {
      const auto [length, lead] = extent_of(pattern);
      return this->range_of(task, pattern, length, lead);
    };
    std::uint64_t windows = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t)
      for (std::int32_t p = 0; p < tasks[t].patterns; ++p) {
        const CpuRange range = range_of(tasks[t], tasks[t].first_pattern + p);
        windows += static_cast<std::uint64_t>(std::max<std::int64_t>(0, range.last - range.first));
        keep_moments(query_of(t, range.pattern));
      }
    Progress progress("searching", windows, "windows");
    CpuCounts counts;
    std::vector<std::vector<Candidate>> found(tasks.size());
    share_out(std::ssize(tasks), [&](std::int64_t t) {
      SharedSelection selection(tasks[t]);
      for (std::int32_t p = 0; p < tasks[t].patterns; ++p) {
        const CpuRange range = range_of(tasks[t], tasks[t].first_pattern + p);
        if (range.first >= range.last) continue;
        CpuQuery query = query_of(t, range.pattern);
        take_moments(query);
        if (options_.prune != Prune::never)
          search_bounded(query, range, tasks[t], options_.prune, selection, counts, progress);
        else
          search_all(query, range, selection, counts, progress);
      }
      found[t] = choice == Choice::chosen ? selection.finish() : selection.kept();
    });
    effort.windows += counts.windows;
    effort.skipped += counts.skipped;
    effort.bounded += counts.bounded;
    effort.cells += counts.cells;
    effort.choice =
        options_.prune != Prune::never
            ? fmt::format(
                  "lower bounds, then matrices; {} of {} blocks of windows without lower bounds, since "
                  "they had excluded less than an eighth of a block before",
                  counts.whole.load(), counts.blocks.load())
            : "every matrix was computed, as was asked for";
    return found;
  }

  void keep_moments(const CpuQuery& query) {
    if (options_.normalization != Normalization::z) return;
    for (const CpuChannel& channel : query.channels) moments_.keep(channel.recorded, query.length);
  }
  void take_moments(CpuQuery& query) const {
    for (CpuChannel& channel : query.channels) channel.moments = moments_.of(channel.recorded, query.length);
  }

  /// Short recordings hold less than every thread can do: then tasks are shared out, else their windows.
  static void share_out(std::int64_t tasks, const std::function<void(std::int64_t)>& task) {
    if (tasks >= 4 * std::int64_t{threads()})
      parallel_for(tasks, task);
    else
      for (std::int64_t t = 0; t < tasks; ++t) task(t);
  }

  std::vector<float> distances_at(const CpuQuery& query, std::span<const std::int64_t> offsets) const {
    std::vector<float> distances(offsets.size());
    const std::int64_t lanes = DtwBatch(query).lanes();
    parallel_for((std::ssize(offsets) + lanes - 1) / lanes, [&](std::int64_t b) {
      check_interrupt();
      const std::int64_t begin = b * lanes, count = std::min(lanes, std::ssize(offsets) - begin);
      std::vector<LaneWindows> some(query.channels.size());
      bool missing[kMostLanes];
      CpuWindowsAt windows(query);
      for (int l = 0; l < lanes; ++l) {
        const std::int64_t offset = offsets[begin + std::min<std::int64_t>(l, count - 1)];
        const CpuWindowsOfAll& block = windows.around(offset);
        missing[l] = block.missing(offset - block.first);
        for (std::size_t c = 0; c < some.size(); ++c) some[c].set(l, block.channels[c], offset - block.first);
      }
      DtwBatch batch(query);
      for (std::size_t c = 0; c < some.size(); ++c)
        batch.load(static_cast<std::int64_t>(c), some[c].begin, some[c].moments());
      float of_lanes[kMostLanes];
      batch.compute(of_lanes);
      for (std::int64_t l = 0; l < count; ++l) distances[begin + l] = missing[l] ? kInfinity : of_lanes[l];
    });
    return distances;
  }

  CpuRange range_of(const JointTask& task, std::int32_t pattern, std::int64_t length,
                    std::int64_t lead) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 61;  // to which a lead can be added
    return {std::max<std::int64_t>(0, std::clamp(task.first, -kFar, kFar) + lead),
            std::min(std::ssize(signal_[0]) - length + 1, std::clamp(task.last, -kFar, kFar) + lead), lead,
            pattern};
  }

  void search_all(const CpuQuery& query, const CpuRange& range, SharedSelection& selection, CpuCounts& counts,
                  Progress& progress) const {
    const std::vector<CpuUnit> units = units_of(query, range.first, range.last);
    parallel_for(std::ssize(units), [&](std::int64_t u) {
      const auto [begin, size] = units[u];
      const CpuWindowsOfAll windows(query, begin, size);
      std::vector<float> distances(static_cast<std::size_t>(size));
      counts.cells += static_cast<std::uint64_t>(unit_profile(query, windows, distances.data()));
      std::vector<Candidate> candidates;
      for (std::int64_t t = 0; t < size; ++t) {
        counts.skipped += windows.missing(t);
        if (distances[t] <= selection.bound())
          candidates.push_back({begin + t - range.lead, distances[t], range.pattern});
      }
      selection.add(candidates);
      counts.windows += static_cast<std::uint64_t>(size);
      progress.advance(static_cast<std::uint64_t>(size));
    });
  }

  const Signal& signal_;
  IndexOptions options_;
  KeptMoments moments_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const Signal& signal, const IndexOptions& options) {
  return std::make_unique<CpuBackend>(signal, options);
}

}  // namespace warploom::search
