#include "steps.hpp"

__global__ void __launch_bounds__(256) reverse_kernel(int* values) {
  __shared__ int once[256];
  __shared__ int twice[256];
  const int t = threadIdx.x;
  once[t] = values[t];
  __syncthreads();
  const int back = mean(once[255 - t], once[t]);
  __syncthreads();
  twice[t] = back;
  __syncthreads();
  values[t] = twice[t ^ 1];
}

void reverse(int* values) { reverse_kernel<<<1, 256>>>(values); }
