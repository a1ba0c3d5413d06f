#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tile/clang/syntax.hpp"

namespace warploom::tile {

/// Where a function speaks of a variable.
struct Use {
  std::size_t at = 0;  ///< Syntax::first
  bool reads = false;
  bool writes = false;
  bool simply = false;       ///< the write is a whole statement `x = value`, or x's declaration
  bool in_own_loop = false;  ///< within a `for` that gives the variable its first value
};

/// All mentions of variables, and of members of structures, in a function.
class Survey {
 public:
  explicit Survey(const Syntax& function);

  /// In the order of the text. @param key  as key_of() has it
  const std::vector<Use>& uses(const std::string& key) const;
  bool written(const std::string& key, std::size_t first, std::size_t last) const;
  const Syntax* declaration(const std::string& id) const;
  const std::vector<const Syntax*>& declarations() const { return in_order_; }
  /// Variables that are mentioned where this one gets a value.
  const std::set<std::string>& sources(const std::string& id) const;
  /// Variables that the first part of some `for` within assigns.
  std::vector<std::string> iterators(std::size_t first, std::size_t last) const;

 private:
  void walk(const Syntax& node, bool whole_statement);
  void add(const Syntax& lvalue, bool reads, bool writes, bool simply);
  void children(const Syntax& node, bool whole_statements);

  std::map<std::string, std::vector<Use>> uses_;
  std::map<std::string, const Syntax*> declarations_;
  std::vector<const Syntax*> in_order_;
  std::map<std::string, std::set<std::string>> sources_;
  std::vector<std::pair<std::size_t, std::string>> iterators_;
  std::vector<std::string> loops_;  ///< variables of the loops around
};

/// What a variable, or a member of one, is known by: "0x12", "0x12.n"; of `this`: "this.n". Empty for
/// elements and other expressions.
std::string key_of(const Syntax& expression);
/// Without parentheses and what only changes how a value is looked at.
const Syntax& bare(const Syntax& expression);
/// The first part of a `for` if it sets one variable. @return its id, or empty
std::string iterator_of(const Syntax& loop);
/// What assert() becomes: it says what holds, and does nothing where that is so.
bool is_assertion(const Syntax& statement);
bool is_loop(const Syntax& node);
bool has_loop(const Syntax& node);

}  // namespace warploom::tile
