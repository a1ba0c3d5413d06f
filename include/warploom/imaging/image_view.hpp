#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// From a value to the next one along x, y and z, and to the same voxel of the next channel [values]: those
/// of a slice, a turned or a mirrored array. Along an axis of one voxel any; all 0: contiguous, x fastest.
using Strides = std::array<std::int64_t, 4>;

/// Values of an image where somebody else keeps them, to be read: [channels, nz, ny, nx], contiguous or, for
/// the functions that say so, with strides. They have to stay until the call that reads them ends. Copying a
/// view copies a pointer.
struct ImageView {
  Grid grid = {};
  int channels = 1;
  std::span<const float> data = {};
  /// The same values in the memory of the GPU that is to work, finished: its kernels read these, so that they
  /// do not go there again. Null: they are on the host alone. fetch_image() makes the host's.
  const float* on_gpu = nullptr;
  Strides on_gpu_strides = {};  ///< of these
  /// In place of `data`: the first voxel of values on the host that are not contiguous, and their strides.
  const float* strided = nullptr;
  Strides strides = {};

  ImageView() = default;
  ImageView(const Grid& grid_, int channels_, std::span<const float> data_)
      : grid(grid_), channels(channels_), data(data_) {}
  /// With strides. @throws BadInput (no address)
  ImageView(const Grid& grid_, int channels_, const float* first, const Strides& strides_);
  /// Of an image that stays where it is meanwhile. Functions that take a view take an Image, too.
  ImageView(const Image& image) : ImageView(image.grid, image.channels, image.data) {}

  /// @param what  for the message: "the noisy image"
  /// @throws BadInput (an extent or channels < 1; `data` has more or fewer values than they need, or none
  ///         beside `strided`). Cost: O(1)
  void check(std::string_view what = "the image") const;
  /// The same of functions that take values with strides, too.
  void check_strided(std::string_view what = "the image") const;
  /// The values of one channel. @throws BadInput (no such channel; as check())
  std::span<const float> channel(int c) const;

  /// Values, contiguous or not.
  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(grid.voxels());
  }
  /// Those [first, first + count) of [channels, nz, ny, nx], contiguous: where they are, or gathered to
  /// `room`. Unchecked.
  const float* values(std::int64_t first, std::int64_t count, float* room) const;
  /// How many of them are worth a call: 16 rows, within 64 KiB to 4 MiB.
  std::int64_t piece() const;
};

/// The values in one piece: a copy, made by several threads. @throws as check_strided(), OutOfMemory
Image gathered(const ImageView& image);

}  // namespace warploom::imaging
