#include "tile/order/loop_paths.hpp"

namespace warploom::tile {
namespace {

void visit(const Node& node, std::vector<const Node*> path, std::vector<std::vector<const Node*>>& paths) {
  if (node.kind == Node::Kind::loop) path.push_back(&node);
  if (node.kind == Node::Kind::assignment) paths[node.statement] = path;
  for (const Node& child : node.children) visit(child, path, paths);
}

}  // namespace

std::vector<std::vector<const Node*>> loop_paths(const Nest& nest) {
  std::vector<std::vector<const Node*>> paths(nest.statements().size());
  visit(nest.region().body, {}, paths);
  return paths;
}

std::vector<Band> loop_chains(const Nest& nest) {
  const std::vector<std::vector<const Node*>> paths = loop_paths(nest);
  std::vector<Band> all;
  for (int s = 0; s < static_cast<int>(paths.size()); ++s) {
    if (s == 0 || paths[s] != paths[s - 1]) all.push_back({nest.statements()[s].loops, {}});
    all.back().statements.push_back(s);
  }
  return all;
}

}  // namespace warploom::tile
