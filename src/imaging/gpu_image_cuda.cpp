#include "core/cuda/memory.hpp"
#include "imaging/gpu_image_backend.hpp"

namespace warploom::imaging {

void fetch_values(const float* there, std::uint64_t count, void* stream, float* to) {
  cuda_check(cudaFree(nullptr), "starting CUDA");
  require_reachable(there, "the image");
  const CudaStream own = make_stream();
  come_after(own.get(), static_cast<cudaStream_t>(stream));
  PinnedPair copies(own.get(), count * sizeof(float));
  copies.download(there, count, [&](std::uint64_t begin, const float* from, std::uint64_t some) {
    std::copy_n(from, some, to + begin);
  });
}

}  // namespace warploom::imaging
