#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "warploom/registration/affine.hpp"
#include "warploom/registration/field.hpp"

namespace warploom::registration {

/// One map of points of the world, or its inverse. That of a field is found point by point, not stored.
struct Transform {
  std::variant<Affine, DisplacementField> map = identity_affine();
  bool inverted = false;
};

/// Maps one after the other: the first takes points of the fixed image's world, the last gives points of the
/// moving one's. It is the order in which ANTs and greedy have them on their command lines.
using TransformChain = std::vector<Transform>;

/// From the moving world to the fixed one: the maps in opposite order, each inverted. Fields are moved, not
/// copied.
TransformChain inverse(TransformChain chain);

/// Where points of the fixed world lead, in place [mm].
/// @throws BadInput (as check_affine() and DisplacementField::check(), a point that is not finite) @note All
/// threads
void map_points(const TransformChain& chain, std::span<Point> points);

/// One field for the whole chain: compose(), on the voxels of `fixed`. What lies beyond a field's outermost
/// voxels' faces it does not displace.
/// @throws BadInput (as map_points(), Space::check()), OutOfMemory
DisplacementField to_field(const TransformChain& chain, const Space& fixed);

/// A field's inverse on the voxels of `space`, and how well it undoes it.
struct InverseField {
  DisplacementField field = {};
  double largest_residual = 0, mean_residual = 0;  ///< distance of y and x + d(x), x = y + e(y) [mm]
  std::int64_t outside = 0;  ///< voxels that nothing of the field's grid meets; not among the residuals
};
/// e with x = y + e(y) wherever x + d(x) = y: Newton's method on the trilinear map, from the fixed-point
/// iteration e <- -d(y + e), until the residual is at most 1e-5 of the smallest voxel spacing. Exact but for
/// this where the field does not fold.
/// @throws BadInput (as DisplacementField::check(), Space::check()), OutOfMemory @note All threads
InverseField invert(const DisplacementField& field, const Space& space);

}  // namespace warploom::registration
