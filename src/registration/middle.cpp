#include "registration/middle.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/instruction_sets.hpp"
#include "registration/affine_objective.hpp"
#include "registration/motion.hpp"
#include "registration/strips.hpp"

namespace warploom::registration {
namespace {

// How far the middle goes on where one of the images ends [voxels].
constexpr double kMargin = 8;

std::array<std::int64_t, 3> extents_of(const Space& space) {
  return {space.grid.nx, space.grid.ny, space.grid.nz};
}

Point middle_voxel(const Space& space) {
  Point out{};
  for (std::size_t c = 0; c < 3; ++c) out[c] = static_cast<double>(extents_of(space)[c] - 1) / 2;
  return out;
}

// Columns of `from`'s voxels seen along `to`'s, both of length 1, so that an inverse map has the transposed.
Matrix3 directions(const Affine& map, const Space& from, const Space& to) {
  const auto a = spacing_of(from.to_world), b = spacing_of(to.to_world);
  Matrix3 out{};
  double squares = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) out[r][c] = map[r][c] * b[r] / a[c], squares += out[r][c] * out[r][c];
  for (auto& row : out)
    for (double& v : row) v /= std::sqrt(squares);
  return out;
}

// The signed permutation of axes that is nearest to a map of voxels, seen from either side.
Affine nearest_axes(const Affine& map, const Space& fixed, const Space& moving) {
  const Matrix3 there = directions(map, fixed, moving), back = directions(inverse(map), moving, fixed);
  std::array<std::size_t, 3> order{0, 1, 2};
  Affine best{};
  double most = -1;
  do {
    Affine axes{};
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const double along = there[order[c]][c] + back[c][order[c]];
      axes[order[c]][c] = along < 0 ? -1 : 1;
      sum += std::abs(along);
    }
    if (sum > most && io::determinant(axes) * io::determinant(map) > 0) best = axes, most = sum;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// The map that is `map` when done twice, by Denman and Beavers' iteration. There is one unless `map` turns
// something round, which the nearest axes leave to shears beyond all measure.
std::optional<Affine> half_of(const Affine& map) {
  Affine half = map, back = identity_affine();
  for (int k = 0; k < 50; ++k) {
    if (!(std::abs(io::determinant(half)) > 1e-9 && std::abs(io::determinant(back)) > 1e-9)) break;
    const Affine of_half = inverse(half), of_back = inverse(back);
    double change = 0, size = 1;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 4; ++c) {
        const double next = (half[r][c] + of_back[r][c]) / 2;
        change = std::max(change, std::abs(next - half[r][c])), size = std::max(size, std::abs(next));
        half[r][c] = next;
        back[r][c] = (back[r][c] + of_half[r][c]) / 2;
      }
    if (change < 1e-12 * size) return half;
  }
  return std::nullopt;
}

}  // namespace

Middle middle_of(const Space& fixed, const Space& moving, const Affine& affine) {
  const Affine map = compose(compose(fixed.to_world, affine), inverse(moving.to_world));
  const Affine axes = nearest_axes(map, fixed, moving);
  const Affine to_moving_half = half_of(compose(map, inverse(axes))).value_or(identity_affine());
  // Of the middle's voxels, numbered from 0 before its place is known.
  const Affine from_fixed = to_moving_half, to_fixed = inverse(from_fixed);
  const Affine to_moving = compose(to_fixed, map), from_moving = inverse(to_moving);
  const auto step_fixed = spacing_of(compose(to_fixed, fixed.to_world)),
             step_moving = spacing_of(compose(to_moving, moving.to_world));

  const Point fixed_middle = map_point(from_fixed, middle_voxel(fixed)),
              moving_middle = map_point(from_moving, middle_voxel(moving));
  const auto fixed_spacing = spacing_of(fixed.to_world), moving_spacing = spacing_of(moving.to_world);
  std::array<std::int64_t, 3> extents{};
  std::array<double, 3> spacing{};
  Affine from_own = identity_affine();
  for (std::size_t c = 0; c < 3; ++c) {
    std::size_t other = 0;  // the moving image's axis
    for (std::size_t r = 0; r < 3; ++r)
      if (axes[r][c] != 0) other = r;
    const std::int64_t n = extents_of(fixed)[c], m = extents_of(moving)[other];
    const double reach = static_cast<double>(n) * fixed_spacing[c] / step_fixed[c] / 2,
                 moving_reach = static_cast<double>(m) * moving_spacing[other] / step_moving[c] / 2;
    const double low[2] = {fixed_middle[c] - reach, moving_middle[c] - moving_reach},
                 high[2] = {fixed_middle[c] + reach, moving_middle[c] + moving_reach};
    double from = std::max((low[0] + low[1]) / 2, std::max(low[0], low[1]) - kMargin),
           to = std::min((high[0] + high[1]) / 2, std::min(high[0], high[1]) + kMargin);
    const double middle = (from + to) / 2;
    // Upwards, and not so that rounding decides about half a voxel.
    extents[c] = n == 1 && m == 1 ? 1 : std::max<std::int64_t>(1, std::llround(std::ceil(to - from - 1e-3)));
    spacing[c] = std::sqrt(step_fixed[c] * step_moving[c]);
    from_own[c][c] = 1 / spacing[c];
    from_own[c][3] = middle - static_cast<double>(extents[c] - 1) / 2;
  }
  Middle out;
  out.space.grid = {extents[0], extents[1], extents[2], spacing};
  for (std::size_t c = 0; c < 3; ++c) out.space.to_world[c][c] = spacing[c];
  out.to_fixed = compose(compose(from_own, to_fixed), fixed.to_world);
  out.to_moving = compose(out.to_fixed, affine);
  return out;
}

std::vector<float> refine(const std::vector<float>& h, const Space& from, const Space& to) {
  const GridSize grid{to.grid.nx, to.grid.ny, to.grid.nz}, source{from.grid.nx, from.grid.ny, from.grid.nz};
  const VoxelMap map = voxel_map(identity_affine(), to, from);
  const auto old_spacing = spacing_of(from.to_world), spacing = spacing_of(to.to_world);
  std::vector<float> out(static_cast<std::size_t>(3 * grid.voxels()));
  const auto sample = WARPLOOM_PICK(sample_strip);
  for_strips(grid, [&](const Strip& strip, std::int64_t) {
    for (std::int64_t c = 0; c < 3; ++c) {
      float* component = out.data() + c * grid.voxels();
      sample({grid, strip, source, h.data() + c * source.voxels(), nullptr, map, nullptr, 1, component,
              nullptr, nullptr});
      const auto scale =
          static_cast<float>(old_spacing[static_cast<std::size_t>(c)] / spacing[static_cast<std::size_t>(c)]);
      const std::int64_t first = (strip.z * grid.ny + strip.y_from) * grid.nx,
                         end = (strip.z * grid.ny + strip.y_to) * grid.nx;
      for (std::int64_t i = first; i < end; ++i) component[i] *= scale;
    }
  });
  return out;
}

// x is met by the middle's y for which y - h(y) is x: e = y - x = h(x + e), which converges since h stretches
// nothing to twice its length. From there the other image lies as far again.
std::vector<float> through_the_middle(const std::vector<float>& h, const Middle& middle, const Space& fixed) {
  const GridSize grid{middle.space.grid.nx, middle.space.grid.ny, middle.space.grid.nz},
      to{fixed.grid.nx, fixed.grid.ny, fixed.grid.nz};
  const VoxelMap map = voxel_map(inverse(middle.to_fixed), fixed, middle.space),
                 back = voxel_map(middle.to_fixed, middle.space, fixed);
  const std::int64_t plane = grid.nx * grid.ny, voxels = grid.voxels(), wanted = to.voxels();
  std::vector<float> out(static_cast<std::size_t>(3 * wanted));
  for_strips(to, [&](const Strip& strip, std::int64_t) {
    const auto cell = [](float& p, std::int64_t n, std::int64_t stride, std::int64_t& step) {
      p = std::min(std::max(p, 0.0F), static_cast<float>(n - 1));
      const auto i =
          static_cast<std::int64_t>(std::min(p, static_cast<float>(std::max<std::int64_t>(n - 2, 0))));
      p -= static_cast<float>(i);
      step = n > 1 ? stride : 0;
      return i * stride;
    };
    for (std::int64_t y = strip.y_from; y < strip.y_to; ++y)
      for (std::int64_t x = 0; x < to.nx; ++x) {
        float place[3], e[3] = {};
        for (std::size_t r = 0; r < 3; ++r)
          place[r] = map[r][0] * static_cast<float>(x) + map[r][1] * static_cast<float>(y) +
                     map[r][2] * static_cast<float>(strip.z) + map[r][3];
        for (int k = 0; k < 60; ++k) {
          float px = place[0] + e[0], py = place[1] + e[1], pz = place[2] + e[2];
          std::int64_t sx = 0, sy = 0, sz = 0;
          const std::int64_t corner =
              cell(px, grid.nx, 1, sx) + cell(py, grid.ny, grid.nx, sy) + cell(pz, grid.nz, plane, sz);
          float change = 0;
          for (int c = 0; c < 3; ++c) {
            const float* v = h.data() + c * voxels + corner;
            const float a = v[0] + px * (v[sx] - v[0]), b = v[sy] + px * (v[sy + sx] - v[sy]);
            const float d = v[sz] + px * (v[sz + sx] - v[sz]),
                        f = v[sz + sy] + px * (v[sz + sy + sx] - v[sz + sy]);
            const float near = a + py * (b - a), far = d + py * (f - d), value = near + pz * (far - near);
            change = std::max(change, std::abs(value - e[c]));
            e[c] = value;
          }
          if (change < 1e-4F) break;
        }
        const std::int64_t at = (strip.z * to.ny + y) * to.nx + x;
        for (std::size_t r = 0; r < 3; ++r)
          out[static_cast<std::size_t>(at + static_cast<std::int64_t>(r) * wanted)] =
              2 * (back[r][0] * e[0] + back[r][1] * e[1] + back[r][2] * e[2]);
      }
  });
  return out;
}

}  // namespace warploom::registration
