#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/registration/measure.hpp"
#include "warploom/registration/space.hpp"

namespace warploom::registration {

/// What an affine alignment may do.
enum class Motion {
  rigid,       ///< turn and shift
  similarity,  ///< and one scale
  affine,      ///< any matrix with a positive determinant
};
/// @throws BadInput naming them
Motion parse_motion(std::string_view text);
std::string_view name(Motion motion);

struct AlignOptions {
  Motion motion = Motion::affine;
  Measure measure = Measure::lncc;
  int radius = 2;                  ///< of Measure::lncc [voxels of each resolution]
  std::optional<Affine> start{};   ///< unset: looked for
  imaging::Mask fixed_mask = {};   ///< voxels that count; empty: all
  imaging::Mask moving_mask = {};  ///< the same of the moving image
  Run run = {};                    ///< one device; a GPU has Measure::lncc, and `auto` takes one for it
};

struct AlignReport {
  double before = 0;  ///< the measure at the coarsest resolution where the headers put the images
  double after = 0;   ///< at the finest, of the result: the mean over both images' grids
  int starts = 0;     ///< starts that were compared; 0 where one was given
  int resolutions = 0;
  int evaluations = 0;  ///< of the measure with its derivative
  double seconds = 0;
};

struct Alignment {
  Affine affine = identity_affine();  ///< points of the fixed image's world to the moving one's
  AlignReport report = {};
};

/// The motion that makes `moving`, pulled back, most alike to `fixed`, in two (both nz = 1: in the plane of
/// the fixed image) or three dimensions, whatever the grids: all is computed in the world's coordinates.
///
/// Multilevel: from voxels of which at most 32 lie along the fixed image to its own, halving each time. At
/// the coarsest, unless there is a start: middles of mass and of the grids are brought together, and the
/// headers believed, with 24 turns by right angles times 27 by 0 or +-30 degrees about each axis (in the
/// plane 24 of 15 degrees); the best six are improved as rigid motions, and the best of them goes on. Each
/// resolution: quasi-Newton steps (BFGS) with the exact derivative along exp(generator) times the motion so
/// far. The finest that is used has half a million voxels at most; there the measure is the mean of what is
/// found on either image's grid, so that exchanged images have the inverse.
///
/// @throws BadInput (an image or mask that finest_level() refuses, two with three dimensions, a start that
/// cannot be inverted or that mirrors, no overlap, an option out of range), NoDevice (a GPU for another
/// measure), OutOfMemory, Interrupted
/// @note Memory: 50 bytes a voxel of the fixed image and 5 of the moving one. The result does not depend on
/// the number of threads. On a GPU 9 bytes of its memory a voxel of either image, with masks 3 more, and the
/// same result in each run: as good as the CPU's to 1e-4 of the measure. Optima are flat: points at the
/// corners of heads' grids were led .16 mm apart at most, of voxels of .9 mm.
Alignment estimate_affine(const PlacedView& fixed, const PlacedView& moving,
                          const AlignOptions& options = {});

}  // namespace warploom::registration
