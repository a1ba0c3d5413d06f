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

/// All of a unit's distances. @return cells computed
std::int64_t unit_profile(const CpuQuery& query, const CpuWindows& windows, std::span<const float> channel,
                          float* distances) {
  DtwBatch batch(query);
  const std::int64_t lanes = batch.lanes();
  std::int64_t cells = 0;
  for (std::int64_t t = 0; t < windows.count; t += lanes) {
    const std::int64_t count = std::min(lanes, windows.count - t);
    if (windows.first + t + query.length + lanes - 1 <= std::ssize(channel)) {
      batch.load_adjacent(windows.samples + t, windows.lanes(t));
    } else {
      const float* begins[kMostLanes];
      for (std::int64_t l = 0; l < lanes; ++l) begins[l] = windows.samples + t + std::min(l, count - 1);
      batch.load(begins, windows.lanes(t));
    }
    float of_lanes[kMostLanes];
    cells += batch.compute(of_lanes);
    std::copy_n(of_lanes, count, distances + t);
  }
  return cells;
}

/// The moments of channels that are not too long: patterns of one length ask for the same ones. They are kept
/// when they are asked for the second time: memory that is new costs as much time as finding them.
class KeptMoments {
 public:
  void keep(std::span<const float> channel, std::int64_t length) {
    const std::int64_t count = std::ssize(channel) - length + 1;
    const auto [place, first_time] = moments_.try_emplace({channel.data(), length});
    WindowMoments& all = place->second;
    if (first_time || count <= 0 || count > left_ || !all.mean.empty()) return;
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
    const CpuQuery query(pattern, options_.normalization);
    std::vector<float> distances(static_cast<std::size_t>(count));
    const std::vector<CpuUnit> units = units_of(query, first, first + count);
    parallel_for(std::ssize(units), [&](std::int64_t u) {
      check_interrupt();
      const CpuWindows windows(signal_[channel], query, options_.normalization, units[u].begin,
                               units[u].size);
      unit_profile(query, windows, signal_[channel], distances.data() + (units[u].begin - first));
    });
    return distances;
  }

  std::vector<std::vector<float>> distances(std::span<const Pattern> patterns,
                                            std::span<const Windows> windows) override {
    for (const Windows& some : windows) keep_moments(patterns[some.pattern], some.channel);
    std::vector<std::vector<float>> distances(windows.size());
    share_out(std::ssize(windows), [&](std::int64_t w) {
      distances[w] = distances_at(patterns[windows[w].pattern], windows[w].channel, windows[w].offsets);
    });
    return distances;
  }

  std::vector<std::vector<Candidate>> best(std::span<const Pattern> patterns,
                                           std::span<const Task> tasks) override {
    std::uint64_t windows = 0;
    for (const Task& task : tasks)
      for (std::int32_t p = 0; p < task.patterns; ++p) {
        const CpuRange range = range_of(patterns, task, task.first_pattern + p);
        windows += static_cast<std::uint64_t>(std::max<std::int64_t>(0, range.last - range.first));
      }
    Progress progress("searching", windows, "windows");
    CpuCounts counts;
    for (const Task& task : tasks)
      for (std::int32_t p = 0; p < task.patterns; ++p)
        keep_moments(patterns[task.first_pattern + p], task.channel);
    std::vector<std::vector<Candidate>> found(tasks.size());
    const auto search = [&](std::int64_t t) {
      SharedSelection selection(tasks[t]);
      for (std::int32_t p = 0; p < tasks[t].patterns; ++p) {
        const CpuRange range = range_of(patterns, tasks[t], tasks[t].first_pattern + p);
        if (range.first >= range.last) continue;
        const CpuQuery query = query_of(patterns[range.pattern], tasks[t].channel);
        if (options_.prune != Prune::never)
          search_bounded(query, range, tasks[t], options_.prune, selection, counts, progress);
        else
          search_all(query, range, selection, counts, progress);
      }
      found[t] = selection.finish();
    };
    share_out(std::ssize(tasks), search);
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

 private:
  void keep_moments(const Pattern& pattern, std::int32_t channel) {
    if (options_.normalization == Normalization::z)
      moments_.keep(signal_[channel], std::ssize(pattern.samples));
  }
  CpuQuery query_of(const Pattern& pattern, std::int32_t channel) const {
    CpuQuery query(pattern, options_.normalization);
    query.moments = moments_.of(signal_[channel], query.length);
    return query;
  }

  /// Short recordings hold less than every thread can do: then tasks are shared out, else their windows.
  static void share_out(std::int64_t tasks, const std::function<void(std::int64_t)>& task) {
    if (tasks >= 4 * std::int64_t{threads()})
      parallel_for(tasks, task);
    else
      for (std::int64_t t = 0; t < tasks; ++t) task(t);
  }

  std::vector<float> distances_at(const Pattern& pattern, std::int32_t channel,
                                  std::span<const std::int64_t> offsets) const {
    const CpuQuery query = query_of(pattern, channel);
    std::vector<float> distances(offsets.size());
    const std::int64_t lanes = DtwBatch(query).lanes();
    parallel_for((std::ssize(offsets) + lanes - 1) / lanes, [&](std::int64_t b) {
      check_interrupt();
      const std::int64_t begin = b * lanes, count = std::min(lanes, std::ssize(offsets) - begin);
      float mean[kMostLanes]{}, rest[kMostLanes]{}, scale[kMostLanes]{}, of_lanes[kMostLanes];
      const float* begins[kMostLanes];
      CpuWindowsAt windows(signal_[channel], query, options_.normalization);
      for (std::int64_t l = 0; l < lanes; ++l) {
        const std::int64_t offset = offsets[begin + std::min(l, count - 1)];
        const CpuWindows& block = windows.around(offset);
        begins[l] = signal_[channel].data() + offset;
        mean[l] = block.mean[offset - block.first];
        rest[l] = block.rest[offset - block.first];
        scale[l] = block.scale[offset - block.first];
      }
      DtwBatch batch(query);
      batch.load(begins, {mean, rest, scale});
      batch.compute(of_lanes);
      std::copy_n(of_lanes, count, distances.begin() + begin);
    });
    return distances;
  }

  CpuRange range_of(std::span<const Pattern> patterns, const Task& task, std::int32_t index) const {
    const Pattern& pattern = patterns[index];
    const std::span<const float> channel = signal_[task.channel];
    constexpr std::int64_t kFar = std::int64_t{1} << 61;  // to which a lead can be added
    return {channel,
            options_.normalization,
            std::max<std::int64_t>(0, std::clamp(task.first, -kFar, kFar) + pattern.lead),
            std::min(std::ssize(channel) - std::ssize(pattern.samples) + 1,
                     std::clamp(task.last, -kFar, kFar) + pattern.lead),
            pattern.lead,
            index};
  }

  void search_all(const CpuQuery& query, const CpuRange& range, SharedSelection& selection, CpuCounts& counts,
                  Progress& progress) const {
    const std::vector<CpuUnit> units = units_of(query, range.first, range.last);
    parallel_for(std::ssize(units), [&](std::int64_t u) {
      const auto [begin, size] = units[u];
      const CpuWindows windows(range.channel, query, range.normalization, begin, size);
      std::vector<float> distances(static_cast<std::size_t>(size));
      counts.cells +=
          static_cast<std::uint64_t>(unit_profile(query, windows, range.channel, distances.data()));
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
