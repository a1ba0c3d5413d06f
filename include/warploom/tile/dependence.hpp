#pragma once

#include <string>
#include <utility>

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

enum class DependenceKind { flow, anti, output };
std::string_view name(DependenceKind kind);

/// What is known of one component of a distance, sink - source in the values of a loop; of a loop that
/// decreases, source - sink: positive is later. A range with exact ends.
struct Component {
  std::optional<std::int64_t> least = {}, most = {};  ///< absent: unbounded
};
/// "1", "-2", "+" (at least 1), "0+", "-", "0-", "*"
std::string to_text(const Component& component);

/// Two iterations that show a claim, with the sizes for which they do.
struct Witness {
  std::vector<std::int64_t> source = {}, sink = {};  ///< values of the statements' loops
  std::vector<std::pair<std::string, std::int64_t>> sizes = {};
};

/// Source runs before sink, both touch one element, one of them writes. Memory-based: all pairs, not only the
/// last write before a read; but where each iteration of some loops writes a variable before it reads it, and
/// nothing outside sees it, each has one of its own.
struct Dependence {
  DependenceKind kind = DependenceKind::flow;
  int source = 0, sink = 0;                      ///< statements
  int source_reference = 0, sink_reference = 0;  ///< in their lists
  std::vector<Component> distance = {};          ///< over the loops around both, outermost first
  int level = 0;           ///< the loop that carries it, index into distance; distance.size(): none does
  bool reduction = false;  ///< between two runs of one reduction: may be reordered where rounding may change
  Witness witness = {};
};
/// "flow S1 -> S1 on C, distance (0, 0, 1), carried by k, reduction: (0, 0, 0) -> (0, 0, 1)"
std::string to_text(const Nest& nest, const Dependence& dependence);

/// One entry for each pair of references and each level that carries it. Deterministic order.
std::vector<Dependence> dependences(const Nest& nest);

/// Loops of a perfectly nested chain that may be permuted and tiled in any way among themselves.
struct Band {
  std::vector<std::string> loops = {};
  std::vector<int> statements = {};
};
/// Maximal fully permutable bands of the source order, from the outside to the inside: every dependence that
/// no loop outside of the band carries has components >= 0 along all of them (lecture, "Safety of
/// Permutation"). Every loop is in one band; many have a single loop.
std::vector<Band> permutable_bands(const Nest& nest);

}  // namespace warploom::tile
