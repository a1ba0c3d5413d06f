#pragma once

#include "search/dtw_job.hpp"

namespace warploom::search {

inline constexpr unsigned kAllLanes = 0xFFFFFFFF;

/// The job that a block works on, of those of one launch: they are sorted by their first block.
template <class Job>
__device__ __forceinline__ const Job& job_of_block(const Job* jobs, int count, unsigned block) {
  int first = 0;
  while (count > 1) {
    const int half = count / 2;
    if (jobs[first + half].first_block <= block) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return jobs[first];
}

}  // namespace warploom::search
