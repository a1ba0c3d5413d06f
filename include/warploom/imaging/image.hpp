#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace warploom::imaging {

/// Voxels of a regular grid, x fastest. A two-dimensional image has nz = 1.
struct Grid {
  std::int64_t nx = 0, ny = 0, nz = 0;
  std::array<double, 3> spacing{1, 1, 1};  ///< distance of voxel centres along x, y, z [mm]

  /// @throws BadInput (a negative extent, more than 2^63 - 1 voxels)
  std::int64_t voxels() const;
  bool operator==(const Grid&) const = default;
};

/// One or more values a voxel, planar: [channels, nz, ny, nx]. Its members may be set to anything; every
/// function that is given one calls check() first.
struct Image {
  Grid grid;
  int channels = 1;
  std::vector<float> data;

  Image() = default;
  /// All zero. @throws BadInput (an extent or channels < 1), OutOfMemory
  Image(const Grid& grid, int channels);

  /// @param what  for the message: "the noisy image"
  /// @throws BadInput (an extent or channels < 1; `data` has more or fewer values than they need). Cost: O(1)
  void check(std::string_view what = "the image") const;
  /// The values of one channel. @throws BadInput (no such channel; as check())
  std::span<float> channel(int c);
  std::span<const float> channel(int c) const;
};

/// A symmetric 3x3 tensor a voxel: an Image with the channels xx, xy, xz, yy, yz, zz. Diffusion tensors are
/// in um^2/ms (= 1e-3 mm^2/s), where those of living tissue are between 0 and about 3.
using TensorImage = Image;
inline constexpr int kTensorChannels = 6;
/// How often each channel stands in the 3x3 tensor: the weights of its Frobenius norm.
inline constexpr std::array<float, 6> kTensorWeights{1, 2, 2, 1, 2, 1};

/// One byte a voxel, [nz, ny, nx]; 0: outside. Empty: every voxel is inside.
using Mask = std::vector<std::uint8_t>;

}  // namespace warploom::imaging
