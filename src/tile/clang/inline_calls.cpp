#include "tile/clang/inline_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom::tile {
namespace {

constexpr std::size_t kMostInlined = 20'000;  // of what calls become
constexpr int kDeepestCall = 6;               // in one another

std::size_t count(const Syntax& node) {
  std::size_t nodes = 1;
  for (const Syntax& child : node.children) nodes += count(child);
  return nodes;
}

bool has(const Syntax& node, std::string_view kind) {
  return node.is(kind) ||
         std::ranges::any_of(node.children, [&](const Syntax& child) { return has(child, kind); });
}

void collect_declared(const Syntax& node, std::vector<std::string>& ids) {
  if (node.is("VarDecl") || node.is("ParmVarDecl")) ids.push_back(node.id);
  for (const Syntax& child : node.children) collect_declared(child, ids);
}

/// Each call has variables of its own.
void rename(Syntax& node, const std::vector<std::string>& ids, const std::string& suffix) {
  if (!node.id.empty() && std::ranges::find(ids, node.id) != ids.end()) node.id += suffix;
  if (!node.target.empty() && std::ranges::find(ids, node.target) != ids.end()) node.target += suffix;
  for (Syntax& child : node.children) rename(child, ids, suffix);
}

void renumber(Syntax& node, std::size_t& next) {
  node.first = ++next;
  for (Syntax& child : node.children) renumber(child, next);
  node.last = next;
}

class Inliner {
 public:
  Inliner(const SourceFile& file, const Syntax& caller) : file_(file), calls_{&caller} {}

  bool changed = false;

  void statements(Syntax& node) {
    for (Syntax& child : node.children) {
      const bool statement = node.is("CompoundStmt") || (node.is("IfStmt") && &child != &node.children[0]) ||
                             (node.is("ForStmt") && &child == &node.children.back());
      if (statement && child.is("CallExpr"))
        call(child);
      else
        statements(child);
    }
  }

 private:
  void call(Syntax& node) {
    if (node.children.empty() || calls_.size() > kDeepestCall) return;
    const Syntax& callee = bare(node.children[0]);
    const Syntax* function = callee.is("DeclRefExpr") ? file_.definition(callee) : nullptr;
    // Places in other files could not be told.
    if (!function || function->file != node.file || std::ranges::find(calls_, function) != calls_.end())
      return;
    Syntax body;
    std::vector<Syntax> parameters;
    for (const Syntax& child : function->children) {
      if (child.is("ParmVarDecl")) parameters.push_back(child);
      if (child.is("CompoundStmt")) body = child;
    }
    if (!body.children.empty() && body.children.back().is("ReturnStmt") &&
        body.children.back().children.empty())
      body.children.pop_back();
    if (parameters.size() + 1 != node.children.size() || has(body, "ReturnStmt") || has(body, "GotoStmt"))
      return;
    nodes_ += count(body);
    if (nodes_ > kMostInlined) return;
    Syntax block;
    block.kind = "CompoundStmt";
    block.at = node.at;
    block.file = node.file;
    std::vector<std::string> ids;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      Syntax& parameter = parameters[p];
      if (file_.type(parameter.type).is_reference()) return;
      if (parameter.name.empty()) continue;
      ids.push_back(parameter.id);
      parameter.kind = "VarDecl";
      parameter.children = {node.children[p + 1]};
    }
    collect_declared(body, ids);
    const std::string suffix = fmt::format("#{}", ++number_);
    for (Syntax& parameter : parameters) {
      if (parameter.name.empty()) continue;
      Syntax declaration;
      declaration.kind = "DeclStmt";
      declaration.at = node.at;
      declaration.file = node.file;
      parameter.id += suffix;
      declaration.children = {std::move(parameter)};
      block.children.push_back(std::move(declaration));
    }
    rename(body, ids, suffix);
    calls_.push_back(function);
    statements(body);
    calls_.pop_back();
    block.children.push_back(std::move(body));
    node = std::move(block);
    changed = true;
  }

  const SourceFile& file_;
  std::vector<const Syntax*> calls_;
  std::size_t nodes_ = 0;
  int number_ = 0;
};

Syntax* find(Syntax& node, std::size_t first) {
  if (node.first == first && is_loop(node)) return &node;
  for (Syntax& child : node.children)
    if (child.first <= first && first <= child.last)
      if (Syntax* found = find(child, first)) return found;
  return nullptr;
}

}  // namespace

std::optional<Inlined> with_calls_inlined(const SourceFile& file, const Syntax& function,
                                          const Syntax& loop) {
  Inlined result{function, nullptr};
  Syntax* copy = find(result.function, loop.first);
  if (!copy) return std::nullopt;
  Inliner inliner(file, function);
  inliner.statements(*copy);
  if (!inliner.changed) return std::nullopt;
  std::size_t next = 0;
  renumber(result.function, next);
  result.loop = copy;
  return result;
}

}  // namespace warploom::tile
