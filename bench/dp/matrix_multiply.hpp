#pragma once

#include <cuda_runtime_api.h>

namespace warploom::dp {

/// c = a b, of n x n floats in device memory, row by row; n a multiple of 16. A textbook's kernel: tiles of
/// up to 64 x 64 in shared memory, up to 4 x 4 accumulators a thread, k not shared out.
void launch_matrix_multiply(const float* a, const float* b, float* c, int n, cudaStream_t stream);

}  // namespace warploom::dp
