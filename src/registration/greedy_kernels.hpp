#pragma once

/// The GPU's passes of the symmetric greedy registration. Images are [nz, ny, nx], fields [3, nz, ny, nx],
/// all of them in the device's memory. What each pass reads and writes: docs/design/0013-registration.md.
/// These files need nothing of the module but this, so that they can be compiled, rewritten and simulated by
/// themselves.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warploom::registration {

struct DeviceGrid {
  int nx, ny, nz;
  __host__ __device__ std::int64_t plane() const { return std::int64_t{nx} * ny; }
  __host__ __device__ std::int64_t voxels() const { return plane() * nz; }
  __host__ __device__ std::int64_t at(int x, int y, int z) const {
    return z * plane() + y * std::int64_t{nx} + x;
  }
};

/// One resolution of an image.
struct DeviceLevel {
  const float* data;
  const std::uint8_t* counts;  ///< null: all voxels count
  DeviceGrid grid;
};

/// An affine map of voxel indices, of one grid to another's.
struct DeviceMap {
  float row[3][4];
};

inline constexpr int kDeviceTaps = 2 * 32 + 1;  ///< of the widest kernel

struct WarpArguments {
  DeviceGrid grid;
  DeviceLevel fixed, moving;
  DeviceMap to_fixed, to_moving;  ///< of the grid's voxels to theirs
  const float* h;                 ///< in voxels of the grid
  float* warped;                  ///< [2, nz, ny, nx]: fixed(to_fixed(y - h(y))), moving(to_moving(y + h(y)))
  std::uint8_t* counts;           ///< 0 where a point is outside of its image or masked
};

/// Windows of 2 radius + 1 voxels along each axis.
struct LnccArguments {
  DeviceGrid grid;
  int radius;
  int planes;  ///< that a block walks through
  float floor;
  const float* warped;
  const std::uint8_t* counts;
  float* statistics;  ///< [5, nz, ny, nx]
  double* parts;      ///< [blocks], the measure's sum
  float weight[3];    ///< of the force along each axis
  float* force;
};

struct SsdArguments {
  DeviceGrid grid;
  const float* warped;
  const std::uint8_t* counts;
  double* parts;  ///< [blocks]
  float weight[3];
  float* force;
};

/// out = kernel * (a + scale b), scale = step over the longest vector of b, or over `shortest` if that is
/// more.
struct SmoothArguments {
  DeviceGrid grid;
  int radius, planes;
  float taps[3][kDeviceTaps];  ///< [2 radius + 1] are used along x, y, z
  const float *a, *b;          ///< b may be null
  const unsigned* longest;     ///< of b: bits of the squared length
  float step, shortest;
  float* out;
};

/// An image's values, in place, by Brightness::of().
struct NormaliseArguments {
  float* data;
  std::int64_t voxels;
  double mean, deviation;
};

struct HalveArguments {
  DeviceLevel from;
  int axis;
  float* data;
  std::uint8_t* counts;  ///< null where from.counts is
  DeviceGrid to;
};

/// h of a coarser grid on a finer one, its components times `scale`.
struct RefineArguments {
  const float* from;
  DeviceGrid source;
  DeviceMap map;  ///< of the finer grid's voxels
  float scale[3];
  float* to;
  DeviceGrid grid;
};

/// A voxel's edges along x, y and z [mm, or voxels of a grid], and one over its volume, with its sign.
struct DeviceVoxel {
  double edge[3][3];
  double inverse_of_volume;
};

/// With u(x) = 2 back(h(y)) at the y for which y - h(y) is where `map` takes x: out(x) = to(x + u(x)) -
/// from(x).
struct MiddleArguments {
  const float* h;
  DeviceGrid grid;
  DeviceMap map;                ///< of `fixed`'s voxels to those of the grid
  DeviceMap back;               ///< its inverse; vectors are turned by it
  double from[3][4], to[3][4];  ///< of `fixed`'s voxels to the fixed and the moving image's world
  float* out;                   ///< on the grid `fixed` [mm]
  DeviceGrid fixed;
};

/// For the look for folds of id + sign h, or of a displacement in mm.
struct FoldArguments {
  DeviceGrid grid;
  float* h;
  DeviceVoxel voxel;
  bool in_voxels;  ///< what `voxel` is then a unit cube
  float sign;
  double least;   ///< what a cell is to have left of its volume
  int margin;     ///< voxels so far around a cell are smoothed with it
  int* marks;     ///< [nz, ny, nx] of Mark; 0 before the first round
  float* means;   ///< [3, nz, ny, nx]
  int* failing;   ///< one counter, 0 before: cells
  int* smoothed;  ///< one counter: voxels
};
enum Mark : int { kSmoothNow = 1, kSmoothed = 2 };

/// How a kernel is launched.
struct LaunchShape {
  unsigned grid[3], threads, shared;
  unsigned blocks() const { return grid[0] * grid[1] * grid[2]; }
};

/// Passes over windows go through planes in tiles of so many voxels.
inline constexpr int kTileWidth = 32, kTileHeight = 16, kTileThreads = 256;
inline constexpr unsigned kVoxelThreads = 256, kReducingBlocks = 1024;

/// Passes without windows have columns of so many planes, and rows of a tile for each thread's one.
inline constexpr int kTileRows = kTileThreads / kTileWidth, kColumnPlanes = 8;

__host__ __device__ constexpr unsigned pieces(std::int64_t extent, std::int64_t piece) {
  return static_cast<unsigned>((extent + piece - 1) / piece);
}

/// Blocks that a GPU has at a time, by their registers: of an H100 or H200.
inline constexpr int kProcessors = 132;

/// Planes of a block that keeps sums along z, or sums planes before. Blocks that run together end together,
/// and each reads, or sums, 2 radius planes besides: of all shares of the planes the one that is done first.
/// @param resident  blocks of a multiprocessor
inline int planes_of_block(const DeviceGrid& grid, int components, int radius, int least, int resident) {
  const std::int64_t columns =
      std::int64_t{pieces(grid.nx, kTileWidth)} * pieces(grid.ny, kTileHeight) * components;
  int best = grid.nz;
  std::int64_t fewest = -1;
  for (int shares = 1; shares <= grid.nz; ++shares) {
    const auto planes = static_cast<int>(pieces(grid.nz, shares));
    if (planes < least && shares > 1) break;
    const std::int64_t rounds =
                           pieces(columns * pieces(grid.nz, planes), std::int64_t{resident} * kProcessors),
                       time = rounds * (planes + 2 * radius);
    if (fewest < 0 || time < fewest) best = planes, fewest = time;
  }
  return best;
}
inline int window_planes(const DeviceGrid& grid) { return planes_of_block(grid, 1, 2, 4, 3); }
inline int force_planes(const DeviceGrid& grid) { return planes_of_block(grid, 1, 2, 4, 2); }
inline int smoothing_planes(const DeviceGrid& grid, int radius) {
  return planes_of_block(grid, 3, radius, 4, radius > 2 ? 3 : 4);
}

/// @param sums  over windows, at once
constexpr LaunchShape window_launch(const DeviceGrid& grid, int radius, int planes, int sums,
                                    int components) {
  const int wide = kTileWidth + 2 * radius, high = kTileHeight + 2 * radius;
  return {{pieces(grid.nx, kTileWidth), pieces(grid.ny, kTileHeight),
           pieces(grid.nz, planes) * static_cast<unsigned>(components)},
          kTileThreads,
          static_cast<unsigned>(sizeof(float)) * static_cast<unsigned>(sums * wide * (high + kTileHeight))};
}
// The widest windows of local correlation need no more than every block may have.
static_assert(window_launch({64, 64, 64}, 8, 8, 5, 1).shared + 1024 <= 48 << 10);

inline LaunchShape voxel_launch(std::int64_t voxels) {
  return {{pieces(voxels, kVoxelThreads), 1, 1}, kVoxelThreads, 0};
}
inline LaunchShape tile_launch(const DeviceGrid& grid) {
  return {{pieces(grid.nx, kTileWidth) * pieces(grid.ny, kTileRows) * pieces(grid.nz, kColumnPlanes), 1, 1},
          kTileThreads,
          0};
}
/// Of kernels that add something up over all voxels.
inline LaunchShape reducing_launch(std::int64_t voxels) {
  LaunchShape shape = voxel_launch(voxels);
  if (shape.grid[0] > kReducingBlocks) shape.grid[0] = kReducingBlocks;
  return shape;
}
/// A tile, what is around it of a plane that is copied to shared memory, and of one that is summed along x.
inline constexpr int kStagedWidth = kTileWidth + 8, kStagedHeight = kTileHeight + 4,
                     kStagedPlane = kStagedWidth * kStagedHeight, kSummedPlane = kTileWidth * kStagedHeight,
                     kStagedImages = 3;

/// What is summed over windows: both images, or their five statistics, or these with the images beside.
enum class WindowPass { images, statistics, force };
inline LaunchShape lncc_launch(const LnccArguments& a, WindowPass pass = WindowPass::images) {
  LaunchShape shape = window_launch(a.grid, a.radius, a.planes, 5, 1);
  const int staged = (pass == WindowPass::images ? 2 * 2 : 2 * 5) +
                     (pass == WindowPass::force ? 2 * kStagedImages : 0);  // planes
  if (a.radius == 2)
    shape.shared = static_cast<unsigned>(sizeof(float)) *
                   static_cast<unsigned>(staged * kStagedPlane + 5 * kSummedPlane);
  return shape;
}
inline LaunchShape smooth_launch(const SmoothArguments& a) {
  LaunchShape shape = window_launch(a.grid, a.radius, a.planes, 1, 3);
  const int high = kTileHeight + 2 * a.radius;  // two tiles, and their rows summed along x
  const auto bytes = static_cast<unsigned>(sizeof(float)) *
                     static_cast<unsigned>(2 * high * (2 * kTileWidth + 2 * a.radius));
  if (a.radius == 2 || a.radius == 6) shape.shared = bytes;
  return shape;
}

cudaError_t launch_warp(const WarpArguments& arguments, cudaStream_t stream);
cudaError_t launch_lncc(const LnccArguments& arguments, cudaStream_t stream);        ///< statistics, parts
cudaError_t launch_lncc_force(const LnccArguments& arguments, cudaStream_t stream);  ///< from statistics
cudaError_t launch_ssd_force(const SsdArguments& arguments, cudaStream_t stream);
cudaError_t launch_smooth(const SmoothArguments& arguments, cudaStream_t stream);
/// The longest vector's squared length, whose bits are compared: *longest is 0 before.
cudaError_t launch_longest(const float* field, std::int64_t voxels, unsigned* longest, cudaStream_t stream);
/// *sum = scale times the sum of `parts`, in a fixed order.
cudaError_t launch_add_up(const double* parts, int count, double scale, double* sum, cudaStream_t stream);

cudaError_t launch_normalise(const NormaliseArguments& arguments, cudaStream_t stream);
cudaError_t launch_halve(const HalveArguments& arguments, cudaStream_t stream);
cudaError_t launch_refine(const RefineArguments& arguments, cudaStream_t stream);
cudaError_t launch_through_the_middle(const MiddleArguments& arguments, cudaStream_t stream);

/// Counts cells of id + h and of id - h that may not be positive; marks nothing.
cudaError_t launch_count_suspects(const FoldArguments& arguments, cudaStream_t stream);
/// Marks and counts what is around cells that are not proved positive.
cudaError_t launch_find_folds(const FoldArguments& arguments, cudaStream_t stream);
/// Replaces what is marked by means over neighbours.
cudaError_t launch_smooth_folds(const FoldArguments& arguments, cudaStream_t stream);
/// Counts what was smoothed since the last count, and clears the marks.
cudaError_t launch_count_smoothed(const FoldArguments& arguments, cudaStream_t stream);

}  // namespace warploom::registration
