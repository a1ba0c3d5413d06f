#pragma once

#include <cfenv>

#include "sim/form.hpp"
#include "sim/step.hpp"

namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {
namespace {

/// Runs a handler in another rounding mode. What it reads and writes is memory, so that the compiler cannot
/// move its arithmetic past the calls that change the mode.
template <int kMode, Handler kRun>
void in_mode(Registers& r, const Step& s, Mask lanes) {
  std::fesetround(kMode);
  kRun(r, s, lanes);
  std::fesetround(FE_TONEAREST);
}

/// The handler, run in the rounding mode that an instruction names; nullptr: not one of floating point.
template <Handler kRun>
Handler rounded_as(Rounding rounding) {
  switch (rounding) {
    case Rounding::none:
    case Rounding::rn:
      return kRun;
    case Rounding::rz:
      return in_mode<FE_TOWARDZERO, kRun>;
    case Rounding::rm:
      return in_mode<FE_DOWNWARD, kRun>;
    case Rounding::rp:
      return in_mode<FE_UPWARD, kRun>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
