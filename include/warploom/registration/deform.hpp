#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/registration/field.hpp"
#include "warploom/registration/measure.hpp"

namespace warploom::registration {

enum class DeformMethod {
  greedy,     ///< symmetric, by smoothed steps
  curvature,  ///< Fischer and Modersitzki, JMIV 18, 2003: squared differences and bending
  /// Vercauteren et al., NeuroImage 45, 2009: squared differences, the map composed with exp(velocity). The
  /// velocity is the difference times the mean of both images' slopes, at most `step` long, smoothed as an
  /// update of the greedy method.
  demons,
};

struct DeformOptions {
  DeformMethod method = DeformMethod::greedy;
  /// Of DeformMethod::curvature: the weight of bending, for images of standard deviation 1 and lengths in
  /// voxels of each resolution, 1e-9 to 1e9. The larger, the smoother.
  double bending = 0.01;
  /// Of DeformMethod::curvature: the semi-implicit steps of 2003 instead of Gauss and Newton's, which need
  /// fewer iterations, each of some ten such steps' time, and end where nothing is gained.
  bool semi_implicit = false;
  Measure measure = Measure::lncc;
  int radius = 2;  ///< of Measure::lncc [voxels of each resolution], 1 to 8
  /// Iterations at each resolution, from the coarsest to that of the images, each with voxels half the
  /// size of those before. 1 to 10 numbers; empty: 60, 60 and 20, and 60 at one more before them for the
  /// greedy method in three dimensions, where what moves by many voxels (a breathing liver) is found there or
  /// nowhere.
  std::vector<int> iterations{};
  double step = 0.5;  ///< longest displacement that an iteration adds on either side [voxels], > 0, at most 2
  double smooth_update = 1.7;  ///< standard deviation of the Gaussian over each update [voxels], 0 to 8
  /// And over the whole displacement after it, 0 to 8. Empty: 0.5, but 1 for the greedy method by local
  /// correlation in a plane where the affine map leaves images hardly alike (below 0.6, in the mean of both
  /// directions, at four times the voxels' size): slides of two stains, whose texture has no counterpart.
  std::optional<double> smooth_field = {};
  bool allow_folds = false;
  imaging::Mask fixed_mask = {};   ///< voxels that count; empty: all
  imaging::Mask moving_mask = {};  ///< the same of the moving image
  /// One device; a GPU has the greedy method by Measure::lncc and ssd, and `auto` takes one for these.
  Run run = {};
};

struct DeformReport {
  std::vector<int> levels{};         ///< DeformOptions::iterations, or what was chosen
  double smooth_field = 0;           ///< DeformOptions::smooth_field, or what was chosen
  std::vector<double> measure{};     ///< of each iteration
  std::vector<int> iterations{};     ///< of each resolution, done
  std::int64_t smoothed_voxels = 0;  ///< whose displacement was smoothed so as not to fold, counted each time
  double seconds = 0;
  Device device = Device::cpu;
  double kernel_seconds = 0;       ///< on a GPU, from the first kernel to the last
  std::uint64_t device_bytes = 0;  ///< of its memory
};

struct Deformation {
  /// On the fixed grid: the point x of the fixed image meets x + d(x) of the moving one, the affine map
  /// included.
  DisplacementField field = {};
  DeformReport report = {};
};

/// Symmetric greedy registration: both images are moved to the middle between them.
///
/// Half way between both is a grid of its own: with K the affine map between voxels, its voxels y are
/// K^-1/2 y of the fixed image and K^1/2 y of the moving one. h is a displacement there such that
/// fixed(K^-1/2 (y - h(y))) and moving(K^1/2 (y + h(y))) are alike. An iteration: both images are drawn to y,
/// the derivative of the measure along h is smoothed, scaled so that its longest vector is `step`, and added
/// to h, which is smoothed in turn. What maps the fixed image's points is the way through the middle. With
/// images exchanged and the affine map inverted the grid is the same, h is -h, and the map the inverse, but
/// for interpolation. An update
/// on both sides, (id +- h) o (id +- v), differs from h + v in second order alone. After Avants et al. (SyN),
/// Medical Image Analysis 12, 2008, with the smoothing of greedy (Yushkevich et al., 2016); both compose
/// fields where here one is added to.
///
/// Unless folds are allowed, cells of id + h, id - h and of the result whose determinant is not proved
/// positive (see certify()) are smoothed with their neighbours until it is.
/// @param affine  of points of the fixed image's world to the moving one's, as estimate_affine() has it
/// @throws BadInput (an image, mask or affine as estimate_affine() refuses, no overlap, an option out of
/// range), NoDevice (a GPU for another method or measure), OutOfMemory, Interrupted
/// @note Memory: 90 bytes a voxel of the grid half way (that of the fixed image for the other methods) and 10
/// of the moving image. The result does not depend on the number of threads. On a GPU 53 bytes of its memory
/// a voxel half way and 9 of either image, with masks 3 more of either, and the same result in each run: the
/// CPU's, but for rounding (sums in another order, multiplications and additions in one).
Deformation estimate_deformation(const PlacedView& fixed, const PlacedView& moving, const Affine& affine,
                                 const DeformOptions& options = {});

}  // namespace warploom::registration
