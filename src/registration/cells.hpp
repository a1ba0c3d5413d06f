#pragma once

/// Rows of cells of a displacement field, for the proof of no folding and for what keeps a field from
/// folding.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "registration/folding_rows.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/registration/affine.hpp"

namespace warploom::registration {

/// The cells of a grid: along an axis of one voxel there is one, whose two sides are the same voxel.
class Cells {
 public:
  /// @param displacements  planar [3, nz, ny, nx], in the unit of the affine; it has to live as long
  Cells(const imaging::Grid& grid, const Affine& to_world, std::span<const float> displacements)
      : grid_(grid), displacements_(displacements), cells_{cells(grid.nx), cells(grid.ny), cells(grid.nz)} {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t c = 0; c < 3; ++c) columns_[axis][c] = to_world[c][axis];
    inverse_of_volume_ = 1 / io::determinant(to_world);
  }

  std::int64_t along(std::size_t axis) const { return cells_[axis]; }
  std::int64_t rows() const { return cells_[1] * cells_[2]; }
  std::int64_t count() const { return rows() * cells_[0]; }

  /// Row r counts along y first.
  CellRow row(std::int64_t r) const {
    const std::int64_t y = r % cells_[1], z = r / cells_[1], voxels = grid_.nx * grid_.ny * grid_.nz;
    CellRow out{.cells = cells_[0],
                .next = grid_.nx > 1 ? 1 : 0,
                .nodes = {},
                .columns = columns_,
                .inverse_of_volume = inverse_of_volume_};
    for (std::int64_t k = 0; k < 2; ++k)
      for (std::int64_t j = 0; j < 2; ++j)
        for (std::int64_t c = 0; c < 3; ++c)
          out.nodes[k][j][c] =
              displacements_.data() + c * voxels +
              (std::min(z + k, grid_.nz - 1) * grid_.ny + std::min(y + j, grid_.ny - 1)) * grid_.nx;
    return out;
  }

 private:
  static std::int64_t cells(std::int64_t voxels) { return std::max<std::int64_t>(voxels - 1, 1); }

  imaging::Grid grid_;
  std::span<const float> displacements_;
  std::array<std::int64_t, 3> cells_;
  std::array<std::array<double, 3>, 3> columns_;
  double inverse_of_volume_;
};

}  // namespace warploom::registration
