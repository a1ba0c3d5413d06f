#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/doors.hpp"
#include "registration/trilinear.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/registration/resample.hpp"

namespace warploom::registration {
namespace {

constexpr std::array<std::string_view, 3> kTurnings{"preserve-direction", "finite-strain", "none"};

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;  // rows

Vector times(const Matrix& a, const Vector& v) {
  Vector out{};
  for (std::size_t r = 0; r < 3; ++r) out[r] = a[r][0] * v[0] + a[r][1] * v[1] + a[r][2] * v[2];
  return out;
}

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector unit(const Vector& a) {
  const double length = std::sqrt(dot(a, a));
  return {a[0] / length, a[1] / length, a[2] / length};
}

double determinant(const Matrix& m) { return dot(m[0], cross(m[1], m[2])); }

Matrix inverse_transposed(const Matrix& m) {
  const double d = determinant(m);
  Matrix out{cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])};
  for (Vector& row : out)
    for (double& value : row) value /= d;
  return out;
}

Matrix transposed(const Matrix& m) {
  return {{{m[0][0], m[1][0], m[2][0]}, {m[0][1], m[1][1], m[2][1]}, {m[0][2], m[1][2], m[2][2]}}};
}

/// The orthogonal factor of m = R S, S symmetric and positive: Newton's iteration (Higham, SIAM J. Sci. Stat.
/// Comput. 7(4), 1986), with his scaling. m may not be singular.
Matrix nearest_rotation(Matrix m) {
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps; ++step) {
    const Matrix back = inverse_transposed(m);
    double norm = 0, back_norm = 0;
    for (std::size_t r = 0; r < 3; ++r) norm += dot(m[r], m[r]), back_norm += dot(back[r], back[r]);
    const double scale = std::pow(back_norm / norm, 0.25);
    double change = 0;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c) {
        const double next = (scale * m[r][c] + back[r][c] / scale) / 2;
        change = std::max(change, std::abs(next - m[r][c]));
        m[r][c] = next;
      }
    if (change < 1e-14) break;
  }
  return m;
}

/// Takes e1 to F e1 and e2 into the plane of F e1 and F e2.
Matrix direction_rotation(const Matrix& f, const imaging::Eigen3& e) {
  const Vector n1 = unit(times(f, e.vectors[0])), along = times(f, e.vectors[1]);
  Vector across{};
  for (std::size_t c = 0; c < 3; ++c) across[c] = along[c] - dot(along, n1) * n1[c];
  const Vector n2 = unit(across), n3 = cross(n1, n2), e3 = cross(e.vectors[0], e.vectors[1]);
  Matrix out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      out[r][c] = n1[r] * e.vectors[0][c] + n2[r] * e.vectors[1][c] + n3[r] * e3[c];
  return out;
}

/// R D R^T of xx xy xz yy yz zz.
std::array<double, 6> turned(const std::array<double, 6>& t, const Matrix& r) {
  const Matrix d{{{t[0], t[1], t[2]}, {t[1], t[3], t[4]}, {t[2], t[4], t[5]}}};
  const std::array<Vector, 3> rd{times(d, r[0]), times(d, r[1]), times(d, r[2])};
  return {dot(r[0], rd[0]), dot(r[0], rd[1]), dot(r[0], rd[2]),
          dot(r[1], rd[1]), dot(r[1], rd[2]), dot(r[2], rd[2])};
}

/// Derivative of x -> x + d(x) along the world's axes at a voxel.
class Derivative {
 public:
  explicit Derivative(const DisplacementField& field)
      : field_(field),
        extents_(field.space.grid),
        to_index_(inverse(field.space.to_world)),
        voxels_(field.space.grid.voxels()) {}

  Matrix operator()(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const std::array<std::int64_t, 3> at{x, y, z};
    const std::int64_t voxel = x + y * extents_.stride[1] + z * extents_.stride[2];
    Matrix along{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t back = at[axis] > 0 ? 1 : 0, ahead = at[axis] + 1 < extents_.size[axis] ? 1 : 0;
      if (back + ahead == 0) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        const float* d = field_.mm.data() + static_cast<std::int64_t>(c) * voxels_ + voxel;
        along[c][axis] =
            (double(d[ahead * extents_.stride[axis]]) - double(d[-back * extents_.stride[axis]])) /
            static_cast<double>(back + ahead);
      }
    }
    Matrix out{};
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t w = 0; w < 3; ++w) {
        out[c][w] = c == w ? 1 : 0;
        for (std::size_t axis = 0; axis < 3; ++axis) out[c][w] += along[c][axis] * to_index_[axis][w];
      }
    return out;
  }

 private:
  const DisplacementField& field_;
  Extents extents_;
  Affine to_index_;
  std::int64_t voxels_;
};

bool turns(const Matrix& derivative) {
  const double d = determinant(derivative);
  return std::isfinite(d) && std::abs(d) > 1e-9;
}

}  // namespace

Turning parse_turning(std::string_view text) {
  const auto found = std::ranges::find(kTurnings, text);
  if (found == kTurnings.end())
    throw BadInput(fmt::format("turning '{}': there are preserve-direction, finite-strain and none", text));
  return static_cast<Turning>(found - kTurnings.begin());
}

std::string_view name(Turning turning) { return at_enumerator(kTurnings, turning, "the turning"); }

PlacedImage resample_tensors(const PlacedImage& tensors, const Space& fixed, const TransformChain& chain,
                             Turning turning) {
  static_cast<void>(name(turning));
  tensors.check("the tensor image");
  if (tensors.image.channels != imaging::kTensorChannels)
    throw BadInput(fmt::format("a tensor image has {} channels, this one {}", imaging::kTensorChannels,
                               tensors.image.channels));
  // One field for all of the chain: it is sampled once, and differences of neighbours are at hand.
  TransformChain whole;
  whole.push_back({to_field(chain, fixed)});
  PlacedImage out = resample(tensors, fixed, whole);
  if (turning == Turning::none) return out;
  const Derivative derivative(std::get<DisplacementField>(whole[0].map));
  const imaging::Grid& grid = fixed.grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  parallel_for(grid.ny * grid.nz, [&](std::int64_t row) {
    check_interrupt();
    for (std::int64_t x = 0; x < grid.nx; ++x) {
      float* at = out.image.data.data() + row * grid.nx + x;
      std::array<double, 6> t{};
      for (std::size_t c = 0; c < 6; ++c) t[c] = double(at[c * voxels]);
      if (t == std::array<double, 6>{}) continue;
      const Matrix pull = derivative(x, row % grid.ny, row / grid.ny);
      if (!turns(pull)) continue;
      const Matrix push = transposed(inverse_transposed(pull));  // F: from the moving image to the fixed one
      const Matrix r = turning == Turning::finite_strain ? nearest_rotation(push)
                                                         : direction_rotation(push, imaging::eigen(t));
      const std::array<double, 6> after = turned(t, r);
      for (std::size_t c = 0; c < 6; ++c) at[c * voxels] = static_cast<float>(after[c]);
    }
  });
  return out;
}

}  // namespace warploom::registration
