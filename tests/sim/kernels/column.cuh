#pragma once

/// A thread's results, one below the other: result k of element i of n is out[k * n + i].
template <typename T>
struct Column {
  T* out;
  int n, i, k = 0;
  __device__ void operator()(T value) { out[k++ * n + i] = value; }
};

/// The element that a thread of a one-dimensional grid works on.
__device__ inline int element() { return blockIdx.x * blockDim.x + threadIdx.x; }
