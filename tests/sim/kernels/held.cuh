#pragma once

/// Matrices that a warp holds in registers, which come from memory as they are, [warp, register, lane], so
/// that the bits of every element are the test's.

namespace {

__device__ int warp() { return blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; }
__device__ int lane() { return threadIdx.x % 32; }

/// The registers of the warp's matrix, `count` a lane.
template <typename T, int count>
struct Held {
  T x[count];
  Held() = default;
  __device__ explicit Held(const T* from) {
    for (int i = 0; i < count; ++i) x[i] = from[(warp() * count + i) * 32 + lane()];
  }
  __device__ void store(T* to) const {
    for (int i = 0; i < count; ++i) to[(warp() * count + i) * 32 + lane()] = x[i];
  }
};

}  // namespace
