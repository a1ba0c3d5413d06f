#pragma once

#include <cstdint>
#include <vector>

#include "search/cpu_bounds_search.hpp"

namespace warploom::search {

/// Offsets of windows that a sketch takes for the nearest, more than `apart` from each other; none where the
/// range is short.
std::vector<std::int64_t> nearest_by_sketch(const CpuQuery& query, const CpuRange& range, std::int64_t count,
                                            std::int64_t apart);

}  // namespace warploom::search
