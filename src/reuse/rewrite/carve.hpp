#pragma once

#include "reuse/analysis/carving.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

/// Registers that the rewriter adds begin with this.
inline constexpr std::string_view kAddedRegister = "%warploom_";

/// Edits that move the parts of the dynamic array as a plan's formulas say: at its entry the kernel reckons
/// by how much each part moves, or 0 for all of them where a parameter that the proof reckons with lies
/// outside 0 ... DynamicFormula::kMostParameter; each access of a part that moves adds that to its address.
void move_by_launch(const Kernel& kernel, const Carving& carving, const CarvedPlan& plan, ptx::Edits& edits);

}  // namespace warploom::reuse
