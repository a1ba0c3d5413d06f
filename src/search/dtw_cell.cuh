#pragma once

/// What the DTW kernels share.

#include "search/job_of_block.cuh"

namespace warploom::search {

__device__ __forceinline__ float no_path() { return __int_as_float(0x7F800000); }

/// Of numbers that are not negative, infinity included: their order is that of their bits.
__device__ __forceinline__ float least(float a, float b, float c) {
#if __CUDA_ARCH__ >= 900
  return __int_as_float(__vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
#else
  return fminf(fminf(a, b), c);
#endif
}

__device__ __forceinline__ float cell(float x, float y, float left, float up, float diagonal) {
  const float difference = x - y;
  return fmaf(difference, difference, least(left, up, diagonal));
}

__device__ __forceinline__ float normalised(float x, const WindowScale& scale) {
  return fmaf(x - scale.mean, scale.scale, scale.offset);
}

/// The number of what is compared at this place.
__device__ __forceinline__ std::int64_t window_at(const DtwJob& job, std::int64_t place) {
  return job.list == nullptr ? place : job.list[place];
}

__device__ __forceinline__ const float* begin_of(const DtwJob& job, std::int64_t window) {
  return job.samples + (job.begins == nullptr ? window : job.begins[window]);
}

/// What all threads of a warp have, in a way that the compiler knows: loops then need no care for warps that
/// diverge.
__device__ __forceinline__ int uniform(int x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAllLanes, x);
#else
  return __shfl_sync(kAllLanes, x, 0);
#endif
}

/// @param sum  the matrix's last cell
__device__ __forceinline__ void store_distance(const DtwJob& job, std::int64_t window, float scale,
                                               float sum) {
  const float distance = isnan(scale) ? no_path() : sqrtf(sum / static_cast<float>(job.length));
  const auto bits = static_cast<ProfileEntry>(__float_as_uint(distance));
  atomicMin(job.profile + window, bits << 32 | job.pattern);
}

}  // namespace warploom::search
