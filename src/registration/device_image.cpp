#include "registration/device_image.hpp"

#include <algorithm>
#include <limits>

namespace warploom::registration {

DeviceGrid device_grid(const Space& space) {
  return {static_cast<int>(space.grid.nx), static_cast<int>(space.grid.ny), static_cast<int>(space.grid.nz)};
}

DeviceMap device_map(const VoxelMap& map) {
  DeviceMap out{};
  for (std::size_t r = 0; r < 3; ++r) std::ranges::copy(map[r], out.row[r]);
  return out;
}

DeviceImage::DeviceImage(const ImageSource& image)
    : space_(image.space), masked_(!image.counts.empty()), voxels_(image.space.grid.voxels()) {
  if (const int axis = axis_to_halve(space_, std::numeric_limits<double>::infinity()); axis >= 0)
    halved_voxels_ = device_grid(halved(space_, axis)).voxels();
}

std::uint64_t DeviceImage::bytes(const ImageSource& image) {
  Carver size;
  DeviceImage(image).lay_out(size);
  return size.used();
}

void DeviceImage::lay_out(Carver& carver) {
  data_ = carver.take<float>(voxels_);
  counts_ = masked_ ? carver.take<std::uint8_t>(voxels_) : nullptr;
  for (Buffer& buffer : buffers_)
    buffer = {carver.take<float>(halved_voxels_),
              masked_ ? carver.take<std::uint8_t>(halved_voxels_) : nullptr};
}

void DeviceImage::upload(GreedyQueue& queue, const ImageSource& image) const {
  const imaging::ImageView& values = image.values;
  const auto bytes = [](std::int64_t count) { return sizeof(float) * static_cast<std::uint64_t>(count); };
  if (values.on_gpu != nullptr) {
    queue.copy(data_, values.on_gpu, bytes(voxels_));
  } else if (values.strided == nullptr) {
    queue.upload(data_, values.data.data(), bytes(voxels_));
  } else {
    std::vector<float> room(static_cast<std::size_t>(std::min(values.piece(), voxels_)));
    for (std::int64_t at = 0; at < voxels_; at += values.piece()) {
      const std::int64_t count = std::min(values.piece(), voxels_ - at);
      queue.upload(data_ + at, values.values(at, count, room.data()), bytes(count));
    }
  }
  if (image.brightness)
    queue.normalise({data_, voxels_, image.brightness->mean, image.brightness->deviation});
  if (masked_) queue.upload(counts_, image.counts.data(), static_cast<std::uint64_t>(voxels_));
}

DeviceImage::At DeviceImage::coarser(GreedyQueue& queue, double spacing) const {
  At at{space_, {data_, counts_, device_grid(space_)}};
  std::size_t to = 0;
  for (int axis = axis_to_halve(at.space, spacing); axis >= 0; axis = axis_to_halve(at.space, spacing)) {
    at.space = halved(at.space, axis);
    const Buffer& buffer = buffers_[to];
    queue.halve({at.level, axis, buffer.data, buffer.counts, device_grid(at.space)});
    at.level = {buffer.data, buffer.counts, device_grid(at.space)};
    to = 1 - to;
  }
  return at;
}

}  // namespace warploom::registration
