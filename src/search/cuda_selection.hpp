#pragma once

/// Choosing candidates on the device.

#include <cuda_runtime_api.h>

#include "search/dtw_job.hpp"

namespace warploom::search {

/// Entries of one level that stand for one of the next.
inline constexpr int kSelectionFan = 256;

/// A profile of which candidates are chosen. Above it stand two levels of the least (distance, place) of each
/// kSelectionFan entries of the level below.
struct SelectionJob {
  ProfileEntry* profile;
  ProfileEntry *fans, *superfans;  ///< fans_of(count), fans_of(fans_of(count))
  std::int64_t count;              ///< below 2^32
  std::int64_t exclusion;          ///< >= 0
  std::int32_t limit;              ///< of `chosen`
  float max_distance;              ///< finite
  ProfileEntry* chosen;            ///< (distance, place) each
  std::uint32_t* patterns;         ///< of each
  std::int32_t* chosen_count;
  std::uint32_t first_block;  ///< of the launch of fans
};
__host__ __device__ constexpr std::int64_t fans_of(std::int64_t entries) {
  return (entries + kSelectionFan - 1) / kSelectionFan;
}

/// Sets each job's first block. @return blocks in all
unsigned place_blocks(SelectionJob* jobs, int count);
/// For each job greedily by (distance, place), more than `exclusion` apart, up to `limit`. What is excluded
/// is marked in the profile by kExcluded.
void launch_selection(const SelectionJob* jobs, int count, unsigned blocks, cudaStream_t stream);
inline constexpr ProfileEntry kExcluded = 1ULL << 63;

/// What a job's profile has that is no farther than a bound.
struct CollectJob {
  const ProfileEntry* profile;
  std::int64_t count;
  float bound;
  /// Lowers the bound, if `chosen_count` is `limit`: the last of them, chosen with twice the exclusion zone.
  const ProfileEntry* chosen;
  const std::int32_t* chosen_count;
  std::int32_t limit;
  std::int32_t room;         ///< entries of `places` and `entries`
  std::uint32_t* places;     ///< collected, in any order
  ProfileEntry* entries;     ///< of each
  std::uint32_t* collected;  ///< may be more than there was room for; 0 before the launch
};
void launch_collection(const CollectJob& job, cudaStream_t stream);

}  // namespace warploom::search
