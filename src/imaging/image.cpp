#include "warploom/imaging/image.hpp"

#include <fmt/format.h>

#include <array>
#include <new>

#include "core/doors.hpp"
#include "core/large_pages.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {
namespace {

struct Shape {
  std::array<std::int64_t, 4> extents;
  std::int64_t count;
};

Shape shape_of(const ImageView& image, std::string_view what) {
  const std::array<std::int64_t, 4> extents{image.channels, image.grid.nz, image.grid.ny, image.grid.nx};
  for (const std::int64_t extent : extents)
    if (extent < 1)
      throw BadInput(fmt::format("{} of shape {} has no voxels: its extents must be at least 1", what,
                                 shape_text(extents)));
  return {extents, element_count(extents)};
}

struct Part {
  std::size_t first, count;
};

Part part_of(const ImageView& image, int channel) {
  image.check();
  if (channel < 0 || channel >= image.channels)
    throw BadInput(
        fmt::format("there is no channel {}: the image has {}, counted from 0", channel, image.channels));
  const std::size_t count = image.data.size() / static_cast<std::size_t>(image.channels);
  return {static_cast<std::size_t>(channel) * count, count};
}

}  // namespace

std::int64_t Grid::voxels() const { return element_count(std::array{nx, ny, nz}); }

Image::Image(const Grid& g, int c) : grid(g), channels(c) {
  const auto [shape, count] = shape_of({grid, channels, {}}, "an image");
  const std::string what = fmt::format("an image of shape {}", shape_text(shape));
  require_memory_for(static_cast<std::uint64_t>(count), sizeof(float), what);
  try {
    reserve_in_large_pages(data, static_cast<std::size_t>(count));
    data.resize(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {  // where this process may have less than there is
    throw OutOfMemory(fmt::format("{} needs {} bytes, which the system refuses", what, 4.0 * double(count)));
  }
}

void Image::check(std::string_view what) const { ImageView(*this).check(what); }

std::span<const float> ImageView::channel(int c) const {
  const auto [first, count] = part_of(*this, c);
  return data.subspan(first, count);
}

void ImageView::check(std::string_view what) const {
  const auto [shape, count] = shape_of(*this, what);
  if (data.size() != static_cast<std::size_t>(count))
    throw BadInput(
        fmt::format("{} has {} values, and its shape {} needs {}: give it one value a voxel and channel",
                    what, data.size(), shape_text(shape), count));
}

std::span<float> Image::channel(int c) {
  const auto [first, count] = part_of(*this, c);
  return std::span(data).subspan(first, count);
}

std::span<const float> Image::channel(int c) const {
  const auto [first, count] = part_of(*this, c);
  return std::span(data).subspan(first, count);
}

}  // namespace warploom::imaging
