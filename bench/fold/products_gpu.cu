// What tensor cores reach in double precision: products of registers, as many warps as a multiprocessor has.
#include <algorithm>

#include "products_gpu.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::fold {
namespace {

constexpr int kThreads = 512, kProducts = 8, kRounds = 20'000;

__global__ void __launch_bounds__(kThreads) multiply(double* to) {
  double sum[kProducts][2] = {}, left = threadIdx.x * 1e-9, right = blockIdx.x * 1e-9;
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (auto& part : sum)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(part[0]), "+d"(part[1])
                   : "d"(left), "d"(right));
  }
  double all = 0;
#pragma unroll
  for (const auto& part : sum) all += part[0] + part[1];
  to[blockIdx.x * kThreads + threadIdx.x] = all;
}

}  // namespace

double products_per_second() {
  int device = 0, multiprocessors = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  const int blocks = 4 * multiprocessors;
  double* to = nullptr;
  cuda_check(cudaMalloc(&to, sizeof(double) * static_cast<std::size_t>(blocks) * kThreads), "cudaMalloc");
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda_check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda_check(cudaEventCreate(&end), "cudaEventCreate");
  float least = 1e9F;
  for (int round = 0; round < 3; ++round) {
    cuda_check(cudaEventRecord(begin), "cudaEventRecord");
    multiply<<<blocks, kThreads>>>(to);
    cuda_check(cudaGetLastError(), "launch of multiply");
    cuda_check(cudaEventRecord(end), "cudaEventRecord");
    cuda_check(cudaEventSynchronize(end), "multiply");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    least = std::min(least, ms);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end), cudaFree(to);
  constexpr double kOfOne = 8. * 8 * 4;
  return kOfOne * kProducts * kRounds * (kThreads / 32.) * blocks / (least * 1e-3);
}

}  // namespace warploom::fold
