#include "warploom/imaging/gpu_image.hpp"

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "imaging/gpu_image_backend.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {

Image fetch_image(const Grid& grid, int channels, const float* there, [[maybe_unused]] void* stream,
                  const Run& given) {
  if (there == nullptr) throw BadInput("an image to be brought from a GPU: there is no address");
  Run run = given;
  if (run.devices.empty() || run.devices == std::vector{Device::best}) run.devices = {Device::cuda};
  const DeviceScope scope(run, "an image in a GPU's memory", kBuiltWithCuda);
  if (!scope.device().is_gpu())
    throw NoDevice("the image is in a GPU's memory: give `device` cuda, or bring it to the host");
  Image here(grid, channels);
#if defined(WARPLOOM_HAVE_CUDA)
  fetch_values(there, here.data.size(), stream, here.data.data());
#endif
  return here;
}

}  // namespace warploom::imaging
