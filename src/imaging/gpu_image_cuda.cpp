#include <algorithm>

#include "core/cuda/owners.hpp"
#include "imaging/gpu_image_backend.hpp"
#include "imaging/segment_image_kernels.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {

void fetch_values(const ImageView& there, void* stream, std::span<float> to) {
  cuda_check(cudaFree(nullptr), "starting CUDA");
  require_reachable(there.on_gpu, "the image");
  const CudaStream own = make_stream();
  come_after(own.get(), static_cast<cudaStream_t>(stream));
  const bool contiguous = there.on_gpu_strides == Strides{};
  ImageGather gather{there.grid.nx, there.grid.ny, there.grid.nz, {}, 0, 0};
  std::ranges::copy(there.on_gpu_strides, gather.stride);
  constexpr std::uint64_t kChunk = 16 << 20;  // values, so that it can be stopped
  const auto room = make_device<float>(contiguous ? 0 : std::min<std::uint64_t>(kChunk, to.size()));
  for (std::uint64_t first = 0; first < to.size(); first += kChunk) {
    check_interrupt();
    const std::uint64_t count = std::min(kChunk, to.size() - first);
    const float* from = there.on_gpu + first;
    if (!contiguous) {
      gather.first = static_cast<std::int64_t>(first), gather.count = static_cast<std::int64_t>(count);
      cuda_check(launch_image_gather(there.on_gpu, gather, room.get(), own.get()),
                 "launching the gathering of an image");
      from = room.get();
    }
    // Through the driver's own pinned memory: ours takes longer to make than most images to come.
    cuda_check(
        cudaMemcpyAsync(to.data() + first, from, count * sizeof(float), cudaMemcpyDeviceToHost, own.get()),
        "bringing an image to the host");
    cuda_check(cudaStreamSynchronize(own.get()), "bringing an image to the host");
  }
}

}  // namespace warploom::imaging
