#pragma once

#include <vector>

#include "core/cuda/owners.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// An image on the host and in the memory of the current GPU.
class There {
 public:
  explicit There(const Image& image) : image_(image), values_(make_device<float>(image.data.size())) {
    copy(values_.get(), image.data.data());
  }
  ImageView view() const {
    ImageView view = image_;
    view.on_gpu = values_.get();
    return view;
  }
  std::vector<float> now() const {
    std::vector<float> values(image_.data.size());
    copy(values.data(), values_.get());
    return values;
  }

 private:
  void copy(float* to, const float* from) const {
    cuda_check(cudaMemcpy(to, from, image_.data.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
  }
  const Image& image_;
  DeviceArray<float> values_;
};

}  // namespace warploom::imaging
