#include "search/upper_bounds.hpp"

#include <algorithm>

#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

/// The least distance of the last few that were pushed.
class SlidingMinimum {
 public:
  void push(std::int32_t place, const Worth& worth) {
    while (std::ssize(kept_) > first_ && kept_.back().worth.distance >= worth.distance) kept_.pop_back();
    kept_.push_back({place, worth});
  }
  /// Forgets `place`, the earliest that may still be kept.
  void pop(std::int32_t place) { first_ += first_ < std::ssize(kept_) && kept_[first_].place == place; }
  /// Worth nothing if there is none.
  Worth best() const { return first_ < std::ssize(kept_) ? kept_[first_].worth : Worth{}; }

 private:
  struct Kept {
    std::int32_t place;
    Worth worth;
  };
  std::vector<Kept> kept_;
  std::ptrdiff_t first_ = 0;
};

/// The edges of the last few pieces, each of one rotation, and the best two at each vertex: at a channel of
/// the query or, after those, at one of the recording.
class WindowOfEdges {
 public:
  WindowOfEdges(std::span<const Place> places, const PlaceLimits& limits)
      : limits_(limits),
        kinds_(1 + limits.segments),
        number_(static_cast<std::size_t>(limits.channels) * limits.recorded, kNone),
        at_(limits.channels + limits.recorded),
        best_(static_cast<std::size_t>(limits.channels + limits.recorded) * limits.rotations) {
    for (const Place& place : places) {
      std::int32_t& number = number_[place.query_channel * limits.recorded + place.channel];
      if (number != kNone) continue;
      number = edges_++;
      at_[place.query_channel].push_back({number, limits.channels + place.channel});
      at_[limits.channels + place.channel].push_back({number, place.query_channel});
    }
    least_.resize(static_cast<std::size_t>(edges_) * limits.rotations * kinds_);
    worth_.resize(static_cast<std::size_t>(edges_) * limits.rotations);
  }

  void push(std::int32_t number, const Place& place) {
    slot(place, place.segment).push(number, place.worth);
    refresh(place);
  }
  void pop(std::int32_t number, const Place& place) {
    slot(place, place.segment).pop(number);
    refresh(place);
  }
  /// The best edge at a vertex that does not lead to `other`.
  Worth best(std::int32_t vertex, std::int32_t rotation, std::int32_t other) const {
    const BestTwo& two = best_[vertex * limits_.rotations + rotation];
    return two.first_to == other ? two.second : two.first;
  }
  /// The other parts of what a place's piece is a part of.
  Worth other_parts(const Place& place) {
    Worth sum;
    for (std::int32_t segment = 0; segment < kinds_ - 1 && place.segment >= 0; ++segment)
      if (segment != place.segment) sum += slot(place, segment).best();
    return sum;
  }

 private:
  static constexpr std::int32_t kNone = -1;
  struct BestTwo {
    Worth first, second;
    std::int32_t first_to = kNone, second_to = kNone;
  };
  struct Incident {
    std::int32_t edge, to;
  };

  /// Pieces that are no axes are kept as of rotation 0.
  SlidingMinimum& slot(const Place& place, std::int32_t segment) {
    const std::int32_t edge = number_[place.query_channel * limits_.recorded + place.channel];
    return least_[(edge * limits_.rotations + (place.axis() ? place.rotation : 0)) * kinds_ + segment + 1];
  }
  void refresh(const Place& place) {
    const std::int32_t left = place.query_channel, right = limits_.channels + place.channel;
    const std::int32_t first = place.axis() ? place.rotation : 0,
                       last = place.axis() ? first + 1 : limits_.rotations;
    Worth worth = slot(place, -1).best();
    for (std::int32_t segment = 0; segment < kinds_ - 1 && slot(place, -1).best().coverage == 0; ++segment)
      worth += slot(place, segment).best();
    const std::int32_t number = number_[left * limits_.recorded + place.channel];
    for (std::int32_t rotation = first; rotation < last; ++rotation) {
      worth_[number * limits_.rotations + rotation] = worth;
      refresh(left, right, rotation, worth);
      refresh(right, left, rotation, worth);
    }
  }
  /// After the edge from a vertex to another has become `worth`.
  void refresh(std::int32_t vertex, std::int32_t to, std::int32_t rotation, const Worth& worth) {
    BestTwo& two = best_[vertex * limits_.rotations + rotation];
    if (two.first_to != to && two.second_to != to && !better(worth, two.second)) return;
    two = {};
    for (const Incident& incident : at_[vertex]) {
      const Worth& other = worth_[incident.edge * limits_.rotations + rotation];
      if (better(other, two.first)) {
        two.second = two.first, two.second_to = two.first_to;
        two.first = other, two.first_to = incident.to;
      } else if (better(other, two.second)) {
        two.second = other, two.second_to = incident.to;
      }
    }
  }

  PlaceLimits limits_;
  std::int32_t kinds_, edges_ = 0;
  std::vector<std::int32_t> number_;
  std::vector<std::vector<Incident>> at_;
  std::vector<SlidingMinimum> least_;
  std::vector<Worth> worth_;  ///< [edges][rotations]
  std::vector<BestTwo> best_;
};

/// @param edges  of no pieces
void set_bounds(std::span<Place> places, const PlaceRange& range, const PlaceLimits& limits,
                WindowOfEdges edges) {
  std::int32_t end = range.first;
  for (std::int32_t number = range.first; number < range.second; ++number) {
    Place& own = places[number];
    for (; end < own.end; ++end) edges.push(end, places[end]);
    const Worth own_edge = own.worth + edges.other_parts(own);
    const std::int32_t first = own.axis() ? own.rotation : 0,
                       last = own.axis() ? own.rotation : limits.rotations - 1;
    own.most_matched = 0;
    for (std::int32_t rotation = first; rotation <= last; ++rotation) {
      // Each channel of the query has one edge at most, and each channel of the recording.
      Worth by_query = own_edge, by_recording = own_edge;
      std::int32_t matched = 1;
      for (std::int32_t channel = 0; channel < limits.channels; ++channel) {
        if (channel == own.query_channel) continue;
        const Worth best = edges.best(channel, rotation, limits.channels + own.channel);
        matched += best.coverage > 0;
        by_query += best;
      }
      for (std::int32_t channel = 0; channel < limits.recorded; ++channel)
        if (channel != own.channel)
          by_recording += edges.best(limits.channels + channel, rotation, own.query_channel);
      Worth bound = better(by_query, by_recording) ? by_recording : by_query;
      bound.distance *= 1 - 1e-12;  // the same sum in another order may come out a little less
      if (rotation == first || better(bound, own.bound)) own.bound = bound;
      own.most_matched = std::max(own.most_matched, matched);
    }
    edges.pop(number, own);
  }
}

}  // namespace

void set_upper_bounds(std::span<Place> places, std::span<const PlaceRange> ranges,
                      const PlaceLimits& limits) {
  // A window holds no piece before its place, so that a range can be begun anywhere.
  const auto least_part = static_cast<std::int32_t>(std::ssize(places) / (8 * std::int64_t{threads()}));
  const std::int32_t part = std::max(1024, least_part);
  std::vector<PlaceRange> parts;
  for (const auto& [first, last] : ranges)
    for (std::int32_t begin = first; begin < last; begin += part)
      parts.emplace_back(begin, std::min(begin + part, last));
  const WindowOfEdges none(places, limits);
  parallel_for(std::ssize(parts), [&](std::int64_t p) { set_bounds(places, parts[p], limits, none); });
}

}  // namespace warploom::search
