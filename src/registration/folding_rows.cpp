#include "registration/folding_rows.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::registration {
namespace {

// Relative to the product of the edges' sums of magnitudes: a triple product in double precision and the mean
// of eight are off by less than 32 roundings; three columns of the affine by one rounding to float each.
constexpr double kRounding = 64 * 0x1p-53 + 3.03 * 0x1p-24;

// Edges of a cell along one axis, by the corner of the face that they start at. [component][lane]
template <int kLanes>
struct Edges {
  double at[2][2][3][kLanes];
  double largest[kLanes];  // sum of magnitudes, not less than that of the voxel's own edge

  void measure(const std::array<double, 3>& column) {
    const double own = std::abs(column[0]) + std::abs(column[1]) + std::abs(column[2]);
    for (int w = 0; w < kLanes; ++w) largest[w] = own;
    for (const auto& face : at)
      for (const auto& edge : face)
        for (int w = 0; w < kLanes; ++w)
          largest[w] =
              std::max(largest[w], std::abs(edge[0][w]) + std::abs(edge[1][w]) + std::abs(edge[2][w]));
  }
};

// out = column + to - from. Differences of floats are exact in double but for those of 2^29 times another
// size.
template <int kLanes>
void edge(const float* from, const float* to, double column, double* out) {
#pragma omp simd
  for (int w = 0; w < kLanes; ++w) out[w] = column + (double(to[w]) - double(from[w]));
}

// Unscaled by the voxel's volume.
template <int kLanes>
void coefficients(const CellRow& row, std::int64_t first, double (*sum)[kLanes], double* bound) {
  Edges<kLanes> x, y, z;
  for (int c = 0; c < 3; ++c)
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j) {
        const auto node = [&](int zz, int yy, int xx) {
          return row.nodes[zz][yy][c] + first + xx * row.next;
        };
        edge<kLanes>(node(k, j, 0), node(k, j, 1), row.columns[0][c], x.at[k][j][c]);
        edge<kLanes>(node(k, 0, j), node(k, 1, j), row.columns[1][c], y.at[k][j][c]);
        edge<kLanes>(node(0, k, j), node(1, k, j), row.columns[2][c], z.at[k][j][c]);
      }
  x.measure(row.columns[0]), y.measure(row.columns[1]), z.measure(row.columns[2]);
  for (int w = 0; w < kLanes; ++w) bound[w] = kRounding * x.largest[w] * y.largest[w] * z.largest[w];

  std::fill_n(&sum[0][0], kCoefficients * kLanes, 0.0);
  // An edge along x belongs to a corner (y, z) of the cell, and so on: the product of three has the sums of
  // their corners' coordinates as degrees.
  for (std::size_t xz = 0; xz < 2; ++xz)
    for (std::size_t xy = 0; xy < 2; ++xy)
      for (std::size_t yz = 0; yz < 2; ++yz)
        for (std::size_t yx = 0; yx < 2; ++yx) {
          const auto& a = x.at[xz][xy];
          const auto& b = y.at[yz][yx];
          double cross[3][kLanes];
#pragma omp simd
          for (int w = 0; w < kLanes; ++w) {
            cross[0][w] = a[1][w] * b[2][w] - a[2][w] * b[1][w];
            cross[1][w] = a[2][w] * b[0][w] - a[0][w] * b[2][w];
            cross[2][w] = a[0][w] * b[1][w] - a[1][w] * b[0][w];
          }
          for (std::size_t zy = 0; zy < 2; ++zy)
            for (std::size_t zx = 0; zx < 2; ++zx) {
              const auto& d = z.at[zy][zx];
              double* to = sum[coefficient(yx + zx, xy + zy, xz + yz)];
#pragma omp simd
              for (int w = 0; w < kLanes; ++w)
                to[w] += cross[0][w] * d[0][w] + cross[1][w] * d[1][w] + cross[2][w] * d[2][w];
            }
        }
  // Two products meet in the middle of each axis: their mean.
  for (std::size_t n = 0; n < kCoefficients; ++n) {
    const auto middle = [](std::size_t degree) { return degree == 1 ? 0.5 : 1.0; };
    const double share = middle(n % 3) * middle(n / 3 % 3) * middle(n / 9);
    for (int w = 0; w < kLanes; ++w) sum[n][w] *= share;
  }
}

template <int kLanes>
void bound_part(const CellRow& row, std::int64_t first, double* lower, double* corners) {
  double sum[kCoefficients][kLanes], bound[kLanes], least[kLanes], corner[kLanes];
  coefficients<kLanes>(row, first, sum, bound);
  const double scale = row.inverse_of_volume;
  for (int w = 0; w < kLanes; ++w) least[w] = corner[w] = sum[0][w] * scale;
  for (std::size_t n = 1; n < kCoefficients; ++n) {
    const bool at_corner = n % 3 != 1 && n / 3 % 3 != 1 && n / 9 != 1;
    for (int w = 0; w < kLanes; ++w) {
      least[w] = std::min(least[w], sum[n][w] * scale);
      if (at_corner) corner[w] = std::min(corner[w], sum[n][w] * scale);
    }
  }
  for (int w = 0; w < kLanes; ++w) {
    lower[first + w] = least[w] - bound[w] * std::abs(scale);
    corners[first + w] = corner[w];
  }
}

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

void bound_cells(const CellRow& row, double* lower, double* corners) {
  constexpr int kLanes = 8;
  std::int64_t first = 0;
  for (; first + kLanes <= row.cells; first += kLanes) bound_part<kLanes>(row, first, lower, corners);
  if (first < row.cells && row.cells >= kLanes && row.next == 1)
    bound_part<kLanes>(row, row.cells - kLanes, lower, corners);
  else
    for (; first < row.cells; ++first) bound_part<1>(row, first, lower, corners);
}

double cell_coefficients(const CellRow& row, std::int64_t cell, double* out) {
  double sum[kCoefficients][1], bound[1];
  coefficients<1>(row, cell, sum, bound);
  for (std::size_t n = 0; n < kCoefficients; ++n) out[n] = sum[n][0] * row.inverse_of_volume;
  return bound[0] * std::abs(row.inverse_of_volume);
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::registration
