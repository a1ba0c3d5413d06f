#include "warploom/imaging/gpu_image.hpp"

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "imaging/gpu_image_backend.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {

void fetch_image(const ImageView& there, [[maybe_unused]] void* stream, std::span<float> to,
                 const Run& given) {
  if (there.on_gpu == nullptr) throw BadInput("an image to be brought from a GPU: there is no address");
  ImageView(there.grid, there.channels, to).check("the place of an image that is brought from a GPU");
  Run run = given;
  if (run.devices.empty() || run.devices == std::vector{Device::best}) run.devices = {Device::cuda};
  const DeviceScope scope(run, "an image in a GPU's memory", kBuiltWithCuda);
  if (!scope.device().is_gpu())
    throw NoDevice("the image is in a GPU's memory: give `device` cuda, or bring it to the host");
#if defined(WARPLOOM_HAVE_CUDA)
  fetch_values(there, stream, to);
#endif
}

Image fetch_image(const Grid& grid, int channels, const float* there, void* stream, const Run& run) {
  ImageView view(grid, channels, {});
  view.on_gpu = there;
  Image here(grid, channels);
  fetch_image(view, stream, here.data, run);
  return here;
}

}  // namespace warploom::imaging
