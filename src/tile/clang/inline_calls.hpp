#pragma once

#include <optional>

#include "tile/clang/translate.hpp"

namespace warploom::tile {

/// A function in which the statements within one of its loops that only call functions of the same file are
/// their bodies: parameters become variables that hold the arguments. Calls whose value is used stay, and
/// those of functions that return within.
/// @param loop  of `function`
/// @return nothing if there is no such call; `loop` is then the loop in the result
struct Inlined {
  Syntax function;
  const Syntax* loop = nullptr;
};
std::optional<Inlined> with_calls_inlined(const SourceFile& file, const Syntax& function, const Syntax& loop);

}  // namespace warploom::tile
