#pragma once

#include "registration/affine_device.hpp"
#include "registration/device_pair.hpp"
#include "registration/greedy_device.hpp"

namespace warploom::registration {

/// A pair on whatever does a queue's passes.
class QueuePair : public DevicePair {
 public:
  QueuePair(GreedyQueue& queue, const ImageSource& fixed, const ImageSource& moving)
      : queue_(queue), fixed_(fixed), moving_(moving) {
    Carver size;
    fixed_.lay_out(size), moving_.lay_out(size);
    Carver memory(queue.allocate(size.used()));
    fixed_.lay_out(memory), moving_.lay_out(memory);
    fixed_.upload(queue, fixed), moving_.upload(queue, moving);
  }
  std::unique_ptr<AffineImages> affine_images(int radius, double finest) override {
    return images_on_a_device(queue_, fixed_, moving_, radius, finest);
  }
  FoundField deform(const Affine& affine, const DeformOptions& options, DeformReport& report) override {
    return deform_greedily(queue_, fixed_, moving_, affine, options, report);
  }

 private:
  GreedyQueue& queue_;
  DeviceImage fixed_, moving_;
};

}  // namespace warploom::registration
