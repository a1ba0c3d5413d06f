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

}  // namespace warploom::search
