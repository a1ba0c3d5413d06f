#include "warploom/imaging/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "core/doors.hpp"
#include "core/large_pages.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
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

ImageView::ImageView(const Grid& grid_, int channels_, const float* first, const Strides& strides_)
    : grid(grid_), channels(channels_), strided(first), strides(strides_) {
  if (first == nullptr) throw BadInput("an image with strides: there is no address of its first voxel");
}

void ImageView::check(std::string_view what) const {
  if (strided != nullptr)
    throw BadInput(
        fmt::format("{} has strides, and is read as contiguous values here: gathered() makes them", what));
  check_strided(what);
}

void ImageView::check_strided(std::string_view what) const {
  const auto [shape, count] = shape_of(*this, what);
  if (on_gpu_strides != Strides{})
    throw BadInput(fmt::format("{} has strides in the GPU's memory: fetch_image() takes them", what));
  if (strided != nullptr) {
    if (!data.empty())
      throw BadInput(
          fmt::format("{} has values with strides and contiguous ones: give one of the two", what));
    return;
  }
  if (data.size() != static_cast<std::size_t>(count))
    throw BadInput(
        fmt::format("{} has {} values, and its shape {} needs {}: give it one value a voxel and channel",
                    what, data.size(), shape_text(shape), count));
}

const float* ImageView::values(std::int64_t first, std::int64_t count, float* room) const {
  if (strided == nullptr) return data.data() + first;
  // As many rows at once as there are values in a line of the cache, for that is how far they lie apart in an
  // array that is turned.
  constexpr std::int64_t kTile = 16;
  const std::int64_t nx = grid.nx, end = first + count, last_row = (end + nx - 1) / nx;
  for (std::int64_t top = first / nx; top < last_row; top += kTile) {
    std::array<const float*, kTile> from;
    const std::int64_t rows = std::min(kTile, last_row - top);
    for (std::int64_t k = 0; k < rows; ++k) {
      const std::int64_t row = top + k, plane = row / grid.ny;
      from[static_cast<std::size_t>(k)] =
          strided + row % grid.ny * strides[1] + plane % grid.nz * strides[2] + plane / grid.nz * strides[3];
    }
    for (std::int64_t left = 0; left < nx; left += kTile)
      for (std::int64_t k = 0; k < rows; ++k) {
        const std::int64_t row = (top + k) * nx;
        for (std::int64_t x = std::max(left, first - row); x < std::min({left + kTile, nx, end - row}); ++x)
          room[row + x - first] = from[static_cast<std::size_t>(k)][x * strides[0]];
      }
  }
  return room;
}

std::int64_t ImageView::piece() const {
  constexpr std::int64_t kLeast = 16 << 10, kMost = 1 << 20;
  return std::clamp(16 * grid.nx, kLeast, kMost);
}

Image gathered(const ImageView& image) {
  image.check_strided();
  Image out(image.grid, image.channels);
  const auto size = static_cast<std::int64_t>(image.size());
  parallel_for((size + image.piece() - 1) / image.piece(), [&](std::int64_t piece) {
    const std::int64_t first = piece * image.piece(), count = std::min(image.piece(), size - first);
    float* const to = out.data.data() + first;
    const float* const from = image.values(first, count, to);
    if (from != to) std::copy_n(from, count, to);
  });
  return out;
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
