#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/cuda_work.hpp"

/// The pieces in which the device gets a search, and what it still owes.
namespace warploom::search {

/// Offsets [first, last) of a task.
struct Piece {
  std::size_t task;
  std::int64_t first, last;
  bool whole;    ///< all of the task's
  bool bounded;  ///< there is room for lower bounds
};

/// A piece and where its results are.
struct Pending {
  Piece piece;
  ProfileEntry* profile;
  std::int64_t limit;  ///< of what is chosen; 0: nothing is
  const ProfileEntry* chosen = nullptr;
  const std::uint32_t* patterns = nullptr;
  const std::int32_t* chosen_count = nullptr;
  const std::uint32_t* places = nullptr;
  const ProfileEntry* entries = nullptr;
  const std::uint32_t* collected = nullptr;
  std::vector<Compared> compared = {};
  const BoundCounts* bounds = nullptr;  ///< of all pieces of the work
};

/// Windows whose distances go to the host. @tparam Query  DeviceQuery or DeviceJoint
template <class Query>
struct Comparison {
  Query query;
  std::int32_t channel;
  std::int64_t first, count;             ///< [first, first + count), or
  std::span<const std::int64_t> begins;  ///< if not empty, these, `first` being 0
  float* distances;
};

}  // namespace warploom::search
