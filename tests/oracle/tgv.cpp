#include "oracle/tgv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace warploom::oracle {

GeneralisedVariation::GeneralisedVariation(const Image& noisy, const Mask& mask, bool tensor, double lambda,
                                           double ratio)
    : image_(noisy, mask, tensor, lambda, 0), grid_(noisy.grid), lambda_(lambda) {
  double smallest = std::numeric_limits<double>::infinity();
  const std::int64_t extents[3] = {grid_.nx, grid_.ny, grid_.nz};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extents[axis] > 1) smallest = std::min(smallest, grid_.spacing[axis]);
  second_ = ratio * smallest;
  for (int c = 0; c < noisy.channels; ++c)
    weights_.push_back(tensor && (c == 1 || c == 2 || c == 4) ? 2.0 : 1.0);
  for (std::int64_t z = 0; z < grid_.nz; ++z)
    for (std::int64_t y = 0; y < grid_.ny; ++y)
      for (std::int64_t x = 0; x < grid_.nx; ++x) add_rows(x, y, z);
}

void GeneralisedVariation::add_rows(std::int64_t x, std::int64_t y, std::int64_t z) {
  using Place = std::array<std::int64_t, 3>;
  const auto number = [&](const Place& at) { return (at[2] * grid_.ny + at[1]) * grid_.nx + at[0]; };
  const auto is_inside = [&](const Place& at) {
    return at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] < grid_.nx && at[1] < grid_.ny &&
           at[2] < grid_.nz && image_.inside(number(at));
  };
  const auto moved = [](Place at, int axis, int by) {
    at[static_cast<std::size_t>(axis)] += by;
    return at;
  };
  const Place here{x, y, z};
  const std::int64_t n = grid_.voxels(), v = number(here);
  const auto w = [&](int axis, const Place& at) { return (1 + axis) * n + number(at); };
  const auto spacing = [&](int axis) { return grid_.spacing[static_cast<std::size_t>(axis)]; };
  for (int i = 0; i < 3; ++i) {
    const bool next = is_inside(here) && is_inside(moved(here, i, 1));
    if (next)  // (u(next) - u(here)) / h - w_i(here)
      rows_.push_back({{{number(moved(here, i, 1)), 1 / spacing(i)}, {v, -1 / spacing(i)}, {w(i, here), -1}},
                       v,
                       false,
                       1});
    if (next && is_inside(moved(here, i, -1)))  // the change of w_i along its own axis
      rows_.push_back(
          {{{w(i, here), 1 / spacing(i)}, {w(i, moved(here, i, -1)), -1 / spacing(i)}}, v, true, 1});
    for (int j = i + 1; j < 3; ++j)  // half the change of w_i along j and of w_j along i, over four voxels
      if (next && is_inside(moved(here, j, 1)) && is_inside(moved(moved(here, i, 1), j, 1)))
        rows_.push_back({{{w(i, moved(here, j, 1)), 0.5 / spacing(j)},
                          {w(i, here), -0.5 / spacing(j)},
                          {w(j, moved(here, i, 1)), 0.5 / spacing(i)},
                          {w(j, here), -0.5 / spacing(i)}},
                         v,
                         true,
                         2});
  }
}

double GeneralisedVariation::value(const Row& row, const Field& u, const Field& w, int channel) const {
  const std::int64_t n = grid_.voxels();
  double sum = 0;
  for (const Entry& e : row.entries)
    sum += e.factor * (e.column < n ? u[static_cast<std::size_t>(channel * n + e.column)]
                                    : w[static_cast<std::size_t>((3 * channel - 1) * n + e.column)]);
  return sum;
}

double GeneralisedVariation::objective(const Point& point) const {
  std::vector<double> slope(static_cast<std::size_t>(grid_.voxels())), strain(slope.size());
  for (const Row& row : rows_)
    for (std::size_t c = 0; c < weights_.size(); ++c)
      (row.strain ? strain : slope)[static_cast<std::size_t>(row.voxel)] +=
          weights_[c] * row.weight * std::pow(value(row, point.u, point.w, static_cast<int>(c)), 2);
  double sum = lambda_ / 2 * image_.fidelity(point.u);
  for (std::size_t v = 0; v < slope.size(); ++v) sum += std::sqrt(slope[v]) + second_ * std::sqrt(strain[v]);
  return sum;
}

GeneralisedVariation::Point GeneralisedVariation::minimise(int iterations) const {
  const std::int64_t n = grid_.voxels();
  const std::size_t channels = weights_.size();
  // |K|^2 <= the largest sum of |factors| of a row times that of a column.
  double row_sum = 0;
  std::vector<double> column_sum(static_cast<std::size_t>(4 * n));
  for (const Row& row : rows_) {
    double sum = 0;
    for (const Entry& e : row.entries) {
      sum += std::abs(e.factor);
      column_sum[static_cast<std::size_t>(e.column)] += row.weight * std::abs(e.factor);
    }
    row_sum = std::max(row_sum, sum);
  }
  const double norm = std::sqrt(row_sum * *std::ranges::max_element(column_sum));
  const double tau = 0.1 / norm, sigma = 10 / norm;
  Point now{image_.project(image_.noisy()), Field(channels * 3 * static_cast<std::size_t>(n)), 0};
  Field u_bar = now.u, w_bar = now.w;
  std::vector<double> dual(rows_.size() * channels);
  for (int k = 0; k < iterations; ++k) {
    std::vector<double> slope(static_cast<std::size_t>(n)), strain(slope.size());
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t c = 0; c < channels; ++c) {
        double& y = dual[r * channels + c];
        y += sigma * value(rows_[r], u_bar, w_bar, static_cast<int>(c));
        (rows_[r].strain ? strain : slope)[static_cast<std::size_t>(rows_[r].voxel)] +=
            weights_[c] * rows_[r].weight * y * y;
      }
    Field u_force(now.u.size()), w_force(now.w.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto v = static_cast<std::size_t>(rows_[r].voxel);
      const double length = std::sqrt(rows_[r].strain ? strain[v] : slope[v]);
      const double most = rows_[r].strain ? second_ : 1;
      for (std::size_t c = 0; c < channels; ++c) {
        double& y = dual[r * channels + c];
        if (length > most) y *= most / length;
        for (const Entry& e : rows_[r].entries) {
          const auto at = static_cast<std::int64_t>(c);
          (e.column < n ? u_force[static_cast<std::size_t>(at * n + e.column)]
                        : w_force[static_cast<std::size_t>((3 * at - 1) * n + e.column)]) +=
              rows_[r].weight * e.factor * y;
        }
      }
    }
    Field u = now.u, w = now.w;
    for (std::size_t i = 0; i < u.size(); ++i)
      u[i] = (u[i] - tau * u_force[i] + tau * lambda_ * image_.noisy()[i]) / (1 + tau * lambda_);
    u = image_.project(std::move(u));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= tau * w_force[i];
    for (std::size_t i = 0; i < u.size(); ++i) u_bar[i] = 2 * u[i] - now.u[i];
    for (std::size_t i = 0; i < w.size(); ++i) w_bar[i] = 2 * w[i] - now.w[i];
    now.u = std::move(u), now.w = std::move(w);
  }
  now.objective = objective(now);
  return now;
}

}  // namespace warploom::oracle
