#pragma once
namespace at::cuda::philox {
__host__ __device__ inline std::tuple<std::uint64_t, std::uint64_t> unpack(PhiloxCudaState) { return {0, 0}; }
}  // namespace at::cuda::philox
