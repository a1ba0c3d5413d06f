#include "warploom/io/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "io/butterworth.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::io {
namespace {

/// Calls work(run) for each run of samples none of which is missing.
template <class Work>
void for_each_run(std::vector<float>& samples, const Work& work) {
  const auto missing = [](float sample) { return std::isnan(sample); };
  for (auto begin = samples.begin(); begin != samples.end();) {
    begin = std::find_if_not(begin, samples.end(), missing);
    const auto end = std::find_if(begin, samples.end(), missing);
    if (begin != end) work(std::span<float>(begin, end));
    begin = end;
    check_interrupt();
  }
}

/// Samples at i * step, in the samples' own places, as long as the last is not passed.
std::vector<float> interpolated(const std::vector<float>& samples, double step) {
  // Places that rounding has moved off a sample are that sample's.
  constexpr double kRounding = 1e-9;
  const double last = static_cast<double>(samples.size() - 1);
  const double count = std::floor(last / step * (1 + kRounding)) + 1;
  if (count > static_cast<double>(std::numeric_limits<std::int32_t>::max()))
    throw BadInput(fmt::format("resampled, a channel would have {:.0f} samples; the limit is {}", count,
                               std::numeric_limits<std::int32_t>::max()));
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % (1 << 20) == 0) check_interrupt();
    const double place = std::min(static_cast<double>(i) * step, last);
    const double near = std::round(place);
    if (std::abs(place - near) <= kRounding * std::max(1.0, place)) {
      out[i] = samples[static_cast<std::size_t>(near)];
      continue;
    }
    const auto left = static_cast<std::size_t>(place);
    const double part = place - std::floor(place);
    out[i] = static_cast<float>((1 - part) * samples[left] + part * samples[left + 1]);
  }
  return out;
}

}  // namespace

void resample(Recording& recording, double rate) {
  if (!(rate > 0 && std::isfinite(rate)))
    throw BadInput(fmt::format("resampling to {} Hz; the rate must be above 0 and finite", rate));
  constexpr double kPassed = 0.45;  // of the new rate: below its half, by what the filter's flank needs
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (Channel& channel : recording.channels) {
    if (channel.rate != rate && !channel.samples.empty()) {
      if (rate < channel.rate) filter(channel, std::nullopt, kPassed * rate);
      channel.samples = interpolated(channel.samples, channel.rate / rate);
    }
    channel.rate = rate;
    shortest = std::min(shortest, channel.samples.size());
  }
  for (Channel& channel : recording.channels) channel.samples.resize(shortest);
}

double common_rate(const Recording& recording) {
  double highest = 0;
  for (const Channel& channel : recording.channels) highest = std::max(highest, channel.rate);
  return highest;
}

void filter(Channel& channel, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) return;
  const double half = channel.rate / 2;
  const auto inside = [&](const std::optional<double>& corner) {
    return !corner || (*corner > 0 && *corner < half);
  };
  if (!inside(low) || !inside(high) || (low && high && !(*low < *high)))
    throw BadInput(fmt::format(
        "a filter from {} to {} Hz, of a channel of {} Hz; 0 < low < high < {} is needed",
        low ? fmt::format("{}", *low) : "0", high ? fmt::format("{}", *high) : "any", channel.rate, half));
  const auto part = [&](const std::optional<double>& corner) {
    return corner ? std::optional(*corner / half) : corner;
  };
  const std::vector<Section> sections = butterworth(part(low), part(high));
  for (const Section& section : sections)
    if (!(section.a2 < 1 && std::isfinite(section.b0 / (1 + section.a1 + section.a2))))
      throw BadInput(
          fmt::format("a filter from {} to {} Hz, of a channel of {} Hz, is too narrow for double precision",
                      low.value_or(0), high.value_or(half), channel.rate));
  for_each_run(channel.samples, [&](std::span<float> run) { filter_both_ways(sections, run); });
}

void detrend(Channel& channel) {
  for_each_run(channel.samples, [](std::span<float> run) {
    const auto count = static_cast<double>(run.size());
    const double middle = (count - 1) / 2;
    double mean = 0, slope = 0;
    for (const float sample : run) mean += sample / count;
    for (std::size_t k = 0; k < run.size(); ++k) slope += (static_cast<double>(k) - middle) * (run[k] - mean);
    if (run.size() > 1) slope /= count * (count * count - 1) / 12;  // the sum of (k - middle)^2
    for (std::size_t k = 0; k < run.size(); ++k)
      run[k] = static_cast<float>(run[k] - mean - slope * (static_cast<double>(k) - middle));
  });
}

}  // namespace warploom::io
