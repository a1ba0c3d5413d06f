#include "own_kernel.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/table/device_table.cuh"

namespace warploom::table {
namespace {

__global__ void count_keys(DeviceTable<std::uint32_t, std::uint32_t> table, const std::uint32_t* keys,
                           std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) table.fetch_add(keys[i], 1);
}

}  // namespace

void count_in_own_kernel(GpuTable<std::uint32_t, std::uint32_t>& table, const std::uint32_t* keys,
                         std::size_t count, cudaStream_t stream) {
  const auto handle = table.handle(stream);
  count_keys<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(handle, keys, count);
  cuda_check(cudaGetLastError(), "launching count_keys");
}

}  // namespace warploom::table
