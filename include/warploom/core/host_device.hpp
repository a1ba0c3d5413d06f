#pragma once

/// Marks functions that kernels call too; nothing to other compilers than nvcc.
#ifdef __CUDACC__
#define WARPLOOM_HOST_DEVICE __host__ __device__
#else
#define WARPLOOM_HOST_DEVICE
#endif
