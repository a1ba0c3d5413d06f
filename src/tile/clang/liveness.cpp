#include "tile/clang/liveness.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "tile/clang/survey.hpp"

namespace warploom::tile {
namespace {

/// What a piece of code does first with a variable.
enum class First {
  nothing,
  writes,  ///< whatever way is taken, it gets a new value before any read
  reads,   ///< it may be read
};

bool has_jumps(const Syntax& node);

class FirstUse {
 public:
  explicit FirstUse(const std::string& key) : key_(key) {}

  First of(const Syntax& node) const {
    // In what order jumps take its parts is not asked.
    if (node.is("CompoundStmt") && has_jumps(node)) return mentions(node) ? First::reads : First::nothing;
    if (node.is("VarDecl")) {
      const First value = in_order(node.children.begin(), node.children.end());
      return value == First::nothing && node.id == key_ ? First::writes : value;
    }
    if (node.is("BinaryOperator") && node.operation == "=" && node.children.size() == 2) {
      const First value = of(node.children[1]);
      if (value != First::nothing) return value;
      const Syntax& target = bare(node.children[0]);
      const bool variable = target.is("DeclRefExpr") || target.is("MemberExpr");
      return variable && key_of(target) == key_ ? First::writes : of(target);
    }
    if (node.is("DeclRefExpr") || node.is("MemberExpr")) {
      const std::string key = key_of(node);
      // A structure as a whole is all of its members.
      if (key == key_ || (node.is("DeclRefExpr") && key_.starts_with(key + "."))) return First::reads;
      if (!key.empty()) return First::nothing;
    }
    if (node.is("IfStmt") && !node.has_init) return choice(node, node.has_else ? 3 : 2);
    if (node.is("ConditionalOperator")) return choice(node, 3);
    const bool maybe = node.operation == "&&" || node.operation == "||";
    if (node.is("BinaryOperator") && maybe && node.children.size() == 2) {
      const First left = of(node.children[0]);
      return left != First::nothing ? left : perhaps(of(node.children[1]));
    }
    if (node.is("ForStmt") && node.children.size() == 5) {
      const First init = of(node.children[0]);
      if (init != First::nothing) return init;
      const First condition = of(node.children[2]);
      if (condition != First::nothing) return condition;
      const First body = of(node.children[4]);
      return perhaps(body != First::nothing ? body : of(node.children[3]));
    }
    if (node.is("DoStmt")) return perhaps(in_order(node.children.begin(), node.children.end()));
    if (node.is("WhileStmt") && !node.children.empty()) {
      const First condition = of(node.children[0]);
      return condition != First::nothing ? condition
                                         : perhaps(in_order(node.children.begin() + 1, node.children.end()));
    }
    if (node.is("SwitchStmt") || node.is("CXXForRangeStmt") || node.is("LambdaExpr") || node.is("CXXTryStmt"))
      return mentions(node) ? First::reads : First::nothing;
    return in_order(node.children.begin(), node.children.end());
  }

  template <class Iterator>
  First in_order(Iterator begin, Iterator end) const {
    for (; begin != end; ++begin)
      if (const First first = of(*begin); first != First::nothing) return first;
    return First::nothing;
  }

  bool mentions(const Syntax& node) const {
    return ((node.is("DeclRefExpr") || node.is("MemberExpr")) && key_of(node) == key_) ||
           std::ranges::any_of(node.children, [&](const Syntax& child) { return mentions(child); });
  }

 private:
  static First perhaps(First first) { return first == First::writes ? First::nothing : first; }

  First choice(const Syntax& node, std::size_t parts) const {
    if (node.children.size() < parts) return mentions(node) ? First::reads : First::nothing;
    const First condition = of(node.children[0]);
    if (condition != First::nothing) return condition;
    const First yes = of(node.children[1]), no = parts == 3 ? of(node.children[2]) : First::nothing;
    if (yes == First::reads || no == First::reads) return First::reads;
    return yes == no ? yes : First::nothing;
  }

  const std::string& key_;
};

bool has_jumps(const Syntax& node) {
  return node.is("GotoStmt") || node.is("LabelStmt") || node.is("IndirectGotoStmt") ||
         node.is("CXXTryStmt") || std::ranges::any_of(node.children, has_jumps);
}

void collect_jumps(const Syntax& node, std::multiset<std::string>& jumps, std::set<std::string>& labels) {
  if (node.is("GotoStmt")) jumps.insert(node.target);
  if (node.is("LabelStmt")) labels.insert(node.id);
  for (const Syntax& child : node.children) collect_jumps(child, jumps, labels);
}

/// Whether a statement's jumps stay in it, and none from outside leads there.
bool keeps_jumps(const Syntax& node, const Syntax& function) {
  std::multiset<std::string> inside, all;
  std::set<std::string> labels, every;
  collect_jumps(node, inside, labels);
  collect_jumps(function, all, every);
  return std::ranges::all_of(inside, [&](const std::string& to) { return labels.count(to) > 0; }) &&
         std::ranges::all_of(
             labels, [&](const std::string& label) { return inside.count(label) == all.count(label); });
}

bool has_other_jumps(const Syntax& node) {
  return node.is("IndirectGotoStmt") || node.is("CXXTryStmt") ||
         std::ranges::any_of(node.children, has_other_jumps);
}

/// A loop that may be left, or begun anew, in its middle.
bool has_exits(const Syntax& node, bool in_inner = false) {
  if (node.is("BreakStmt") || node.is("ContinueStmt")) return !in_inner;
  const bool inner = in_inner || is_loop(node);
  return std::ranges::any_of(node.children, [&](const Syntax& child) { return has_exits(child, inner); });
}

/// Declared by the statements themselves, and spoken of nowhere else.
bool is_private(const Syntax& function, const std::string& key, std::size_t first, std::size_t last) {
  bool declared = false;
  const auto only_there = [&](auto&& self, const Syntax& node) -> bool {
    const bool inside = node.first >= first && node.first <= last;
    if (node.is("VarDecl") && node.id == key) declared = inside;
    if (!inside && (node.is("DeclRefExpr") || node.is("MemberExpr")) && key_of(node) == key) return false;
    return std::ranges::all_of(node.children, [&](const Syntax& child) { return self(self, child); });
  };
  return only_there(only_there, function) && declared;
}

enum class Fate { read, dead, open };  // open: it may still be read further out

Fate fate_of(First first) {
  return first == First::reads ? Fate::read : first == First::writes ? Fate::dead : Fate::open;
}

/// After an iteration of a loop: the next one, or what follows the loop.
Fate after_iteration(const Syntax& loop, const FirstUse& use) {
  std::vector<const Syntax*> order;
  if (loop.is("ForStmt") && loop.children.size() == 5)
    order = {&loop.children[3], &loop.children[2], &loop.children[4]};
  else if (loop.is("WhileStmt") && !loop.children.empty())
    order = {&loop.children.front(), &loop.children.back()};
  else if (loop.is("DoStmt") && loop.children.size() == 2)
    order = {&loop.children[1], &loop.children[0]};
  else
    return Fate::read;
  for (const Syntax* part : order) {
    const Fate fate = fate_of(use.of(*part));
    if (fate == Fate::read) return fate;
    // A body that sets it is not run where the loop ends; a step or a condition is.
    if (fate == Fate::dead) return part == order.back() ? Fate::open : Fate::dead;
  }
  return Fate::open;
}

Fate after(const Syntax& node, const Syntax& function, const FirstUse& use, std::size_t first,
           std::size_t last) {
  const auto inside = std::ranges::find_if(
      node.children, [&](const Syntax& child) { return child.first <= first && first <= child.last; });
  if (inside == node.children.end()) return Fate::open;
  const bool here = inside->first == first && inside->last <= last;
  for (const Syntax& child : node.children)
    if (has_jumps(child) && !keeps_jumps(child, function)) return Fate::read;
  Fate fate = here ? Fate::open : after(*inside, function, use, first, last);
  if (fate == Fate::open && node.is("CompoundStmt")) {
    const auto next =
        std::find_if(inside, node.children.end(), [&](const Syntax& child) { return child.first > last; });
    fate = fate_of(use.in_order(next, node.children.end()));
  }
  // A jump may go past what sets it.
  if (node.is("SwitchStmt") ||
      (is_loop(node) && has_exits(node.children.empty() ? node : node.children.back())))
    return Fate::read;
  return fate == Fate::open && is_loop(node) ? after_iteration(node, use) : fate;
}

}  // namespace

bool is_aliased(const Syntax& node, const std::string& key) {
  const bool address = node.is("UnaryOperator") && node.operation == "&" && node.children.size() == 1 &&
                       key_of(node.children[0]) == key;
  const bool reference = node.is("VarDecl") && node.type.ends_with("&") && node.children.size() == 1 &&
                         key_of(node.children[0]) == key;
  return address || reference ||
         std::ranges::any_of(node.children, [&](const Syntax& child) { return is_aliased(child, key); });
}

bool is_read_after(const Syntax& function, const std::string& key, std::size_t first, std::size_t last) {
  const FirstUse use(key);
  if (is_private(function, key, first, last)) return false;
  if (has_other_jumps(function) || is_aliased(function, key)) return use.mentions(function);
  return after(function, function, use, first, last) == Fate::read;
}

bool needs_value(const std::vector<const Syntax*>& statements, const std::string& key) {
  const FirstUse use(key);
  for (const Syntax* statement : statements) {
    const First first = use.of(*statement);
    if (first != First::nothing) return first == First::reads;
  }
  return false;
}

}  // namespace warploom::tile
