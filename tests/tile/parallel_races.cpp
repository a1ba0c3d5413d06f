#include "parallel_races.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace warploom::tile {
namespace {

struct Element {
  std::string variable;
  std::vector<std::int64_t> subscripts;
  auto operator<=>(const Element&) const = default;
};

struct Use {
  bool read_first = false, written = false;
};
using Uses = std::map<Element, Use>;

class Walker {
 public:
  Walker(const ParallelNest& parallel, const std::map<std::string, std::int64_t>& sizes)
      : parallel_(parallel), values_(sizes) {}

  std::string fault() {
    walk(parallel_.code);
    for (const auto& [element, is_last] : last_writes_)
      if (!is_last) report(element, "keeps what another iteration than the last one writes");
    return fault_;
  }

 private:
  struct Loop {
    const Node* node;
    bool is_last;  ///< the current iteration
  };

  void report(const Element& element, const std::string& what) {
    if (!fault_.empty()) return;
    fault_ = element.variable;
    for (const std::int64_t subscript : element.subscripts) fault_ += "[" + std::to_string(subscript) + "]";
    fault_ += " " + what;
  }

  const Privatised* privatised(const std::string& variable, int statement) const {
    for (const Privatised& p : parallel_.privatised)
      if (p.variable == variable && std::count(p.statements.begin(), p.statements.end(), statement))
        return &p;
    return nullptr;
  }

  Uses walk(const Node& node) {
    switch (node.kind) {
      case Node::Kind::loop:
        return walk_loop(node);
      case Node::Kind::assignment:
        return walk_assignment(node);
      case Node::Kind::branch:
        if (reads_memory(node.condition)) {  // as if it held
          Uses uses;
          read(node.condition, uses);
          add(uses, walk(node.children[0]));
          return uses;
        }
        if (value(node.condition)) return walk(node.children[0]);
        return node.children.size() > 1 ? walk(node.children[1]) : Uses();
      default:
        break;
    }
    return walk_children(node);
  }

  Uses walk_children(const Node& node) {
    Uses uses;
    for (const Node& child : node.children) add(uses, walk(child));
    return uses;
  }

  static void add(Uses& uses, const Uses& later) {
    for (const auto& [element, use] : later) {
      Use& entry = uses[element];
      entry.read_first = entry.read_first || (use.read_first && !entry.written);
      entry.written = entry.written || use.written;
    }
  }

  Uses walk_loop(const Node& loop) {
    std::vector<std::int64_t> iterations;
    const std::int64_t limit = value(loop.limit);
    const auto runs = [&](std::int64_t i) {
      return loop.comparison == "<"    ? i < limit
             : loop.comparison == "<=" ? i <= limit
             : loop.comparison == ">"  ? i > limit
                                       : i >= limit;
    };
    for (std::int64_t i = value(loop.first); runs(i); i += loop.step) iterations.push_back(i);
    Uses all;
    for (const std::int64_t i : iterations) {
      values_[loop.iterator] = i;
      around_.push_back({&loop, i == iterations.back()});
      const Uses uses = walk_children(loop);
      around_.pop_back();
      if (loop.parallel) compare(loop, all, uses);
      add(all, uses);
    }
    values_.erase(loop.iterator);
    return all;
  }

  void compare(const Node& loop, const Uses& before, const Uses& now) {
    for (const auto& [element, use] : now) {
      const auto other = before.find(element);
      if (other == before.end() || !(use.written || other->second.written)) continue;
      const bool is_private =
          std::any_of(parallel_.privatised.begin(), parallel_.privatised.end(), [&](const Privatised& p) {
            return p.variable == element.variable && holds(loop, p.statements) &&
                   std::count(p.loops.begin(), p.loops.end(), loop.iterator);
          });
      if (!is_private) report(element, "is touched by two iterations of " + loop.iterator);
      if (is_private && (use.read_first || other->second.read_first))
        report(element, "is private of " + loop.iterator + " and read before it is written");
    }
  }

  static bool holds(const Node& node, const std::vector<int>& statements) {
    if (node.kind == Node::Kind::assignment)
      return std::count(statements.begin(), statements.end(), node.statement);
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const Node& child) { return holds(child, statements); });
  }

  Uses walk_assignment(const Node& node) {
    Uses uses;
    read(node.value, uses);
    for (const Expression& subscript : node.target.operands) read(subscript, uses);
    if (node.op != "=") read_element(node.target, uses);
    const Element element = element_of(node.target);
    uses[element].written = true;
    const Privatised* p = privatised(element.variable, node.statement);
    if (!p) last_writes_.erase(element);  // what is kept is written here
    if (p && p->last_value)
      last_writes_[element] = std::all_of(around_.begin(), around_.end(), [&](const Loop& loop) {
        return loop.is_last || !std::count(p->loops.begin(), p->loops.end(), loop.node->iterator);
      });
    return uses;
  }

  bool reads_memory(const Expression& e) const {
    return e.kind == Expression::Kind::element ||
           (e.kind == Expression::Kind::name && !values_.count(e.text)) ||
           std::any_of(e.operands.begin(), e.operands.end(),
                       [this](const Expression& operand) { return reads_memory(operand); });
  }

  /// Elements and scalars of an expression, but for sizes and loops.
  void read(const Expression& expression, Uses& uses) {
    if (expression.kind == Expression::Kind::element ||
        (expression.kind == Expression::Kind::name && !values_.count(expression.text)))
      read_element(expression, uses);
    for (const Expression& operand : expression.operands) read(operand, uses);
  }
  void read_element(const Expression& expression, Uses& uses) {
    Use& use = uses[element_of(expression)];
    use.read_first = use.read_first || !use.written;
  }
  Element element_of(const Expression& expression) const {
    Element element{expression.text, {}};
    for (const Expression& subscript : expression.operands) element.subscripts.push_back(value(subscript));
    return element;
  }

  /// Of bounds, conditions and subscripts.
  std::int64_t value(const Expression& e) const { return value_of(e, values_); }

  const ParallelNest& parallel_;
  std::map<std::string, std::int64_t> values_;  ///< of sizes and loops
  std::vector<Loop> around_;
  std::map<Element, bool>
      last_writes_;  ///< of private variables that live on: the latest was in the last iteration
  std::string fault_;
};

}  // namespace

std::string first_race(const ParallelNest& parallel, const std::map<std::string, std::int64_t>& sizes) {
  return Walker(parallel, sizes).fault();
}

}  // namespace warploom::tile
