#pragma once

#include <string_view>

namespace warploom {

/// "0.1.0": major.minor.patch of the library that was linked.
std::string_view version();

}  // namespace warploom
