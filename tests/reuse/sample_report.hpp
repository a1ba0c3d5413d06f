#pragma once

#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse::sample {

/// Reports as the optimiser would fill them, written by hand, for the tests of what prints them.

/// Block sort, scan and reduce, each with its TempStorage: 9280, 1184 and 44 bytes, all sharing one
/// partition; one barrier inserted, one found.
KernelReport cub();
/// 13 arrays of 3072 bytes in six partitions.
KernelReport curvature();
/// Refused because of a cluster instruction, with one array.
KernelReport refused();
/// Nothing to share: a single array.
KernelReport unchanged();
/// a and b one after the other beside c, where only c overlaps both: "two live blocks inside a dead third".
KernelReport two_inside_a_third();

/// Of one kernel.
Report only(KernelReport kernel);
/// All of them.
Report report();

}  // namespace warploom::reuse::sample
