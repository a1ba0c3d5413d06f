#include "registration/curvature_solve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/instruction_sets.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {

DctPlan::DctPlan(std::int64_t n) : n_(n) {
  const auto dct4 = [](std::int64_t k, std::int64_t j, double m) {
    return std::sqrt(2 / m) * std::cos(std::numbers::pi * (2 * static_cast<double>(k) + 1) *
                                       (2 * static_cast<double>(j) + 1) / (4 * m));
  };
  const auto dct2 = [](std::int64_t k, std::int64_t j, double m) {
    return std::sqrt((k == 0 ? 1 : 2) / m) *
           std::cos(std::numbers::pi * static_cast<double>(k) * (2 * static_cast<double>(j) + 1) / (2 * m));
  };
  const auto add = [&](std::int64_t m, const auto& element) {
    first_.push_back(static_cast<std::int64_t>(tables_.size()));
    for (std::int64_t k = 0; k < m; ++k)
      for (std::int64_t j = 0; j < m; ++j)
        tables_.push_back(static_cast<float>(element(k, j, static_cast<double>(m))));
  };
  for (; n % 2 == 0; n /= 2, ++halvings_) add(n / 2, dct4);
  add(n, dct2);
}

CurvatureSolver::CurvatureSolver(const imaging::Grid& grid, const std::array<double, 3>& spacing)
    : size_{grid.nx, grid.ny, grid.nz},
      stride_{1, grid.nx, grid.nx * grid.ny},
      plans_{DctPlan(grid.nx), DctPlan(grid.ny), DctPlan(grid.nz)} {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto n = static_cast<double>(size_[axis]);
    for (std::int64_t k = 0; k < size_[axis]; ++k)
      eigenvalues_[axis].push_back((2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k) / n)) /
                                   (spacing[axis] * spacing[axis]));
    if (size_[axis] > 1) axes_.push_back(axis);
  }
}

void CurvatureSolver::along(std::size_t axis, std::span<float> values, Pass pass, double weight) const {
  static const DctLines forward = WARPLOOM_PICK(dct_forward), inverse = WARPLOOM_PICK(dct_inverse);
  const DctPlan& plan = plans_[axis];
  const std::int64_t n = size_[axis], step = stride_[axis];
  // 16 lines that lie beside each other along x, or along y where the lines themselves are along x.
  const std::size_t beside = axis == 0 ? 1 : 0, other = 3 - axis - beside;
  const std::int64_t groups = (size_[beside] + kDctLines - 1) / kDctLines;
  parallel_for(groups * size_[other], [&](std::int64_t task) {
    if (task % 16 == 0) check_interrupt();
    const std::int64_t first = task % groups * kDctLines, at_other = task / groups;
    const std::int64_t lines = std::min(kDctLines, size_[beside] - first);
    float* const from = values.data() + first * stride_[beside] + at_other * stride_[other];
    std::vector<float> buffers(static_cast<std::size_t>(4 * n * kDctLines));
    float *in = buffers.data(), *out = in + n * kDctLines, *scratch = out + n * kDctLines;
    // Values that lie beside each other one after another.
    const auto copy = [&](auto&& one) {
      if (axis == 0)
        for (std::int64_t w = 0; w < lines; ++w)
          for (std::int64_t k = 0; k < n; ++k) one(k * kDctLines + w, k + w * stride_[beside]);
      else if (lines == kDctLines)
        for (std::int64_t k = 0; k < n; ++k)
          for (std::int64_t w = 0; w < kDctLines; ++w) one(k * kDctLines + w, k * step + w);
      else
        for (std::int64_t k = 0; k < n; ++k)
          for (std::int64_t w = 0; w < lines; ++w) one(k * kDctLines + w, k * step + w);
    };
    copy([&](std::int64_t to, std::int64_t at) { in[to] = from[at]; });
    (pass == Pass::inverse ? inverse : forward)(plan, in, out, scratch);
    if (pass == Pass::divide) {
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t w = 0; w < lines; ++w) {
          const double laplacian = eigenvalues_[axis][static_cast<std::size_t>(k)] +
                                   eigenvalues_[beside][static_cast<std::size_t>(first + w)] +
                                   eigenvalues_[other][static_cast<std::size_t>(at_other)];
          out[k * kDctLines + w] =
              static_cast<float>(double(out[k * kDctLines + w]) / (1 + weight * laplacian * laplacian));
        }
      std::swap(in, out);
      inverse(plan, in, out, scratch);
    }
    copy([&](std::int64_t at, std::int64_t to) { from[to] = out[at]; });
  });
}

void CurvatureSolver::solve(std::span<float> values, double weight) const {
  if (axes_.empty()) return;
  for (std::size_t a = 0; a + 1 < axes_.size(); ++a) along(axes_[a], values, Pass::forward, weight);
  along(axes_.back(), values, Pass::divide, weight);
  for (std::size_t a = axes_.size() - 1; a-- > 0;) along(axes_[a], values, Pass::inverse, weight);
}

}  // namespace warploom::registration
