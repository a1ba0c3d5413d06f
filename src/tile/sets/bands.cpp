// Fully permutable bands of the source order.
#include <algorithm>

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {
namespace {

class Bands {
 public:
  explicit Bands(const Polyhedra& polyhedra) : polyhedra_(polyhedra) {}

  /// Of these statements, neighbours in the text that share the loops outside of `depth`.
  void find(const std::vector<int>& statements, std::size_t depth) {
    for (auto first = statements.begin(); first != statements.end();) {
      const auto last =
          std::find_if(first, statements.end(), [&](int s) { return !shares_loop(*first, s, depth); });
      if (last == first) {  // no loop at this depth
        ++first;
        continue;
      }
      const std::vector<int> inside(first, last);
      std::size_t end = depth + 1;
      while (is_perfect(inside, end) && is_permutable(inside, depth, end)) ++end;
      const std::vector<std::string>& loops = polyhedra_.statements[inside.front()].loops;
      bands_.push_back({{loops.begin() + static_cast<std::ptrdiff_t>(depth),
                         loops.begin() + static_cast<std::ptrdiff_t>(end)},
                        inside});
      find(inside, end);
      first = last;
    }
  }
  std::vector<Band> bands() && { return std::move(bands_); }

 private:
  bool shares_loop(int a, int b, std::size_t depth) const {
    return common_loops(polyhedra_.sets[a], polyhedra_.sets[b]) > depth;
  }
  bool is_perfect(const std::vector<int>& statements, std::size_t depth) const {
    return std::ranges::all_of(statements, [&](int s) { return shares_loop(statements.front(), s, depth); });
  }
  /// Whether no dependence that starts within the loop at `first` goes backwards along the loop at `depth`.
  bool is_permutable(const std::vector<int>& statements, std::size_t first, std::size_t depth) const {
    const auto inside = [&](int s) { return std::binary_search(statements.begin(), statements.end(), s); };
    return std::ranges::all_of(polyhedra_.dependences, [&](const DependenceRelation& relation) {
      const Dependence& d = relation.summary;
      if (!inside(d.source) || !inside(d.sink) || d.level < static_cast<int>(first)) return true;
      return d.distance[depth].least.value_or(-1) >= 0;
    });
  }

  const Polyhedra& polyhedra_;
  std::vector<Band> bands_;
};

}  // namespace

std::vector<Band> permutable_bands(const Nest& nest) {
  std::vector<int> all;
  for (const Statement& statement : nest.statements()) all.push_back(statement.number);
  Bands bands(nest.polyhedra());
  bands.find(all, 0);
  return std::move(bands).bands();
}

}  // namespace warploom::tile
