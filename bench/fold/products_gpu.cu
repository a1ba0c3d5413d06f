// What tensor cores reach in double precision: products of registers, as many warps as a multiprocessor has.
#include <algorithm>

#include "products_gpu.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::fold {
namespace {

constexpr int kThreads = 512, kProducts = 8, kRounds = 10'000;

/// Of 8 x 8 x 4; else, from Hopper on, of 16 x 8 x 4.
template <bool kSmall>
__global__ void __launch_bounds__(kThreads) multiply(double* to) {
  double sum[kProducts][4] = {};
  const double left = threadIdx.x * 1e-9, right = blockIdx.x * 1e-9;
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (auto& part : sum) {
      if constexpr (kSmall) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(part[0]), "+d"(part[1])
                     : "d"(left), "d"(right));
      } else {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4}, {%5}, {%0, %1, %2, %3};"
            : "+d"(part[0]), "+d"(part[1]), "+d"(part[2]), "+d"(part[3])
            : "d"(left), "d"(right));
#endif
      }
    }
  }
  double all = 0;
#pragma unroll
  for (const auto& part : sum) all += part[0] + part[1] + part[2] + part[3];
  to[blockIdx.x * kThreads + threadIdx.x] = all;
}

}  // namespace

double products_per_second() {
  int device = 0, multiprocessors = 0, major = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  const int blocks = 4 * multiprocessors;
  double* to = nullptr;
  cuda_check(cudaMalloc(&to, sizeof(double) * static_cast<std::size_t>(blocks) * kThreads), "cudaMalloc");
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda_check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda_check(cudaEventCreate(&end), "cudaEventCreate");
  double most = 0;
  for (const bool small : {true, false}) {
    if (!small && major < 9) continue;
    const double all = (small ? 8. : 16.) * 8 * 4 * kProducts * kRounds * (kThreads / 32.) * blocks;
    for (int round = 0; round < 3; ++round) {
      cuda_check(cudaEventRecord(begin), "cudaEventRecord");
      (small ? multiply<true> : multiply<false>)<<<blocks, kThreads>>>(to);
      cuda_check(cudaGetLastError(), "launch of multiply");
      cuda_check(cudaEventRecord(end), "cudaEventRecord");
      cuda_check(cudaEventSynchronize(end), "multiply");
      float ms = 0;
      cuda_check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
      most = std::max(most, all / (ms * 1e-3));
    }
  }
  cudaEventDestroy(begin), cudaEventDestroy(end), cudaFree(to);
  return most;
}

}  // namespace warploom::fold
