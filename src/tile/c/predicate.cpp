#include "tile/c/predicate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tile/c/mentions.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

void collect_written(const Node& node, std::set<std::string>& written) {
  if (node.kind == Node::Kind::assignment) written.insert(node.target.text);
  for (const Node& child : node.children) collect_written(child, written);
}

bool changes(const Node& node, const Expression& condition) {
  std::set<std::string> written;
  collect_written(node, written);
  return std::ranges::any_of(written, [&](const std::string& name) { return mentions(condition, name); });
}

int count_assignments(const Node& node) {
  int count = node.kind == Node::Kind::assignment;
  for (const Node& child : node.children) count += count_assignments(child);
  return count;
}

Node branch_of(Expression condition, std::vector<Node> statements, Position at) {
  Node branch;
  branch.kind = Node::Kind::branch;
  branch.at = at;
  branch.condition = std::move(condition);
  branch.children.emplace_back();
  branch.children.front().children = std::move(statements);
  return branch;
}

class Predication {
 public:
  explicit Predication(Region& region) : region_(region) {}

  void run() {
    visit(region_.body, nullptr);
    int next = 0;
    number(region_.body, next);
    region_.statements = next;
  }

 private:
  void visit(Node& node, Node* loop) {
    for (std::size_t k = 0; k < node.children.size(); ++k) {
      Node& child = node.children[k];
      if (child.kind == Node::Kind::branch && reads_data(region_, child.condition))
        k += prepare(node, k, loop);
      Node& prepared = node.children[k];
      visit(prepared, prepared.kind == Node::Kind::loop ? &prepared : loop);
    }
  }

  /// How many statements now stand before the branch.
  std::size_t prepare(Node& around, std::size_t k, Node* loop) {
    Node& branch = around.children[k];
    if (choose(branch) || (branch.children.size() == 1 && split(branch))) return 0;
    const bool one = branch.children.size() == 1 && branch.children[0].children.size() == 1 &&
                     branch.children[0].children[0].kind == Node::Kind::assignment;
    if (one || !changes(branch, branch.condition)) return 0;
    Variable kept;
    kept.name = "holds";
    for (int n = 2; find_variable(region_, kept.name) || is_taken(region_.body, kept.name) ||
                    std::ranges::count(region_.sizes, kept.name);
         ++n)
      kept.name = fmt::format("holds{}", n);
    kept.type = ScalarType::int32;
    kept.at = branch.at;
    if (loop) loop->locals.push_back(kept.name);
    Node first;
    first.kind = Node::Kind::assignment;
    first.at = branch.at;
    first.op = "=";
    first.target = Expression::name(kept.name);
    first.target.at = branch.at;
    first.value = std::move(branch.condition);
    const bool is_comparison = first.value.kind == Kind::binary &&
                               std::string("<>=!&|").find(first.value.text[0]) != std::string::npos;
    if (!is_comparison && !(first.value.kind == Kind::unary && first.value.text == "!"))
      first.value = Expression::binary("!=", std::move(first.value), Expression::integer(0));
    branch.condition = first.target;
    region_.variables.push_back(std::move(kept));
    around.children.insert(around.children.begin() + static_cast<std::ptrdiff_t>(k), std::move(first));
    return 1;
  }

  /// if (x > m) m = x;  ->  m = x > m ? x : m;
  static bool choose(Node& branch) {
    if (branch.children.size() != 1 || branch.children[0].children.size() != 1) return false;
    Node assignment = branch.children[0].children[0];
    const Expression& condition = branch.condition;
    if (assignment.kind != Node::Kind::assignment || assignment.op != "=" || condition.kind != Kind::binary ||
        (condition.text[0] != '<' && condition.text[0] != '>'))
      return false;
    const Expression &a = condition.operands[0], &b = condition.operands[1];
    const bool straight = a == assignment.value && b == assignment.target;
    const bool crossed = b == assignment.value && a == assignment.target;
    if (!straight && !crossed) return false;
    assignment.value = Expression::conditional(condition, assignment.value, assignment.target);
    Node chosen = std::move(assignment);
    branch = std::move(chosen);
    return true;
  }

  /// if (known && data) S  ->  if (known) if (data) S
  bool split(Node& branch) const {
    std::vector<Expression> parts{branch.condition}, known, data;
    for (std::size_t p = 0; p < parts.size();) {
      if (parts[p].kind == Kind::binary && parts[p].text == "&&") {
        Expression right = parts[p].operands[1], left = parts[p].operands[0];
        parts[p] = std::move(left);
        parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(p) + 1, std::move(right));
        continue;
      }
      (reads_data(region_, parts[p]) ? data : known).push_back(parts[p]);
      ++p;
    }
    if (known.empty()) return false;
    branch =
        branch_of(all_of(known), {branch_of(all_of(data), std::move(branch.children[0].children), branch.at)},
                  branch.at);
    return true;
  }

  static Expression all_of(const std::vector<Expression>& parts) {
    Expression all = parts.front();
    for (std::size_t p = 1; p < parts.size(); ++p) all = Expression::binary("&&", all, parts[p]);
    return all;
  }

  static bool is_taken(const Node& node, const std::string& name) {
    return (node.kind == Node::Kind::loop && node.iterator == name) ||
           std::ranges::any_of(node.children, [&](const Node& child) { return is_taken(child, name); });
  }

  static void number(Node& node, int& next) {
    if (node.kind == Node::Kind::assignment) node.statement = next++;
    for (Node& child : node.children) number(child, next);
  }

  Region& region_;
};

}  // namespace

bool reads_data(const Region& region, const Expression& e) {
  if (e.kind == Kind::element || (e.kind == Kind::name && find_variable(region, e.text))) return true;
  return std::ranges::any_of(e.operands, [&](const Expression& o) { return reads_data(region, o); });
}

bool depends_on_data(const Region& region, const Node& node) {
  const auto in_subscript = [&](const auto& self, const Expression& e) -> bool {
    return std::ranges::any_of(e.operands, [&](const Expression& operand) {
      return (e.kind == Kind::element && reads_data(region, operand)) || self(self, operand);
    });
  };
  if (node.kind == Node::Kind::branch && reads_data(region, node.condition)) return true;
  if (in_subscript(in_subscript, node.target) || in_subscript(in_subscript, node.value)) return true;
  return std::ranges::any_of(node.children,
                             [&](const Node& child) { return depends_on_data(region, child); });
}

void predicate(Region& region) { Predication(region).run(); }

void merge_branches(Node& tree) {
  const auto is_plain = [](const Node& n) { return n.kind == Node::Kind::branch && n.children.size() == 1; };
  for (std::size_t k = 0; k < tree.children.size(); ++k) {
    Node& first = tree.children[k];
    while (k + 1 < tree.children.size() && is_plain(first) && is_plain(tree.children[k + 1]) &&
           first.condition == tree.children[k + 1].condition && !changes(first, first.condition)) {
      std::vector<Node>& more = tree.children[k + 1].children[0].children;
      std::move(more.begin(), more.end(), std::back_inserter(first.children[0].children));
      tree.children.erase(tree.children.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
    merge_branches(tree.children[k]);
  }
}

}  // namespace warploom::tile
