#pragma once

#include <string>

#include "reuse/analysis/carving.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

/// "s[4 * param_1..8 * param_1)", in which the accesses of a part are taken to stay.
std::string assumed_bytes(const Kernel& kernel, const Carving& carving, std::size_t part);

/// Before each access that Carving::assumed() names, an assertion that it stays in its part.
void assert_assumptions(const Kernel& kernel, const Carving& carving, ptx::Edits& edits);

/// The module with such assertions.
std::string with_assertions(const std::string& text, const ptx::Edits& edits);

}  // namespace warploom::reuse
