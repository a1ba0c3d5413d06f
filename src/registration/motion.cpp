#include "registration/motion.hpp"

#include <cmath>

#include "registration/pyramid.hpp"

namespace warploom::registration {
namespace {

constexpr Matrix3 kUnit{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

Matrix3 linear(const Affine& affine) {
  Matrix3 out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) out[r][c] = affine[r][c];
  return out;
}

Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// Three directions at right angles, of which the first two span the plane of voxel axes x and y.
std::array<Point, 3> frame_of(const Space& space) {
  const auto spacing = spacing_of(space.to_world);
  Point x{}, y{};
  for (std::size_t r = 0; r < 3; ++r) x[r] = space.to_world[r][0] / spacing[0], y[r] = space.to_world[r][1];
  const double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  for (std::size_t r = 0; r < 3; ++r) y[r] -= along * x[r];
  const double length = std::hypot(y[0], y[1], y[2]);
  for (double& v : y) v /= length;
  return {x, y, cross(x, y)};
}

// a b^T
Matrix3 outer(const Point& a, const Point& b) {
  Matrix3 out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) out[r][c] = a[r] * b[c];
  return out;
}

Matrix3 spin(const Point& axis) {
  return {{{0, -axis[2], axis[1]}, {axis[2], 0, -axis[0]}, {-axis[1], axis[0], 0}}};
}

}  // namespace

Matrix3 multiply(const Matrix3& a, const Matrix3& b) {
  Matrix3 out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < 3; ++k) out[r][c] += a[r][k] * b[k][c];
  return out;
}

Matrix3 exponential(Matrix3 generator) {
  // Of a 1/256 of it by eight terms, then squared as often.
  for (auto& row : generator)
    for (double& v : row) v /= 256;
  Matrix3 sum = kUnit, term = kUnit;
  for (int k = 1; k <= 8; ++k) {
    term = multiply(term, generator);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c) term[r][c] /= k, sum[r][c] += term[r][c];
  }
  for (int k = 0; k < 8; ++k) sum = multiply(sum, sum);
  return sum;
}

Matrix3 turn(const Point& axis, double angle) {
  Matrix3 out = spin(axis);
  for (auto& row : out)
    for (double& v : row) v *= angle;
  return exponential(out);
}

MotionModel::MotionModel(Motion motion, const Space& fixed, const Point& middle, double reach)
    : middle_(middle), reach_(reach) {
  const auto frame = frame_of(fixed);
  const std::size_t dimensions = fixed.grid.nz == 1 ? 2 : 3;
  for (std::size_t i = 0; i < dimensions; ++i) shifts_.push_back(frame[i]);
  if (motion == Motion::affine) {
    for (std::size_t i = 0; i < dimensions; ++i)
      for (std::size_t j = 0; j < dimensions; ++j) generators_.push_back(outer(frame[i], frame[j]));
    return;
  }
  for (std::size_t i = dimensions == 2 ? 2 : 0; i < 3; ++i) generators_.push_back(spin(frame[i]));
  if (motion == Motion::similarity) generators_.push_back(kUnit);
}

Affine MotionModel::map(const Matrix3& matrix, const Point& shift) const {
  Affine out{};
  for (std::size_t r = 0; r < 3; ++r) {
    out[r][3] = middle_[r] + shift[r];
    for (std::size_t c = 0; c < 3; ++c) out[r][c] = matrix[r][c], out[r][3] -= matrix[r][c] * middle_[c];
  }
  return out;
}

Affine MotionModel::moved(const Affine& from, const std::vector<double>& step) const {
  Matrix3 sum{};
  Point shift = map_point(from, middle_);
  for (std::size_t r = 0; r < 3; ++r) shift[r] -= middle_[r];
  for (std::size_t k = 0; k < generators_.size(); ++k)
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c) sum[r][c] += step[k] / reach_ * generators_[k][r][c];
  for (std::size_t k = 0; k < shifts_.size(); ++k)
    for (std::size_t r = 0; r < 3; ++r) shift[r] += step[generators_.size() + k] * shifts_[k][r];
  return map(multiply(exponential(sum), linear(from)), shift);
}

std::vector<double> MotionModel::gradient(const Affine& from, const Affine& by_map) const {
  std::vector<double> out;
  for (const Matrix3& generator : generators_) {
    const Matrix3 change = multiply(generator, linear(from));
    double sum = 0;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c) sum += change[r][c] * (by_map[r][c] - by_map[r][3] * middle_[c]);
    out.push_back(sum / reach_);
  }
  for (const Point& shift : shifts_)
    out.push_back(shift[0] * by_map[0][3] + shift[1] * by_map[1][3] + shift[2] * by_map[2][3]);
  return out;
}

}  // namespace warploom::registration
