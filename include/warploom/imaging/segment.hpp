#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

enum class Method {
  convex,     ///< the exact minimum for the means that it ends with, whatever the start
  level_set,  ///< Chan and Vese's descent, as scikit-image has it: a local minimum, which depends on the
              ///< start
};
/// @throws BadInput naming both
Method parse_method(std::string_view text);
std::string_view name(Method method);

/// How the values of one side spread about its mean; Method::convex.
enum class Noise {
  automatic,  ///< equal or counts, and medians for means: see segment()
  equal,      ///< as much on all sides: squared differences, as Chan and Vese have them
  counts,     ///< the variance grows as the mean does above the least value: the same of square roots
};
/// @throws BadInput naming the three
Noise parse_noise(std::string_view text);
std::string_view name(Noise noise);

/// The level set that Method::level_set starts from, positive inside; i, j, k count voxels from 0.
enum class Start {
  checkerboard,  ///< sin(pi i/5) sin(pi j/5) sin(pi k/5): many small contours, so that no object is missed
  disk,          ///< one circle or ball around the middle, as large as fits: 1 - distance/radius
  box,           ///< one box, three quarters of the image along each axis
  mask,          ///< `start_mask`: the signed distance to its border, over the largest
};
/// "ball" is a disk. @throws BadInput naming the four
Start parse_start(std::string_view text);
std::string_view name(Start start);

/// Which side of the contour is inside. The method itself takes either: it only tells two apart.
enum class Inside {
  bright,  ///< the one whose mean is larger
  dark,    ///< the one whose mean is smaller
  start,   ///< the one where the start is positive, whatever becomes of its mean (scikit-image); level_set
};
/// @throws BadInput naming the three
Inside parse_inside(std::string_view text);
std::string_view name(Inside inside);

struct SegmentOptions {
  Method method = Method::convex;
  /// Weight of the contour's length, >= 0. Unset, of Method::convex: from the noise, see segment(); of
  /// Method::level_set: 0.25.
  std::optional<double> mu = {};
  /// Of Method::convex: the relative gap, E over its lower bound less 1, to stop at [1e-3]. Of
  /// Method::level_set: the root mean square change of the level set [see usual_options()]. >= 0
  std::optional<double> tolerance = {};
  std::optional<int> max_iterations = {};  ///< >= 1 [see usual_options()]
  Inside inside = Inside::bright;
  Mask mask = {};  ///< voxels that count; empty: all. Method::convex only
  Run run = {};    ///< several GPUs share a volume of two classes by the convex method, with the same bits

  // Method::convex
  Noise noise = Noise::automatic;
  int classes = 2;  ///< 2 to 16; above 2 on the CPU only
  /// A pair of means to begin with beside our own [the image's unit]. The lowest energy wins.
  std::optional<std::array<double, 2>> means = {};

  // Method::level_set
  double lambda_in = 1;    ///< weight of the deviation from the mean inside, >= 0
  double lambda_out = 1;   ///< and outside; not both 0
  double time_step = 0.5;  ///< > 0
  Start start = Start::checkerboard;
  Mask start_mask = {};  ///< for Start::mask: as many bytes as voxels, some 0 and some not
};

/// The options with what is unset as segment() takes it, but for a `mu` that comes from the noise.
///
/// Method::convex: tolerance 1e-3, 2000 iterations. Method::level_set: 1e-3 and 500, scikit-image's, where
/// that suffices: from the checkerboard, in two dimensions, with mu of at most 0.25. One contour moves
/// slowly, and so do all in three dimensions and those with larger mu: 1e-5 and 10,000.
SegmentOptions usual_options(SegmentOptions options, const Grid& grid);

struct SegmentReport {
  Device device = Device::cpu;  ///< the first of those named
  int devices = 1;              ///< convex: that shared the image
  Method method = Method::convex;
  int iterations = 0;
  bool converged = false;  ///< convex: the gap fell to the tolerance. Never of level_set, which has no bound
  bool still = false;      ///< level_set: the change fell to the tolerance
  double change = 0;       ///< level_set: of the last iteration; what the tolerance is compared with
  double mean_in = 0,
         mean_out = 0;      ///< of the image over the mask and the rest [the image's unit]; 0 if empty
  std::int64_t inside = 0;  ///< voxels of the mask
  std::int64_t voxels = 0;  ///< that count
  /// level_set: of the level set that each iteration began with. convex: of the best mask at each check
  std::vector<double> energy = {};
  double seconds = 0;              ///< of the iterations; on a GPU measured there, without transfers
  double transfer_seconds = 0;     ///< between host and device; 0 on a CPU
  std::uint64_t device_bytes = 0;  ///< allocated on the devices

  // convex
  double noise_level = 0;       ///< standard deviation [the image's unit]; 0 where `mu` was given
  double mu = 0;                ///< of E as below [1/voxel]
  Noise noise = Noise::equal;   ///< that was taken
  double mask_energy = 0;       ///< E of the mask and its means
  double lower_bound = 0;       ///< no mask with these means has a lower E
  double gap = 0;               ///< (mask_energy - lower_bound) / mask_energy; 0 where that is 0
  double length = 0;            ///< of the contour, or its area in 3-D, in units of the smallest spacing
  int starts = 0;               ///< pairs of means that the alternation began with
  int minima = 0;               ///< different ones that it ended with; the one with the lowest E was taken
  std::vector<double> means{};  ///< of the classes, ascending [the image's unit]
  std::vector<std::int64_t> sizes{};  ///< voxels of each class
};

struct Segmentation {
  Mask mask = {};  ///< 1 inside; of more than two classes their numbers, 0 the darkest
  /// 1 channel, above 0 inside; its zero level is the contour. Of N classes N - 1 channels: c is above 0
  /// where the class is above c. 0 at voxels that do not count.
  Image level_set = {};
  SegmentReport report = {};
};

/// Tells the sides of an image apart, in two (nz = 1) and three dimensions.
///
/// **Method::convex.** The mask S and the means c_in, c_out that minimise
///
///   E = mu |border of S| + sum over S of d(u, c_in) + sum over the rest of d(u, c_out),
///
/// u the image scaled to [0, 1], lengths in units of the smallest voxel spacing, measured on the edges to 8
/// neighbours in a plane and 26 in space, by Cauchy-Crofton's formula (errors by direction at most 6 and 8
/// %), d(u, c) = (u - c)^2. Noise::counts: the same of the square roots of u, whose noise does not depend on
/// the brightness where counts are above a dark level (Anscombe, Biometrika 35, 1948). For given means S is
/// where the minimiser v of lambda TV(v) + 1/2 |v - u|^2 is above m = (c_in + c_out)/2: for all means with
/// the same lambda = mu / (2 |c_in - c_out|) it is the same v. So v, which is unique, is found once, and the
/// means alternate with the threshold from many starts. TV counts the same edges, so that thresholding is
/// exact: the gap between the mask's E and the dual bound goes to 0, and is what ends the iteration. Without
/// `mu`, lambda is the standard deviation of the noise (from the finest diagonal differences). Source: Chan,
/// Esedoglu & Nikolova, SIAM J. Appl. Math. 66(5), 2006; Chambolle & Pock, JMIV 40, 2011, algorithm 2;
/// weights of edges: Boykov & Kolmogorov, ICCV 2003. More than two classes: Potts' energy, by the relaxation
/// of Zach, Gallup, Frahm & Niethammer (VMV 2008); that is not exact, and the gap says how far it may be off.
///
/// Noise::automatic is `equal`, unless what its mask would gain at the best threshold of the roots is a strip
/// wider than 1.2 (in units of the smallest spacing) along the border: more than blur. Then objects differ in
/// brightness, one mean would lose the faint ones, and `counts` is taken, whose threshold is nearer to the
/// darker side. Else, without `mu`, from the best means on, c_in and c_out become the medians of v on both
/// sides, and S minimises E for these: a few objects much brighter than the others move a mean, and so the
/// border of all others, and not a median. Of more than two classes it is `equal`. The rules are ours;
/// measurements in docs/results.
///
/// **Method::level_set.** Chan and Vese's active contour without edges: the level set phi that descends
///
///   E(phi) = mu sum delta(phi) |grad phi| + lambda_in sum H(phi) (u - c_in)^2
///                                         + lambda_out sum (1 - H(phi)) (u - c_out)^2,
///
/// H(phi) = 1/2 + atan(phi)/pi, delta = 1/(1 + phi^2) (that is pi H'), sums over voxels. One iteration
/// is Getreuer's semi-implicit step with the curvature term, taken from the old level set everywhere
/// (Jacobi), with c_in and c_out over phi > 0 and phi <= 0, as scikit-image's `chan_vese` has it; the
/// reported energy is that of scikit-image, whose means weigh by H. Edges of the image replicate (Neumann).
/// Source: Chan & Vese, IEEE TIP 10(2), 2001; Getreuer, "Chan-Vese Segmentation", IPOL 2, 2012, eq. 22. Ours
/// differs: three dimensions, voxels that are not cubes, single precision.
///
/// @param image  1 channel, finite where it counts and not constant there; any unit
/// @return       deterministic on each back end, whatever the number of threads
/// @throws BadInput (more channels than 1, voxels that are NaN or infinite and how many, a constant image, an
///         option out of range or of the other method, a mask of another size or without voxels, a start mask
///         of another size or without both sides), NoDevice (more than two
///         classes on a GPU, too), OutOfMemory, Interrupted
/// @note convex: 37 bytes a voxel in a plane, 73 in space, or 57 and 69 of a GPU's memory (52 and 64 beside
///       an image and results that are there); 10 to 60 iterations where mu comes from the noise, twice where
///       `automatic` takes counts. N classes: 8 + 32 N or 8 + 68 N. Back ends round differently: masks agree
///       within the gap. level_set: 12 bytes a voxel and iteration at perfect reuse; 13 of a GPU's memory
///       (8). One step agrees with double precision to 2e-6 * (1 + |phi|), the energy to 1e-5 relative; of
///       ten thousand voxels, one or two may change sides between back ends.
Segmentation segment(const Image& image, const SegmentOptions& options = {});
/// The same of values that somebody else keeps, which are not copied.
Segmentation segment(const ImageView& image, const SegmentOptions& options = {});

/// Where a segmentation is written in a GPU's memory: as many values as the image has voxels, each.
struct SegmentOnGpu {
  std::uint8_t* mask = nullptr;
  float* level_set = nullptr;
  void* stream = nullptr;  ///< a cudaStream_t: the work comes after what it has; null: the default one
};
/// The same of values in the memory of `options.run`'s GPU, with results there: neither is copied, and bits
/// are those of the same values in memory of the host. When it returns the results are there.
/// @throws also NoDevice (the CPU), BadInput (memory that the GPU does not reach)
SegmentReport segment(const ImageView& image, const SegmentOnGpu& results,
                      const SegmentOptions& options = {});

}  // namespace warploom::imaging
