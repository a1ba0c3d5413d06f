#include "search/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "search/windows.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {

double normal_quantile(double probability) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (probability <= 0) return -kInfinity;
  if (probability >= 1) return kInfinity;
  const auto less = [&](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2 < probability; };
  double low = -40, high = 40;  // beyond, a double holds no probability
  // Newton's steps from an approximation (Abramowitz and Stegun 26.2.23) lead next to it.
  const double t = std::sqrt(-2 * std::log(std::min(probability, 1 - probability)));
  const double far =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = probability < 0.5 ? -far : far;
  for (int step = 0; step < 3; ++step) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    x -= (std::erfc(-x / std::numbers::sqrt2) / 2 - probability) / density;
  }
  const double near = 1e-14 * (1 + std::abs(x));
  if (less(x - near) && !less(x + near)) {
    low = x - near;
    high = x + near;
  }
  for (int k = 0; k < 100; ++k) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;  // no double lies between
    (less(middle) ? low : high) = middle;
  }
  return high;
}

namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double significant_distance(std::vector<float> distances, double significance) {
  if (distances.empty()) return 0;
  if (significance >= 1) return std::numeric_limits<double>::infinity();
  // Distances that single precision cannot tell from 0 have no logarithm of their own.
  const double largest = *std::max_element(distances.begin(), distances.end());
  if (largest == 0) return 0;
  const double least = largest * std::numeric_limits<float>::epsilon();
  std::vector<double> logarithms;
  for (float distance : distances) logarithms.push_back(std::log(std::max<double>(distance, least)));
  const double middle = median(logarithms);
  for (double& logarithm : logarithms) logarithm = std::abs(logarithm - middle);
  constexpr double kDeviation = 1.4826;  // of a normal variable, over its median absolute deviation
  return std::exp(middle + normal_quantile(significance) * kDeviation * median(logarithms));
}

namespace {

using Unbroken = std::pair<std::int64_t, std::int64_t>;  // [first, last) of samples of which none is missing

std::vector<Unbroken> runs_of(std::span<const float> channel) {
  std::vector<Unbroken> runs;
  const std::int64_t samples = std::ssize(channel);
  for (std::int64_t i = 0; i < samples; ++i) {
    if (!std::isfinite(channel[i])) continue;
    const std::int64_t first = i;
    while (i < samples && std::isfinite(channel[i])) ++i;
    runs.emplace_back(first, i);
  }
  return runs;
}

std::vector<std::int64_t> evenly_spaced(std::span<const float> channel, std::span<const Unbroken> runs,
                                        std::int64_t length, Normalization normalization) {
  constexpr std::int64_t kMost = 1024;
  std::vector<std::int64_t> offsets;
  std::int64_t windows = 0;
  for (const auto& [first, last] : runs) windows += std::max<std::int64_t>(0, last - first - length + 1);
  const std::int64_t count = std::min(kMost, windows);
  std::int64_t before = 0, taken = 0;  // windows of the runs before; offsets taken
  for (const auto& [first, last] : runs) {
    const std::int64_t here = std::max<std::int64_t>(0, last - first - length + 1);
    for (; taken < count; ++taken) {
      const std::int64_t number = taken * windows / count;
      if (number >= before + here) break;
      const std::int64_t offset = first + number - before;
      if (moments(channel.subspan(offset, length), normalization).scale != 0) offsets.push_back(offset);
    }
    before += here;
  }
  return offsets;
}

}  // namespace

SampleWindows::SampleWindows(const Signal& signal, Normalization normalization,
                             const std::set<std::int64_t>& lengths)
    : offsets_(signal.size()) {
  parallel_for(std::ssize(signal), [&](std::int64_t channel) {
    const std::vector<Unbroken> runs = runs_of(signal[channel]);
    for (const std::int64_t length : lengths)
      offsets_[channel][length] = evenly_spaced(signal[channel], runs, length, normalization);
  });
}

}  // namespace warploom::search
