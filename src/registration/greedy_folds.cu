// What keeps the displacement of the symmetric greedy registration from folding, as positive_step.cpp does.

#include "greedy_kernels.hpp"
#include "greedy_voxels.cuh"

namespace warploom::registration {
namespace {

/// A cell's eight corners of h, and from them the edges of id + sign h. Along an axis of one voxel both sides
/// of a cell are the same voxel.
class Cell {
 public:
  __device__ Cell(const FoldArguments& a, int x, int y, int z) : sign_(a.sign) {
    const DeviceGrid& e = a.grid;
#pragma unroll
    for (int corner = 0; corner < 8; ++corner) {
      const std::int64_t at = e.at(min(x + (corner & 1), e.nx - 1), min(y + (corner >> 1 & 1), e.ny - 1),
                                   min(z + (corner >> 2), e.nz - 1));
#pragma unroll
      for (int c = 0; c < 3; ++c) h_[corner][c] = a.h[at + c * e.voxels()];
    }
  }

  /// Where no edge differs much from the voxel's own, all products of three are near 1: (1 + a)(1 + b)(1 + c)
  /// - 1 away at most, where a, b and c are the sums of the differences' magnitudes. True: surely above
  /// `least`.
  __device__ bool calm(double least) const {
    float product = 1;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      float most = 0;
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const float(&from)[3] = h_[corner(axis, 0, j, k)], (&to)[3] = h_[corner(axis, 1, j, k)];
          most = fmaxf(most, fabsf(to[0] - from[0]) + fabsf(to[1] - from[1]) + fabsf(to[2] - from[2]));
        }
      product *= 1 + most;
    }
    return product < static_cast<float>(1.999 - least);
  }

  /// The least of the 27 Bernstein coefficients of the determinant, less what rounding may have added: see
  /// folding_rows.cpp. Coefficient (a, b, c) is the mean of products of three edges whose corners'
  /// coordinates add up to a, b and c.
  __device__ double lower_bound() const {
    double least = 1e300;
#pragma unroll
    for (int a = 0; a < 3; ++a)
#pragma unroll
      for (int b = 0; b < 3; ++b)
#pragma unroll
        for (int c = 0; c < 3; ++c) least = fmin(least, coefficient(a, b, c));
    constexpr double kRounding = 64 * 0x1p-53 + 3.03 * 0x1p-24;
    return least - kRounding * largest(0) * largest(1) * largest(2);
  }

 private:
  /// The corner that is `end` along the axis, j and k along the other two.
  __device__ static constexpr int corner(int axis, int end, int j, int k) {
    return axis == 0 ? end + 2 * j + 4 * k : axis == 1 ? j + 2 * end + 4 * k : j + 2 * k + 4 * end;
  }
  __device__ double edge(int axis, int j, int k, int component) const {
    const double difference = static_cast<double>(h_[corner(axis, 1, j, k)][component]) -
                              static_cast<double>(h_[corner(axis, 0, j, k)][component]);
    return (axis == component ? 1.0 : 0.0) + static_cast<double>(sign_) * difference;
  }
  __device__ double largest(int axis) const {
    double most = 1;
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k)
        most = fmax(most, fabs(edge(axis, j, k, 0)) + fabs(edge(axis, j, k, 1)) + fabs(edge(axis, j, k, 2)));
    return most;
  }
  __device__ double product(int xy, int xz, int yx, int yz, int zx, int zy) const {
    double x[3], y[3], z[3];
#pragma unroll
    for (int c = 0; c < 3; ++c)
      x[c] = edge(0, xy, xz, c), y[c] = edge(1, yx, yz, c), z[c] = edge(2, zx, zy, c);
    return (x[1] * y[2] - x[2] * y[1]) * z[0] + (x[2] * y[0] - x[0] * y[2]) * z[1] +
           (x[0] * y[1] - x[1] * y[0]) * z[2];
  }
  /// a is the sum of the x of the edges along y and z, b that of the y of those along x and z, and so on.
  __device__ double coefficient(int a, int b, int c) const {
    double sum = 0;
#pragma unroll
    for (int yx = 0; yx < 2; ++yx)
#pragma unroll
      for (int xy = 0; xy < 2; ++xy)
#pragma unroll
        for (int xz = 0; xz < 2; ++xz) {
          const int zx = a - yx, zy = b - xy, yz = c - xz;
          if (zx == (zx & 1) && zy == (zy & 1) && yz == (yz & 1)) sum += product(xy, xz, yx, yz, zx, zy);
        }
    return sum * (a == 1 ? 0.5 : 1.0) * (b == 1 ? 0.5 : 1.0) * (c == 1 ? 0.5 : 1.0);
  }

  float sign_;
  float h_[8][3];
};

/// Adds up over a launch what each thread has, 0 or 1.
__device__ void count(bool mine, int* counter) {
  const unsigned votes = __ballot_sync(0xffffffffU, mine);
  if (threadIdx.x % 32 == 0 && votes != 0) atomicAdd(counter, __popc(votes));
}

}  // namespace

/// A cell has the place of its first voxel. Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) find_folds(const FoldArguments a) {
  const DeviceGrid& e = a.grid;
  const std::int64_t at = own_voxel();
  const Voxel p(at, e);
  bool fails = false;
  if (at < e.voxels() && p.x < max(e.nx - 1, 1) && p.y < max(e.ny - 1, 1) && p.z < max(e.nz - 1, 1)) {
    const Cell cell(a, p.x, p.y, p.z);
    fails = !cell.calm(a.least) && !(cell.lower_bound() > a.least);
  }
  count(fails, a.failing);
  if (!fails) return;
  for (int z = max(p.z - a.margin, 0); z <= min(p.z + 1 + a.margin, e.nz - 1); ++z)
    for (int y = max(p.y - a.margin, 0); y <= min(p.y + 1 + a.margin, e.ny - 1); ++y)
      for (int x = max(p.x - a.margin, 0); x <= min(p.x + 1 + a.margin, e.nx - 1); ++x)
        atomicOr(a.marks + e.at(x, y, z), kSmoothNow);
}

/// Half a voxel's own displacement, half the mean of its neighbours', mirrored at the faces. Launch:
/// voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) average_folds(const FoldArguments a) {
  const DeviceGrid& e = a.grid;
  const std::int64_t at = own_voxel(), voxels = e.voxels();
  if (at >= voxels || (a.marks[at] & kSmoothNow) == 0) return;
  const Voxel p(at, e);
  const int place[3] = {p.x, p.y, p.z}, extent[3] = {e.nx, e.ny, e.nz};
  const std::int64_t stride[3] = {1, e.nx, e.plane()};
  for (int c = 0; c < 3; ++c) {
    const float* h = a.h + c * voxels + at;
    float sum = 0, neighbours = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      if (extent[axis] == 1) continue;
      const std::int64_t back = place[axis] > 0 ? -stride[axis] : stride[axis],
                         ahead = place[axis] + 1 < extent[axis] ? stride[axis] : -stride[axis];
      sum += h[back] + h[ahead], neighbours += 2;
    }
    a.means[c * voxels + at] = neighbours > 0 ? (*h + sum / neighbours) / 2 : *h;
  }
}

/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) replace_folds(const FoldArguments a) {
  const std::int64_t at = own_voxel(), voxels = a.grid.voxels();
  if (at >= voxels || (a.marks[at] & kSmoothNow) == 0) return;
  for (int c = 0; c < 3; ++c) a.h[c * voxels + at] = a.means[c * voxels + at];
  a.marks[at] = kSmoothed;
}

/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) count_smoothed(const FoldArguments a) {
  const std::int64_t at = own_voxel();
  const bool there = at < a.grid.voxels();
  count(there && (a.marks[at] & kSmoothed) != 0, a.smoothed);
  if (there) a.marks[at] = 0;
}

cudaError_t launch_find_folds(const FoldArguments& a, cudaStream_t stream) {
  return launch(find_folds, voxel_launch(a.grid.voxels()), stream, a);
}
cudaError_t launch_smooth_folds(const FoldArguments& a, cudaStream_t stream) {
  const cudaError_t error = launch(average_folds, voxel_launch(a.grid.voxels()), stream, a);
  return error == cudaSuccess ? launch(replace_folds, voxel_launch(a.grid.voxels()), stream, a) : error;
}
cudaError_t launch_count_smoothed(const FoldArguments& a, cudaStream_t stream) {
  return launch(count_smoothed, voxel_launch(a.grid.voxels()), stream, a);
}

}  // namespace warploom::registration
