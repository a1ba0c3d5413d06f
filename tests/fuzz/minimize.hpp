#pragma once

#include <functional>
#include <string>

namespace warploom::fuzz {

/// Reduces a text to a small one for which `fails` still holds, by delta debugging (Zeller & Hildebrandt,
/// "Simplifying and isolating failure-inducing input", 2002): first whole lines are left out, many at once
/// and then few, then what stands in a line is made simpler: guards and qualifiers go, numbers become
/// smaller, registers become constants or older registers. Repeated until nothing more can be left out. The
/// result is minimal in that no line of it can go alone.
/// @param fails  deterministic; asked some thousand times for a text of some hundred lines
/// @pre fails(text)
std::string minimize_text(std::string text, const std::function<bool(const std::string&)>& fails);

}  // namespace warploom::fuzz
