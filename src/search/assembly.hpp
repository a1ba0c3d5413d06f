#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "search/upper_bounds.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

/// assemble() of pieces that come in several lots: what is known of a place stays known until a piece comes
/// into its window. Gives what assemble() gives of all pieces so far.
class Assembly {
 public:
  /// @param query  stays alive
  Assembly(const Query& query, std::int64_t max_lag);

  void add(std::span<const Piece> pieces);
  const std::vector<Piece>& pieces() const { return pieces_; }

  struct Result {
    Match match;
    std::vector<std::int32_t> pieces;  ///< numbers of those that Match::pairs are
  };
  /// By ranked_before(). @param options  max_lag: as given before
  /// @throws Interrupted
  std::vector<Result> best(const AssembleOptions& options);

 private:
  struct Solution {
    std::vector<std::int32_t> pieces;  ///< numbers, as Match::pairs
    Worth worth;
    std::int32_t matched = 0;
  };
  struct Graph {
    std::vector<Edge> edges;  ///< the first is of the place itself, the others meet neither of its ends
    std::vector<std::int32_t> pieces;  ///< [edges][whole, parts], numbers; kNone: there is none
  };

  void insert(std::vector<Place> places);
  /// Those of the axes among places [first, last); any one if there are none.
  std::vector<std::int32_t> rotations_in(std::int32_t first, std::int32_t last) const;
  Graph graph_at(std::int32_t number, std::int32_t rotation);
  /// The `count` best matchings of the pieces from the place on that contain it, best first.
  std::vector<Solution> solve(std::int32_t number, std::int64_t count);
  std::vector<Solution> solve(std::int32_t number, std::int32_t rotation, std::int64_t count);
  Solution solution(std::vector<std::int32_t> pieces) const;
  /// Lowers the bounds of places [first, last), which are neighbours, by prices of a place near them.
  void tighten(std::int32_t first, std::int32_t last, std::span<const Worth> prices);
  Match match_of(const Solution& solution) const;

  static constexpr std::int32_t kNone = -1;
  const Query& query_;
  std::int64_t max_lag_;
  std::vector<Piece> pieces_;
  PlaceLimits limits_;
  std::vector<Place> places_;              ///< by offset, then number of the piece
  std::map<std::int32_t, Solution> best_;  ///< of the places that were solved, by number of their piece
  std::map<std::int64_t, std::vector<Worth>> prices_;  ///< of places that were solved, by offset
  std::vector<std::int32_t> edge_at_;                  ///< [channels][recorded channels] scratch, all kNone
};

}  // namespace warploom::search
