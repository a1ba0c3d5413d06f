#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// The values of an image in an array that is turned (channels fastest, then z, y, x) and has x mirrored,
/// with a hole after each value.
struct Turned {
  explicit Turned(const Image& image) : of(image.grid), channels(image.channels) {
    strides = {-2 * channels * of.nz * of.ny, 2 * channels * of.nz, 2 * channels, 2};
    values.assign(2 * image.data.size(), std::nanf(""));
    first = static_cast<std::size_t>(-strides[0] * (of.nx - 1));
    std::size_t at = 0;
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t z = 0; z < of.nz; ++z)
        for (std::int64_t y = 0; y < of.ny; ++y)
          for (std::int64_t x = 0; x < of.nx; ++x)
            values[static_cast<std::size_t>(static_cast<std::int64_t>(first) + x * strides[0] +
                                            y * strides[1] + z * strides[2] + c * strides[3])] =
                image.data[at++];
  }
  ImageView view() const { return {of, static_cast<int>(channels), values.data() + first, strides}; }

  Grid of;
  std::int64_t channels;
  Strides strides = {};
  std::size_t first = 0;
  std::vector<float> values = {};
};

}  // namespace warploom::imaging
