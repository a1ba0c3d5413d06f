#include "registration/bspline.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
namespace {

constexpr std::int64_t kLines = 16;  // filtered side by side: a cache line of them lies together

// `lines` lines of n values each, value k of line w at [k * lines + w].
void filter(double* s, std::int64_t n, std::int64_t lines) {
  const double pole = std::sqrt(3.0) - 2;
  constexpr double kGain = 6;
  for (std::int64_t w = 0; w < lines; ++w) {
    const auto at = [&](std::int64_t k) -> double& { return s[k * lines + w]; };
    // The sum over the mirrored line without end, in closed form.
    double power = pole, mirrored = std::pow(pole, n - 1), sum = at(0) + mirrored * at(n - 1);
    mirrored *= mirrored / pole;
    for (std::int64_t k = 1; k + 1 < n; ++k) {
      sum += (power + mirrored) * at(k);
      power *= pole, mirrored /= pole;
    }
    at(0) = sum / (1 - power * power);
  }
  for (std::int64_t k = 1; k < n; ++k)
    for (std::int64_t w = 0; w < lines; ++w) s[k * lines + w] += pole * s[(k - 1) * lines + w];
  for (std::int64_t w = 0; w < lines; ++w)
    s[(n - 1) * lines + w] =
        pole / (pole * pole - 1) * (pole * s[(n - 2) * lines + w] + s[(n - 1) * lines + w]);
  for (std::int64_t k = n - 2; k >= 0; --k)
    for (std::int64_t w = 0; w < lines; ++w)
      s[k * lines + w] = pole * (s[(k + 1) * lines + w] - s[k * lines + w]);
  for (std::int64_t k = 0; k < n * lines; ++k) s[k] *= kGain;
}

std::int64_t mirrored(std::int64_t k, std::int64_t n) {
  if (n == 1) return 0;
  const std::int64_t period = 2 * n - 2;
  k = (k % period + period) % period;
  return k < n ? k : period - k;
}

}  // namespace

void to_coefficients(std::span<float> values, const imaging::Grid& grid) {
  const Extents extents(grid);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t n = extents.size[axis], stride = extents.stride[axis];
    if (n == 1) continue;
    // Lines that lie side by side are `inner` in number, and there are `outer` such groups. Along x there are
    // none.
    const std::int64_t inner = stride, outer = grid.voxels() / (n * stride),
                       groups = (inner + kLines - 1) / kLines;
    parallel_for(outer * groups, [&](std::int64_t task) {
      if (task % 64 == 0) check_interrupt();
      const std::int64_t first = task % groups * kLines, lines = std::min(kLines, inner - first);
      float* from = values.data() + task / groups * n * stride + first;
      std::vector<double> line(static_cast<std::size_t>(n * lines));
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t w = 0; w < lines; ++w)
          line[static_cast<std::size_t>(k * lines + w)] = double(from[k * stride + w]);
      filter(line.data(), n, lines);
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t w = 0; w < lines; ++w)
          from[k * stride + w] = static_cast<float>(line[static_cast<std::size_t>(k * lines + w)]);
    });
  }
}

double spline_value(const float* coefficients, const Extents& extents, const Point& index) {
  std::array<std::array<double, 4>, 3> weight{};
  std::array<std::array<std::int64_t, 4>, 3> offset{};
  std::array<std::size_t, 3> count{1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t n = extents.size[axis];
    if (n == 1) {
      weight[axis][0] = 1;
      continue;
    }
    count[axis] = 4;
    const double low = std::floor(index[axis]), t = index[axis] - low, s = 1 - t;
    weight[axis] = {s * s * s / 6, 2.0 / 3 - t * t * (2 - t) / 2, 2.0 / 3 - s * s * (2 - s) / 2,
                    t * t * t / 6};
    for (std::size_t k = 0; k < 4; ++k)
      offset[axis][k] = mirrored(static_cast<std::int64_t>(low) - 1 + static_cast<std::int64_t>(k), n) *
                        extents.stride[axis];
  }
  double value = 0;
  for (std::size_t z = 0; z < count[2]; ++z)
    for (std::size_t y = 0; y < count[1]; ++y) {
      const float* row = coefficients + offset[2][z] + offset[1][y];
      double sum = 0;
      for (std::size_t x = 0; x < count[0]; ++x) sum += weight[0][x] * double(row[offset[0][x]]);
      value += weight[2][z] * weight[1][y] * sum;
    }
  return value;
}

}  // namespace warploom::registration
