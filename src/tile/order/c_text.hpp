#pragma once

#include <map>
#include <set>
#include <string>

#include "warploom/tile/source.hpp"

/// C of what is inside of a function.
namespace warploom::tile {

/// "double sum[n];", of a variable that is no parameter. Arrays that the source does not have may be too
/// large for a stack: they come from the heap.
std::string declaration(const Variable& variable);
/// What gives its memory back: "__builtin_free(A_transposed);\n", or nothing.
std::string release(const Variable& variable);
/// Whether the variable is named where no loop around declares it.
bool needs_declaration(const Node& code, const std::string& variable);

/// What the text calls results: "(*s)".
using Renamed = std::map<std::string, Expression>;
/// Which loops are for threads, where they have enough to do (Node::condition), and which for vectors.
Node with_directives(const Region& region, Node code);
/// Loops with the directives that they need.
/// @param code  with_directives()
/// @param index  the type that they count with
/// @param wrapping  gets the reductions that reductions_text() has to declare before
std::string loops_text(const Region& region, Node code, int indentation, const std::string& index,
                       const Renamed& results, std::set<std::string>& wrapping);
/// Declarations of reductions of integers that wrap around; may stand in a block.
std::string reductions_text(const std::set<std::string>& wrapping);

}  // namespace warploom::tile
