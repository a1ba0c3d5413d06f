#include "tile/kernels/split_tree.hpp"

#include <algorithm>

#include "tile/kernels/affine.hpp"

namespace warploom::tile {

Node ParallelTree::around(std::vector<Node> statements) const {
  std::vector<Node> inside = std::move(statements);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    Node tree = *loop;
    tree.children.swap(inside);
    inside.clear();
    inside.push_back(std::move(tree));
  }
  return inside.front();
}

ParallelTree parallel_tree(const Node& tree) {
  ParallelTree result;
  for (const Node* node = &tree;; node = &node->children.front()) {
    result.loops.push_back(*node);
    result.loops.back().children.clear();
    if (node->children.size() == 1 && node->children.front().kind == Node::Kind::loop &&
        node->children.front().parallel)
      continue;
    result.body = node->children;
    return result;
  }
}

std::vector<Node>::const_iterator sequential_loop(const ParallelTree& tree) {
  auto found = tree.body.end();
  for (auto node = tree.body.begin(); node != tree.body.end(); ++node) {
    if (node->kind == Node::Kind::assignment) continue;
    if (found != tree.body.end() || !counts_up(*node) || node->parallel) return tree.body.end();
    found = node;
  }
  if (found == tree.body.end()) return found;
  for (const Node& loop : tree.loops)
    if (depends_on(found->first, loop.iterator) || depends_on(found->limit, loop.iterator))
      return tree.body.end();
  return found;
}

bool counts_up(const Node& node) {
  return node.kind == Node::Kind::loop && node.step == 1 &&
         (node.comparison == "<" || node.comparison == "<=");
}

Node strip(Node loop, Expression first, Expression limit) {
  loop.first = std::move(first);
  loop.limit = std::move(limit);
  loop.comparison = std::string(1, '<');
  return loop;
}

}  // namespace warploom::tile
