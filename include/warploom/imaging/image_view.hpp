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

  /// @param what  for the message: "the noisy image"
  /// @throws BadInput (an extent or channels < 1; `data` has more or fewer values than they need). Cost: O(1)
  void check(std::string_view what = "the image") const;
};

}  // namespace warploom::imaging
