// Reverses each block's elements through shared memory and reports a bad index.
#include <assert.h>
#include <stdio.h>

__device__ __noinline__ int mirrored(int i, int n) { return n - 1 - i; }

__global__ void reverse(float* data, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(i < n);
  tile[threadIdx.x] = data[i];
  __syncthreads();
  data[i] = tile[mirrored(threadIdx.x, blockDim.x)];
  if (data[i] < 0) printf("%d\n", i);
}
