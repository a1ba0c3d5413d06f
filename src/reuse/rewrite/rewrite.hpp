#pragma once

#include <string>
#include <vector>

#include "reuse/rewrite/plan.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/reuse/check.hpp"

namespace warploom::reuse {

/// The pool's symbol: unique in the module, derived from the kernel's.
std::string pool_name(const ptx::Module& module, const ptx::Function& kernel);

/// The edits that carry out a plan. With `dynamic` the pool is an `extern .shared` array that the launch
/// sizes; with `promise_block` the kernel's `.maxntid` becomes `.reqntid` of Kernel::block.
/// With `carving` the plan's formulas count: the kernel reckons them at its entry (carve.hpp).
/// @return where each object went, for the independent check
std::vector<PoolEntry> rewrite(const Kernel& kernel, const Plan& plan, bool dynamic, bool promise_block,
                               ptx::Edits& edits, const Carving* carving = nullptr);

}  // namespace warploom::reuse
