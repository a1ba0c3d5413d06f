#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Whether the name stands in an expression, as a variable's or an array's.
bool mentions(const Expression& expression, const std::string& name);
/// Or anywhere in a tree.
bool mentions(const Node& node, const std::string& name);

/// Each assignment beside each mention of the same variable: what may depend on each other.
std::size_t pairs_of_mentions(const Region& region);

/// What a sequence of statements does with a variable that holds nothing when it begins.
enum class FirstUse {
  none,     ///< it may read nothing that it has not written
  written,  ///< the same, and it has written it at its end in any case
  read,     ///< it may read what it has not written
};
FirstUse first_use(const std::vector<Node>& statements, const std::string& name);

}  // namespace warploom::tile
