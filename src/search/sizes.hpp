#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "search/windows.hpp"

namespace warploom::search {

/// The deviation of a channel, of its samples that are there.
double spread_of(std::span<const float> channel);

/// How much a window differs from a channel of a query in what normalised windows do not show, by which its
/// distance is multiplied: how far it moves, and where.
///
/// The factor is the root of two. Of deviations s and s': (s / s' + s' / s) / 2, next to 1 while they are
/// alike, half their ratio where they are not. Of means: the root of 1 + (mu - mu')^2 / (s^2 + s'^2 + S^2), S
/// being the deviation of the recording's whole channel: a level that wanders in the recording says little.
class Sizes {
 public:
  /// @param spread  spread_of() the recording's channel
  Sizes(std::span<const float> query, double spread);

  /// @param mean, rest, scale  of WindowMoments; of a window that misses a sample 1
  float factor(float mean, float rest, float scale) const {
    const double u = deviation_ * static_cast<double>(scale);  // s / s'
    const double size = std::min(kMost, (u + 1 / u) / 2);
    const double wide = scale > 0 ? 1 / static_cast<double>(scale) : 0;
    const double away = (static_cast<double>(mean) - mean_) + (static_cast<double>(rest) - rest_);
    const double level = 1 + away * away / (squares_ + wide * wide);
    const double all = std::sqrt(size * std::sqrt(level));
    return std::isnan(scale) ? 1 : static_cast<float>(all);
  }

 private:
  static constexpr double kMost = 1024;  // constant windows are no farther

  float mean_, rest_;
  double deviation_, squares_;
};

/// The geometric mean of the distances of channels, each times what its sizes say.
class GeometricMean {
 public:
  /// A channel's; as many as those before. @param factor  of a number of these
  template <typename Factor>
  void add(std::span<const float> distances, const Factor& factor) {
    if (count_++ == 0) {
      product_.assign(distances.size(), 1);
      sum_.assign(distances.size(), 0);
    }
    for (std::size_t k = 0; k < product_.size(); ++k)
      product_[k] *= static_cast<double>(std::max(kLeast, distances[k] * factor(k)));
    if (count_ % kAtOnce == 0) take_logarithms();
  }
  std::vector<float> values() &&;

 private:
  static constexpr float kLeast = 1e-7F;  // no distance counts as less
  static constexpr int kAtOnce = 8;       // of their product there is one logarithm
  void take_logarithms();

  std::vector<double> product_, sum_;  // of those since there were logarithms, and of logarithms
  int count_ = 0;
};

}  // namespace warploom::search
