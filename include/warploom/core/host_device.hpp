#pragma once

/// Marks functions that kernels call too; nothing to other compilers than nvcc.
#ifdef __CUDACC__
#define WARPLOOM_HOST_DEVICE __host__ __device__
#else
#define WARPLOOM_HOST_DEVICE
#endif

/// Before a loop of few, fixed steps: a kernel's small arrays then stay in registers.
#ifdef __CUDA_ARCH__
#define WARPLOOM_UNROLL _Pragma("unroll")
#else
#define WARPLOOM_UNROLL
#endif
