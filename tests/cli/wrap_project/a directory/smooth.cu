#include "steps.hpp"

__device__ int mean(int a, int b) { return (a + b) / 2; }

// 256 threads; `left` is dead when `right` is first written.
__global__ void __launch_bounds__(256) smooth_kernel(int* values) {
  __shared__ int left[256];
  __shared__ int right[256];
  const int t = threadIdx.x;
  left[t] = values[t];
  __syncthreads();
  const int from_left = mean(left[t], left[(t + 255) % 256]);
  __syncthreads();
  right[t] = from_left;
  __syncthreads();
  values[t] = mean(right[t], right[(t + 1) % 256]);
}

void smooth(int* values) { smooth_kernel<<<1, 256>>>(values); }
