#pragma once

#include <string>
#include <vector>

#include "tile/clang/syntax.hpp"

namespace warploom::tile {

/// Whether what a variable holds when statements of a function have run, those numbered from `first` to
/// `last`, may be read afterwards: further down, or by the next iteration of a loop around. A function with
/// jumps is taken to read whatever it mentions elsewhere.
/// @param key  as key_of() has it
bool is_read_after(const Syntax& function, const std::string& key, std::size_t first, std::size_t last);
/// Whether there may be other ways to a variable of a function than its name.
bool is_aliased(const Syntax& function, const std::string& key);
/// Whether statements may read what a variable held before them.
bool needs_value(const std::vector<const Syntax*>& statements, const std::string& key);

}  // namespace warploom::tile
