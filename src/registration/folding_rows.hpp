#pragma once

/// The inner loop of the proof of no folding, compiled for each instruction set in a namespace of its name.

#include <array>
#include <cstdint>

namespace warploom::registration {

/// A row of cells along x and the voxels at their corners.
struct CellRow {
  std::int64_t cells;
  std::int64_t next;  ///< 1; 0 along an axis of one voxel, where the next voxel is the same
  /// Displacements [mm] of the rows of voxels at z + k and y + j, by component: [k][j][component].
  const float* nodes[2][2][3];
  std::array<std::array<double, 3>, 3>
      columns;               ///< steps of one voxel along each axis [mm]: [axis][component]
  double inverse_of_volume;  ///< of a voxel, 1 over the determinant with its sign
};

/// Coefficient (a, b, c) of Bernstein polynomials of degree 2 in x, y and z.
inline constexpr std::size_t coefficient(std::size_t a, std::size_t b, std::size_t c) {
  return (c * 3 + b) * 3 + a;
}
inline constexpr std::size_t kCoefficients = 27;

/// For each cell what its determinant is nowhere less than, and the least at its corners; both over the
/// volume of a voxel.
using BoundCells = void (*)(const CellRow& row, double* lower, double* corners);
/// The coefficients of one cell [kCoefficients], and how far they may be off.
using CellCoefficients = double (*)(const CellRow& row, std::int64_t cell, double* coefficients);

#define WARPLOOM_DECLARE_FOLDING_ROWS(set)                                               \
  namespace set {                                                                        \
  void bound_cells(const CellRow& row, double* lower, double* corners);                  \
  double cell_coefficients(const CellRow& row, std::int64_t cell, double* coefficients); \
  }
WARPLOOM_DECLARE_FOLDING_ROWS(baseline)
WARPLOOM_DECLARE_FOLDING_ROWS(avx2)
WARPLOOM_DECLARE_FOLDING_ROWS(avx512)
#undef WARPLOOM_DECLARE_FOLDING_ROWS

}  // namespace warploom::registration
