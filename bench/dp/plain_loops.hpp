#pragma once

/// The program that anybody writes first, which the dissertation's Figure 16 compares with.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

namespace warploom::dp {

struct PlainLoops {
  float optimum;
  double seconds;
};

/// The recurrence without weights as it stands, over a square array, in one thread.
inline PlainLoops run_plain_loops(const std::vector<float>& leaves) {
  const std::size_t points = leaves.size() + 1;
  // No power of two, which would have a column's cells share cache sets: slower by far, and in our favour.
  const std::size_t pitch = points | 1;
  std::vector<float> m(points * pitch);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i + 1 < points; ++i) m[i * pitch + i + 1] = leaves[i];
  for (std::size_t span = 2; span < points; ++span)
    for (std::size_t i = 0; i + span < points; ++i) {
      float best = std::numeric_limits<float>::infinity();
      for (std::size_t k = i + 1; k < i + span; ++k)
        best = std::min(best, m[i * pitch + k] + m[k * pitch + i + span]);
      m[i * pitch + i + span] = best;
    }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return {m[points - 1], time.count()};
}

}  // namespace warploom::dp
