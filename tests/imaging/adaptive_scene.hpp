#pragma once

#include <cmath>

#include "imaging/dwi_phantom.hpp"
#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/fit.hpp"

namespace warploom::imaging {

/// A small head, and what a perfect denoiser of series would make of its noisy images: their means.
struct Scene {
  DwiPhantom phantom;
  Series noisy;
  Image means, noise;

  explicit Scene(double snr) : phantom(dwi_phantom({.nx = 24, .ny = 24, .nz = 8, .layout = 3})) {
    noisy = with_noise(phantom, snr, 1);
    means = phantom.clean.image;
    noise = Image(means.grid, 1);
    const double sigma = 1000 / snr;
    for (float& value : noise.data) value = static_cast<float>(sigma);
    // Averages of many noisy images: deviations of a fifth of the noise.
    for (std::uint32_t k = 0; k < 25; ++k) {
      const Series other = with_noise(phantom, snr, 100 + k);
      for (std::size_t i = 0; i < means.data.size(); ++i)
        means.data[i] = k == 0 ? other.image.data[i] / 25 : means.data[i] + other.image.data[i] / 25;
    }
  }
  const io::Gradients& gradients() const { return noisy.gradients; }
  AdaptiveFit fit(Device device, AdaptiveFitOptions options = {}) const {
    options.run.devices = {device};
    return fit_tensors_adaptively(noisy.image, means, noise, gradients().b, gradients().directions,
                                  phantom.mask, options);
  }
  TensorFit fitted(const Image& image) const {
    return fit_tensors(image, gradients().b, gradients().directions, phantom.mask);
  }
  TensorImage plain(const Image& image) const { return fitted(image).tensor; }
};
inline const Scene& scene() {
  static const Scene made(15);
  return made;
}

}  // namespace warploom::imaging
