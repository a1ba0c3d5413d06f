#pragma once

#include <vector>

#include "reuse/analysis/liveness.hpp"

namespace warploom::reuse {

/// A point where an object could be dead, and why that was not proved: for the report.
struct NotCovered {
  std::uint32_t object = 0;
  std::uint32_t instruction = 0;  ///< the point lies before it
  Reason reason;
};

/// Dead points after which every byte that is read has been stored first, by the reading thread or, with a
/// block-wide barrier between, by any thread: heads of loops, and places just before an array is filled.
/// Only points where the object lives with the dead points `known` are tried; the result does not repeat
/// them. With Kernel::block the addresses and guards of all threads are evaluated; without it, or where some
/// threads may have left the kernel while others go on, a thread is only seen to read what it wrote itself.
/// Rests on no assumption about undefined reads, so it holds under Kernel::strict too. Cost: at most
/// 3 million evaluations a kernel; of 154 kernels of CUDA programs with .maxntid as block the slowest took
/// 57 ms, all together 1.2 s.
std::vector<DeadPoint> find_covered(const Kernel& kernel, const std::vector<DeadPoint>& known,
                                    std::vector<NotCovered>& failures);

}  // namespace warploom::reuse
