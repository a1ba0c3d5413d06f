#include "warploom/signal/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::signal {
namespace {

using Complex = std::complex<double>;

constexpr int kOrder = 4;
constexpr std::size_t kCheckEvery = 1 << 20;  // samples

/// The section whose poles are `pole` and its conjugate, both of the analog filter in units of twice the
/// sampling rate; whose numerator is b0 + b1 / z + b2 / z^2 but for a factor; and whose gain at `unit`, a
/// point on the unit circle, is 1.
Section make_section(Complex pole, double b1, double b2, Complex unit) {
  const Complex digital = (1.0 + pole) / (1.0 - pole);
  Section section{1, b1, b2, -2 * digital.real(), std::norm(digital)};
  const Complex z = 1.0 / unit;
  const double gain = std::abs((1.0 + z * (b1 + z * b2)) / (1.0 + z * (section.a1 + z * section.a2)));
  section.b0 /= gain;
  section.b1 /= gain;
  section.b2 /= gain;
  return section;
}

/// Two numbers that a section carries from sample to sample.
struct State {
  double first = 0, second = 0;
};

/// The states of sections that `value` was put into for ever.
std::vector<State> settled(std::span<const Section> sections, double value) {
  std::vector<State> states;
  for (const Section& s : sections) {
    const double out = value * (s.b0 + s.b1 + s.b2) / (1 + s.a1 + s.a2);
    states.push_back({s.b1 * value - s.a1 * out + s.b2 * value - s.a2 * out, s.b2 * value - s.a2 * out});
    value = out;
  }
  return states;
}

double step(std::span<const Section> sections, std::span<State> states, double value) {
  for (std::size_t k = 0; k < sections.size(); ++k) {
    const Section& s = sections[k];
    const double out = s.b0 * value + states[k].first;
    states[k].first = s.b1 * value - s.a1 * out + states[k].second;
    states[k].second = s.b2 * value - s.a2 * out;
    value = out;
  }
  return value;
}

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
  if (!(count <= static_cast<double>(std::numeric_limits<std::int32_t>::max())))
    throw BadInput(fmt::format("resampled, a channel would have {:.0f} samples; the limit is {}", count,
                               std::numeric_limits<std::int32_t>::max()));
  require_memory_for(static_cast<std::uint64_t>(count), sizeof(float), "a channel at its new rate");
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

std::vector<Section> butterworth(std::optional<double> low, std::optional<double> high, double rate) {
  const double half = rate / 2;
  const auto inside = [&](const std::optional<double>& corner) {
    return !corner || (*corner > 0 && *corner < half);
  };
  if (!(low || high) || !inside(low) || !inside(high) || (low && high && !(*low < *high)))
    throw BadInput(fmt::format(
        "a filter from {} to {} Hz, of a channel of {} Hz; 0 < low < high < {} is needed",
        low ? fmt::format("{}", *low) : "0", high ? fmt::format("{}", *high) : "any", rate, half));
  // The bilinear transform maps the analog frequency tan(w / 2) to the digital one, w.
  const auto warped = [&](double corner) { return std::tan(std::numbers::pi / 2 * (corner / half)); };
  std::vector<Section> sections;
  for (int k = 0; k < kOrder / 2; ++k) {
    // A pole of the analog low-pass whose corner is 1, one of each conjugate pair.
    const Complex pole = std::polar(1.0, std::numbers::pi * (2 * k + kOrder + 1) / (2 * kOrder));
    if (!low) {
      sections.push_back(make_section(pole * warped(*high), 2, 1, 1));
    } else if (!high) {
      sections.push_back(make_section(warped(*low) / pole, -2, 1, -1));
    } else {
      const double from = warped(*low), to = warped(*high), centre = std::sqrt(from * to);
      const Complex middle = (1.0 + Complex(0, centre)) / (1.0 - Complex(0, centre));
      const Complex part = pole * ((to - from) / 2), root = std::sqrt(part * part - from * to);
      sections.push_back(make_section(part + root, 0, -1, middle));
      sections.push_back(make_section(part - root, 0, -1, middle));
    }
  }
  for (const Section& section : sections)
    if (!(section.a2 < 1 && std::isfinite(section.b0 / (1 + section.a1 + section.a2))))
      throw BadInput(
          fmt::format("a filter from {} to {} Hz, of a channel of {} Hz, is too narrow for double precision",
                      low.value_or(0), high.value_or(half), rate));
  return sections;
}

void filter_both_ways(std::span<const Section> sections, std::span<float> samples) {
  if (samples.empty()) return;
  const std::size_t count = samples.size();
  const std::size_t padding = std::min(3 * (2 * sections.size() + 1), count - 1);
  const auto reflected = [&](std::size_t at, std::size_t distance, bool before) {
    return 2.0 * samples[at] - samples[before ? at + distance : at - distance];
  };
  std::vector<double> after(padding);
  for (std::size_t k = 0; k < padding; ++k) after[k] = reflected(count - 1, k + 1, false);

  std::vector<State> states = settled(sections, padding == 0 ? samples[0] : reflected(0, padding, true));
  std::vector<double> before(padding);
  for (std::size_t k = 0; k < padding; ++k) before[k] = reflected(0, padding - k, true);
  for (double& value : before) value = step(sections, states, value);
  double last = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (k % kCheckEvery == 0) check_interrupt();
    samples[k] = static_cast<float>(last = step(sections, states, samples[k]));
  }
  for (double& value : after) last = value = step(sections, states, value);

  states = settled(sections, last);
  for (std::size_t k = padding; k-- > 0;) step(sections, states, after[k]);
  for (std::size_t k = count; k-- > 0;) {
    if (k % kCheckEvery == 0) check_interrupt();
    samples[k] = static_cast<float>(step(sections, states, samples[k]));
  }
}

void filter(io::Channel& channel, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) return;
  const std::vector<Section> sections = butterworth(low, high, channel.rate);
  for_each_run(channel.samples, [&](std::span<float> run) { filter_both_ways(sections, run); });
}

void detrend(io::Channel& channel) {
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

void resample(io::Recording& recording, double rate) {
  if (!(rate > 0 && std::isfinite(rate)))
    throw BadInput(fmt::format("resampling to {} Hz; the rate must be above 0 and finite", rate));
  for (const io::Channel& channel : recording.channels)
    if (!(channel.rate > 0 && std::isfinite(channel.rate)))
      throw BadInput(fmt::format("a channel has {} Hz; its rate must be above 0 and finite", channel.rate));
  constexpr double kPassed = 0.45;  // of the new rate: below its half, by what the filter's flank needs
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (io::Channel& channel : recording.channels) {
    if (channel.rate != rate && !channel.samples.empty()) {
      if (rate < channel.rate) filter(channel, std::nullopt, kPassed * rate);
      channel.samples = interpolated(channel.samples, channel.rate / rate);
    }
    channel.rate = rate;
    shortest = std::min(shortest, channel.samples.size());
  }
  for (io::Channel& channel : recording.channels) channel.samples.resize(shortest);
}

double common_rate(const io::Recording& recording) {
  double highest = 0;
  for (const io::Channel& channel : recording.channels) highest = std::max(highest, channel.rate);
  return highest;
}

}  // namespace warploom::signal
