#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// The level set that an active contour starts from, positive inside; i, j, k count voxels from 0.
enum class Start {
  checkerboard,  ///< sin(pi i/5) sin(pi j/5) sin(pi k/5): many small contours, so that no object is missed
  disk,          ///< one circle or ball around the middle, as large as fits: 1 - distance/radius
  box,           ///< one box, three quarters of the image along each axis
  mask,          ///< `start_mask`: the signed distance to its border, over the largest
};
/// @throws BadInput naming the four
Start parse_start(std::string_view text);
std::string_view name(Start start);

/// Which side of the contour is inside. The method itself takes either: it only tells two apart.
enum class Inside {
  bright,  ///< the one whose mean is larger
  dark,    ///< the one whose mean is smaller
  start,   ///< the one where the start is positive, whatever becomes of its mean (scikit-image)
};
/// @throws BadInput naming the three
Inside parse_inside(std::string_view text);
std::string_view name(Inside inside);

struct SegmentOptions {
  double mu = 0.25;          ///< weight of the contour's length, >= 0
  double lambda_in = 1;      ///< weight of the deviation from the mean inside, >= 0
  double lambda_out = 1;     ///< and outside; not both 0
  double time_step = 0.5;    ///< > 0
  double tolerance = 1e-3;   ///< stop when the root mean square change of the level set is at most this, >= 0
  int max_iterations = 500;  ///< >= 1
  Start start = Start::checkerboard;
  Mask start_mask = {};  ///< for Start::mask: as many bytes as voxels, some 0 and some not
  Inside inside = Inside::bright;
  Run run = {};  ///< one device
};

/// Options with the tolerance and the limit of iterations that suit a start: one contour moves slowly, and so
/// do all in three dimensions, so that 1e-3 would stop them too soon.
SegmentOptions usual_options(Start start, const Grid& grid);

struct SegmentReport {
  Device device = Device::cpu;
  int iterations = 0;
  bool converged = false;  ///< the change fell to the tolerance
  double change = 0;       ///< of the last iteration: what the tolerance is compared with
  double mean_in = 0,
         mean_out = 0;      ///< of the image over the mask and the rest [the image's unit]; 0 if empty
  std::int64_t inside = 0;  ///< voxels of the mask
  std::vector<double> energy = {};  ///< of the level set that each iteration began with
  double seconds = 0;               ///< of the iterations; on a GPU measured there, without transfers
  double transfer_seconds = 0;      ///< between host and device; 0 on a CPU
  std::uint64_t device_bytes = 0;   ///< allocated on the device
};

struct Segmentation {
  Mask mask = {};        ///< 1 where the level set is positive
  Image level_set = {};  ///< 1 channel; the contour is its zero level
  SegmentReport report = {};
};

/// Chan and Vese's active contour without edges, in two (nz = 1) and three dimensions: the level set phi that
/// descends
///
///   E(phi) = mu sum delta(phi) |grad phi| + lambda_in sum H(phi) (u - c_in)^2
///                                         + lambda_out sum (1 - H(phi)) (u - c_out)^2,
///
/// u the image scaled to [0, 1], H(phi) = 1/2 + atan(phi)/pi, delta = 1/(1 + phi^2) (that is pi H'), sums
/// over voxels, lengths in units of the smallest voxel spacing, c_in and c_out the means of u. One iteration
/// is Getreuer's semi-implicit step with the curvature term, taken from the old level set everywhere
/// (Jacobi), with c_in and c_out over phi > 0 and phi <= 0, as scikit-image's `chan_vese` has it; the
/// reported energy is that of scikit-image, whose means weigh by H. Edges of the image replicate (Neumann).
/// Source: Chan & Vese, IEEE TIP 10(2), 2001; Getreuer, "Chan-Vese Segmentation", IPOL 2, 2012, eq. 22. Ours
/// differs: three dimensions, voxels that are not cubes, single precision.
/// The energy need not fall in every step. From one contour, and in three dimensions, a tolerance of 1e-4 is
/// needed: at 1e-3 a disk does not leave its place (nor does scikit-image's).
///
/// @param image  1 channel, finite, not constant; any unit
/// @return       deterministic on each back end, whatever the number of threads
/// @throws BadInput (more channels than 1, voxels that are NaN or infinite and how many, a constant image, an
///         option out of range, a start mask of another size or without both sides), NoDevice, OutOfMemory,
///         Interrupted
/// @note 12 bytes a voxel and iteration at perfect reuse, and as many of a GPU's memory. One step agrees with
///       double precision to 2e-6 * (1 + |phi|), the energy to 1e-5 relative. Back ends round differently,
///       and their level sets drift apart where the image is ambiguous: of ten thousand voxels, one or two
///       may change sides, and iteration counts may differ by a few.
Segmentation segment(const Image& image, const SegmentOptions& options = {});

}  // namespace warploom::imaging
