#include "core/cuda/memory.hpp"
#include "imaging/gpu_image_backend.hpp"
#include "imaging/segment_image_kernels.hpp"

namespace warploom::imaging {

void fetch_values(const ImageView& there, void* stream, std::span<float> to) {
  // Pinned memory takes longer to make than to fill: chunks that are small come as fast.
  constexpr std::uint64_t kChunk = 2 << 20;
  cuda_check(cudaFree(nullptr), "starting CUDA");
  require_reachable(there.on_gpu, "the image");
  const CudaStream own = make_stream();
  come_after(own.get(), static_cast<cudaStream_t>(stream));
  PinnedPair copies(own.get(), std::min<std::uint64_t>(kChunk, to.size_bytes()));
  const auto bring = [&](const float* from, std::uint64_t count, float* first) {
    copies.download(from, count, [&](std::uint64_t begin, const float* values, std::uint64_t some) {
      std::copy_n(values, some, first + begin);
    });
  };
  if (there.on_gpu_strides == Strides{}) return bring(there.on_gpu, to.size(), to.data());
  constexpr std::uint64_t kGathered = 4 << 20;  // values
  const auto room = make_device<float>(std::min<std::uint64_t>(kGathered, to.size()));
  ImageGather gather{there.grid.nx, there.grid.ny, there.grid.nz, {}, 0, 0};
  std::ranges::copy(there.on_gpu_strides, gather.stride);
  for (std::uint64_t first = 0; first < to.size(); first += kGathered) {
    const std::uint64_t count = std::min(kGathered, to.size() - first);
    gather.first = static_cast<std::int64_t>(first), gather.count = static_cast<std::int64_t>(count);
    cuda_check(launch_image_gather(there.on_gpu, gather, room.get(), own.get()),
               "launching the gathering of an image");
    bring(room.get(), count, to.data() + first);
  }
}

}  // namespace warploom::imaging
