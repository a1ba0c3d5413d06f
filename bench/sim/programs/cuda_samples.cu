// Kernels of NVIDIA's CUDA samples with cuda::pipeline and cuda::barrier: products of matrices whose tiles
// come by asynchronous copies (globalToShmemAsyncCopy), a dot product over a grid (simpleAWBarrier).
// copies.cuh and barrier.cuh are their files up to the host's code.
#include "barrier.cuh"
#include "copies.cuh"
#include "program.hpp"

namespace {

constexpr int kSize = 96, kBlock = 16;

template <typename Kernel>
void multiply(const char* name, Kernel kernel, dim3 threads) {
  const auto a = programs::random_buffer<float>(kSize * kSize, 1),
             b = programs::random_buffer<float>(kSize * kSize, 2);
  programs::Buffer<float> c(kSize * kSize);
  kernel<<<dim3(kSize / kBlock, kSize / kBlock), threads>>>(c.data(), a.data(), b.data(), kSize, kSize);
  c.save(name, "f32");
}

}  // namespace

int main() {
  const dim3 threads(kBlock, kBlock), with_producers(kBlock, kBlock + 2);
  multiply("pipeline_large_stages", MatrixMulAsyncCopyMultiStageLargeChunk<kBlock>, threads);
  multiply("pipeline_large", MatrixMulAsyncCopyLargeChunk<kBlock>, threads);
  multiply("barrier_large", MatrixMulAsyncCopyLargeChunkAWBarrier<kBlock>, threads);
  multiply("pipeline_stage", MatrixMulAsyncCopySingleStage<kBlock>, threads);
  multiply("pipeline_stages", MatrixMulAsyncCopyMultiStage<kBlock>, threads);
  multiply("pipeline_shared_state", MatrixMulAsyncCopyMultiStageSharedState<kBlock>, with_producers);

  constexpr int count = 3000, blocks = 4;
  const auto x = programs::random_buffer<float>(count, 3), y = programs::random_buffer<float>(count, 4);
  programs::Buffer<double> sums(blocks);
  float *first = x.data(), *second = y.data();
  double* partial = sums.data();
  int size = count;
  void* arguments[] = {&first, &second, &partial, &size};
  programs::require(
      cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&normVecByDotProductAWBarrier), dim3(blocks),
                                  dim3(128), arguments, 128 / 32 * sizeof(double), nullptr),
      "simpleAWBarrier");
  x.save("barrier_norm_x", "f32");
  y.save("barrier_norm_y", "f32");
}
