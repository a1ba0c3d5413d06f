// cuda::barrier, cuda::pipeline and cuda::memcpy_async, which nvcc makes into mbarrier, cp.async and
// cp.async.bulk.
#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/pipeline>

namespace {

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cg = cooperative_groups;

}  // namespace

/// The first 128 threads fill two buffers in turns, the others add them up: out[block, t] is the sum over
/// rounds r of (r + 1) in[block, r, 127 - t].
extern "C" __global__ void handed_over(const int* in, int* out, int rounds) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[2], empty[2];
  __shared__ int buffer[2][128];
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; ++s) init(&full[s], blockDim.x), init(&empty[s], blockDim.x);
  __syncthreads();
  const int t = threadIdx.x % 128;
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    const int s = r % 2;
    if (threadIdx.x < 128) {
      if (r >= 2) empty[s].arrive_and_wait();
      buffer[s][t] = in[(blockIdx.x * rounds + r) * 128 + t];
      (void)full[s].arrive();
    } else {
      full[s].arrive_and_wait();
      sum += (r + 1) * buffer[s][127 - t];
      if (r + 2 < rounds) (void)empty[s].arrive();
    }
  }
  if (threadIdx.x >= 128) out[blockIdx.x * 128 + t] = sum;
}

/// Tiles of blockDim.x numbers through a pipeline of two stages.
extern "C" __global__ void piped(const int* in, int* out, int tiles) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ int buffer[2][256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int tile = 0, ahead = 0; tile < tiles; ++tile) {
    for (; ahead < tiles && ahead < tile + 2; ++ahead) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffer[ahead % 2], in + (blockIdx.x * tiles + ahead) * 256,
                         cuda::aligned_size_t<16>(1024), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    block.sync();
    sum += buffer[tile % 2][(threadIdx.x * 7) % 256];
    block.sync();
    pipeline.consumer_release();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// A third of the threads leaves; the others hand a number on.
extern "C" __global__ void dropped(int* out) {
  __shared__ Barrier barrier;
  __shared__ int handed[128];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, blockDim.x);
  __syncthreads();
  if (t % 3 == 0) return barrier.arrive_and_drop();
  barrier.arrive_and_wait();
  handed[t] = 5 * t;
  barrier.arrive_and_wait();
  out[t] = handed[t % 3 == 2 ? t - 1 : t == 127 ? t : t + 1];
}

/// Each thread copies 16 bytes; all wait for all.
extern "C" __global__ void copied(const int4* in, int4* out) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) int4 buffer[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  const int at = blockIdx.x * blockDim.x;
  cuda::memcpy_async(&buffer[threadIdx.x], &in[at + threadIdx.x], cuda::aligned_size_t<16>(16), barrier);
  barrier.arrive_and_wait();
  out[at + threadIdx.x] = buffer[127 - threadIdx.x];
}
