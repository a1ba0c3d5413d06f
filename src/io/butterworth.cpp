#include "io/butterworth.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "warploom/core/progress.hpp"

namespace warploom::io {
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

}  // namespace

std::vector<Section> butterworth(std::optional<double> low, std::optional<double> high) {
  // The bilinear transform maps the analog frequency tan(w / 2) to the digital one, w.
  const auto warped = [](double corner) { return std::tan(std::numbers::pi / 2 * corner); };
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
      const Complex half = pole * ((to - from) / 2), root = std::sqrt(half * half - from * to);
      sections.push_back(make_section(half + root, 0, -1, middle));
      sections.push_back(make_section(half - root, 0, -1, middle));
    }
  }
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

}  // namespace warploom::io
