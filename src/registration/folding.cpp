#include "warploom/registration/folding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/doors.hpp"
#include "core/instruction_sets.hpp"
#include "registration/cells.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
namespace {

using Coefficients = std::array<double, kCoefficients>;

enum class Verdict { positive, folded, undecided };

/// The two halves of a polynomial along one axis, by de Casteljau's scheme.
std::array<Coefficients, 2> halves(const Coefficients& whole, std::size_t stride) {
  std::array<Coefficients, 2> out{};
  for (std::size_t n = 0; n < kCoefficients; ++n) {
    if (n / stride % 3 != 0) continue;
    const double a = whole[n], b = whole[n + stride], c = whole[n + 2 * stride];
    const double ab = (a + b) / 2, bc = (b + c) / 2, middle = (ab + bc) / 2;
    out[0][n] = a, out[0][n + stride] = ab, out[0][n + 2 * stride] = middle;
    out[1][n] = middle, out[1][n + stride] = bc, out[1][n + 2 * stride] = c;
  }
  return out;
}

/// Lowers `least` to what the part's determinant is nowhere less than, if it is positive. @param bound of
/// rounding
Verdict decide(const Coefficients& part, double bound, int depth, double& least) {
  const double lower = std::ranges::min(part) - bound;
  if (lower > 0 || depth == 0) {
    least = std::min(least, lower);
    if (lower > 0) return Verdict::positive;
  }
  for (const std::size_t corner : {0U, 2U, 6U, 8U, 18U, 20U, 24U, 26U})
    if (part[corner] <= 0) return Verdict::folded;
  if (depth == 0) return Verdict::undecided;
  Verdict worst = Verdict::positive;
  for (const Coefficients& x : halves(part, 1))
    for (const Coefficients& xy : halves(x, 3))
      for (const Coefficients& xyz : halves(xy, 9)) {
        const Verdict verdict = decide(xyz, bound, depth - 1, least);
        if (verdict == Verdict::folded) return verdict;
        if (verdict == Verdict::undecided) worst = verdict;
      }
  return worst;
}

/// One row's share of the certificate.
struct RowFound {
  double corner = std::numeric_limits<double>::infinity(), lower = std::numeric_limits<double>::infinity();
  std::int64_t subdivided = 0, folded = 0, undecided = 0;
};

RowFound look_at(const CellRow& row, std::vector<double>& scratch) {
  const auto cells = static_cast<std::size_t>(row.cells);
  scratch.resize(2 * cells);
  double *lower = scratch.data(), *corners = lower + cells;
  static const auto bound_cells = WARPLOOM_PICK(bound_cells);
  static const auto cell_coefficients = WARPLOOM_PICK(cell_coefficients);
  bound_cells(row, lower, corners);
  RowFound found;
  constexpr int kDepth = 6;
  for (std::size_t x = 0; x < cells; ++x) {
    found.corner = std::min(found.corner, corners[x]);
    if (lower[x] > 0) {
      found.lower = std::min(found.lower, lower[x]);
      continue;
    }
    if (!std::isfinite(lower[x])) {  // nor are all displacements
      ++found.undecided;
      found.lower = -std::numeric_limits<double>::infinity();
      continue;
    }
    if (corners[x] <= 0) {
      ++found.folded;
      found.lower = std::min(found.lower, lower[x]);
      continue;
    }
    Coefficients whole;
    const double bound = cell_coefficients(row, static_cast<std::int64_t>(x), whole.data());
    double least = std::numeric_limits<double>::infinity();
    const Verdict verdict = decide(whole, bound, kDepth, least);
    found.lower = std::min(found.lower, verdict == Verdict::positive ? least : lower[x]);
    ++(verdict == Verdict::positive ? found.subdivided
       : verdict == Verdict::folded ? found.folded
                                    : found.undecided);
  }
  return found;
}

}  // namespace

std::string_view name(FoldCertificate::Kind kind) {
  constexpr std::string_view kNames[] = {"Bernstein coefficients", "Bernstein coefficients of parts of cells",
                                         "corners of cells", "none"};
  return at_enumerator(kNames, kind, "the kind of certificate");
}

FoldCertificate certify(const DisplacementField& field) {
  field.check();
  const imaging::Grid& grid = field.space.grid;
  const Cells cells(grid, field.space.to_world, field.mm);
  std::vector<RowFound> rows(static_cast<std::size_t>(cells.rows()));
  parallel_for(cells.along(2), [&](std::int64_t z) {
    check_interrupt();
    std::vector<double> scratch;
    for (std::int64_t y = 0; y < cells.along(1); ++y) {
      const std::int64_t r = z * cells.along(1) + y;
      rows[static_cast<std::size_t>(r)] = look_at(cells.row(r), scratch);
    }
  });
  FoldCertificate out;
  RowFound all;
  for (const RowFound& row : rows) {
    all.corner = std::min(all.corner, row.corner);
    all.lower = std::min(all.lower, row.lower);
    out.subdivided += row.subdivided, out.folded += row.folded, out.undecided += row.undecided;
  }
  out.smallest_determinant = all.corner;
  out.lower_bound = all.lower;
  out.cells = cells.count();
  const bool flat = std::min({grid.nx, grid.ny, grid.nz}) == 1;
  out.kind = out.folded + out.undecided > 0 ? FoldCertificate::Kind::none
             : out.subdivided > 0           ? FoldCertificate::Kind::subdivided
             : flat                         ? FoldCertificate::Kind::corners
                                            : FoldCertificate::Kind::bernstein;
  return out;
}

imaging::Image jacobian_determinant(const DisplacementField& field) {
  field.check();
  const imaging::Grid& grid = field.space.grid;
  imaging::Image out(grid, 1);
  const std::array<std::int64_t, 3> extents{grid.nx, grid.ny, grid.nz},
      strides{1, grid.nx, grid.nx * grid.ny};
  const std::int64_t voxels = grid.voxels();
  const double inverse_of_volume = 1 / io::determinant(field.space.to_world);
  parallel_for(grid.nz * grid.ny, [&](std::int64_t row) {
    for (std::int64_t x = 0; x < grid.nx; ++x) {
      const std::array<std::int64_t, 3> at{x, row % grid.ny, row / grid.ny};
      const std::int64_t voxel = row * grid.nx + x;
      Affine j{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t back = at[axis] > 0 ? 1 : 0, ahead = at[axis] + 1 < extents[axis] ? 1 : 0;
        const double over = 1.0 / static_cast<double>(std::max<std::int64_t>(back + ahead, 1));
        for (std::size_t c = 0; c < 3; ++c) {
          const float* d = field.mm.data() + static_cast<std::int64_t>(c) * voxels + voxel;
          j[c][axis] = field.space.to_world[c][axis] +
                       (double(d[ahead * strides[axis]]) - double(d[-back * strides[axis]])) * over;
        }
      }
      out.data[static_cast<std::size_t>(voxel)] = static_cast<float>(io::determinant(j) * inverse_of_volume);
    }
  });
  return out;
}

}  // namespace warploom::registration
