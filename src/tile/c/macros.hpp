#pragma once

#include <map>
#include <string>
#include <vector>

#include "tile/c/lex.hpp"

namespace warploom::tile {

/// Macros that must not replace a token again, after Dave Prosser's algorithm (X3J11/86-196).
struct HideSet {
  std::string name;
  std::shared_ptr<const HideSet> rest;
  int size = 1;
};

struct Macro {
  bool function_like = false, variadic = false;
  std::vector<std::string> parameters;
  std::vector<Token> body;
};

/// The macros in force, and what they make of tokens.
class Macros {
 public:
  explicit Macros(const std::vector<std::string>& files) : files_(files) {}

  /// "NAME(x, y) body" from the tokens behind #define; `end` closes them.
  void define(const std::vector<Token>& line);
  void undefine(const std::string& name) { macros_.erase(name); }
  bool defined(const std::string& name) const { return macros_.count(name) > 0; }
  /// Appends what `in` becomes.
  void expand(std::vector<Token> in, std::vector<Token>& out);

 private:
  [[noreturn]] void fail(const Token& at, const std::string& what) const;
  using Arguments = std::vector<std::vector<Token>>;
  /// Takes "(a, b)" from the top of the stack.
  Arguments arguments(const Token& name, const Macro& macro, std::vector<Token>& stack, Token& closing) const;
  std::vector<Token> replace(const Token& name, const Macro& macro, const Arguments& arguments);
  Token paste(const Token& left, const Token& right) const;

  const std::vector<std::string>& files_;
  std::map<std::string, Macro> macros_;
  int depth_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace warploom::tile
