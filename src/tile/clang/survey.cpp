#include "tile/clang/survey.hpp"

#include <algorithm>

namespace warploom::tile {

const Syntax& bare(const Syntax& expression) {
  static const std::set<std::string_view> kinds{
      "ParenExpr",        "ExprWithCleanups",     "ConstantExpr", "MaterializeTemporaryExpr",
      "ImplicitCastExpr", "CXXBindTemporaryExpr", "FullExpr"};
  const Syntax* e = &expression;
  while (kinds.count(e->kind) && e->children.size() == 1) e = &e->children[0];
  return *e;
}

std::string key_of(const Syntax& expression) {
  const Syntax& e = bare(expression);
  if (e.is("DeclRefExpr")) return e.target;
  if (e.is("CXXThisExpr")) return "this";
  if (e.is("UnaryOperator") && (e.operation == "*" || e.operation == "&") && e.children.size() == 1) {
    // (*s).n is s->n; *s of a pointer to numbers is an element
    const std::string pointer = key_of(e.children[0]);
    return pointer;
  }
  if (!e.is("MemberExpr") || e.children.size() != 1) return "";
  const std::string base = key_of(e.children[0]);
  return base.empty() ? "" : base + "." + e.name;
}

std::vector<const Syntax*> parts_of(const Syntax& list) {
  if (list.kind.empty()) return {};
  if (list.is("DeclStmt")) {
    std::vector<const Syntax*> all;
    for (const Syntax& child : list.children) all.push_back(&child);
    return all;
  }
  const Syntax& e = bare(list);
  if (!e.is("BinaryOperator") || e.operation != "," || e.children.size() != 2) return {&list};
  std::vector<const Syntax*> all = parts_of(e.children[0]);
  for (const Syntax* part : parts_of(e.children[1])) all.push_back(part);
  return all;
}

std::string set_by(const Syntax& part) {
  if (part.is("VarDecl")) return part.id;
  const Syntax& e = bare(part);
  const bool sets = e.is("BinaryOperator") && e.operation == "=" && e.children.size() == 2;
  return sets && bare(e.children[0]).is("DeclRefExpr") ? bare(e.children[0]).target : "";
}

bool speaks_of(const Syntax& node, const std::string& id) {
  return (node.is("DeclRefExpr") && node.target == id) ||
         std::ranges::any_of(node.children, [&](const Syntax& child) { return speaks_of(child, id); });
}

std::string iterator_of(const Syntax& loop) {
  if (!loop.is("ForStmt") || loop.children.size() != 5) return "";
  const std::vector<const Syntax*> parts = parts_of(loop.children[0]);
  if (parts.size() == 1) return set_by(*parts[0]);
  if (parts.empty())
    for (const Syntax* part : parts_of(loop.children[3])) {
      const Syntax& e = bare(*part);
      const std::string id = e.children.empty() ? "" : bare(e.children[0]).target;
      if (!id.empty() && speaks_of(loop.children[2], id)) return id;
    }
  for (const Syntax* part : parts)
    if (const std::string id = set_by(*part);
        !id.empty() && speaks_of(loop.children[2], id) && speaks_of(loop.children[3], id))
      return id;
  return "";
}

namespace {

bool names(const Syntax& node, std::string_view name) {
  return (node.is("DeclRefExpr") && node.name == name) ||
         std::ranges::any_of(node.children, [&](const Syntax& child) { return names(child, name); });
}

}  // namespace

bool is_assertion(const Syntax& statement) {
  return statement.type == "void" && names(statement, "__assert_fail");
}

bool is_loop(const Syntax& node) {
  return node.is("ForStmt") || node.is("WhileStmt") || node.is("DoStmt") || node.is("CXXForRangeStmt");
}

namespace {

void mentioned(const Syntax& node, std::set<std::string>& ids) {
  if (const std::string key = key_of(node); !key.empty()) ids.insert(key);
  for (const Syntax& child : node.children) mentioned(child, ids);
}

}  // namespace

bool has_loop(const Syntax& node) { return is_loop(node) || std::ranges::any_of(node.children, has_loop); }

Survey::Survey(const Syntax& function) { walk(function, true); }

const std::vector<Use>& Survey::uses(const std::string& key) const {
  static const std::vector<Use> none;
  const auto found = uses_.find(key);
  return found == uses_.end() ? none : found->second;
}

bool Survey::written(const std::string& key, std::size_t first, std::size_t last) const {
  return std::ranges::any_of(uses(key),
                             [&](const Use& use) { return use.writes && use.at >= first && use.at <= last; });
}

bool Survey::written_within(const std::string& key, std::size_t first, std::size_t last,
                            std::size_t but) const {
  for (auto found = uses_.lower_bound(key); found != uses_.end() && found->first.starts_with(key); ++found) {
    if (found->first.size() > key.size() && found->first[key.size()] != '.') continue;
    for (const Use& use : found->second)
      if (use.writes && use.at >= first && use.at <= last && use.at != but) return true;
  }
  return false;
}

const std::set<std::string>& Survey::sources(const std::string& id) const {
  static const std::set<std::string> none;
  const auto found = sources_.find(id);
  return found == sources_.end() ? none : found->second;
}

const Syntax* Survey::declaration(const std::string& id) const {
  const auto found = declarations_.find(id);
  return found == declarations_.end() ? nullptr : found->second;
}

std::vector<std::string> Survey::iterators(std::size_t first, std::size_t last) const {
  std::vector<std::string> all;
  for (const auto& [at, id] : iterators_)
    if (at >= first && at <= last) all.push_back(id);
  return all;
}

void Survey::add(const Syntax& lvalue, bool reads, bool writes, bool simply, bool steps) {
  const Syntax& e = bare(lvalue);
  if (e.is("UnaryOperator") && e.operation == "*") return;
  std::string key = key_of(e);
  if (key.empty()) return;
  uses_[key].push_back({e.first, reads, writes, simply, steps});
  // s.n is a mention of s, too
  for (std::size_t dot = key.rfind('.'); dot != key.npos; dot = key.rfind('.')) {
    key.resize(dot);
    uses_[key].push_back({e.first, true, false, false, false});
  }
}

void Survey::children(const Syntax& node, bool whole_statements) {
  for (const Syntax& child : node.children) walk(child, whole_statements);
}

void Survey::walk(const Syntax& node, bool whole_statement) {
  if (node.is("VarDecl") || node.is("ParmVarDecl")) {
    declarations_[node.id] = &node;
    in_order_.push_back(&node);
    for (const Syntax& child : node.children) mentioned(child, sources_[node.id]);
    const bool initialised = node.is("VarDecl") && !node.children.empty();
    if (initialised) {
      children(node, false);
      uses_[node.id].push_back({node.first, false, true, true, false});
    }
    return;
  }
  if (node.is("BinaryOperator") && node.operation == "," && whole_statement) return children(node, true);
  const bool assigns =
      (node.is("BinaryOperator") && node.operation == "=") || node.is("CompoundAssignOperator");
  if (assigns && node.children.size() == 2) {
    walk(node.children[1], false);
    const Syntax& target = bare(node.children[0]);
    const bool simply = node.operation == "=" && whole_statement;
    if (const std::string key = key_of(target); !key.empty()) mentioned(node.children[1], sources_[key]);
    if (!key_of(target).empty())
      add(target, node.is("CompoundAssignOperator") || !whole_statement, true, simply,
          node.operation == "+=" || node.operation == "-=");
    if (!target.is("DeclRefExpr") && !target.is("MemberExpr")) children(target, false);
    return;
  }
  if (node.is("UnaryOperator") && node.children.size() == 1 &&
      (node.operation == "++" || node.operation == "--" || node.operation == "&")) {
    const Syntax& target = bare(node.children[0]);
    if (target.is("DeclRefExpr") || target.is("MemberExpr"))
      add(target, true, true, false, node.operation != "&");
    else
      walk(target, false);
    return;
  }
  if (node.is("DeclRefExpr") || node.is("MemberExpr")) {
    add(node, true, false, false);
    if (node.is("MemberExpr") && key_of(node).empty()) children(node, false);
    return;
  }
  // What a call is given by reference it may write.
  if (node.is("CallExpr") || node.is("CXXMemberCallExpr") || node.is("CXXConstructExpr")) {
    for (const Syntax& child : node.children) {
      if ((child.is("DeclRefExpr") || child.is("MemberExpr")) && child.type.find("const") == child.type.npos)
        add(child, true, true, false);
      else
        walk(child, false);
    }
    return;
  }
  if (node.is("ForStmt") && node.children.size() == 5) {
    if (const std::string iterator = iterator_of(node); !iterator.empty())
      iterators_.emplace_back(node.first, iterator);
    walk(node.children[0], true);
    walk(node.children[2], false);
    walk(node.children[3], true);
    walk(node.children[4], true);
    return;
  }
  static const std::set<std::string_view> holders{"CompoundStmt", "IfStmt",           "WhileStmt",
                                                  "DoStmt",       "CaseStmt",         "LabelStmt",
                                                  "FunctionDecl", "ExprWithCleanups", "AttributedStmt"};
  children(node, holders.count(node.kind) > 0);
}

}  // namespace warploom::tile
