#include "warploom/core/demangle.hpp"

#include <cxxabi.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace warploom {
namespace {

/// What the Itanium demangler says; nothing for a name that it does not know.
std::optional<std::string> itanium(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || !text) return std::nullopt;
  return std::string(text.get());
}

/// nvcc -rdc: "__nv_static_25_" + 25 characters that stand for the file + "_" + the symbol.
std::string_view without_file_prefix(std::string_view symbol) {
  constexpr std::string_view kPrefix = "__nv_static_";
  if (!symbol.starts_with(kPrefix)) return symbol;
  const std::string_view rest = symbol.substr(kPrefix.size());
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc{} || length > rest.size() || digits + length + 2 > rest.size()) return symbol;
  return rest.substr(digits + length + 2);
}

/// Removes the namespaces "_INTERNAL_...::" that nvcc wraps around symbols with internal linkage.
void remove_internal_namespace(std::string& text) {
  constexpr std::string_view kPrefix = "_INTERNAL_";
  for (std::size_t at = 0; (at = text.find(kPrefix, at)) != std::string::npos;) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    if (text.compare(end, 2, "::") == 0)
      text.erase(at, end + 2 - at);
    else
      at = end;
  }
}

bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// Calls `visit(position)` for the characters of a declaration that stand in no bracket; an opening
/// bracket itself counts as outside. The symbols after `operator` are no brackets.
void outside_brackets(std::string_view text, const std::function<void(std::size_t)>& visit) {
  constexpr std::string_view kKeyword = "operator";
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_operator =
        text.substr(at).starts_with(kKeyword) && (at == 0 || !in_identifier(text[at - 1]));
    if (is_operator) {
      at += kKeyword.size();
      if (text.substr(at).starts_with("()")) at += 2;
      while (at < text.size() && std::string_view("<>=-").find(text[at]) != std::string_view::npos) ++at;
      if (at == text.size()) return;
    }
    const char c = text[at];
    if (depth == 0) visit(at);
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
  }
}

/// Position of the last "::" outside brackets; npos if there is none.
std::size_t last_scope(std::string_view text) {
  std::size_t found = std::string_view::npos;
  outside_brackets(text, [&](std::size_t at) {
    if (text.substr(at).starts_with("::")) found = at;
  });
  return found;
}

/// "void ns::demo<256>(int*) const" -> "ns::demo<256>"; `called` puts "()" in place of the parameters.
std::string bare_function(std::string_view declaration, bool called) {
  std::size_t begin = 0, parameters = std::string_view::npos;
  outside_brackets(declaration, [&](std::size_t at) {
    const bool opens = declaration[at] == '(';
    // "(anonymous namespace)::" and the "(int)#1}" of a lambda are no parameter lists of this function.
    if (opens && !declaration.substr(at).starts_with("(anonymous namespace)")) parameters = at;
    if (declaration[at] == ' ' && parameters == std::string_view::npos) begin = at + 1;
  });
  if (parameters == std::string_view::npos) return std::string(declaration);
  return std::string(declaration.substr(begin, parameters - begin)) + (called ? "()" : "");
}

}  // namespace

std::string demangle(std::string_view symbol) {
  const std::string_view bare = without_file_prefix(symbol);
  std::string text = itanium(bare).value_or(std::string(itanium(symbol) ? symbol : bare));
  remove_internal_namespace(text);
  return text.empty() ? std::string(symbol) : text;
}

std::string function_name(std::string_view symbol) { return bare_function(demangle(symbol), false); }

std::vector<std::string> object_names(std::span<const std::string> symbols) {
  // Three spellings of each, ever longer; the first that no other object shares is taken.
  struct Spellings {
    std::string in_order[3];
  };
  std::vector<Spellings> spellings;
  std::map<std::string, int> seen[3];
  for (const std::string& symbol : symbols) {
    std::string full = demangle(symbol);
    const std::size_t scope = last_scope(full);
    // Only a function's own variable has "_ZZ"; a namespace stays part of the name.
    const bool local = without_file_prefix(symbol).starts_with("_ZZ") && scope != std::string::npos;
    const std::string name = local ? full.substr(scope + 2) : full;
    const std::string qualified = local ? bare_function(full.substr(0, scope), true) + "::" + name : full;
    spellings.push_back({{name, qualified, full}});
    for (int i = 0; i < 3; ++i) ++seen[i][spellings.back().in_order[i]];
  }
  std::vector<std::string> names;
  std::map<std::string, int> numbered;
  for (const Spellings& of : spellings) {
    int i = 0;
    while (i < 3 && seen[i].at(of.in_order[i]) > 1) ++i;
    if (i < 3) {
      names.push_back(of.in_order[i]);
      continue;
    }
    // One function's two variables of one name: the shortest spelling that only they have, and a number.
    i = 0;
    while (i < 2 && seen[i].at(of.in_order[i]) > seen[2].at(of.in_order[2])) ++i;
    const std::string& base = of.in_order[i];
    names.push_back(base + "#" + std::to_string(++numbered[base]));
  }
  return names;
}

}  // namespace warploom
