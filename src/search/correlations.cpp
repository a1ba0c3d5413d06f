#include "search/correlations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/cpu_correlations.hpp"
#include "search/plan.hpp"
#include "search/windows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

/// A channel about its mean, so that its size costs no digits; zeros for missing samples, and behind it.
std::vector<float> centred(std::span<const float> channel) {
  double sum = 0;
  std::int64_t present = 0;
  for (const float x : channel)
    if (std::isfinite(x)) {
      sum += x;
      ++present;
    }
  const double mean = present == 0 ? 0 : sum / static_cast<double>(present);
  std::vector<float> about(channel.size() + kCorrelationParts);
  for (std::size_t t = 0; t < channel.size(); ++t)
    about[t] = std::isfinite(channel[t]) ? static_cast<float>(channel[t] - mean) : 0;
  return about;
}

}  // namespace

CorrelatedPattern::CorrelatedPattern(std::span<const float> channel) : samples(normalised(channel)) {
  samples.resize((samples.size() + kCorrelationParts - 1) / kCorrelationParts * kCorrelationParts);
  const Moments of = moments(channel, Normalization::z);
  mean = static_cast<float>(of.mean);
  deviation = of.scale == 0 ? 0 : static_cast<float>(1 / of.scale);
}

ChannelWindows::ChannelWindows(const Searched& searched, std::int32_t channel, std::int64_t step,
                               std::int64_t windows)
    : step_(step),
      spread_(searched.spread(channel)),
      about_(centred(searched.index().signal()[static_cast<std::size_t>(channel)])),
      scales_(static_cast<std::size_t>(windows)),
      deviations_(scales_.size()),
      there_(scales_.size()),
      means_(scales_.size()) {
  const WindowMoments& all = searched.moments(channel);
  const float *scale = all.scale.data(), *mean = all.mean.data();
  if (step > 1) {
    for (std::int64_t w = 0; w < windows; ++w) {
      scales_[w] = scale[w * step];
      means_[w] = mean[w * step];
    }
    scale = scales_.data();
    mean = means_.data();
  }
  WARPLOOM_PICK(cpu_correlations)
      ->describe(scale, mean, searched.length(), windows,
                 {scales_.data(), deviations_.data(), there_.data(), means_.data()});
}

void ChannelWindows::correlate(const CorrelatedPattern& pattern, float* to) const {
  WARPLOOM_PICK(cpu_correlations)
      ->correlate(about_.data(), step_, count(), pattern.samples.data(), std::ssize(pattern.samples),
                  scales_.data(), to);
}

void ChannelWindows::weigh(const float* correlations, const CorrelatedPattern& pattern, float* to) const {
  const auto spread = static_cast<float>(spread_);
  const QueryChannel of_query{pattern.mean, pattern.deviation,
                              pattern.deviation * pattern.deviation + spread * spread};
  WARPLOOM_PICK(cpu_correlations)->weigh(correlations, means_.data(), there_.data(), of_query, count(), to);
}

bool are_sized(const Searched& searched, const Query& query) {
  return searched.index().normalization() == Normalization::z && query.channels.size() > 1;
}

Correlations::Correlations(const Searched& searched, const Query& query, const FindOptions& options,
                           std::int64_t step)
    : searched_(searched),
      step_(step > 0 ? step : std::max<std::int64_t>(1, query.length() / 32)),
      windows_((searched.index().samples() - query.length()) / step_ + 1),
      deviations_(searched.index().signal().size()),
      means_(deviations_.size()) {
  const std::int64_t channels = std::ssize(deviations_);
  for (const std::int32_t place : query.places) candidates_.push_back(channels_for(place, options, channels));
  computed_ = candidates_;
  for (const SensorAxes& sensor : options.sensors) {
    const std::int32_t axes[] = {sensor.x, sensor.y, sensor.z};
    for (const std::int32_t c : axes)
      for (const std::int32_t other : axes)
        if (std::ranges::count(computed_[c], query.places[other]) == 0)
          computed_[c].push_back(query.places[other]);
  }
  struct Asker {
    std::size_t channel;
    std::int64_t row;
    bool candidate;
  };
  std::vector<std::vector<Asker>> askers(deviations_.size());  // of each channel
  std::vector<CorrelatedPattern> patterns;
  std::int64_t rows = 0;
  for (std::size_t c = 0; c < query.channels.size(); ++c) {
    patterns.emplace_back(query.channels[c]);
    first_.push_back(rows);
    for (std::size_t k = 0; k < computed_[c].size(); ++k)
      askers[computed_[c][k]].push_back({c, rows++, k < candidates_[c].size()});
  }
  const bool sized = are_sized(searched, query);
  const auto size = static_cast<std::size_t>(rows * windows_);
  correlations_ = std::make_unique_for_overwrite<float[]>(size);
  if (sized) alike_ = std::make_unique_for_overwrite<float[]>(size);
  parallel_for(channels, [&](std::int64_t channel) {
    if (askers[channel].empty()) return;
    ChannelWindows all(searched, static_cast<std::int32_t>(channel), step_, windows_);
    for (const auto& [c, row, candidate] : askers[channel]) {
      check_interrupt();
      float* const to = correlations_.get() + row * windows_;
      all.correlate(patterns[c], to);
      if (sized && candidate) all.weigh(to, patterns[c], alike_.get() + row * windows_);
    }
    deviations_[channel] = std::move(all).take_deviations();
    means_[channel] = std::move(all).take_means();
  });
}

std::int64_t Correlations::window(std::int64_t offset) const {
  return std::clamp<std::int64_t>((offset + step_ / 2) / step_, 0, windows_ - 1);
}

std::span<const float> Correlations::row(const float* all, std::size_t channel,
                                         std::int32_t candidate) const {
  const auto k = std::ranges::find(computed_[channel], candidate) - computed_[channel].begin();
  return {all + (first_[channel] + k) * windows_, static_cast<std::size_t>(windows_)};
}

std::span<const float> Correlations::of(std::size_t channel, std::int32_t candidate) const {
  return row(correlations_.get(), channel, candidate);
}

std::span<const float> Correlations::alike(std::size_t channel, std::int32_t candidate) const {
  return row(alike_ ? alike_.get() : correlations_.get(), channel, candidate);
}

double agreement(std::span<const float> likeness) {
  return WARPLOOM_PICK(cpu_correlations)->eighth_powers(likeness.data(), std::ssize(likeness));
}

std::vector<std::int64_t> largest_of(std::vector<float> values, std::int64_t count, std::int64_t exclusion) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  // Blocks as long as a zone, and the largest value of each that has one: a choice changes three of them.
  const std::int64_t block = exclusion + 1, blocks = (std::ssize(values) + block - 1) / block;
  struct Largest {
    float value;
    std::int64_t window;
    bool operator<(const Largest& other) const {
      return value != other.value ? value < other.value : window > other.window;
    }
  };
  const auto largest_in = [&](std::int64_t b) {
    const auto begin = values.begin() + b * block;
    const auto end = values.begin() + std::min(std::ssize(values), (b + 1) * block);
    const auto at = std::max_element(begin, end);
    return Largest{*at, at - values.begin()};
  };
  std::vector<Largest> heap(static_cast<std::size_t>(blocks));
  for (std::int64_t b = 0; b < blocks; ++b) heap[b] = largest_in(b);
  std::make_heap(heap.begin(), heap.end());
  std::vector<std::int64_t> windows;
  while (std::ssize(windows) < count && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Largest& largest = heap.back();
    if (largest.value == kNone) break;
    if (values[largest.window] == kNone) {  // taken since: what is left of its block
      largest = largest_in(largest.window / block);
      std::push_heap(heap.begin(), heap.end());
      continue;
    }
    const std::int64_t at = largest.window;
    windows.push_back(at);
    const std::int64_t first = std::max<std::int64_t>(0, at - exclusion);
    const std::int64_t last = std::min(std::ssize(values) - 1, at + exclusion);
    std::fill(values.begin() + first, values.begin() + last + 1, kNone);
    largest = largest_in(at / block);
    std::push_heap(heap.begin(), heap.end());
  }
  return windows;
}

}  // namespace warploom::search
