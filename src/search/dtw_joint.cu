#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "search/dtw_joint.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {

__global__ void __launch_bounds__(kJointBlock)
    dtw_joint_block(const JointJob* jobs, int count, unsigned blocks, float* memory, std::int64_t stride) {
  extern __shared__ float shared_diagonals[];
  float* const diagonals = memory == nullptr ? shared_diagonals : memory + blockIdx.x * stride;
  for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
    const JointJob job = job_of_block(jobs, count, block);
    const std::int64_t window = block - job.first_block;
    const int m = job.length, radius = job.radius, ring = radius + 2;
    float sum = 0;
    for (int first = 0; first < job.count; first += job.together) {
      for (int s = 0; s <= 2 * (m - 1); ++s) {
        float* const here = diagonals + s % 3 * ring;
        const float* const before = diagonals + (s + 2) % 3 * ring;
        const float* const before_that = diagonals + (s + 1) % 3 * ring;
        const int low = max(max(0, s - (m - 1)), (s - radius + 1) / 2);
        const int high = min(min(s, m - 1), (s + radius) / 2);
        for (int i = low + static_cast<int>(threadIdx.x); i <= high; i += blockDim.x) {
          const int j = s - i;
          float cost = 0;
          for (int c = first; c < first + job.together; ++c) {
            const JointChannel channel = job.channels[c];
            const float w = normalised(__ldg(begin_of(job, channel, window) + j), channel.scales[window]);
            const float difference = w - __ldg(channel.query + i);
            cost = fmaf(difference, difference, cost);
          }
          const float up = i > 0 && j - (i - 1) <= radius ? before[(i - 1) % ring] : no_path();
          const float left = j > 0 && i - (j - 1) <= radius ? before[i % ring] : no_path();
          const float corner = i > 0 && j > 0 ? before_that[(i - 1) % ring] : no_path();
          here[i % ring] = cost + (s == 0 ? 0 : least(left, up, corner));
        }
        __syncthreads();  // the next writes what was read of the one before the last
      }
      sum += diagonals[2 * (m - 1) % 3 * ring + (m - 1) % ring];
      __syncthreads();
    }
    if (threadIdx.x == 0) store_distance(job, window, sum);
  }
}

#ifndef WARPLOOM_KERNELS_ONLY
namespace {

/// Instantiated for each radius below this: beyond, registers leave room for too few threads.
constexpr int kRadii = 25;
/// Rows whose costs are in registers at once.
constexpr int rows(int radius) { return radius <= 12 ? 4 : 2; }
/// Instructions of a cell, of each channel of it, and of reading a sample; of a cell of a block and its
/// channel.
constexpr double kCell = 2.2, kChannel = 2.1, kRead = 8, kBlockCell = 25, kBlockChannel = 14;

using Kernel = void (*)(const JointJob*, int);
template <int... kRadius>
constexpr std::array<Kernel, sizeof...(kRadius)> table(std::integer_sequence<int, kRadius...>) {
  return {dtw_joint_thread<kRadius, rows(kRadius)>...};
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}
std::int64_t bytes_of(const JointBatch& batch) {
  return joint_floats(batch.radius) * std::int64_t{sizeof(float)};
}
bool in_shared(const JointBatch& batch) {
  return bytes_of(batch) <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}
/// Of a batch whose anti-diagonals are in memory.
unsigned grid_of(const JointBatch& batch) {
  return std::min(batch.blocks, static_cast<unsigned>(4 * attribute(cudaDevAttrMultiProcessorCount)));
}

}  // namespace

std::string JointKernel::name() const {
  return radius >= 0 ? "channels together, a thread a window, radius " + std::to_string(radius)
                     : "channels together, a block a window";
}

JointKernel choose_joint_kernel(std::int64_t length, std::int64_t radius, std::int64_t channels) {
  const auto m = static_cast<double>(length), band = static_cast<double>(2 * radius + 1),
             c = static_cast<double>(channels);
  if (radius < kRadii)
    return {static_cast<int>(radius),
            m * (band * kCell + c * (band * kChannel + kRead + band / rows(static_cast<int>(radius))))};
  return {-1, m * band * (kBlockCell + c * kBlockChannel)};
}

std::int64_t joint_memory(const JointBatch& batch) {
  if (batch.kernel.radius >= 0 || in_shared(batch)) return 0;
  return grid_of(batch) * joint_floats(batch.radius);
}

void launch_joint(const JointBatch& batch, cudaStream_t stream) {
  if (batch.kernel.radius >= 0) {
    static const auto kernels = table(std::make_integer_sequence<int, kRadii>());
    kernels[batch.kernel.radius]<<<batch.blocks, kDtwThreads, 0, stream>>>(batch.jobs, batch.count);
  } else {
    const auto cells = static_cast<unsigned>(std::min(batch.radius + 1, kJointBlock));
    const unsigned threads = (cells + 31) / 32 * 32;
    const bool shared = in_shared(batch);
    const int bytes = shared ? static_cast<int>(bytes_of(batch)) : 0;
    if (bytes > 48 << 10)
      cuda_check(cudaFuncSetAttribute(dtw_joint_block, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                 "asking for " + std::to_string(bytes) + " bytes of shared memory");
    dtw_joint_block<<<shared ? batch.blocks : grid_of(batch), threads, static_cast<std::size_t>(bytes),
                      stream>>>(batch.jobs, batch.count, batch.blocks, shared ? nullptr : batch.memory,
                                joint_floats(batch.radius));
  }
  cuda_check(cudaGetLastError(), "launch of " + batch.kernel.name());
}
#endif

}  // namespace warploom::search
