#pragma once

/// Keeps fields from folding while they are estimated. Displacements are planar [3, nz, ny, nx] in the unit
/// of the affine: voxels with identity_affine(). A cell counts as positive where its determinant is proved to
/// be more than `least` everywhere, by its 27 Bernstein coefficients alone.

#include <cstdint>
#include <span>

#include "warploom/imaging/image.hpp"
#include "warploom/registration/affine.hpp"

namespace warploom::registration {

/// What a cell is to have left of its volume while a map is estimated: more than nothing, since displacements
/// are interpolated and rounded later.
inline constexpr double kLeastVolume = 0.05;

struct StepLimit {
  std::int64_t limited = 0;  ///< changes of voxels
  std::int64_t failing = 0;  ///< cells that are not positive in the end
};

/// Makes a field positive for which there is no earlier one, say after interpolation from a coarser level:
/// displacements around cells that are not positive are replaced by means over neighbours, ever farther
/// around, for at most `rounds` rounds. A field that is positive stays as it is.
/// @return `failing`: 0 but for fields that fold nearly everywhere
StepLimit smooth_folds(const imaging::Grid& grid, const Affine& to_world, std::span<float> displacements,
                       double least, int rounds = 100);

/// Lets `proposed` differ from `current` only as far as nothing folds: smooth_folds() for a few rounds, and
/// where that does not do, voxels are taken back towards `current`, half of the way at a time and the whole
/// way at the sixth. If all cells of `current` are positive, so are those of `proposed` afterwards.
/// @note One pass over the cells, and then those that fail and their neighbours alone
StepLimit limit_step(const imaging::Grid& grid, const Affine& to_world, std::span<const float> current,
                     std::span<float> proposed, double least);

}  // namespace warploom::registration
