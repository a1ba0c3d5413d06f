#pragma once

#include <string>

#include "warploom/tile/source.hpp"

/// C of what is inside of a function.
namespace warploom::tile {

/// "double sum[n];", of a variable that is no parameter. Arrays that the source does not have may be too
/// large for a stack: they come from the heap.
std::string declaration(const Variable& variable);
/// What gives its memory back: "__builtin_free(A_transposed);\n", or nothing.
std::string release(const Variable& variable);
/// Loops with the directives that they need.
/// @param index  the type that they count with
std::string loops_text(const Node& code, int indentation, const std::string& index);

}  // namespace warploom::tile
