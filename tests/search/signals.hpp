#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

/// Signals that the search's tests share.
namespace warploom::search {

/// Steps of -1 to 1.
inline std::vector<float> random_walk(std::size_t samples, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> walk;
  double at = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    at += (static_cast<double>(engine()) / 2147483648.0) - 1;
    walk.push_back(static_cast<float>(at));
  }
  return walk;
}

inline std::vector<float> part(const std::vector<float>& samples, std::size_t first, std::size_t count) {
  return {samples.begin() + static_cast<std::ptrdiff_t>(first),
          samples.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

/// A part of the signal with a little noise, so that it is found, though not exactly.
inline std::vector<float> like(const std::vector<float>& samples, std::size_t first, std::size_t count,
                               float noise) {
  std::vector<float> pattern = part(samples, first, count);
  const std::vector<float> walk = random_walk(count + 1, 77);
  for (std::size_t i = 0; i < count; ++i) pattern[i] += noise * (walk[i + 1] - walk[i]);
  return pattern;
}

}  // namespace warploom::search
