#include "warploom/registration/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "registration/chain_map.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
namespace {

Point plus(const Point& a, const Point& b, double times = 1) {
  return {a[0] + times * b[0], a[1] + times * b[1], a[2] + times * b[2]};
}

constexpr std::int64_t kPiece = 512;  // points that one thread takes at a time

template <class Body>
void for_pieces(std::int64_t count, const Body& body) {
  parallel_for((count + kPiece - 1) / kPiece, [&](std::int64_t piece) {
    check_interrupt();
    body(piece * kPiece, std::min(count, (piece + 1) * kPiece));
  });
}

}  // namespace

FieldMap::FieldMap(const DisplacementField& field)
    : field_(&field),
      extents_(field.space.grid),
      to_index_(inverse(field.space.to_world)),
      voxels_(field.space.grid.voxels()) {
  const Affine& a = field.space.to_world;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < 3; ++c) smallest = std::min(smallest, std::hypot(a[0][c], a[1][c], a[2][c]));
  enough_ = 1e-5 * smallest;
}

Point FieldMap::operator()(const Point& p) const {
  const Point index = map_point(to_index_, p);
  if (!extents_.contains(index)) return p;
  const Corners corners(extents_, index);
  const float* d = field_->mm.data();
  return {p[0] + corners.mean(d), p[1] + corners.mean(d + voxels_), p[2] + corners.mean(d + 2 * voxels_)};
}

Point FieldMap::displacement(const Point& p, std::array<std::array<double, 3>, 3>& derivative) const {
  const Point index = map_point(to_index_, p);
  const Corners corners(extents_, index);
  const auto [sx, sy, sz] = corners.share;
  // Beyond the border's voxels, and along an axis of one voxel, nothing changes.
  std::array<double, 3> changes{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    changes[axis] = index[axis] >= 0 && index[axis] <= static_cast<double>(extents_.size[axis] - 1) ? 1 : 0;
  std::array<std::int64_t, 8> voxel{};
  for (unsigned n = 0; n < 8; ++n) voxel[n] = corners.voxel(n);
  const auto between = [](double a, double b, double share) { return a + share * (b - a); };
  Point d{};
  for (std::size_t c = 0; c < 3; ++c) {
    const float* values = field_->mm.data() + static_cast<std::int64_t>(c) * voxels_;
    std::array<double, 8> v{};
    for (std::size_t n = 0; n < 8; ++n) v[n] = double(values[voxel[n]]);
    // Along x on the four edges, then along y on the two faces.
    const double e0 = between(v[0], v[1], sx), e1 = between(v[2], v[3], sx), e2 = between(v[4], v[5], sx),
                 e3 = between(v[6], v[7], sx), f0 = between(e0, e1, sy), f1 = between(e2, e3, sy);
    d[c] = between(f0, f1, sz);
    const std::array<double, 3> along{changes[0] * between(between(v[1] - v[0], v[3] - v[2], sy),
                                                           between(v[5] - v[4], v[7] - v[6], sy), sz),
                                      changes[1] * between(e1 - e0, e3 - e2, sz), changes[2] * (f1 - f0)};
    for (std::size_t w = 0; w < 3; ++w)
      derivative[c][w] = along[0] * to_index_[0][w] + along[1] * to_index_[1][w] + along[2] * to_index_[2][w];
  }
  return d;
}

double FieldMap::undo(const Point& y, Point& x) const {
  constexpr int kSteps = 60;
  std::array<std::array<double, 3>, 3> j;
  const auto miss = [&](const Point& at) { return plus(plus(y, at, -1), displacement(at, j), -1); };
  const auto length = [](const Point& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); };
  Point residual = miss(x);
  double far = length(residual);
  for (int step = 0; step < kSteps && far > enough_; ++step) {
    for (std::size_t r = 0; r < 3; ++r) j[r][r] += 1;
    // Newton's step where the map can be inverted, by Cramer's rule; the fixed point's elsewhere.
    Point move = residual;
    const auto cross = [](const Point& a, const Point& b) {
      return Point{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    };
    const Point c0 = cross(j[1], j[2]), c1 = cross(j[2], j[0]), c2 = cross(j[0], j[1]);
    const double determinant = j[0][0] * c0[0] + j[0][1] * c0[1] + j[0][2] * c0[2];
    if (determinant > 1e-3)
      for (std::size_t c = 0; c < 3; ++c)
        move[c] = (c0[c] * residual[0] + c1[c] * residual[1] + c2[c] * residual[2]) / determinant;
    // Shorter while it leads farther away: the map is smooth within cells only.
    double share = 1;
    Point tried{}, left{};
    double tried_far = 0;
    for (int halving = 0; halving < 12; ++halving, share /= 2) {
      tried = plus(x, move, share);
      left = miss(tried);
      tried_far = length(left);
      if (tried_far < far) break;
    }
    if (!(tried_far < far)) break;
    x = tried, residual = left, far = tried_far;
  }
  return far;
}

ChainMap::ChainMap(const TransformChain& chain) {
  for (const Transform& t : chain) {
    if (const Affine* affine = std::get_if<Affine>(&t.map)) {
      check_affine(*affine);
      const Affine map = t.inverted ? inverse(*affine) : *affine;
      if (Affine* last = steps_.empty() ? nullptr : std::get_if<Affine>(&steps_.back()))
        *last = compose(*last, map);
      else
        steps_.emplace_back(map);
    } else {
      const DisplacementField& field = std::get<DisplacementField>(t.map);
      field.check();
      if (t.inverted)
        steps_.emplace_back(Inverse{FieldMap(field)});
      else
        steps_.emplace_back(FieldMap(field));
    }
  }
}

void ChainMap::apply(const Step& step, std::span<Point> points) {
  if (const Affine* affine = std::get_if<Affine>(&step)) {
    for (Point& p : points) p = map_point(*affine, p);
  } else if (const FieldMap* map = std::get_if<FieldMap>(&step)) {
    for (Point& p : points) p = (*map)(p);
  } else {
    const FieldMap& undone = std::get<Inverse>(step).map;
    std::array<std::array<double, 3>, 3> unused;
    for (Point& p : points) {
      Point x = plus(p, undone.displacement(p, unused), -1);
      undone.undo(p, x);
      if (undone.contains(x)) p = x;
    }
  }
}

Point ChainMap::operator()(Point p) const {
  for (const Step& step : steps_) apply(step, {&p, 1});
  return p;
}

void ChainMap::row(const Space& fixed, std::int64_t y, std::int64_t z, std::span<Point> out) const {
  for (std::size_t x = 0; x < out.size(); ++x)
    out[x] =
        map_point(fixed.to_world, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
  std::size_t first = 0;
  // A field on the same voxels needs no interpolation, which would only round.
  if (const FieldMap* map = steps_.empty() ? nullptr : std::get_if<FieldMap>(&steps_[0]);
      map != nullptr && map->space() == fixed) {
    const std::int64_t row = (z * fixed.grid.ny + y) * fixed.grid.nx;
    for (std::size_t x = 0; x < out.size(); ++x)
      out[x] = plus(out[x], map->at(row + static_cast<std::int64_t>(x)));
    first = 1;
  }
  for (std::size_t s = first; s < steps_.size(); ++s) apply(steps_[s], out);
}

TransformChain inverse(TransformChain chain) {
  std::ranges::reverse(chain);
  for (Transform& t : chain) t.inverted = !t.inverted;
  return chain;
}

void map_points(const TransformChain& chain, std::span<Point> points) {
  const ChainMap map(chain);
  for (const Point& p : points)
    for (const double value : p)
      if (!std::isfinite(value))
        throw BadInput(
            fmt::format("a point has the coordinates {}, {}, {}; they have to be finite", p[0], p[1], p[2]));
  for_pieces(static_cast<std::int64_t>(points.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      points[static_cast<std::size_t>(n)] = map(points[static_cast<std::size_t>(n)]);
  });
}

DisplacementField to_field(const TransformChain& chain, const Space& fixed) {
  const ChainMap map(chain);
  DisplacementField out = zero_field(fixed);
  const imaging::Grid& grid = fixed.grid;
  const std::int64_t voxels = grid.voxels();
  parallel_for(grid.ny * grid.nz, [&](std::int64_t row) {
    check_interrupt();
    std::vector<Point> points(static_cast<std::size_t>(grid.nx));
    const std::int64_t y = row % grid.ny, z = row / grid.ny;
    map.row(fixed, y, z, points);
    for (std::int64_t x = 0; x < grid.nx; ++x) {
      const Point from =
          map_point(fixed.to_world, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
      for (std::size_t c = 0; c < 3; ++c)
        out.mm[static_cast<std::size_t>(static_cast<std::int64_t>(c) * voxels + row * grid.nx + x)] =
            static_cast<float>(points[static_cast<std::size_t>(x)][c] - from[c]);
    }
  });
  return out;
}

InverseField invert(const DisplacementField& field, const Space& space) {
  field.check();
  InverseField out{.field = zero_field(space)};
  const FieldMap map(field);
  const imaging::Grid& grid = space.grid;
  const std::int64_t voxels = grid.voxels();
  struct Row {
    double largest = 0, sum = 0;
    std::int64_t outside = 0;
  };
  std::vector<Row> rows(static_cast<std::size_t>(grid.ny * grid.nz));
  parallel_for(grid.ny * grid.nz, [&](std::int64_t r) {
    check_interrupt();
    Row& found = rows[static_cast<std::size_t>(r)];
    std::array<std::array<double, 3>, 3> unused;
    for (std::int64_t i = 0; i < grid.nx; ++i) {
      const Point y = map_point(space.to_world, {static_cast<double>(i), static_cast<double>(r % grid.ny),
                                                 static_cast<double>(r / grid.ny)});
      Point x = plus(y, map.displacement(y, unused), -1);
      const double residual = map.undo(y, x);
      if (map.contains(x))
        found.largest = std::max(found.largest, residual), found.sum += residual;
      else
        ++found.outside;
      for (std::size_t c = 0; c < 3; ++c)
        out.field.mm[static_cast<std::size_t>(static_cast<std::int64_t>(c) * voxels + r * grid.nx + i)] =
            static_cast<float>(x[c] - y[c]);
    }
  });
  double sum = 0;
  for (const Row& row : rows) {
    out.largest_residual = std::max(out.largest_residual, row.largest);
    sum += row.sum, out.outside += row.outside;
  }
  out.mean_residual = sum / static_cast<double>(std::max<std::int64_t>(voxels - out.outside, 1));
  return out;
}

}  // namespace warploom::registration
