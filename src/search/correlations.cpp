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

Correlations::Correlations(const Searched& searched, const Query& query, const FindOptions& options,
                           std::int64_t step, Kept kept)
    : searched_(searched),
      step_(step > 0 ? step : std::max<std::int64_t>(1, query.length() / 32)),
      windows_((searched.index().samples() - query.length()) / step_ + 1),
      correlations_(query.channels.size()),
      alike_(query.channels.size()),
      deviations_(searched.index().signal().size()),
      means_(deviations_.size()) {
  const Signal& signal = searched.index().signal();
  const bool sized = searched.index().normalization() == Normalization::z && query.channels.size() > 1;
  for (const std::int32_t place : query.places)
    candidates_.push_back(channels_for(place, options, std::ssize(signal)));
  computed_ = candidates_;
  for (const SensorAxes& sensor : options.sensors) {
    if (kept == Kept::alike) break;
    const std::int32_t axes[] = {sensor.x, sensor.y, sensor.z};
    for (const std::int32_t c : axes)
      for (const std::int32_t other : axes)
        if (std::ranges::count(computed_[c], query.places[other]) == 0)
          computed_[c].push_back(query.places[other]);
  }
  std::vector<std::vector<float>> patterns;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> askers(signal.size());  // of each channel
  for (std::size_t c = 0; c < query.channels.size(); ++c) {
    patterns.push_back(normalised(query.channels[c]));
    patterns[c].resize((patterns[c].size() + kCorrelationParts - 1) / kCorrelationParts * kCorrelationParts);
    correlations_[c].resize(computed_[c].size());
    alike_[c].resize(computed_[c].size());
    for (std::size_t k = 0; k < computed_[c].size(); ++k) askers[computed_[c][k]].emplace_back(c, k);
  }
  struct Level {
    float mean, deviation;
  };
  std::vector<Level> levels;  // of the query
  for (const std::span<const float> channel : query.channels) {
    const Moments of = moments(channel, Normalization::z);
    levels.push_back({static_cast<float>(of.mean), of.scale == 0 ? 0 : static_cast<float>(1 / of.scale)});
  }
  const std::int64_t length = query.length();
  const CpuCorrelations& cpu = *WARPLOOM_PICK(cpu_correlations);
  parallel_for(std::ssize(signal), [&](std::int64_t channel) {
    if (askers[channel].empty()) return;
    const std::vector<float> about = centred(signal[channel]);
    std::vector<float> scales(windows_), deviations(windows_);  // 0 of missing windows
    means_[channel].resize(windows_);
    deviations_[channel].resize(windows_);
    const WindowMoments& of_windows = searched.moments(static_cast<std::int32_t>(channel));
    for (std::int64_t w = 0; w < windows_; ++w) {
      const float scale = of_windows.scale[w * step_];
      scales[w] = std::isfinite(scale) ? scale / static_cast<float>(length) : 0;
      deviations_[channel][w] = scale == 0 ? 0 : 1 / scale;
      if (!std::isfinite(scale)) continue;
      deviations[w] = deviations_[channel][w];
      means_[channel][w] = of_windows.mean[w * step_];
    }
    std::vector<float> own;
    for (const auto& [c, k] : askers[channel]) {
      check_interrupt();
      std::vector<float>& all = sized && kept == Kept::alike ? own : correlations_[c][k];
      all.resize(windows_);
      cpu.correlate(about.data(), step_, windows_, patterns[c].data(), std::ssize(patterns[c]), scales.data(),
                    all.data());
      if (!sized || k >= candidates_[c].size()) continue;
      alike_[c][k].resize(windows_);
      const auto spread = static_cast<float>(searched.spread(static_cast<std::int32_t>(channel)));
      const QueryChannel of_query{levels[c].mean, levels[c].deviation,
                                  levels[c].deviation * levels[c].deviation + spread * spread};
      cpu.weigh(all.data(), means_[channel].data(), deviations.data(), of_query, windows_,
                alike_[c][k].data());
    }
  });
  if (!sized) alike_ = kept == Kept::alike ? std::move(correlations_) : correlations_;
}

std::int64_t Correlations::window(std::int64_t offset) const {
  return std::clamp<std::int64_t>((offset + step_ / 2) / step_, 0, windows_ - 1);
}

std::span<const float> Correlations::of(std::size_t channel, std::int32_t candidate) const {
  const auto k = std::ranges::find(computed_[channel], candidate) - computed_[channel].begin();
  return correlations_[channel][k];
}

std::span<const float> Correlations::alike(std::size_t channel, std::int32_t candidate) const {
  const auto k = std::ranges::find(computed_[channel], candidate) - computed_[channel].begin();
  return alike_[channel][k];
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
