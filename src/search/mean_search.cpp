#include "search/mean_search.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "search/cpu_bounds.hpp"
#include "search/cpu_dtw_batch.hpp"
#include "search/cpu_mean_bounds.hpp"
#include "search/sizes.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kChunk = 1024;  // [windows] that a thread looks at

/// Of base 2, of the fourth power.
float octaves_of(float distance) { return 4 * std::log2(std::max(1e-7F, distance)); }

/// The distance of a sum of such logarithms is two to the power of this times it.
float share_of(std::size_t channels) { return 1 / static_cast<float>(4 * channels); }

/// Up to whole vectors.
std::size_t padded(std::int64_t count) {
  return static_cast<std::size_t>((count + kMostLanes - 1) / kMostLanes * kMostLanes);
}

/// A channel of a query, and all windows that it is compared with: that begin `step` samples after each
/// other.
class Channel {
 public:
  Channel(const MeanChannel& of, std::int64_t radius, std::int64_t step)
      : step_(step),
        recorded_(of.recorded),
        query_({of.recorded}, JointPattern{{{of.query.begin(), of.query.end()}}, {0}, radius},
               Normalization::z),
        sizes_(of.query, of.spread),
        lower_(query_.length + 2 * query_.radius + 32),
        upper_(lower_) {
    const std::vector<float>& samples = query_.channels[0].samples;
    WARPLOOM_PICK(cpu_bounds)
        ->envelope(samples.data(), query_.length, query_.radius, lower_.data(), upper_.data());
    for (const std::int64_t end : {std::int64_t{0}, query_.length - 1})
      lower_.data()[end] = upper_.data()[end] = samples[end];
    const Moments own = moments(of.query, Normalization::z);
    const auto mean = static_cast<float>(own.mean);
    const double ratio = of.spread * own.scale;
    place_.resize(static_cast<std::size_t>(query_.length));
    std::iota(place_.begin(), place_.end(), 0);
    envelope_ = {query_.length,
                 place_.data(),
                 lower_.data(),
                 upper_.data(),
                 mean,
                 static_cast<float>(own.mean - mean),
                 static_cast<float>(1 / own.scale),
                 static_cast<float>(std::min(1e30, 1 + ratio * ratio))};
    const WindowMoments* kept = of.moments;
    if (kept == nullptr) {
      own_ = window_moments(recorded_, query_.length, 0, std::ssize(recorded_) - query_.length + 1);
      pad(own_);
      kept = &own_;
    }
    const std::int64_t first = of.moments == nullptr ? 0 : of.first;
    moments_ = {kept->mean.data() + first, kept->rest.data() + first, kept->scale.data() + first};
    if (step > 1) put_apart();
  }
  Channel(const Channel&) = delete;

  const CpuQuery& query() const { return query_; }

  /// Lower bounds of logarithms, added to `sum`; it and `to` go on to a whole vector.
  void bounds(std::int64_t first, std::int64_t count, float* to, float* sum) const {
    WARPLOOM_PICK(cpu_mean_bounds)
        ->logarithms(envelope_, looked_at_.data() + first, std::ssize(looked_at_) - first, of_window(first),
                     count, to, sum);
  }
  /// Distances, times factors, of at most as many windows as lanes.
  void compare(DtwBatch& batch, std::int64_t first, std::int64_t count, float* to) const {
    const float* const samples = recorded_.data() + first;
    const LaneMoments there = of_window(first);
    if (first + query_.length + batch.lanes() - 1 <= std::ssize(recorded_)) {
      batch.load_adjacent(0, samples, there);
    } else {
      const float* begin[kMostLanes];
      for (int l = 0; l < batch.lanes(); ++l) begin[l] = samples + std::min<std::int64_t>(l, count - 1);
      batch.load(0, begin, there);
    }
    float distances[kMostLanes];
    batch.compute(distances);
    for (std::int64_t l = 0; l < count; ++l)
      to[l] = of_sizes(distances[l], there.mean[l], there.rest[l], there.scale[l]);
  }
  /// The same of windows here and there.
  void compare(DtwBatch& batch, std::span<const std::int64_t> some, float* to) const {
    LaneWindows windows;
    for (int l = 0; l < batch.lanes(); ++l) {
      const std::int64_t w = some[std::min<std::size_t>(l, some.size() - 1)];
      windows.begin[l] = recorded_.data() + w * step_;
      windows.mean[l] = moments_.mean[w];
      windows.rest[l] = moments_.rest[w];
      windows.scale[l] = moments_.scale[w];
    }
    batch.load(0, windows.begin, windows.moments());
    float distances[kMostLanes];
    batch.compute(distances);
    for (std::size_t l = 0; l < some.size(); ++l)
      to[l] = of_sizes(distances[l], windows.mean[l], windows.rest[l], windows.scale[l]);
  }

 private:
  float of_sizes(float distance, float mean, float rest, float scale) const {
    return std::isnan(scale) ? kInfinity : distance * sizes_.factor(mean, rest, scale);
  }
  /// Samples that lie `step` apart become neighbours, and moments of windows that do.
  void put_apart() {
    const std::int64_t samples = std::ssize(recorded_), windows = (samples - query_.length) / step_ + 1;
    const std::int64_t row = static_cast<std::int64_t>(padded(samples / step_ + 1)) + kMostLanes;
    apart_.resize(static_cast<std::size_t>(step_ * row));
    for (std::int64_t k = 0; k < step_; ++k)
      for (std::int64_t t = k; t < samples; t += step_) apart_[k * row + t / step_] = recorded_[t];
    for (std::int64_t j = 0; j < query_.length; ++j)
      place_[j] = static_cast<std::int32_t>(j % step_ * row + j / step_);
    looked_at_ = apart_;
    WindowMoments some;
    for (std::int64_t w = 0; w < windows; ++w) {
      some.mean.push_back(moments_.mean[w * step_]);
      some.rest.push_back(moments_.rest[w * step_]);
      some.scale.push_back(moments_.scale[w * step_]);
    }
    pad(some);
    own_ = std::move(some);
    moments_ = {own_.mean.data(), own_.rest.data(), own_.scale.data()};
  }

  LaneMoments of_window(std::int64_t first) const {
    return {moments_.mean + first, moments_.rest + first, moments_.scale + first};
  }

  const std::int64_t step_;
  const std::span<const float> recorded_;
  std::span<const float> looked_at_ = recorded_;
  const CpuQuery query_;
  const Sizes sizes_;
  Lines lower_, upper_;
  std::vector<std::int32_t> place_;
  MeanEnvelope envelope_{};
  std::vector<float> apart_;  // where windows are
  WindowMoments own_;         // not of those that are kept
  LaneMoments moments_{};
};

/// The windows of a pattern, in groups that are as many as a vector has lanes, and what is known of them: of
/// each channel its distance, or a bound.
class Groups {
 public:
  explicit Groups(const MeanPattern& of)
      : windows_(std::max<std::int64_t>(
            0, std::ssize(of.channels[0].recorded) - std::ssize(of.channels[0].query) + 1)),
        order_(of.channels.size()) {
    if (windows_ == 0) return;
    for (const MeanChannel& channel : of.channels) channels_.emplace_back(channel, of.radius, 1);
    for (const Channel& channel : channels_) batches_.emplace_back(channel.query());
    lanes_ = batches_[0].lanes();
    done_.resize(static_cast<std::size_t>((windows_ + lanes_ - 1) / lanes_));
    keys_.assign(padded(windows_), kInfinity);
    logarithms_.resize(padded(windows_));
    of_channels_.assign(channels_.size(), std::vector<float>(padded(windows_)));
    std::iota(order_.begin(), order_.end(), 0);
    look();
    put_in_order();
  }

  std::int64_t windows() const { return windows_; }
  std::int64_t count() const { return std::ssize(done_); }
  std::int64_t lanes() const { return lanes_; }
  /// Distances, or what is no more; infinite where a window is not to be chosen.
  std::span<float> keys() { return std::span(keys_).first(static_cast<std::size_t>(windows_)); }
  std::span<float> keys(std::int64_t group) { return keys().subspan(group * lanes_, size(group)); }
  bool known(std::int64_t group) const { return done_[group] == channels_.size(); }

  /// One channel more of a group is compared.
  void compare(std::int64_t group) { compare(group, batches_[order_[done_[group]]]); }
  /// All that are left: of different groups by several threads.
  void compare_all(std::int64_t group) {
    while (!known(group)) {
      DtwBatch batch(channels_[order_[done_[group]]].query());
      compare(group, batch);
    }
  }

 private:
  std::size_t size(std::int64_t group) const {
    return static_cast<std::size_t>(std::min(lanes_, windows_ - group * lanes_));
  }
  void compare(std::int64_t group, DtwBatch& batch) {
    const std::int64_t first = group * lanes_;
    const std::size_t c = order_[done_[group]++], count = size(group);
    float* const of_channel = of_channels_[c].data() + first;
    float before[kMostLanes];
    std::copy_n(of_channel, lanes_, before);
    channels_[c].compare(batch, first, static_cast<std::int64_t>(count), of_channel);
    if (!known(group)) {
      WARPLOOM_PICK(cpu_mean_bounds)
          ->put_in(of_channel, before, share_of(channels_.size()), logarithms_.data() + first,
                   keys_.data() + first);
      return;
    }
    const std::span<float> all = keys(group);
    GeometricMean mean;
    for (const std::vector<float>& channel : of_channels_)
      mean.add(std::span(channel).subspan(first, count), [](std::size_t) { return 1.F; });
    const std::vector<float> distances = std::move(mean).values();
    for (std::size_t k = 0; k < count; ++k)
      if (all[k] < kInfinity) all[k] = distances[k];
  }

  /// Lower bounds of all windows.
  void look() {
    parallel_for((windows_ + kChunk - 1) / kChunk, [&](std::int64_t k) {
      check_interrupt();
      const std::int64_t begin = k * kChunk, some = std::min(kChunk, windows_ - begin);
      float* const sum = logarithms_.data() + begin;
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        channels_[c].bounds(begin, some, of_channels_[c].data() + begin, sum);
      }
      WARPLOOM_PICK(cpu_mean_bounds)->powers(sum, share_of(channels_.size()), some, keys_.data() + begin);
    });
  }

  /// Channels whose bounds are farthest from what they bound come first: they tell most.
  void put_in_order() {
    constexpr std::int64_t kSome = 8;
    if (count() < 8 * kSome || channels_.size() < 2) return;
    std::vector<float> farther(channels_.size());
    for (std::int64_t k = 0; k < kSome; ++k) {
      const std::int64_t group = k * count() / kSome;
      const auto begin = group * lanes_, end = begin + lanes_;
      for (std::size_t c = 0; c < farther.size(); ++c)
        for (std::int64_t w = begin; w < end; ++w)
          if (of_channels_[c][w] < kInfinity) farther[c] -= of_channels_[c][w];
      while (!known(group)) compare(group);
      for (std::size_t c = 0; c < farther.size(); ++c)
        for (std::int64_t w = begin; w < end; ++w)
          if (of_channels_[c][w] < kInfinity) farther[c] += octaves_of(of_channels_[c][w]);
    }
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) { return farther[a] > farther[b]; });
  }

  const std::int64_t windows_;
  std::int64_t lanes_ = 1;
  std::deque<Channel> channels_;
  std::deque<DtwBatch> batches_;                 // [channels]
  std::vector<std::size_t> order_;               // in which channels are compared
  std::vector<std::size_t> done_;                // [groups] channels that were
  std::vector<float> keys_, logarithms_;         // [windows]
  std::vector<std::vector<float>> of_channels_;  // [channels][windows] logarithms; distances times factors
};

/// Chooses greedily: the nearest that is known, if nothing that is not can be nearer.
class Chooser {
 public:
  Chooser(std::deque<Groups>& patterns, std::int64_t exclusion)
      : patterns_(patterns), exclusion_(std::min(exclusion, kLargestZone)) {
    for (std::int32_t p = 0; p < std::ssize(patterns); ++p) {
      least_.emplace_back(static_cast<std::size_t>(patterns[p].count()));
      for (std::int64_t g = 0; g < patterns[p].count(); ++g) update({p, g}, false);
    }
  }

  std::vector<Candidate> choose(std::int64_t limit) {
    // Several threads compare at once what may be for nothing.
    const std::size_t at_once = threads() == 1 ? 1 : 4 * std::size_t{threads()};
    std::vector<Candidate> chosen;
    while (std::ssize(chosen) < limit && !heap_.empty()) {
      check_interrupt();
      std::vector<Group> unknown;
      std::vector<Nearest> behind;
      while (unknown.size() < at_once && !heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Nearest top = heap_.back();
        heap_.pop_back();
        const Group group{top.candidate.pattern, top.candidate.offset / of(top.candidate).lanes()};
        if (least(group) != top.candidate || top.known != of(top.candidate).known(group.number))
          continue;  // of before
        if (!top.known) {
          unknown.push_back(group);
        } else if (!unknown.empty()) {
          behind.push_back(top);
        } else {
          chosen.push_back(top.candidate);
          exclude(top.candidate.offset);
          break;
        }
      }
      compare(unknown);
      for (const Nearest& one : behind) push(one);
    }
    return chosen;
  }

 private:
  struct Group {
    std::int32_t pattern;
    std::int64_t number;
  };
  struct Nearest {
    Candidate candidate;
    bool known;
    /// Of a heap, whose first is the largest. What is not known may be nearer than it says.
    bool operator<(const Nearest& other) const {
      if (candidate.distance != other.candidate.distance)
        return other.candidate.distance < candidate.distance;
      return known == other.known ? chosen_before(other.candidate, candidate) : known;
    }
  };

  Groups& of(const Candidate& candidate) { return patterns_[candidate.pattern]; }
  Candidate& least(const Group& group) { return least_[group.pattern][group.number]; }

  void push(const Nearest& one) {
    heap_.push_back(one);
    std::push_heap(heap_.begin(), heap_.end());
  }
  /// What was least is not on the heap any more, or it is excluded, or it stays there.
  void update(const Group& group, bool stays) {
    Groups& groups = patterns_[group.pattern];
    const std::span<const float> keys = groups.keys(group.number);
    const auto at = std::ranges::min_element(keys);
    const Candidate before = least(group);
    least(group) = {group.number * groups.lanes() + (at - keys.begin()), *at, group.pattern};
    if (*at < kInfinity && (!stays || least(group) != before))
      push({least(group), groups.known(group.number)});
  }
  void compare(std::span<const Group> some) {
    if (some.size() == 1)
      patterns_[some[0].pattern].compare(some[0].number);
    else
      parallel_for(std::ssize(some),
                   [&](std::int64_t k) { patterns_[some[k].pattern].compare_all(some[k].number); });
    for (const Group& group : some) update(group, false);
  }
  void exclude(std::int64_t offset) {
    for (std::int32_t p = 0; p < std::ssize(patterns_); ++p) {
      Groups& groups = patterns_[p];
      const std::int64_t first = std::max<std::int64_t>(0, offset - exclusion_);
      const std::int64_t end = std::min(groups.windows(), offset + exclusion_ + 1);
      if (first >= end) continue;
      std::ranges::fill(groups.keys().subspan(first, end - first), kInfinity);
      for (std::int64_t g = first / groups.lanes(); g * groups.lanes() < end; ++g) update({p, g}, true);
    }
  }

  std::deque<Groups>& patterns_;
  const std::int64_t exclusion_;
  std::vector<std::vector<Candidate>> least_;  // [patterns][groups]
  std::vector<Nearest> heap_;                  // of these, and of those before
};

/// Windows of a pattern some samples apart, of which single ones are compared.
class Apart {
 public:
  Apart(const MeanPattern& of, std::int64_t step, std::int64_t windows) : windows_(windows) {
    for (const MeanChannel& channel : of.channels) channels_.emplace_back(channel, of.radius, step);
    for (const Channel& channel : channels_) batches_.emplace_back(channel.query());
    logarithms_.resize(padded(windows));
    keys_.resize(padded(windows));
    of_channels_.assign(channels_.size(), std::vector<float>(padded(windows)));
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      check_interrupt();
      channels_[c].bounds(0, windows, of_channels_[c].data(), logarithms_.data());
    }
    WARPLOOM_PICK(cpu_mean_bounds)
        ->powers(logarithms_.data(), share_of(channels_.size()), windows, keys_.data());
  }

  std::size_t lanes() const { return static_cast<std::size_t>(batches_[0].lanes()); }
  /// Distances of windows that were compared(), of others what is no more.
  std::span<float> keys() { return std::span(keys_).first(static_cast<std::size_t>(windows_)); }

  /// Distances of some windows; of one that cannot be less than its bound infinity.
  void compare(std::vector<std::int64_t> some, std::span<const float> most) {
    std::vector<float> bounds(most.begin(), most.end());
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      check_interrupt();
      std::size_t left = 0;
      for (std::size_t begin = 0; begin < some.size(); begin += batches_[c].lanes()) {
        const auto these = std::span(some).subspan(
            begin, std::min(static_cast<std::size_t>(batches_[c].lanes()), some.size() - begin));
        float of_lanes[kMostLanes], before[kMostLanes], sum[kMostLanes], least[kMostLanes] = {};
        channels_[c].compare(batches_[c], these, of_lanes);
        for (int l = 0; l < batches_[c].lanes(); ++l) {
          const std::int64_t w = these[std::min<std::size_t>(l, these.size() - 1)];
          if (static_cast<std::size_t>(l) >= these.size()) of_lanes[l] = of_lanes[0];
          before[l] = of_channels_[c][w];
          sum[l] = logarithms_[w];
        }
        WARPLOOM_PICK(cpu_mean_bounds)->put_in(of_lanes, before, share_of(channels_.size()), sum, least);
        for (std::size_t l = 0; l < these.size(); ++l) {
          const std::int64_t w = these[l];
          logarithms_[w] = sum[l];
          of_channels_[c][w] = of_lanes[l];
          if (least[l] < bounds[begin + l]) {
            bounds[left] = bounds[begin + l];
            some[left++] = w;
          } else {
            keys_[w] = kInfinity;
          }
        }
      }
      some.resize(left);
    }
    GeometricMean mean;
    for (const std::vector<float>& channel : of_channels_) {
      std::vector<float> there;
      for (const std::int64_t w : some) there.push_back(channel[w]);
      mean.add(there, [](std::size_t) { return 1.F; });
    }
    const std::vector<float> distances = std::move(mean).values();
    for (std::size_t k = 0; k < some.size(); ++k) keys_[some[k]] = distances[k];
  }

 private:
  const std::int64_t windows_;
  std::deque<Channel> channels_;
  std::deque<DtwBatch> batches_;                 // [channels]
  std::vector<float> keys_, logarithms_;         // [windows]
  std::vector<std::vector<float>> of_channels_;  // [channels][windows] logarithms; distances times factors
};

}  // namespace

std::vector<Candidate> nearest_by_mean(std::span<const MeanPattern> patterns, std::int64_t limit,
                                       std::int64_t exclusion) {
  std::deque<Groups> groups;
  for (const MeanPattern& pattern : patterns) groups.emplace_back(pattern);
  return Chooser(groups, exclusion).choose(limit);
}

std::vector<Candidate> least_by_mean(std::span<const MeanPattern> of, std::int64_t step, std::int64_t windows,
                                     std::int64_t zone) {
  std::deque<Apart> patterns;
  for (const MeanPattern& pattern : of) patterns.emplace_back(pattern, step, windows);
  const auto zones = static_cast<std::size_t>(((windows - 1) * step) / zone + 1);
  std::vector<Candidate> least(zones, {0, kInfinity, 0});
  std::vector<std::pair<std::int64_t, std::int64_t>> range(zones);  // of its windows
  for (std::int64_t w = windows - 1; w >= 0; --w) {
    auto& [first, end] = range[w * step / zone];
    first = w;
    end = std::max(end, w + 1);
  }
  // The window of the least bound, of each zone, until none is less than what is known.
  std::vector<std::vector<std::size_t>> open(patterns.size());  // [patterns] zones that may have a nearer one
  for (std::vector<std::size_t>& of_pattern : open)
    for (std::size_t z = 0; z < zones; ++z)
      if (range[z].first < range[z].second) of_pattern.push_back(z);
  for (bool some = true; some;) {
    some = false;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      Apart& pattern = patterns[p];
      std::vector<std::int64_t> asked;
      std::vector<float> most;
      const auto ask = [&](std::size_t z) {
        const auto [first, end] = range[z];
        const auto keys = pattern.keys().subspan(first, end - first);
        const auto at = std::ranges::min_element(keys);
        if (!(*at <= least[z].distance) || *at == kInfinity) return false;
        asked.push_back(first + (at - keys.begin()));
        most.push_back(least[z].distance);
        *at = kInfinity;
        return true;
      };
      std::erase_if(open[p], [&](std::size_t z) { return !ask(z); });
      // Lanes that would be idle take the windows that would be next.
      for (std::size_t before = 0; asked.size() % pattern.lanes() != 0 && before < asked.size();) {
        before = asked.size();
        for (const std::size_t z : open[p])
          if (asked.size() % pattern.lanes() != 0) ask(z);
      }
      if (asked.empty()) continue;
      some = true;
      pattern.compare(asked, most);
      for (const std::int64_t w : asked) {
        Candidate& known = least[w * step / zone];
        const Candidate one{w * step, pattern.keys()[w], static_cast<std::int32_t>(p)};
        if (one.distance < known.distance ||
            (one.distance == known.distance &&
             std::pair(one.pattern, one.offset) < std::pair(known.pattern, known.offset)))
          known = one;
        pattern.keys()[w] = kInfinity;
      }
    }
  }
  return least;
}

}  // namespace warploom::search
