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
  bool simply = false;  ///< the write is a whole statement `x = value`, or x's declaration
  bool steps = false;   ///< the write adds to what it was: `x++`, `x += value`
};

/// All mentions of variables, and of members of structures, in a function.
class Survey {
 public:
  explicit Survey(const Syntax& function);

  /// In the order of the text. @param key  as key_of() has it
  const std::vector<Use>& uses(const std::string& key) const;
  bool written(const std::string& key, std::size_t first, std::size_t last) const;
  /// The same of a structure or one of its members, but for one write.
  bool written_within(const std::string& key, std::size_t first, std::size_t last, std::size_t but) const;
  const Syntax* declaration(const std::string& id) const;
  const std::vector<const Syntax*>& declarations() const { return in_order_; }
  /// Variables that are mentioned where this one gets a value.
  const std::set<std::string>& sources(const std::string& id) const;
  /// Variables that the first part of some `for` within assigns.
  std::vector<std::string> iterators(std::size_t first, std::size_t last) const;

 private:
  void walk(const Syntax& node, bool whole_statement);
  void add(const Syntax& lvalue, bool reads, bool writes, bool simply, bool steps = false);
  void children(const Syntax& node, bool whole_statements);

  std::map<std::string, std::vector<Use>> uses_;
  std::map<std::string, const Syntax*> declarations_;
  std::vector<const Syntax*> in_order_;
  std::map<std::string, std::set<std::string>> sources_;
  std::vector<std::pair<std::size_t, std::string>> iterators_;
};

/// What a variable, or a member of one, is known by: "0x12", "0x12.n"; of `this`: "this.n". Empty for
/// elements and other expressions.
std::string key_of(const Syntax& expression);
/// Without parentheses and what only changes how a value is looked at.
const Syntax& bare(const Syntax& expression);
/// The variable that a `for` runs over: what its first part sets; of several what condition and step speak
/// of, too; of none what step and condition speak of.
/// @return its id, or empty
std::string iterator_of(const Syntax& loop);
/// The parts of `a, b, c`, or of `int a, b`.
std::vector<const Syntax*> parts_of(const Syntax& list);
bool speaks_of(const Syntax& node, const std::string& id);
/// What a part of the first part of a `for` sets. @return empty if it is no such part
std::string set_by(const Syntax& part);
/// What assert() becomes: it says what holds, and does nothing where that is so.
bool is_assertion(const Syntax& statement);
bool is_loop(const Syntax& node);
bool has_loop(const Syntax& node);

}  // namespace warploom::tile
