#include "registration/positive_step.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <vector>

#include "core/instruction_sets.hpp"
#include "registration/cells.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
namespace {

/// A box of voxels or cells, inclusive.
struct Box {
  std::array<std::int64_t, 3> first, last;
};

template <class Body>
void for_box(const Box& box, const Body& body) {
  for (std::int64_t z = box.first[2]; z <= box.last[2]; ++z)
    for (std::int64_t y = box.first[1]; y <= box.last[1]; ++y)
      for (std::int64_t x = box.first[0]; x <= box.last[0]; ++x) body(x, y, z);
}

/// A set of voxels or cells, a bit each: where many fold, a list of their neighbours takes longest to sort.
class Marks {
 public:
  explicit Marks(std::int64_t count) : words_(static_cast<std::size_t>((count + 63) / 64)) {}
  void add(std::int64_t n) { words_[static_cast<std::size_t>(n / 64)] |= std::uint64_t{1} << (n % 64); }
  std::vector<std::int64_t> in_order() const {
    std::vector<std::int64_t> out;
    for (std::size_t k = 0; k < words_.size(); ++k)
      for (std::uint64_t word = words_[k]; word != 0; word &= word - 1)
        out.push_back(static_cast<std::int64_t>(64 * k) + std::countr_zero(word));
    return out;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// The cells of a field that are not positive, and the voxels around them.
class Folds {
 public:
  Folds(const imaging::Grid& grid, const Affine& to_world, std::span<const float> displacements, double least)
      : grid_(grid), cells_(grid, to_world, displacements), least_(least) {}

  std::vector<std::int64_t> all() const {
    std::vector<std::vector<std::int64_t>> slices(static_cast<std::size_t>(cells_.along(2)));
    parallel_for(cells_.along(2), [&](std::int64_t z) {
      check_interrupt();
      std::vector<double> lower(static_cast<std::size_t>(cells_.along(0))), corners(lower.size());
      for (std::int64_t y = 0; y < cells_.along(1); ++y) {
        const std::int64_t row = z * cells_.along(1) + y;
        bound_cells_(cells_.row(row), lower.data(), corners.data());
        for (std::size_t x = 0; x < lower.size(); ++x)
          if (!(lower[x] > least_))
            slices[static_cast<std::size_t>(z)].push_back(row * cells_.along(0) +
                                                          static_cast<std::int64_t>(x));
      }
    });
    std::vector<std::int64_t> out;
    for (const auto& slice : slices) out.insert(out.end(), slice.begin(), slice.end());
    return out;
  }

  /// Of the cells at these voxels.
  std::vector<std::int64_t> at(const std::vector<std::int64_t>& voxels) const {
    Marks marks(cells_.along(0) * cells_.along(1) * cells_.along(2));
    for (const std::int64_t voxel : voxels) {
      Box box{place(voxel), place(voxel)};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        box.first[axis] = std::max<std::int64_t>(box.first[axis] - 1, 0);
        box.last[axis] = std::min(box.last[axis], cells_.along(axis) - 1);
      }
      for_box(box,
              [&](auto x, auto y, auto z) { marks.add((z * cells_.along(1) + y) * cells_.along(0) + x); });
    }
    const std::vector<std::int64_t> cells = marks.in_order();
    std::vector<std::uint8_t> fails(cells.size());
    constexpr std::int64_t kBlock = 1024;
    const auto count = static_cast<std::int64_t>(cells.size());
    parallel_for((count + kBlock - 1) / kBlock, [&](std::int64_t block) {
      for (std::int64_t n = block * kBlock; n < std::min(count, (block + 1) * kBlock); ++n)
        fails[static_cast<std::size_t>(n)] = !positive(cells[static_cast<std::size_t>(n)]);
    });
    std::vector<std::int64_t> out;
    for (std::size_t n = 0; n < cells.size(); ++n)
      if (fails[n] != 0) out.push_back(cells[n]);
    return out;
  }

  /// The voxels at the corners of cells, and those up to `margin` voxels farther.
  std::vector<std::int64_t> voxels(const std::vector<std::int64_t>& cells, std::int64_t margin) const {
    Marks marks(grid_.voxels());
    const std::array<std::int64_t, 3> extents{grid_.nx, grid_.ny, grid_.nz};
    for (const std::int64_t cell : cells) {
      const std::int64_t row = cell / cells_.along(0);
      const std::array<std::int64_t, 3> corner{cell % cells_.along(0), row % cells_.along(1),
                                               row / cells_.along(1)};
      Box box{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        box.first[axis] = std::max<std::int64_t>(corner[axis] - margin, 0);
        box.last[axis] = std::min(corner[axis] + 1 + margin, extents[axis] - 1);
      }
      for_box(box, [&](auto x, auto y, auto z) { marks.add((z * grid_.ny + y) * grid_.nx + x); });
    }
    return marks.in_order();
  }

  std::array<std::int64_t, 3> place(std::int64_t voxel) const {
    return {voxel % grid_.nx, voxel / grid_.nx % grid_.ny, voxel / (grid_.nx * grid_.ny)};
  }

 private:
  bool positive(std::int64_t cell) const {
    std::array<double, kCoefficients> c{};
    const double bound =
        cell_coefficients_(cells_.row(cell / cells_.along(0)), cell % cells_.along(0), c.data());
    return std::ranges::min(c) - bound > least_;
  }

  imaging::Grid grid_;
  Cells cells_;
  double least_;
  BoundCells bound_cells_ = WARPLOOM_PICK(bound_cells);
  CellCoefficients cell_coefficients_ = WARPLOOM_PICK(cell_coefficients);
};

}  // namespace

StepLimit smooth_folds(const imaging::Grid& grid, const Affine& to_world, std::span<float> displacements,
                       double least, int rounds) {
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  const std::array<std::int64_t, 3> extents{grid.nx, grid.ny, grid.nz},
      strides{1, grid.nx, grid.nx * grid.ny};
  const Folds folds(grid, to_world, displacements, least);
  std::vector<std::int64_t> failing = folds.all();
  if (failing.empty()) return {};
  Marks changed(grid.voxels());
  for (int round = 0; round < rounds && !failing.empty(); ++round) {
    check_interrupt();
    const std::vector<std::int64_t> around = folds.voxels(failing, 1 + round / 4);
    std::vector<std::array<float, 3>> means(around.size());
    for (std::size_t n = 0; n < around.size(); ++n) {
      const auto at = folds.place(around[n]);
      for (std::size_t c = 0; c < 3; ++c) {
        const float* d = displacements.data() + c * voxels + around[n];
        float sum = 0, count = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if (extents[axis] == 1) continue;
          // Mirrored at the faces, where a mean of one side alone would pull the border inwards.
          const std::int64_t back = at[axis] > 0 ? -strides[axis] : strides[axis],
                             ahead = at[axis] + 1 < extents[axis] ? strides[axis] : -strides[axis];
          sum += d[back] + d[ahead], count += 2;
        }
        means[n][c] = count > 0 ? (*d + sum / count) / 2 : *d;
      }
    }
    for (std::size_t n = 0; n < around.size(); ++n)
      for (std::size_t c = 0; c < 3; ++c)
        displacements[c * voxels + static_cast<std::size_t>(around[n])] = means[n][c];
    for (const std::int64_t voxel : around) changed.add(voxel);
    failing = folds.at(around);
  }
  return {static_cast<std::int64_t>(changed.in_order().size()), static_cast<std::int64_t>(failing.size())};
}

StepLimit limit_step(const imaging::Grid& grid, const Affine& to_world, std::span<const float> current,
                     std::span<float> proposed, double least) {
  // Smoothing first: voxels that are taken back alone, out of a large and smooth step, would fold anew
  // around.
  constexpr int kSmoothing = 16;
  const StepLimit smoothed = smooth_folds(grid, to_world, proposed, least, kSmoothing);
  if (smoothed.failing == 0) return smoothed;
  constexpr int kBack = 6;  // then the voxel is where it was
  struct Taken {
    int halvings = 0;
    std::array<float, 3> proposed;
  };
  std::unordered_map<std::int64_t, Taken> taken;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  const Folds folds(grid, to_world, proposed, least);
  std::vector<std::int64_t> failing = folds.all();
  while (!failing.empty()) {
    check_interrupt();
    std::vector<std::int64_t> moved;
    for (const std::int64_t voxel : folds.voxels(failing, 0)) {
      const auto v = static_cast<std::size_t>(voxel);
      const auto [entry, is_new] = taken.try_emplace(voxel);
      Taken& t = entry->second;
      if (is_new) t.proposed = {proposed[v], proposed[voxels + v], proposed[2 * voxels + v]};
      if (t.halvings == kBack) continue;
      ++t.halvings;
      moved.push_back(voxel);
      const float share = t.halvings == kBack ? 0 : 1 / static_cast<float>(1 << t.halvings);
      for (std::size_t c = 0; c < 3; ++c) {
        const float from = current[c * voxels + v];
        proposed[c * voxels + v] = share == 0 ? from : from + share * (t.proposed[c] - from);
      }
    }
    if (moved.empty()) break;
    // Cells that failed and whose voxels are all back have voxels that did not move now.
    const std::vector<std::int64_t> around = folds.voxels(failing, 0);
    failing = folds.at(around);
  }
  return {smoothed.limited + static_cast<std::int64_t>(taken.size()),
          static_cast<std::int64_t>(failing.size())};
}

}  // namespace warploom::registration
