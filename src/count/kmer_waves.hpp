#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "warploom/core/threads.hpp"

namespace warploom::table {

/// make(0), make(1), ... on all threads, take() of what they made in that order on this one; of some tasks a
/// thread at a time, so that little waits.
template <class Made, class Make, class Take>
void in_waves(std::size_t tasks, const Make& make, const Take& take) {
  const std::size_t wave = 4 * static_cast<std::size_t>(threads());
  std::vector<Made> made;
  for (std::size_t begin = 0; begin < tasks; begin += wave) {
    made.clear();
    made.resize(std::min(wave, tasks - begin));
    parallel_for(static_cast<std::int64_t>(made.size()), [&](std::int64_t task) {
      made[static_cast<std::size_t>(task)] = make(begin + static_cast<std::size_t>(task));
    });
    for (Made& one : made) take(std::move(one));
  }
}

}  // namespace warploom::table
