#pragma once

/// What one launch of a GPU's pass computes, and on what.

#include <cstdint>

namespace warploom::imaging {

enum class TvKernel {
  accelerated,
  descent,
  dual,          ///< half a pass of primal-dual
  primal,        ///< the other half
  primal_begin,  ///< the same before the first pass: x and its sums alone
};

/// The images of one launch, [channels, planes from first_plane on, ny, nx] on the device, and which chunks
/// to compute. One plane more than those of the chunks is read on either side, where the image has one.
struct TvPlanes {
  const float* noisy = nullptr;
  const float* x = nullptr;
  const float* before = nullptr;  ///< accelerated, dual
  float* next = nullptr;          ///< all but dual; of primal it may be `before`
  float* p = nullptr;             ///< dual, primal: [3, channels, planes, ny, nx]
  std::int64_t stride = 0;        ///< from channel to channel
  int first_plane = 0;
  int first_chunk = 0, chunks = 0;
};

}  // namespace warploom::imaging
