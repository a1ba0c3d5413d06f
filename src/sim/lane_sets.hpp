#pragma once

#include "sim/form.hpp"
#include "sim/step.hpp"

/// The lane handlers that this processor can run: see lanes/lanes.hpp.
namespace warploom::sim::lanes {

Handler integer(const Form& form);
Handler comparison(const Form& form);
Handler floating(const Form& form);
Handler half(const Form& form);
Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes);

}  // namespace warploom::sim::lanes
