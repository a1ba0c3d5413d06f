#include <cuda_runtime.h>

#include "device_floats.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::tile {
namespace {

__global__ void copy(float4* to, const float4* from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

__global__ void fill_random(float* data, std::int64_t count, unsigned seed) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x ^= x >> 16, x *= 0x85ebca6bu, x ^= x >> 13, x *= 0xc2b2ae35u, x ^= x >> 16;
    data[i] = static_cast<float>(x) * 0x1p-32f - 0.5f;
  }
}

}  // namespace

DeviceFloats::DeviceFloats(std::int64_t n) : count(n) {
  cuda_check(cudaMalloc(&data, static_cast<std::size_t>(n) * sizeof(float)), "memory of a benchmark");
}
DeviceFloats::~DeviceFloats() { cudaFree(data); }
void DeviceFloats::fill(unsigned seed) { fill_random<<<1024, 256>>>(data, count, seed); }

void copy_floats(DeviceFloats& to, const DeviceFloats& from) {
  copy<<<static_cast<unsigned>(from.count / 4 / 256), 256>>>(
      reinterpret_cast<float4*>(to.data), reinterpret_cast<const float4*>(from.data), from.count / 4);
}

}  // namespace warploom::tile
