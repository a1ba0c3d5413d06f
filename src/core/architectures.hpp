#pragma once

#include <string_view>

namespace warploom {

/// Those that our CUDA code was built for, as CMAKE_CUDA_ARCHITECTURES has them, separated by commas:
/// "75-virtual,90-real". Empty: without CUDA, or unknown.
std::string_view built_architectures();

/// Whether a device can run code that was built for a list as above.
///
/// Machine code ("86-real") runs on devices of the same major number and no lower minor one, PTX
/// ("86-virtual") on all that are not older, "86" is both; code of "90a" runs on 9.0 alone and of "100f" on
/// its major number. A list that is empty, or has a word that is none of these, forbids nothing.
/// @param compute_capability  10 * major + minor
bool runs_on(std::string_view architectures, int compute_capability);

}  // namespace warploom
