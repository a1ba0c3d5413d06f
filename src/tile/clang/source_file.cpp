#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "tile/clang/translate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kLongestQuote = 60;  // characters of the source in a message

bool has_body(const Syntax& function) {
  return std::ranges::any_of(function.children, [](const Syntax& c) { return c.is("CompoundStmt"); });
}

/// A template whose parameters have no values yet.
bool is_dependent(const Syntax& node) {
  if (node.type.find("<dependent type>") != std::string::npos) return true;
  return node.kind.starts_with("CXXDependentScope") || node.is("UnresolvedLookupExpr") ||
         std::ranges::any_of(node.children, is_dependent);
}

std::string as_identifier(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace

SourceFile::SourceFile(const Translation& of) : translation(of), records(of) { visit(of.root, "", false); }

void SourceFile::visit(const Syntax& node, const std::string& scope, bool instance) {
  static const std::set<std::string_view> kFunctions{"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl",
                                                     "CXXDestructorDecl", "CXXConversionDecl"};
  if (kFunctions.count(node.kind)) {
    if (!has_body(node) || is_dependent(node)) return;
    by_id_[node.id] = &node;
    by_name_[node.name] = &node;
    names_[node.id] = as_identifier(scope + node.name);
    functions.push_back(&node);
    if (instance) instances_.insert(&node);
    return;
  }
  if (node.is("VarDecl")) {
    globals_[node.id] = &node;
    return;
  }
  if (node.is("EnumDecl")) {
    std::int64_t next = 0;
    for (const Syntax& child : node.children) {
      if (!child.is("EnumConstantDecl")) continue;
      if (!child.children.empty() && !child.children[0].value.empty()) {
        const std::string& digits = child.children[0].value;
        std::from_chars(digits.data(), digits.data() + digits.size(), next);
      }
      enumerators_[child.id] = next;
      next = static_cast<std::int64_t>(static_cast<std::uint64_t>(next) + 1);  // behind the largest: wraps
    }
    return;
  }
  if (node.is("FunctionTemplateDecl") || node.is("ClassTemplateDecl")) {
    // The pattern comes first; what is read are its instances.
    bool pattern = true;
    for (const Syntax& child : node.children) {
      const bool declares = kFunctions.count(child.kind) > 0 || child.is("CXXRecordDecl");
      if (declares && pattern) {
        pattern = false;
        continue;
      }
      visit(child, scope, true);
    }
    return;
  }
  if (node.is("ClassTemplatePartialSpecializationDecl")) return;
  const bool names = node.is("CXXRecordDecl") || node.is("ClassTemplateSpecializationDecl");
  const std::string inner = names && !node.name.empty() ? scope + node.name + "_" : scope;
  static const std::set<std::string_view> kScopes{"TranslationUnitDecl",
                                                  "NamespaceDecl",
                                                  "LinkageSpecDecl",
                                                  "CXXRecordDecl",
                                                  "ClassTemplateSpecializationDecl",
                                                  "ExportDecl"};
  if (kScopes.count(node.kind))
    for (const Syntax& child : node.children)
      visit(child, inner, instance || node.is("ClassTemplateSpecializationDecl"));
}

const Syntax* SourceFile::definition(const Syntax& callee) const {
  if (const auto found = by_id_.find(callee.target); found != by_id_.end()) return found->second;
  // What is called may be another declaration of it.
  const auto found = by_name_.find(callee.name);
  const bool same =
      found != by_name_.end() && callee.is("DeclRefExpr") && found->second->type == callee.target_type;
  return same ? found->second : nullptr;
}

const Syntax* SourceFile::global(const std::string& id) const {
  const auto found = globals_.find(id);
  return found == globals_.end() ? nullptr : found->second;
}

std::optional<std::int64_t> SourceFile::enumerator(const std::string& id) const {
  const auto found = enumerators_.find(id);
  return found == enumerators_.end() ? std::nullopt : std::optional(found->second);
}

const std::string& SourceFile::whole_text(int file) const {
  const auto [entry, fresh] = texts_.try_emplace(file);
  if (fresh && file >= 0) {
    try {
      entry->second = read_file(translation.files[static_cast<std::size_t>(file)]);
    } catch (const BadInput&) {  // what the tree says has to do
    }
  }
  return entry->second;
}

std::string_view SourceFile::text(const Syntax& node) const {
  if (node.in_macro || node.file < 0 || node.end <= node.begin) return {};
  const std::string_view whole = whole_text(node.file);
  return node.end > whole.size() ? std::string_view() : whole.substr(node.begin, node.end - node.begin);
}

std::string SourceFile::name(const Syntax& function) const {
  const auto found = names_.find(function.id);
  return found == names_.end() ? as_identifier(function.name) : found->second;
}

std::string SourceFile::construct(const Syntax& node) const {
  static const std::map<std::string_view, std::string_view> kNames{
      {"WhileStmt", "while loop"},
      {"DoStmt", "do loop"},
      {"GotoStmt", "goto"},
      {"BreakStmt", "break"},
      {"ContinueStmt", "continue"},
      {"ReturnStmt", "return"},
      {"SwitchStmt", "switch"},
      {"LabelStmt", "label"},
      {"CXXForRangeStmt", "for over a range"},
      {"GCCAsmStmt", "assembly"},
      {"CXXTryStmt", "try"},
      {"CXXThrowExpr", "throw"},
      {"StringLiteral", "string literal"},
      {"LambdaExpr", "lambda"},
      {"CXXNewExpr", "new"},
      {"CXXDeleteExpr", "delete"},
      {"InitListExpr", "list of values"},
      {"CXXConstructExpr", "constructor"},
      {"CXXThisExpr", "this"},
      {"CompoundLiteralExpr", "compound literal"},
      {"StmtExpr", "statement within an expression"},
      {"CXXOperatorCallExpr", "overloaded operator"},
      {"CallExpr", "call"},
      {"CXXMemberCallExpr", "call"},
      {"VAArgExpr", "va_arg"},
      {"AtomicExpr", "atomic operation"}};
  if (const auto found = kNames.find(node.kind); found != kNames.end()) return std::string(found->second);
  const std::string_view words = text(node);
  const bool short_line = !words.empty() && words.size() <= kLongestQuote && words.find('\n') == words.npos;
  return short_line ? std::string(words) : "construct";
}

}  // namespace warploom::tile
