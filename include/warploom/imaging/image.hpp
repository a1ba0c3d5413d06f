#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warploom::imaging {

/// Voxels of a regular grid, x fastest. A two-dimensional image has nz = 1.
struct Grid {
  std::int64_t nx = 0, ny = 0, nz = 0;
  std::array<double, 3> spacing{1, 1, 1};  ///< distance of voxel centres along x, y, z [mm]

  std::int64_t voxels() const { return nx * ny * nz; }
  bool operator==(const Grid&) const = default;
};

/// One or more values a voxel, planar: [channels, nz, ny, nx].
struct Image {
  Grid grid;
  int channels = 1;
  std::vector<float> data;

  Image() = default;
  /// All zero. @throws BadInput (an extent or channels < 1), OutOfMemory
  Image(const Grid& grid, int channels);

  std::span<float> channel(int c) { return std::span(data).subspan(offset(c), size()); }
  std::span<const float> channel(int c) const { return std::span(data).subspan(offset(c), size()); }

 private:
  std::size_t size() const { return static_cast<std::size_t>(grid.voxels()); }
  std::size_t offset(int c) const { return static_cast<std::size_t>(c) * size(); }
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
