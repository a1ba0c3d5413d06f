#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <queue>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "core/doors.hpp"
#include "search/assembly.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {

bool ranked_before(const Match& a, const Match& b) {
  return std::tie(b.coverage, a.distance, a.first) < std::tie(a.coverage, b.distance, b.first);
}

namespace {

/// What is refused would leave the tables that are made for channels, rotations and parts, or an integer's
/// range.
void check(std::span<const Piece> pieces, const Query& query, const AssembleOptions& options) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60, kMostChannels = 1 << 16, kMostRotations = 10'000;
  const auto require = [](const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most)
      throw BadInput(fmt::format("{} is {}: it must be from {} to {}", what, value, least, most));
  };
  require("the query's number of channels", std::ssize(query.channels), 1, kMostChannels);
  require("the query's length", query.length(), 1, kFar);
  require("the largest lag", options.max_lag, 0, kFar);
  require("the exclusion zone", options.exclusion, 0, kFar);
  require("the number of alternatives", options.alternatives, 1, std::numeric_limits<std::int32_t>::max());
  for (const Pair& pair : pieces | std::views::transform(&Piece::pair)) {
    require("a piece's channel of the query", pair.query_channel, 0, std::ssize(query.channels) - 1);
    require("a piece's channel", pair.channel, 0, kMostChannels - 1);
    require("a piece's rotation", pair.rotation, 0, kMostRotations);
    require("a piece's part", pair.segment, -1, kMostChannels);
    require("a piece's coverage", pair.coverage, 0, std::int64_t{1} << 40);
    for (const std::int64_t place : {pair.offset, pair.begin, pair.length})
      require("a piece's offset, begin or length", place, -kFar, kFar);
    if (!(pair.distance >= 0 && pair.weight >= 0 && std::isfinite(pair.distance * pair.weight)))
      throw BadInput(
          fmt::format("a piece has the distance {} and the weight {}: they must be finite and not below 0",
                      pair.distance, pair.weight));
  }
}

}  // namespace

std::vector<Match> assemble(std::span<const Piece> pieces, const Query& query,
                            const AssembleOptions& options) {
  check(pieces, query, options);
  Assembly assembly(query, options.max_lag);
  assembly.add(pieces);
  std::vector<Match> matches;
  for (Assembly::Result& result : assembly.best(options)) matches.push_back(std::move(result.match));
  return matches;
}

namespace {

/// Numbers of pieces by their offsets, of equal ones in their order: by counting, digit after digit.
std::vector<std::int32_t> by_offset(std::span<const Piece> pieces) {
  constexpr int kBits = 11;
  std::vector<std::int32_t> order(pieces.size()), next(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  if (pieces.empty()) return order;
  const auto [least, most] =
      std::ranges::minmax(pieces, {}, [](const Piece& piece) { return piece.pair.offset; });
  std::vector<std::uint64_t> offsets;
  offsets.reserve(pieces.size());
  for (const Piece& piece : pieces) offsets.push_back(piece.pair.offset - least.pair.offset);
  const auto largest = static_cast<std::uint64_t>(most.pair.offset - least.pair.offset);
  for (int shift = 0; shift < 64 && largest >> shift != 0; shift += kBits) {
    const auto digit = [&](std::int32_t k) { return offsets[k] >> shift & ((1U << kBits) - 1); };
    std::array<std::int32_t, (1 << kBits) + 1> begin{};
    for (const std::int32_t k : order) ++begin[digit(k) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const std::int32_t k : order) next[begin[digit(k)]++] = k;
    std::swap(order, next);
  }
  return order;
}

}  // namespace

Assembly::Assembly(const Query& query, std::int64_t max_lag) : query_(query), max_lag_(max_lag) {
  limits_.channels = static_cast<std::int32_t>(query.channels.size());
}

void Assembly::add(std::span<const Piece> pieces) {
  const auto before = static_cast<std::int32_t>(pieces_.size());
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  for (const Piece& piece : pieces) {
    limits_.recorded = std::max(limits_.recorded, piece.pair.channel + 1);
    limits_.rotations = std::max(limits_.rotations, piece.pair.rotation + 1);
    limits_.segments = std::max(limits_.segments, piece.pair.segment + 1);
  }
  require_memory_for(static_cast<std::uint64_t>(limits_.channels + limits_.recorded) * limits_.rotations, 64,
                     "the edges between channels, in each rotation");
  edge_at_.assign(static_cast<std::size_t>(limits_.channels) * limits_.recorded, kNone);
  const std::vector<std::int32_t> order = by_offset(pieces);
  std::vector<Place> places(order.size());
  constexpr std::int32_t kPart = 4096;
  parallel_for((std::ssize(order) + kPart - 1) / kPart, [&](std::int64_t part) {
    for (std::int64_t k = part * kPart; k < std::min((part + 1) * kPart, std::ssize(order)); ++k) {
      const Piece& piece = pieces[order[k]];
      const Pair& pair = piece.pair;
      Place& place = places[k];
      place.offset = pair.offset;
      const double share = static_cast<double>(pair.coverage) / static_cast<double>(query_.length());
      place.worth = {pair.coverage, pair.weight * pair.distance * share};
      place.query_channel = pair.query_channel;
      place.channel = pair.channel;
      place.segment = pair.segment;
      if (piece.axis) place.rotation = pair.rotation;
      place.piece = before + order[k];
    }
  });
  insert(std::move(places));
}

/// @param places  by offset, later in the pieces' order than those that are here
void Assembly::insert(std::vector<Place> places) {
  const auto earlier = [](const Place& a, const Place& b) { return a.offset < b.offset; };
  std::vector<std::int64_t> offsets;
  for (const Place& place : places) offsets.push_back(place.offset);
  if (places_.empty()) {
    places_ = std::move(places);
  } else {
    std::vector<Place> all;
    all.reserve(places_.size() + places.size());
    std::merge(places_.begin(), places_.end(), places.begin(), places.end(), std::back_inserter(all),
               earlier);
    places_ = std::move(all);
  }
  std::int32_t end = 0;
  for (Place& place : places_) {
    while (end < std::ssize(places_) && places_[end].offset - place.offset <= max_lag_) ++end;
    place.end = end;
  }
  // Places into whose windows something came.
  std::vector<PlaceRange> changed;
  const auto number_at = [&](std::int64_t offset) {
    const auto place = std::ranges::lower_bound(places_, offset, {}, &Place::offset);
    return static_cast<std::int32_t>(place - places_.begin());
  };
  for (const std::int64_t offset : offsets) {
    if (!changed.empty() && changed.back().second == std::ssize(places_)) break;
    const std::int32_t last = number_at(offset + 1);
    if (!changed.empty() && changed.back().second >= last) continue;
    const std::int32_t first = number_at(offset - max_lag_);
    if (changed.empty() || changed.back().second < first)
      changed.emplace_back(first, last);
    else
      changed.back().second = last;
  }
  for (const auto& [first, last] : changed)
    for (std::int32_t number = first; number < last && !best_.empty(); ++number)
      best_.erase(places_[number].piece);
  set_upper_bounds(places_, changed, limits_);
}

std::vector<std::int32_t> Assembly::rotations_in(std::int32_t first, std::int32_t last) const {
  if (limits_.rotations == 1) return {0};
  std::set<std::int32_t> rotations;
  for (std::int32_t number = first; number < last; ++number)
    if (places_[number].axis()) rotations.insert(places_[number].rotation);
  if (rotations.empty()) return {0};
  return {rotations.begin(), rotations.end()};
}

Assembly::Graph Assembly::graph_at(std::int32_t number, std::int32_t rotation) {
  // Edges in order of their first pieces, so that the first one is of the place. Of each edge the nearest
  // whole piece, then the nearest of each part.
  const std::int32_t kinds = 1 + limits_.segments;
  const Place& own = places_[number];
  std::vector<Edge> edges;
  std::vector<std::int32_t> nearest;
  for (std::int32_t other = number; other < own.end; ++other) {
    const Place& its = places_[other];
    if (its.axis() && its.rotation != rotation) continue;
    const bool same_left = its.query_channel == own.query_channel, same_right = its.channel == own.channel;
    if (other != number && (same_left || same_right)) {
      const bool other_part = own.segment >= 0 && its.segment >= 0 && its.segment != own.segment;
      if (!same_left || !same_right || !other_part) continue;
    }
    std::int32_t& e = edge_at_[its.query_channel * limits_.recorded + its.channel];
    if (e == kNone) {
      e = static_cast<std::int32_t>(edges.size());
      edges.push_back({its.query_channel, its.channel, {}});
      nearest.resize(nearest.size() + kinds, kNone);
    }
    std::int32_t& kept = nearest[e * kinds + its.segment + 1];
    if (kept == kNone || its.worth.distance < places_[kept].worth.distance) kept = other;
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    edge_at_[edges[e].left * limits_.recorded + edges[e].right] = kNone;
    const std::span<std::int32_t> kept = std::span(nearest).subspan(e * kinds, kinds);
    if (kept[0] != kNone) std::fill(kept.begin() + 1, kept.end(), kNone);
    for (std::int32_t& piece : kept)
      if (piece != kNone) {
        edges[e].worth += places_[piece].worth;
        piece = places_[piece].piece;
      }
  }
  return {std::move(edges), std::move(nearest)};
}

void Assembly::tighten(std::int32_t first, std::int32_t last, std::span<const Worth> prices) {
  const std::int32_t end = places_[last - 1].end, kinds = 1 + limits_.segments;
  std::vector<Worth> bounds(last - first);
  for (const std::int32_t rotation : rotations_in(first, end)) {
    // Of all windows together the edges, each worth as much as in any of them.
    std::vector<Edge> edges;
    std::vector<Worth> nearest;  // [edges][whole, parts]
    for (std::int32_t number = first; number < end; ++number) {
      const Place& place = places_[number];
      if (place.axis() && place.rotation != rotation) continue;
      std::int32_t& e = edge_at_[place.query_channel * limits_.recorded + place.channel];
      if (e == kNone) {
        e = static_cast<std::int32_t>(edges.size());
        edges.push_back({place.query_channel, place.channel, {}});
        nearest.resize(nearest.size() + kinds);
      }
      Worth& kept = nearest[e * kinds + place.segment + 1];
      if (better(place.worth, kept)) kept = place.worth;
    }
    for (std::size_t e = 0; e < edges.size(); ++e) {
      Worth parts;
      for (std::int32_t kind = 1; kind < kinds; ++kind) parts += nearest[e * kinds + kind];
      edges[e].worth = better(parts, nearest[e * kinds]) ? parts : nearest[e * kinds];
    }
    const Payments paid = pay(edges, prices);
    Worth all;
    double size = 0;
    for (const std::vector<Worth>* side : {&paid.left, &paid.right})
      for (const Worth& worth : *side) {
        all += worth;
        size += std::abs(worth.distance);
      }
    for (std::int32_t number = first; number < last; ++number) {
      const Place& own = places_[number];
      if (own.axis() && own.rotation != rotation) continue;
      Worth bound = own.worth + all - paid.left[own.query_channel] - paid.right[own.channel];
      const std::int32_t e = edge_at_[own.query_channel * limits_.recorded + own.channel];
      for (std::int32_t kind = 1; kind < kinds && own.segment >= 0; ++kind)
        if (kind != own.segment + 1) bound += nearest[e * kinds + kind];
      bound.distance -= 1e-12 * size;  // more than rounding loses
      if (better(bound, bounds[number - first])) bounds[number - first] = bound;
    }
    for (const Edge& edge : edges) edge_at_[edge.left * limits_.recorded + edge.right] = kNone;
  }
  for (std::int32_t number = first; number < last; ++number)
    if (better(places_[number].bound, bounds[number - first])) places_[number].bound = bounds[number - first];
}

std::vector<Assembly::Solution> Assembly::solve(std::int32_t number, std::int32_t rotation,
                                                std::int64_t count) {
  const std::int32_t kinds = 1 + limits_.segments;
  const Graph graph = graph_at(number, rotation);
  const std::span<const Edge> others = std::span(graph.edges).subspan(1);
  std::vector<Matching> best;
  if (count == 1)
    best.push_back(best_matching(others, &prices_[places_[number].offset]));
  else
    best = best_matchings(others, count);
  std::vector<Solution> solutions;
  for (const Matching& matching : best) {
    std::vector<std::int32_t> pieces;
    const auto add = [&](std::int32_t e) {
      for (std::int32_t kind = 0; kind < kinds; ++kind)
        if (graph.pieces[e * kinds + kind] != kNone) pieces.push_back(graph.pieces[e * kinds + kind]);
    };
    add(0);
    for (std::int32_t e : matching) add(e + 1);
    solutions.push_back(solution(std::move(pieces)));
  }
  return solutions;
}

std::vector<Assembly::Solution> Assembly::solve(std::int32_t number, std::int64_t count) {
  std::vector<Solution> solutions;
  const Place& place = places_[number];
  const std::vector<std::int32_t> rotations =
      place.axis() ? std::vector{place.rotation} : rotations_in(number, place.end);
  for (const std::int32_t rotation : rotations)
    for (Solution& solution : solve(number, rotation, count)) solutions.push_back(std::move(solution));
  if (rotations.size() == 1) return solutions;
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

Assembly::Solution Assembly::solution(std::vector<std::int32_t> pieces) const {
  const auto order = [&](std::int32_t piece) {
    const Pair& pair = pieces_[piece].pair;
    return std::tie(pair.query_channel, pair.offset, pair.segment);
  };
  std::sort(pieces.begin(), pieces.end(),
            [&](std::int32_t a, std::int32_t b) { return order(a) < order(b); });
  Solution made;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Pair& pair = pieces_[pieces[k]].pair;
    const double share = static_cast<double>(pair.coverage) / static_cast<double>(query_.length());
    made.worth += {pair.coverage, pair.weight * pair.distance * share};
    made.matched += k == 0 || pair.query_channel != pieces_[pieces[k - 1]].pair.query_channel;
  }
  made.pieces = std::move(pieces);
  return made;
}

Match Assembly::match_of(const Solution& solution) const {
  Match match;
  match.label = query_.label;
  match.channels = limits_.channels;
  match.matched = solution.matched;
  match.coverage =
      static_cast<double>(solution.worth.coverage) / static_cast<double>(query_.length() * limits_.channels);
  match.distance = solution.worth.distance;
  match.first = std::numeric_limits<std::int64_t>::max();
  match.last = std::numeric_limits<std::int64_t>::min();
  for (std::int32_t piece : solution.pieces) {
    const Pair& pair = pieces_[piece].pair;
    match.first = std::min(match.first, pair.offset);
    match.last = std::max(match.last, pair.begin + pair.length);
    match.pairs.push_back(pair);
  }
  return match;
}

std::vector<Assembly::Result> Assembly::best(const AssembleOptions& options) {
  struct Waiting {
    Worth worth;  // at most, until it is solved
    std::int64_t offset;
    std::int32_t number;
    const Solution* solution;  // null: not solved
  };
  const auto later = [](const Waiting& a, const Waiting& b) {
    if (a.worth != b.worth) return better(b.worth, a.worth);
    return std::tie(a.offset, a.number) > std::tie(b.offset, b.number);
  };
  std::vector<Waiting> waiting;
  for (std::int32_t number = 0; number < std::ssize(places_); ++number) {
    const Place& place = places_[number];
    if (place.most_matched >= options.min_channels)
      waiting.push_back({place.bound, place.offset, number, nullptr});
  }
  std::priority_queue queue(later, std::move(waiting));

  // Bounds are tightened by prices from nearby, first those of some neighbours at once, then each by itself.
  constexpr std::int32_t kNeighbours = 16;
  std::map<PlaceRange, std::int64_t> tightened;  // the offset that the prices are from
  const auto tighten_at = [&](const Waiting& place) {
    auto near = prices_.lower_bound(place.offset);
    if (near != prices_.begin()) {
      const auto before = std::prev(near);
      if (near == prices_.end() || place.offset - before->first < near->first - place.offset) near = before;
    }
    if (near == prices_.end()) return;
    for (const std::int32_t neighbours : {kNeighbours, 1}) {
      const std::int32_t first = place.number / neighbours * neighbours;
      const std::int32_t last = std::min(first + neighbours, static_cast<std::int32_t>(places_.size()));
      const auto [known, is_new] = tightened.try_emplace({first, last}, near->first);
      if (!is_new && std::exchange(known->second, near->first) == near->first) continue;
      return tighten(first, last, near->second);
    }
  };

  std::vector<Result> results;
  std::set<std::int64_t> chosen;
  while (!queue.empty() && std::ssize(chosen) < options.limit) {
    Waiting best = queue.top();
    queue.pop();
    const auto next = chosen.lower_bound(best.offset - options.exclusion);
    if (next != chosen.end() && *next <= best.offset + options.exclusion) continue;
    if (best.solution == nullptr) {
      check_interrupt();
      const Place& place = places_[best.number];
      auto known = best_.find(place.piece);
      if (known == best_.end()) {
        if (best.worth == place.bound) tighten_at(best);
        best.worth = place.bound;
        if (!queue.empty() && better(queue.top().worth, best.worth)) {
          queue.push(best);
          continue;
        }
        known = best_.emplace(place.piece, std::move(solve(best.number, 1)[0])).first;
      }
      best.solution = &known->second;
      best.worth = known->second.worth;
      if (best.solution->matched >= options.min_channels) queue.push(best);
      continue;
    }
    chosen.insert(best.offset);
    results.push_back({match_of(*best.solution), best.solution->pieces});
    if (options.alternatives == 1) continue;
    const std::vector<Solution> all = solve(best.number, options.alternatives);
    for (std::size_t k = 1; k < all.size(); ++k)
      if (all[k].matched >= options.min_channels) results.push_back({match_of(all[k]), all[k].pieces});
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const Result& a, const Result& b) { return ranked_before(a.match, b.match); });
  return results;
}

}  // namespace warploom::search
