#pragma once

namespace warploom {

/// Of the module whose source includes this: each has a CUDA half or has none. So not `inline`, and for
/// sources alone.
#ifdef WARPLOOM_HAVE_CUDA
constexpr bool kBuiltWithCuda = true;
#else
constexpr bool kBuiltWithCuda = false;
#endif

}  // namespace warploom
