#pragma once

/// A chain made ready: affines that follow each other joined, inverses of their matrices at hand.

#include <span>
#include <variant>
#include <vector>

#include "registration/trilinear.hpp"
#include "warploom/registration/transform.hpp"

namespace warploom::registration {

/// A displacement field among points of the world.
class FieldMap {
 public:
  explicit FieldMap(const DisplacementField& field);

  const Space& space() const { return field_->space; }
  bool contains(const Point& p) const { return extents_.contains(map_point(to_index_, p)); }
  /// x + d(x); x itself outside.
  Point operator()(const Point& p) const;
  /// d(x), that of the border's voxels outside, and its derivative along the world's axes.
  Point displacement(const Point& p, std::array<std::array<double, 3>, 3>& derivative) const;
  /// x with x + d(x) = y, where d goes on outside as it is at the border. Begins at `guess`, and leaves there
  /// what it found. @return distance of y and x + d(x) [mm]
  double undo(const Point& y, Point& guess) const;
  /// d at a voxel.
  Point at(std::int64_t voxel) const {
    const float* d = field_->mm.data() + voxel;
    return {double(d[0]), double(d[voxels_]), double(d[2 * voxels_])};
  }

 private:
  const DisplacementField* field_;
  Extents extents_;
  Affine to_index_;
  std::int64_t voxels_;
  double enough_;  ///< how far undo() may miss [mm]
};

/// The chain has to live as long.
class ChainMap {
 public:
  /// @throws BadInput (as check_affine(), DisplacementField::check())
  explicit ChainMap(const TransformChain& chain);

  Point operator()(Point p) const;
  /// Points of the row of voxels (0..nx, y, z) of a space: where they lead.
  void row(const Space& fixed, std::int64_t y, std::int64_t z, std::span<Point> out) const;

 private:
  struct Inverse {
    FieldMap map;
  };
  using Step = std::variant<Affine, FieldMap, Inverse>;
  static void apply(const Step& step, std::span<Point> points);
  std::vector<Step> steps_;
};

}  // namespace warploom::registration
