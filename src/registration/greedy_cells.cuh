#pragma once

/// Cells of a displacement on a GPU, and what their determinant is nowhere less than: folding_rows.cpp has
/// the same.

#include "greedy_kernels.hpp"

namespace warploom::registration {

template <class Real>
struct CellBounds {
  Real lower;   ///< the least of the 27 Bernstein coefficients, less what rounding may have added
  Real corner;  ///< the least determinant at a corner
};

/// A cell's eight corners of a displacement. Along an axis of one voxel both sides of a cell are the same
/// voxel.
class Cell {
 public:
  __device__ Cell(const DeviceGrid& e, const float* displacement, int x, int y, int z) {
#pragma unroll
    for (int corner = 0; corner < 8; ++corner) {
      const std::int64_t at = e.at(min(x + (corner & 1), e.nx - 1), min(y + (corner >> 1 & 1), e.ny - 1),
                                   min(z + (corner >> 2), e.nz - 1));
#pragma unroll
      for (int c = 0; c < 3; ++c) h_[corner][c] = displacement[at + c * e.voxels()];
    }
  }
  /// The cell at a voxel, unless that is the last along an axis.
  __device__ static bool has(const DeviceGrid& e, int x, int y, int z) {
    return x < max(e.nx - 1, 1) && y < max(e.ny - 1, 1) && z < max(e.nz - 1, 1);
  }

  /// Of displacements in voxels, of id + h and of id - h: where no edge differs much from the voxel's own,
  /// all products of three are near 1: (1 + a)(1 + b)(1 + c) - 1 away at most, where a, b and c are the
  /// largest sums of the differences' magnitudes along each axis. True: surely above `least`.
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

  /// Of the map whose edges are `voxel`'s and `sign` times the displacement's differences, times the inverse
  /// of the voxel's volume.
  template <class Real>
  __device__ CellBounds<Real> bounds(const DeviceVoxel& voxel, float sign) const {
    Real edges[3][2][2][3], largest[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const double* const own = voxel.edge[axis];
      Real most = static_cast<Real>(fabs(own[0]) + fabs(own[1]) + fabs(own[2]));
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          Real(&edge)[3] = edges[axis][k][j], sum = 0;
#pragma unroll
          for (int c = 0; c < 3; ++c) {
            edge[c] = static_cast<Real>(own[c]) +
                      static_cast<Real>(sign) * (static_cast<Real>(h_[corner(axis, 1, j, k)][c]) -
                                                 static_cast<Real>(h_[corner(axis, 0, j, k)][c]));
            sum += edge[c] < 0 ? -edge[c] : edge[c];
          }
          most = sum > most ? sum : most;
        }
      largest[axis] = most;
    }

    // An edge along x belongs to a corner (y, z) of the cell, and so on: the product of three has the sums of
    // their corners' coordinates as degrees.
    Real sums[27] = {};
#pragma unroll
    for (int xz = 0; xz < 2; ++xz)
#pragma unroll
      for (int xy = 0; xy < 2; ++xy)
#pragma unroll
        for (int yz = 0; yz < 2; ++yz)
#pragma unroll
          for (int yx = 0; yx < 2; ++yx) {
            const Real(&a)[3] = edges[0][xz][xy], (&b)[3] = edges[1][yz][yx];
            const Real cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                                   a[0] * b[1] - a[1] * b[0]};
#pragma unroll
            for (int zy = 0; zy < 2; ++zy)
#pragma unroll
              for (int zx = 0; zx < 2; ++zx) {
                const Real(&d)[3] = edges[2][zy][zx];
                sums[yx + zx + 3 * (xy + zy) + 9 * (xz + yz)] +=
                    cross[0] * d[0] + cross[1] * d[1] + cross[2] * d[2];
              }
          }
    // Two products meet in the middle of each axis: their mean.
    const Real scale = static_cast<Real>(voxel.inverse_of_volume);
    CellBounds<Real> out{sums[0] * scale, sums[0] * scale};
#pragma unroll
    for (int n = 1; n < 27; ++n) {
      const int middles = (n % 3 == 1 ? 1 : 0) + (n / 3 % 3 == 1 ? 1 : 0) + (n / 9 == 1 ? 1 : 0);
      const Real value = sums[n] * scale / static_cast<Real>(1 << middles);
      out.lower = value < out.lower ? value : out.lower;
      if (middles == 0) out.corner = value < out.corner ? value : out.corner;
    }
    out.lower -= rounding(scale) * largest[0] * largest[1] * largest[2] * (scale < 0 ? -scale : scale);
    return out;
  }

 private:
  /// The corner that is `end` along the axis, j and k along the other two.
  __device__ static constexpr int corner(int axis, int end, int j, int k) {
    return axis == 0 ? end + 2 * j + 4 * k : axis == 1 ? j + 2 * end + 4 * k : j + 2 * k + 4 * end;
  }
  /// See folding_rows.cpp. In single precision an edge itself is off by three roundings of its size and the
  /// voxel's.
  __device__ static double rounding(double) { return 64 * 0x1p-53 + 3.03 * 0x1p-24; }
  __device__ static float rounding(float) { return 72 * 0x1p-24F; }

  float h_[8][3];
};

}  // namespace warploom::registration
