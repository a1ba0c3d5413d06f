#pragma once

#include <span>
#include <string_view>

#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// Values of an image where somebody else keeps them, to be read: [channels, nz, ny, nx], contiguous. They
/// have to stay until the call that reads them ends. Copying a view copies a pointer.
struct ImageView {
  Grid grid = {};
  int channels = 1;
  std::span<const float> data = {};
  /// The same values in the memory of the GPU that is to work, finished: its kernels read these, so that they
  /// do not go there again. Null: they are on the host alone. fetch_image() makes the host's.
  const float* on_gpu = nullptr;

  ImageView() = default;
  ImageView(const Grid& grid_, int channels_, std::span<const float> data_)
      : grid(grid_), channels(channels_), data(data_) {}
  /// Of an image that stays where it is meanwhile. Functions that take a view take an Image, too.
  ImageView(const Image& image) : ImageView(image.grid, image.channels, image.data) {}

  /// @param what  for the message: "the noisy image"
  /// @throws BadInput (an extent or channels < 1; `data` has more or fewer values than they need). Cost: O(1)
  void check(std::string_view what = "the image") const;
  /// The values of one channel. @throws BadInput (no such channel; as check())
  std::span<const float> channel(int c) const;
};

}  // namespace warploom::imaging
