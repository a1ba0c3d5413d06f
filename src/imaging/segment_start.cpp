#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "imaging/segment_backend.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

using Spacing = std::array<double, 3>;

std::array<std::int64_t, 3> extents(const Grid& grid) { return {grid.nx, grid.ny, grid.nz}; }

/// value(x, y, z) at every voxel.
template <class Value>
std::vector<float> at_voxels(const Grid& grid, const Value& value) {
  std::vector<float> out(static_cast<std::size_t>(grid.voxels()));
  parallel_for(grid.nz * grid.ny, [&](std::int64_t row) {
    for (std::int64_t x = 0; x < grid.nx; ++x)
      out[static_cast<std::size_t>(row * grid.nx + x)] = static_cast<float>(value(
          {static_cast<double>(x), static_cast<double>(row % grid.ny), static_cast<double>(row / grid.ny)}));
  });
  return out;
}

using Position = std::array<double, 3>;  // of a voxel [voxels]

std::vector<float> checkerboard(const Grid& grid) {
  const std::vector<double> waves = checkerboard_waves(grid);
  const double *const x = waves.data(), *const y = x + grid.nx, *const z = y + grid.ny;
  return at_voxels(grid, [&](const Position& p) {
    return x[static_cast<std::size_t>(p[0])] * y[static_cast<std::size_t>(p[1])] *
           z[static_cast<std::size_t>(p[2])];
  });
}

std::vector<float> disk(const Grid& grid, const Spacing& spacing) {
  Position centre{};
  double radius = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < 3; ++a) {
    centre[a] = std::floor(static_cast<double>(extents(grid)[a] - 1) / 2);
    if (extents(grid)[a] > 1) radius = std::min(radius, std::max(1.0, centre[a]) * spacing[a]);
  }
  return at_voxels(grid, [&](const Position& p) {
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a) square += std::pow((p[a] - centre[a]) * spacing[a], 2);
    return 1 - std::sqrt(square) / radius;
  });
}

std::vector<float> box(const Grid& grid, const Spacing& spacing) {
  constexpr double kShare = 0.75;
  double smallest = std::numeric_limits<double>::infinity();
  Position half{};
  for (std::size_t a = 0; a < 3; ++a) {
    half[a] = kShare / 2 * static_cast<double>(extents(grid)[a]);
    if (extents(grid)[a] > 1) smallest = std::min(smallest, half[a] * spacing[a]);
  }
  return at_voxels(grid, [&](const Position& p) {
    double distance = std::numeric_limits<double>::infinity();  // to the nearest face
    for (std::size_t a = 0; a < 3; ++a)
      if (extents(grid)[a] > 1) {
        const double off = p[a] - static_cast<double>(extents(grid)[a] - 1) / 2;
        distance = std::min(distance, (half[a] - std::abs(off)) * spacing[a]);
      }
    return distance / smallest;
  });
}

/// Along one line, the lower envelope of the parabolas value[q] + (h (p - q))^2 at every p: the step of an
/// exact Euclidean distance transform (Felzenszwalb & Huttenlocher, Theory of Computing 8, 2012).
void lower_envelope(std::vector<double>& value, double h) {
  const std::size_t n = value.size();
  std::vector<std::size_t> vertex;
  std::vector<double> from;  // where vertex[k]'s parabola becomes the lowest
  for (std::size_t q = 0; q < n; ++q) {
    if (!std::isfinite(value[q])) continue;
    const auto crossing = [&](std::size_t v) {
      const double a = static_cast<double>(q), b = static_cast<double>(v);
      return ((value[q] - value[v]) / (h * h) + a * a - b * b) / (2 * (a - b));
    };
    while (!vertex.empty() && crossing(vertex.back()) <= from.back()) vertex.pop_back(), from.pop_back();
    from.push_back(vertex.empty() ? -std::numeric_limits<double>::infinity() : crossing(vertex.back()));
    vertex.push_back(q);
  }
  if (vertex.empty()) return;
  const std::vector<double> given = value;
  for (std::size_t p = 0, k = 0; p < n; ++p) {
    while (k + 1 < vertex.size() && from[k + 1] < static_cast<double>(p)) ++k;
    const double off = h * (static_cast<double>(p) - static_cast<double>(vertex[k]));
    value[p] = given[vertex[k]] + off * off;
  }
}

/// Squares of the distances to the nearest voxel whose side is `side`.
std::vector<double> squared_distances(const Grid& grid, const Spacing& spacing, const Mask& mask, bool side) {
  std::vector<double> square(mask.size());
  for (std::size_t v = 0; v < mask.size(); ++v)
    square[v] = (mask[v] != 0) == side ? 0 : std::numeric_limits<double>::infinity();
  std::int64_t stride = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t n = extents(grid)[a];
    if (n > 1)
      parallel_for(grid.voxels() / n, [&](std::int64_t line) {
        const std::size_t first = static_cast<std::size_t>(line / stride * stride * n + line % stride);
        std::vector<double> value(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < value.size(); ++i)
          value[i] = square[first + i * static_cast<std::size_t>(stride)];
        lower_envelope(value, spacing[a]);
        for (std::size_t i = 0; i < value.size(); ++i)
          square[first + i * static_cast<std::size_t>(stride)] = value[i];
      });
    stride *= n;
  }
  return square;
}

std::vector<float> from_mask(const Grid& grid, const Spacing& spacing, const Mask& mask) {
  if (mask.empty()) throw BadInput("a start from a mask needs one: start_mask is empty");
  require_mask(mask, grid);
  const auto outside = std::count(mask.begin(), mask.end(), std::uint8_t{0});
  if (outside == 0 || outside == static_cast<std::ptrdiff_t>(mask.size()))
    throw BadInput(fmt::format("the start mask is {} everywhere: a contour needs two sides",
                               outside == 0 ? "not 0" : "0"));
  const std::vector<double> to_out = squared_distances(grid, spacing, mask, false);
  const std::vector<double> to_in = squared_distances(grid, spacing, mask, true);
  std::vector<float> out(mask.size());
  double largest = 0;
  for (std::size_t v = 0; v < mask.size(); ++v) largest = std::max({largest, to_out[v], to_in[v]});
  // Half a voxel less: the border lies between the voxels.
  const double scale = 1 / (std::sqrt(largest) - 0.5 * (largest > 0.25 ? 1 : 0));
  for (std::size_t v = 0; v < mask.size(); ++v) {
    const double distance = mask[v] != 0 ? std::sqrt(to_out[v]) - 0.5 : 0.5 - std::sqrt(to_in[v]);
    out[v] = static_cast<float>(distance * scale);
  }
  return out;
}

}  // namespace

std::vector<double> checkerboard_waves(const Grid& grid) {
  std::vector<double> out;
  for (const std::int64_t extent : extents(grid))
    for (std::int64_t i = 0; i < extent; ++i)
      out.push_back(extent > 1 ? std::sin(static_cast<double>(i) * (std::numbers::pi / 5)) : 1);
  return out;
}

std::vector<float> start_level_set(const Grid& grid, const Spacing& spacing, const SegmentOptions& options) {
  switch (options.start) {
    case Start::checkerboard:
      return checkerboard(grid);
    case Start::disk:
      return disk(grid, spacing);
    case Start::box:
      return box(grid, spacing);
    case Start::mask:
      return from_mask(grid, spacing, options.start_mask);
  }
  throw Internal("a start that is none");
}

}  // namespace warploom::imaging
