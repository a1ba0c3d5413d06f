#pragma once

/// Where bytes of a tile of wgmma's factors lie in shared memory, in all layouts that a descriptor can name.

namespace {

enum Layout : unsigned { plain = 0, swizzle_128 = 1, swizzle_64 = 2, swizzle_32 = 3 };

__device__ unsigned pitch(unsigned layout) { return 256u >> layout; }
__device__ unsigned swizzled(unsigned at, unsigned layout) {
  return layout == plain ? at : at ^ (at >> 7 & (pitch(layout) / 16 - 1)) << 4;
}
/// Of a tile of so many rows, k along the row.
__device__ unsigned along_k(unsigned row, unsigned byte, unsigned rows, unsigned layout) {
  if (layout == plain) return byte / 16 * rows * 16 + row * 16 + byte % 16;
  const unsigned p = pitch(layout);
  return swizzled(byte / p * rows * p + row * p + byte % p, layout);
}

}  // namespace
