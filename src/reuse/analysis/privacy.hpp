#pragma once

#include <string>
#include <vector>

#include "reuse/analysis/liveness.hpp"

namespace warploom::reuse {

/// Why an object could not be proved private to a loop: for the report.
struct NotPrivate {
  std::uint32_t object = 0;
  std::uint32_t loop = 0;
  Reason reason;
};

/// Dead points at the heads of loops whose iterations each write what they read, outer loops first.
/// The rule and why it holds are in docs/design/0002-soundness.md ("iteration-private"). It rests on the
/// kernel reading no uninitialised shared memory, so there are none under Kernel::strict.
std::vector<DeadPoint> find_iteration_private(const Kernel& kernel, std::vector<NotPrivate>& failures);

}  // namespace warploom::reuse
