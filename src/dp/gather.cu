#include "dp/kernels.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::dp {
namespace {

template <class T, class Stored>
__global__ void gather_cells(const Stored* cells, const std::int32_t* bases, const std::int64_t* places,
                             T* values, int count) {
  const int p = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (p >= count) return;
  const std::int64_t place = places[p];
  values[p] = widened<T>(cells[place], bases != nullptr ? bases[place / (kTile * kTile)] : 0);
}

}  // namespace

template <class T, class Stored>
void launch_gather(const Stored* cells, const std::int32_t* bases, const std::int64_t* places, T* values,
                   int count, cudaStream_t stream) {
  gather_cells<<<(count + 127) / 128, 128, 0, stream>>>(cells, bases, places, values, count);
  cuda_check(cudaGetLastError(), "launching gather_cells");
}

#define WARPLOOM_INSTANTIATE(T, Stored) \
  template void launch_gather(const Stored*, const std::int32_t*, const std::int64_t*, T*, int, cudaStream_t);
WARPLOOM_INSTANTIATE(std::int32_t, std::int32_t)
WARPLOOM_INSTANTIATE(std::int32_t, std::int16_t)
WARPLOOM_INSTANTIATE(std::int64_t, std::int64_t)
WARPLOOM_INSTANTIATE(float, float)
WARPLOOM_INSTANTIATE(double, double)

}  // namespace warploom::dp
