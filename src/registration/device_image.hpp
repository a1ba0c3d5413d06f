#pragma once

#include <array>

#include "core/cuda/memory.hpp"
#include "registration/device_pair.hpp"
#include "registration/greedy_queue.hpp"
#include "registration/pyramid.hpp"

namespace warploom::registration {

DeviceGrid device_grid(const Space& space);
DeviceMap device_map(const VoxelMap& map);

/// An image's resolutions on a device: the finest stays, the others are made from it.
class DeviceImage {
 public:
  /// That it takes.
  static std::uint64_t bytes(const ImageSource& image);
  explicit DeviceImage(const ImageSource& image);

  const Space& space() const { return space_; }
  bool masked() const { return masked_; }
  void lay_out(Carver& carver);
  void upload(GreedyQueue& queue, const ImageSource& image) const;

  struct At {
    Space space;
    DeviceLevel level;
  };
  /// As coarser() of pyramid.hpp has it. One at a time: what it gave before is written over.
  At coarser(GreedyQueue& queue, double spacing) const;

 private:
  struct Buffer {
    float* data = nullptr;
    std::uint8_t* counts = nullptr;
  };
  Space space_;
  bool masked_;
  std::int64_t voxels_, halved_voxels_ = 0;
  float* data_ = nullptr;
  std::uint8_t* counts_ = nullptr;
  std::array<Buffer, 2> buffers_;
};

}  // namespace warploom::registration
