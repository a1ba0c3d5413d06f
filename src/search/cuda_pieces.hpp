#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/cuda_patterns.hpp"
#include "search/cuda_work.hpp"

/// The pieces in which the device gets a search, and what it still owes.
namespace warploom::search {

/// Offsets [first, last) of a task.
struct Piece {
  std::size_t task;
  std::int64_t first, last;
  bool alone;    ///< all of the task's
  bool whole;    ///< and its candidates are chosen at once
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

/// Comparisons in pieces that take at most so many bytes of the device, as few as may be.
/// @param compare  is given each, std::vector<Comparison<Query>>
template <class Query, class Compare>
void in_pieces(std::span<const Comparison<Query>> all, std::int64_t most_bytes, const Compare& compare) {
  constexpr std::int64_t kOnce = sizeof(ProfileEntry) + sizeof(std::int64_t),
                         kOfChannel = sizeof(WindowScale) + sizeof(float);
  constexpr std::int64_t kFixedOfChannel = (kMomentRun + kSamplePad) * std::int64_t{sizeof(float)} + 2048;
  std::vector<Comparison<Query>> piece;
  std::int64_t piece_bytes = 0;
  for (const Comparison<Query>& one : all) {
    const std::int64_t channels = channels_of(one.query), each = kOnce + channels * kOfChannel;
    const std::int64_t most =
        std::max<std::int64_t>(most_bytes / each / kMomentRun * kMomentRun - one.query.length, kMomentRun);
    for (std::int64_t done = 0; done < one.count;) {
      Comparison<Query> part = one;
      part.count = std::min(most, one.count - done);
      part.distances += done;
      if (one.begins.empty())
        part.first += done;
      else
        part.begins = one.begins.subspan(static_cast<std::size_t>(done), part.count);
      const std::int64_t bytes = (part.count + one.query.length) * each + channels * kFixedOfChannel;
      if (!piece.empty() && piece_bytes + bytes > most_bytes) {
        compare(piece);
        piece.clear();
        piece_bytes = 0;
      }
      piece.push_back(part);
      piece_bytes += bytes;
      done += part.count;
    }
  }
  if (!piece.empty()) compare(piece);
}

}  // namespace warploom::search
