#include "tile/c/mentions.hpp"

#include <algorithm>
#include <map>

namespace warploom::tile {
namespace {

FirstUse first_use(const Node& node, const std::string& name);

FirstUse of_branch(const Node& branch, const std::string& name) {
  if (mentions(branch.condition, name)) return FirstUse::read;
  bool written = branch.children.size() > 1;
  for (const Node& part : branch.children) {
    const FirstUse use = first_use(part.children, name);
    if (use == FirstUse::read) return use;
    written = written && use == FirstUse::written;
  }
  return written ? FirstUse::written : FirstUse::none;
}

FirstUse first_use(const Node& node, const std::string& name) {
  switch (node.kind) {
    case Node::Kind::block:
      return first_use(node.children, name);
    case Node::Kind::branch:
      return of_branch(node, name);
    case Node::Kind::loop: {  // it may have no iteration
      if (mentions(node.first, name) || mentions(node.limit, name)) return FirstUse::read;
      const FirstUse inside = first_use(node.children, name);
      return inside == FirstUse::read ? inside : FirstUse::none;
    }
    case Node::Kind::assignment: {
      const bool is_target = node.target.text == name;
      const bool reads =
          mentions(node.value, name) || (is_target && node.op != "=") ||
          std::ranges::any_of(node.target.operands, [&](const Expression& e) { return mentions(e, name); });
      if (reads) return FirstUse::read;
      // One element of an array is not all of it.
      return is_target && node.target.operands.empty() ? FirstUse::written : FirstUse::none;
    }
    case Node::Kind::launch:
      break;
  }
  return FirstUse::none;
}

using Counts = std::map<std::string, std::size_t>;

void count(const Expression& e, const Region& region, Counts& mentions) {
  const bool is_name = e.kind == Expression::Kind::name || e.kind == Expression::Kind::element;
  if (is_name && find_variable(region, e.text)) ++mentions[e.text];
  for (const Expression& operand : e.operands) count(operand, region, mentions);
}

void count(const Node& node, const Region& region, Counts& mentions, Counts& writes) {
  for (const Expression* e : {&node.condition, &node.target, &node.value}) count(*e, region, mentions);
  if (node.kind == Node::Kind::assignment) ++writes[node.target.text];
  for (const Node& child : node.children) count(child, region, mentions, writes);
}

}  // namespace

std::size_t pairs_of_mentions(const Region& region) {
  Counts mentions, writes;
  count(region.body, region, mentions, writes);
  std::size_t pairs = 0;
  for (const auto& [name, times] : writes) pairs += times * mentions[name];
  return pairs;
}

bool mentions(const Expression& e, const std::string& name) {
  const bool is_name = e.kind == Expression::Kind::name || e.kind == Expression::Kind::element;
  if (is_name && e.text == name) return true;
  return std::ranges::any_of(e.operands, [&](const Expression& o) { return mentions(o, name); });
}

bool mentions(const Node& node, const std::string& name) {
  const auto in = [&](const Expression& e) { return mentions(e, name); };
  return in(node.first) || in(node.limit) || in(node.condition) || in(node.target) || in(node.value) ||
         std::ranges::any_of(node.children, [&](const Node& child) { return mentions(child, name); });
}

FirstUse first_use(const std::vector<Node>& statements, const std::string& name) {
  for (const Node& node : statements)
    if (const FirstUse use = first_use(node, name); use != FirstUse::none) return use;
  return FirstUse::none;
}

}  // namespace warploom::tile
