// What FlashAttention's headers take of PyTorch, so that its kernels compile without.
#pragma once
#include "program.hpp"
#define C10_CUDA_CHECK(call) programs::require(call, #call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() programs::require(cudaGetLastError(), "launch")
