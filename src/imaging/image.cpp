#include "warploom/imaging/image.hpp"

#include <fmt/format.h>

#include <new>

#include "warploom/core/error.hpp"
#include "warploom/core/view.hpp"

namespace warploom::imaging {

Image::Image(const Grid& g, int c) : grid(g), channels(c) {
  const std::array<std::int64_t, 4> shape{c, g.nz, g.ny, g.nx};
  for (const std::int64_t extent : shape)
    if (extent < 1) throw BadInput(fmt::format("an image of shape {} has no voxels", shape_text(shape)));
  const std::int64_t count = element_count(shape);
  try {
    data.resize(static_cast<std::size_t>(count));
  } catch (const std::exception&) {
    throw OutOfMemory(
        fmt::format("an image of shape {} needs {} bytes", shape_text(shape), 4.0 * double(count)));
  }
}

}  // namespace warploom::imaging
