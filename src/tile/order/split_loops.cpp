// Loops in three, where one iteration alone is in the way.
#include "tile/order/split_loops.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/order/loop_paths.hpp"
#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostStatements = 2;  // in the loop that is split: each becomes three, and again

/// Which loop of a path is split at the iteration of which around it.
struct Split {
  const Node* loop = nullptr;
  std::string at;
};

bool rises(const Node& loop) { return loop.step == 1 && (loop.comparison == "<" || loop.comparison == "<="); }

class Splits {
 public:
  explicit Splits(const Nest& nest) : nest_(nest), paths_(loop_paths(nest)) {}

  std::optional<Nest> run() {
    for (const Band& chain : loop_chains(nest_)) {
      if (chain.statements.size() > kMostStatements) continue;
      const std::vector<const Node*>& path = paths_[chain.statements.front()];
      for (std::size_t inner = 1; inner < path.size(); ++inner)
        for (std::size_t outer = 0; outer < inner; ++outer)
          if (may_be_split(path, inner, outer, chain)) {
            splits_.push_back({path[inner], path[outer]->iterator});
            break;
          }
    }
    if (splits_.empty()) return std::nullopt;
    Region region = nest_.region();
    region.body = rewritten(nest_.region().body);
    int number = 0;
    renumber(region.body, number);
    region.statements = number;
    return Nest::analyse(std::move(region), nest_.sizes());
  }

 private:
  bool may_be_split(const std::vector<const Node*>& path, std::size_t inner, std::size_t outer,
                    const Band& chain) const {
    const Node &loop = *path[inner], &around = *path[outer];
    if (!rises(loop) || !rises(around) || loop.comparison != around.comparison ||
        !(loop.first == around.first) || !(loop.limit == around.limit))
      return false;
    for (const Node* one : path)
      if (names(loop.first, one->iterator) || names(loop.limit, one->iterator)) return false;
    // All that is in the loop is in the chain.
    for (const Statement& statement : nest_.statements()) {
      const std::vector<const Node*>& other = paths_[statement.number];
      const bool inside = std::ranges::find(other, &loop) != other.end();
      const bool known = std::ranges::find(chain.statements, statement.number) != chain.statements.end();
      if (inside != known) return false;
    }
    return depends_through_one(chain, static_cast<int>(inner), static_cast<int>(outer));
  }

  /// Whether there are iterations of the loop that depend on each other, all with that of the loop around.
  bool depends_through_one(const Band& chain, int inner, int outer) const {
    const Polyhedra& polyhedra = nest_.polyhedra();
    return with_isl(polyhedra, [&] {
      bool any = false;
      for (const DependenceRelation& relation : polyhedra.dependences) {
        const auto in_chain = [&](int s) {
          return std::ranges::find(chain.statements, s) != chain.statements.end();
        };
        if (!in_chain(relation.summary.source) || !in_chain(relation.summary.sink)) continue;
        isl::map pairs = relation.pairs;
        for (int l = 0; l < inner; ++l)
          pairs = isl::manage(isl_map_equate(pairs.release(), isl_dim_in, l, isl_dim_out, l));
        pairs = isl::manage(isl_map_subtract(
            pairs.copy(), isl_map_equate(pairs.copy(), isl_dim_in, inner, isl_dim_out, inner)));
        if (pairs.is_empty()) continue;
        any = true;
        for (const isl_dim_type side : {isl_dim_in, isl_dim_out})
          pairs = isl::manage(
              isl_map_subtract(pairs.copy(), isl_map_equate(pairs.copy(), side, inner, side, outer)));
        if (!pairs.is_empty()) return false;
      }
      return any;
    });
  }

  Node rewritten(const Node& node) const {
    Node result = node;
    result.children.clear();
    for (const Node& child : node.children) {
      const auto split = std::ranges::find(splits_, &child, &Split::loop);
      Node whole = rewritten(child);
      if (split == splits_.end()) {
        result.children.push_back(std::move(whole));
        continue;
      }
      const Expression at = Expression::name(split->at);
      Node before = whole, after = whole;
      before.comparison = "<";
      before.limit = at;
      after.first = plus(at, 1);
      result.children.push_back(std::move(before));
      for (Node& one : whole.children) {
        put(one, {{whole.iterator, at}});
        result.children.push_back(std::move(one));
      }
      result.children.push_back(std::move(after));
    }
    return result;
  }

  static void put(Node& node, const std::map<std::string, Expression>& values) {
    for (Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
      *e = substitute(std::move(*e), values);
    for (Node& child : node.children) put(child, values);
  }

  static void renumber(Node& node, int& number) {
    if (node.kind == Node::Kind::assignment) node.statement = number++;
    for (Node& child : node.children) renumber(child, number);
  }

  const Nest& nest_;
  std::vector<std::vector<const Node*>> paths_;
  std::vector<Split> splits_;
};

}  // namespace

std::optional<Nest> with_split_loops(const Nest& nest) { return Splits(nest).run(); }

}  // namespace warploom::tile
