#pragma once

#include <vector>

#include "warploom/registration/align.hpp"

namespace warploom::registration {

using Matrix3 = std::array<std::array<double, 3>, 3>;
Matrix3 multiply(const Matrix3& a, const Matrix3& b);
/// The matrix exponential.
Matrix3 exponential(Matrix3 generator);
/// By `angle` [radians] about `axis`, of length 1.
Matrix3 turn(const Point& axis, double angle);

/// Moves the fixed image's points x to matrix (x - middle) + middle + shift. Steps are [mm]: of points
/// `reach` away from the middle, and of the shift.
class MotionModel {
 public:
  /// In the plane of `fixed`, if that has one slice.
  MotionModel(Motion motion, const Space& fixed, const Point& middle, double reach);

  std::size_t parameters() const { return generators_.size() + shifts_.size(); }
  /// exp(sum of step times generators) before what `from` does.
  Affine moved(const Affine& from, const std::vector<double>& step) const;
  /// Of a value by the steps at 0, from that by the map.
  std::vector<double> gradient(const Affine& from, const Affine& by_map) const;
  /// matrix (x - middle) + middle + shift
  Affine map(const Matrix3& matrix, const Point& shift) const;

 private:
  Point middle_;
  double reach_;
  std::vector<Matrix3> generators_;
  std::vector<Point> shifts_;
};

}  // namespace warploom::registration
