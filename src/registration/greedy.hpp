#pragma once

#include <array>
#include <vector>

#include "registration/pyramid.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// What every back end of the greedy method does alike.
namespace greedy {
/// Folds are looked for after so many iterations: a look costs as much as two, and they come slowly.
inline constexpr int kLookEvery = 10;
/// The longest vector of a smoothed derivative is of the size of 1 where images differ. What is much shorter
/// is rounding and stays so.
inline constexpr float kShortest = 0.02F;
/// What a cell of the result is to have left of its volume, where it is interpolated anew, between its own
/// values.
inline constexpr double kLeastOfResult = 0.01;
/// So often what mends id + h may fold id - h, and the other way round.
inline constexpr int kTurns = 20;
/// Spacing of the k-th resolution [mm].
double resolution(const Space& finest, const DeformOptions& options, std::size_t k);
/// A force is a derivative by mm; a displacement, in voxels of its axis.
std::array<float, 3> force_weights(const Space& space);
}  // namespace greedy

/// All resolutions of estimate_deformation(). @returns u [3, nz, ny, nx] in voxels of `fixed`: the map is
/// affine(x + u(x))
std::vector<float> deform_greedily_cpu(const Level& fixed, const Level& moving, const Affine& affine,
                                       const DeformOptions& options, DeformReport& report);

}  // namespace warploom::registration
