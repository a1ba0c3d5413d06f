#pragma once

#include "sim/form.hpp"
#include "sim/step.hpp"

namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {

/// The forms of .approx and .full of f32 and f64; nullptr: not one. See floating() in lanes.hpp.
Handler approximate(const Form& form);

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
