#include "oracle/search_matchings.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace warploom::oracle {

using search::Edge;
using search::Match;
using search::Matching;
using search::Piece;
using search::Worth;

std::vector<Matching> maximal_matchings(std::span<const Edge> edges) {
  const auto adjacent = [&](std::size_t a, std::size_t b) {
    return edges[a].left == edges[b].left || edges[a].right == edges[b].right;
  };
  std::vector<Matching> found;
  for (std::uint32_t subset = 0; subset < std::uint32_t{1} << edges.size(); ++subset) {
    bool matching = true, maximal = true;
    for (std::size_t a = 0; a < edges.size() && matching && maximal; ++a) {
      bool blocked = false;
      for (std::size_t b = 0; b < edges.size(); ++b)
        if (b != a && (subset >> b & 1) && adjacent(a, b)) blocked = true;
      (subset >> a & 1 ? matching : maximal) = (subset >> a & 1) ? !blocked : blocked;
    }
    if (!matching || !maximal) continue;
    found.emplace_back();
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (subset >> e & 1) found.back().push_back(static_cast<std::int32_t>(e));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Worth worth(std::span<const Edge> edges, const Matching& matching) {
  Worth sum;
  for (std::int32_t e : matching) sum += edges[e].worth;
  return sum;
}

namespace {

using Pieces = std::vector<const Piece*>;

Match match_of(const Pieces& pieces, const search::Query& query) {
  Match match;
  match.label = query.label;
  match.channels = static_cast<std::int32_t>(query.channels.size());
  std::set<std::int32_t> matched;
  std::int64_t covered = 0;
  for (const Piece* piece : pieces) {
    const search::Pair& pair = piece->pair;
    match.pairs.push_back(pair);
    matched.insert(pair.query_channel);
    covered += pair.coverage;
    match.distance += pair.weight * pair.distance * static_cast<double>(pair.coverage) /
                      static_cast<double>(query.length());
  }
  std::sort(match.pairs.begin(), match.pairs.end(), [](const search::Pair& a, const search::Pair& b) {
    return std::tie(a.query_channel, a.offset, a.segment) < std::tie(b.query_channel, b.offset, b.segment);
  });
  match.first = match.pairs[0].offset;
  match.last = match.pairs[0].begin + match.pairs[0].length;
  for (const search::Pair& pair : match.pairs) {
    match.first = std::min(match.first, pair.offset);
    match.last = std::max(match.last, pair.begin + pair.length);
  }
  match.matched = static_cast<std::int32_t>(matched.size());
  match.coverage = static_cast<double>(covered) / static_cast<double>(query.length() * match.channels);
  return match;
}

bool nearer(const Piece* a, const Piece* b) {
  return a->pair.weight * a->pair.distance < b->pair.weight * b->pair.distance;
}

/// The pieces that stand for two channels.
Pieces edge_of(const Pieces& between) {
  std::map<std::int32_t, const Piece*> nearest;  // of each segment
  for (const Piece* piece : between) {
    const Piece*& best = nearest[piece->pair.segment];
    if (best == nullptr || nearer(piece, best)) best = piece;
  }
  if (nearest.contains(-1)) return {nearest[-1]};
  Pieces parts;
  for (const auto& [segment, piece] : nearest) parts.push_back(piece);
  return parts;
}

Worth worth_of(const Pieces& pieces, std::int64_t length) {
  Worth sum;
  for (const Piece* piece : pieces)
    sum +=
        {piece->pair.coverage, piece->pair.weight * piece->pair.distance *
                                   static_cast<double>(piece->pair.coverage) / static_cast<double>(length)};
  return sum;
}

/// All maximal matchings that contain pieces[c], best first.
std::vector<Match> matches_at(const Pieces& pieces, std::size_t c, const search::Query& query,
                              std::int64_t max_lag) {
  const search::Pair& first = pieces[c]->pair;
  std::set<std::int32_t> rotations;
  for (std::size_t k = c; k < pieces.size(); ++k)
    if (pieces[k]->pair.offset <= first.offset + max_lag && pieces[k]->axis)
      rotations.insert(pieces[k]->pair.rotation);
  if (pieces[c]->axis) rotations = {first.rotation};
  if (rotations.empty()) rotations = {0};
  std::set<Pieces> found;
  for (std::int32_t rotation : rotations) {
    std::map<std::pair<std::int32_t, std::int32_t>, Pieces> between;
    for (std::size_t k = c; k < pieces.size(); ++k) {
      const search::Pair& pair = pieces[k]->pair;
      if (pair.offset > first.offset + max_lag || (pieces[k]->axis && pair.rotation != rotation)) continue;
      between[{pair.query_channel, pair.channel}].push_back(pieces[k]);
    }
    Pieces own = {pieces[c]};
    if (first.segment >= 0)
      for (const Piece* piece : between[{first.query_channel, first.channel}])
        if (piece->pair.segment >= 0 && piece->pair.segment != first.segment) own.push_back(piece);
    own = edge_of(own);
    std::vector<Pieces> of_edge;
    std::vector<Edge> edges;
    for (const auto& [ends, some] : between) {
      if (ends.first == first.query_channel || ends.second == first.channel) continue;
      of_edge.push_back(edge_of(some));
      edges.push_back({ends.first, ends.second, worth_of(of_edge.back(), query.length())});
    }
    for (const Matching& matching : oracle::maximal_matchings(edges)) {
      Pieces all = own;
      for (std::int32_t e : matching) all.insert(all.end(), of_edge[e].begin(), of_edge[e].end());
      std::sort(all.begin(), all.end());
      found.insert(all);
    }
  }
  std::vector<Match> matches;
  for (const Pieces& some : found) matches.push_back(match_of(some, query));
  std::sort(matches.begin(), matches.end(), search::ranked_before);
  return matches;
}

}  // namespace

std::vector<Match> assemble(std::span<const Piece> all, const search::Query& query,
                            const search::AssembleOptions& options) {
  Pieces pieces;
  for (const Piece& piece : all) pieces.push_back(&piece);
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece* a, const Piece* b) { return a->pair.offset < b->pair.offset; });
  std::vector<std::vector<Match>> places;
  for (std::size_t c = 0; c < pieces.size(); ++c)
    places.push_back(matches_at(pieces, c, query, options.max_lag));
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return search::ranked_before(a[0], b[0]); });
  std::vector<Match> results;
  std::vector<std::int64_t> chosen;
  for (const std::vector<Match>& place : places) {
    if (std::ssize(chosen) == options.limit) break;
    if (place[0].matched < options.min_channels) continue;
    if (std::any_of(chosen.begin(), chosen.end(), [&](std::int64_t other) {
          return std::abs(other - place[0].first) <= options.exclusion;
        }))
      continue;
    chosen.push_back(place[0].first);
    for (std::size_t k = 0; k < place.size() && k < static_cast<std::size_t>(options.alternatives); ++k)
      if (place[k].matched >= options.min_channels) results.push_back(place[k]);
  }
  std::stable_sort(results.begin(), results.end(), search::ranked_before);
  return results;
}

}  // namespace warploom::oracle
