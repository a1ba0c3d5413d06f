#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/match.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {

bool ranked_before(const Match& a, const Match& b) {
  return std::tie(b.coverage, a.distance, a.first) < std::tie(a.coverage, b.distance, b.first);
}

namespace {

class WindowOfEdges;

/// Pieces by offset, so that the pieces of M(c) are a range that begins with c.
class Places {
 public:
  Places(std::span<const Piece> pieces, const Query& query, const AssembleOptions& options);

  std::int32_t size() const { return static_cast<std::int32_t>(pieces_.size()); }
  std::int64_t offset(std::int32_t place) const { return pair(place).offset; }
  struct Bound {
    Worth worth;
    std::int32_t matched = 0;
  };
  /// What the matching of each place is at most worth: each query channel's best, whatever else it is best
  /// for.
  std::vector<Bound> bounds() const;
  struct Solution {
    std::vector<std::int32_t> pieces;  ///< as Match::pairs
    Worth worth;
    std::int32_t matched = 0;
  };
  /// The `count` best matchings of the pieces from `place` on that contain it, best first.
  std::vector<Solution> solve(std::int32_t place, std::int64_t count) const;
  Match match_of(const Solution& solution) const;

 private:
  const Pair& pair(std::int32_t place) const { return pieces_[place].pair; }
  bool axis(std::int32_t place) const { return pieces_[place].axis; }
  /// Those of places [first_place, last_place). @param edges  of no pieces
  void set_bounds(std::int32_t first_place, std::int32_t last_place, WindowOfEdges edges,
                  std::vector<Bound>& bounds) const;
  std::vector<Solution> solve(std::int32_t place, std::int32_t rotation, std::int64_t count) const;
  Solution solution(std::vector<std::int32_t> pieces) const;

  const Query& query_;
  std::vector<Piece> pieces_;
  std::vector<Worth> worth_;
  std::vector<std::int32_t> end_;  ///< of the range of each place
  std::int32_t channels_;          ///< of the query
  std::int32_t recorded_ = 0;      ///< channels of the recording that occur, and those before them
  std::int32_t rotations_ = 1, segments_ = 0;
};

Places::Places(std::span<const Piece> pieces, const Query& query, const AssembleOptions& options)
    : query_(query), channels_(static_cast<std::int32_t>(query.channels.size())) {
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (const Piece& piece : pieces) order.emplace_back(piece.pair.offset, order.size());
  std::sort(order.begin(), order.end());
  for (const auto& [offset, index] : order) {
    const Pair& pair = pieces_.emplace_back(pieces[index]).pair;
    const double share = static_cast<double>(pair.coverage) / static_cast<double>(query.length());
    worth_.push_back({pair.coverage, pair.weight * pair.distance * share});
    recorded_ = std::max(recorded_, pair.channel + 1);
    rotations_ = std::max(rotations_, pair.rotation + 1);
    segments_ = std::max(segments_, pair.segment + 1);
  }
  std::int32_t end = 0;
  for (std::int32_t place = 0; place < size(); ++place) {
    while (end < size() && offset(end) - offset(place) <= options.max_lag) ++end;
    end_.push_back(end);
  }
}

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
  WindowOfEdges(std::span<const Piece> pieces, std::int32_t channels, std::int32_t recorded,
                std::int32_t rotations, std::int32_t segments)
      : channels_(channels),
        rotations_(rotations),
        kinds_(1 + segments),
        recorded_(recorded),
        number_(static_cast<std::size_t>(channels) * recorded, kNone),
        at_(channels + recorded),
        best_(static_cast<std::size_t>(channels + recorded) * rotations) {
    for (const Piece& piece : pieces) {
      const Pair& pair = piece.pair;
      std::int32_t& number = number_[pair.query_channel * recorded + pair.channel];
      if (number != kNone) continue;
      number = edges_++;
      at_[pair.query_channel].push_back({number, channels + pair.channel});
      at_[channels + pair.channel].push_back({number, pair.query_channel});
    }
    least_.resize(static_cast<std::size_t>(edges_) * rotations * kinds_);
    worth_.resize(static_cast<std::size_t>(edges_) * rotations);
  }

  void push(std::int32_t place, const Piece& piece, const Worth& worth) {
    slot(piece, piece.pair.segment).push(place, worth);
    refresh(piece);
  }
  void pop(std::int32_t place, const Piece& piece) {
    slot(piece, piece.pair.segment).pop(place);
    refresh(piece);
  }
  /// The best edge at a vertex that does not lead to `other`.
  Worth best(std::int32_t vertex, std::int32_t rotation, std::int32_t other) const {
    const BestTwo& two = best_[vertex * rotations_ + rotation];
    return two.first_to == other ? two.second : two.first;
  }
  /// The other parts of what `piece` is a part of.
  Worth other_parts(const Piece& piece) {
    Worth sum;
    for (std::int32_t segment = 0; segment < kinds_ - 1 && piece.pair.segment >= 0; ++segment)
      if (segment != piece.pair.segment) sum += slot(piece, segment).best();
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
  SlidingMinimum& slot(const Piece& piece, std::int32_t segment) {
    const std::int32_t edge = number_[piece.pair.query_channel * recorded_ + piece.pair.channel];
    return least_[(edge * rotations_ + (piece.axis ? piece.pair.rotation : 0)) * kinds_ + segment + 1];
  }
  void refresh(const Piece& piece) {
    const std::int32_t left = piece.pair.query_channel, right = channels_ + piece.pair.channel;
    const std::int32_t first = piece.axis ? piece.pair.rotation : 0,
                       last = piece.axis ? first + 1 : rotations_;
    Worth worth = slot(piece, -1).best();
    for (std::int32_t segment = 0; segment < kinds_ - 1 && slot(piece, -1).best().coverage == 0; ++segment)
      worth += slot(piece, segment).best();
    const std::int32_t number = number_[left * recorded_ + piece.pair.channel];
    for (std::int32_t rotation = first; rotation < last; ++rotation) {
      worth_[number * rotations_ + rotation] = worth;
      refresh(left, right, rotation, worth);
      refresh(right, left, rotation, worth);
    }
  }
  /// After the edge from a vertex to another has become `worth`.
  void refresh(std::int32_t vertex, std::int32_t to, std::int32_t rotation, const Worth& worth) {
    BestTwo& two = best_[vertex * rotations_ + rotation];
    if (two.first_to != to && two.second_to != to && !better(worth, two.second)) return;
    two = {};
    for (const Incident& incident : at_[vertex]) {
      const Worth& other = worth_[incident.edge * rotations_ + rotation];
      if (better(other, two.first)) {
        two.second = two.first, two.second_to = two.first_to;
        two.first = other, two.first_to = incident.to;
      } else if (better(other, two.second)) {
        two.second = other, two.second_to = incident.to;
      }
    }
  }

  std::int32_t channels_, rotations_, kinds_, recorded_, edges_ = 0;
  std::vector<std::int32_t> number_;
  std::vector<std::vector<Incident>> at_;
  std::vector<SlidingMinimum> least_;
  std::vector<Worth> worth_;  ///< [edges][rotations]
  std::vector<BestTwo> best_;
};

std::vector<Places::Bound> Places::bounds() const {
  const WindowOfEdges none(pieces_, channels_, recorded_, rotations_, segments_);
  std::vector<Bound> bounds(pieces_.size());
  // A window holds no piece before its place, so that a part of the places can be begun anywhere.
  constexpr std::int32_t kPart = 1024;
  parallel_for((size() + kPart - 1) / kPart, [&](std::int64_t part) {
    const auto first = static_cast<std::int32_t>(part) * kPart;
    set_bounds(first, std::min(first + kPart, size()), none, bounds);
  });
  return bounds;
}

void Places::set_bounds(std::int32_t first_place, std::int32_t last_place, WindowOfEdges edges,
                        std::vector<Bound>& bounds) const {
  std::int32_t end = first_place;
  for (std::int32_t place = first_place; place < last_place; ++place) {
    for (; end < end_[place]; ++end) edges.push(end, pieces_[end], worth_[end]);
    const Pair& own = pair(place);
    const Worth own_edge = worth_[place] + edges.other_parts(pieces_[place]);
    const std::int32_t first = axis(place) ? own.rotation : 0,
                       last = axis(place) ? own.rotation : rotations_ - 1;
    for (std::int32_t rotation = first; rotation <= last; ++rotation) {
      // Each channel of the query has one edge at most, and each channel of the recording.
      Worth by_query = own_edge, by_recording = own_edge;
      std::int32_t matched = 1;
      for (std::int32_t channel = 0; channel < channels_; ++channel) {
        if (channel == own.query_channel) continue;
        const Worth best = edges.best(channel, rotation, channels_ + own.channel);
        matched += best.coverage > 0;
        by_query += best;
      }
      for (std::int32_t channel = 0; channel < recorded_; ++channel)
        if (channel != own.channel)
          by_recording += edges.best(channels_ + channel, rotation, own.query_channel);
      Worth bound = better(by_query, by_recording) ? by_recording : by_query;
      bound.distance *= 1 - 1e-12;  // the same sum in another order may come out a little less
      if (rotation == first || better(bound, bounds[place].worth)) bounds[place].worth = bound;
      bounds[place].matched = std::max(bounds[place].matched, matched);
    }
    edges.pop(place, pieces_[place]);
  }
}

std::vector<Places::Solution> Places::solve(std::int32_t place, std::int32_t rotation,
                                            std::int64_t count) const {
  // Edges in order of their first pieces, so that the first one is of `place`. Of each edge the nearest whole
  // piece, then the nearest of each part; kNone if there is none.
  constexpr std::int32_t kNone = -1;
  const std::int32_t kinds = 1 + segments_;
  const Pair& own = pair(place);
  std::vector<Edge> edges;
  std::vector<std::int32_t> nearest;
  std::vector<std::int32_t> edge_at(static_cast<std::size_t>(channels_) * recorded_, kNone);
  for (std::int32_t other = place; other < end_[place]; ++other) {
    const Pair& its = pair(other);
    if (axis(other) && its.rotation != rotation) continue;
    const bool same_left = its.query_channel == own.query_channel, same_right = its.channel == own.channel;
    if (other != place && (same_left || same_right)) {
      const bool other_part = own.segment >= 0 && its.segment >= 0 && its.segment != own.segment;
      if (!same_left || !same_right || !other_part) continue;
    }
    std::int32_t& e = edge_at[its.query_channel * recorded_ + its.channel];
    if (e == kNone) {
      e = static_cast<std::int32_t>(edges.size());
      edges.push_back({its.query_channel, its.channel, {}});
      nearest.resize(nearest.size() + kinds, kNone);
    }
    std::int32_t& kept = nearest[e * kinds + its.segment + 1];
    if (kept == kNone || worth_[other].distance < worth_[kept].distance) kept = other;
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::span<std::int32_t> kept = std::span(nearest).subspan(e * kinds, kinds);
    if (kept[0] != kNone) std::fill(kept.begin() + 1, kept.end(), kNone);
    for (std::int32_t piece : kept)
      if (piece != kNone) edges[e].worth += worth_[piece];
  }

  const std::span<const Edge> others = std::span(edges).subspan(1);
  std::vector<Matching> best;
  if (count == 1)
    best.push_back(best_matching(others));
  else
    best = best_matchings(others, count);
  std::vector<Solution> solutions;
  for (const Matching& matching : best) {
    std::vector<std::int32_t> pieces;
    const auto add = [&](std::int32_t e) {
      for (std::int32_t kind = 0; kind < kinds; ++kind)
        if (nearest[e * kinds + kind] != kNone) pieces.push_back(nearest[e * kinds + kind]);
    };
    add(0);
    for (std::int32_t e : matching) add(e + 1);
    solutions.push_back(solution(std::move(pieces)));
  }
  return solutions;
}

std::vector<Places::Solution> Places::solve(std::int32_t place, std::int64_t count) const {
  if (axis(place)) return solve(place, pair(place).rotation, count);
  std::set<std::int32_t> rotations;
  for (std::int32_t other = place; other < end_[place]; ++other)
    if (axis(other)) rotations.insert(pair(other).rotation);
  if (rotations.size() <= 1) return solve(place, rotations.empty() ? 0 : *rotations.begin(), count);
  std::vector<Solution> solutions;
  for (std::int32_t rotation : rotations)
    for (Solution& solution : solve(place, rotation, count)) solutions.push_back(std::move(solution));
  std::sort(solutions.begin(), solutions.end(), [](const Solution& a, const Solution& b) {
    return a.worth != b.worth ? better(a.worth, b.worth) : a.pieces < b.pieces;
  });
  // Without axes the same matching comes from every rotation.
  solutions.erase(std::unique(solutions.begin(), solutions.end(),
                              [](const Solution& a, const Solution& b) { return a.pieces == b.pieces; }),
                  solutions.end());
  solutions.resize(std::min<std::size_t>(solutions.size(), count));
  return solutions;
}

Places::Solution Places::solution(std::vector<std::int32_t> pieces) const {
  const auto order = [&](std::int32_t piece) {
    return std::tie(pair(piece).query_channel, pair(piece).offset, pair(piece).segment);
  };
  std::sort(pieces.begin(), pieces.end(),
            [&](std::int32_t a, std::int32_t b) { return order(a) < order(b); });
  Solution made;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    made.worth += worth_[pieces[k]];
    made.matched += k == 0 || pair(pieces[k]).query_channel != pair(pieces[k - 1]).query_channel;
  }
  made.pieces = std::move(pieces);
  return made;
}

Match Places::match_of(const Solution& solution) const {
  Match match;
  match.label = query_.label;
  match.channels = channels_;
  match.matched = solution.matched;
  match.coverage =
      static_cast<double>(solution.worth.coverage) / static_cast<double>(query_.length() * channels_);
  match.distance = solution.worth.distance;
  match.first = std::numeric_limits<std::int64_t>::max();
  match.last = std::numeric_limits<std::int64_t>::min();
  for (std::int32_t piece : solution.pieces) {
    const Pair& here = pair(piece);
    match.first = std::min(match.first, here.offset);
    match.last = std::max(match.last, here.begin + here.length);
    match.pairs.push_back(here);
  }
  return match;
}

}  // namespace

std::vector<Match> assemble(std::span<const Piece> pieces, const Query& query,
                            const AssembleOptions& options) {
  const Places places(pieces, query, options);
  struct Waiting {
    Worth worth;  // at most, until it is solved
    std::int64_t offset;
    std::int32_t place, solution;  // -1: not solved
  };
  const auto later = [](const Waiting& a, const Waiting& b) {
    if (a.worth != b.worth) return better(b.worth, a.worth);
    return std::tie(a.offset, a.place) > std::tie(b.offset, b.place);
  };
  std::vector<Waiting> waiting;
  const std::vector<Places::Bound> bounds = places.bounds();
  for (std::int32_t place = 0; place < places.size(); ++place)
    if (bounds[place].matched >= options.min_channels)
      waiting.push_back({bounds[place].worth, places.offset(place), place, -1});
  std::priority_queue queue(later, std::move(waiting));

  std::vector<Places::Solution> solutions;
  std::vector<Match> results;
  std::set<std::int64_t> chosen;
  while (!queue.empty() && std::ssize(chosen) < options.limit) {
    const Waiting best = queue.top();
    queue.pop();
    const auto next = chosen.lower_bound(best.offset - options.exclusion);
    if (next != chosen.end() && *next <= best.offset + options.exclusion) continue;
    if (best.solution < 0) {
      check_interrupt();
      Places::Solution solution = std::move(places.solve(best.place, 1)[0]);
      if (solution.matched < options.min_channels) continue;
      queue.push({solution.worth, best.offset, best.place, static_cast<std::int32_t>(solutions.size())});
      solutions.push_back(std::move(solution));
      continue;
    }
    chosen.insert(best.offset);
    results.push_back(places.match_of(solutions[best.solution]));
    if (options.alternatives == 1) continue;
    const std::vector<Places::Solution> all = places.solve(best.place, options.alternatives);
    for (std::size_t k = 1; k < all.size(); ++k)
      if (all[k].matched >= options.min_channels) results.push_back(places.match_of(all[k]));
  }
  std::stable_sort(results.begin(), results.end(), ranked_before);
  return results;
}

}  // namespace warploom::search
