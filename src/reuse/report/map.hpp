#pragma once

#include <string>
#include <string_view>

#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

/// The id of an object's row in the page's table, for links from the map: "k2-o5".
std::string object_id(std::size_t kernel, std::size_t object);

/// The memory map of a kernel as two figures, before and after the rewriting (one if nothing changes):
/// program points across, bytes up, one rectangle a live range at its object's offset, barriers as
/// vertical lines. Widths are percentages and heights pixels, so that text keeps its size on any
/// screen; the classes are styled in report.css. `kernel` needs at least one object.
std::string memory_map(const KernelReport& kernel, std::size_t number);

}  // namespace warploom::reuse
