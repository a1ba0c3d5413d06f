#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "warploom/imaging/image.hpp"

namespace warploom::registration {

/// How alike two images are.
enum class Measure {
  lncc,  ///< local correlation, squared: images of one kind, whatever their brightness here and there
  nmi,   ///< normalised mutual information: images of different kinds, as T1 and T2
  ssd,   ///< squared differences: images of one brightness
  ngf,   ///< normalised gradient fields: images of different kinds with the same edges
};
/// @throws BadInput naming them
Measure parse_measure(std::string_view text);
std::string_view name(Measure measure);

/// A measure of two images on one grid and its derivative.
///
/// Measure::lncc: the mean over voxels of (a + e)^2 / ((b + e)(c + e)), a the covariance of both images over
/// the window of (2 radius + 1) voxels along each axis around the voxel (cut at the border), b and c their
/// variances, e = 1e-3: as if both held the same noise. So equal images have 1, nothing more, and where both
/// are flat nothing pulls. Images are meant to have a standard deviation of about 1. Avants, Epstein,
/// Grossman & Gee, Medical Image Analysis 12, 2008, without e and with a derivative that leaves the windows
/// of neighbours out; this one is exact.
///
/// Measure::nmi: (H(I) + H(J)) / H(I, J) - 1 of the entropies of a joint histogram of 64 x 64 bins, into
/// which each voxel goes with cubic B-splines as weights, bins being equally wide in asinh of the value. 0 of
/// images that do not tell of each other, at most 1. Studholme, Hill & Hawkes, Pattern Recognition 32, 1999;
/// Mattes et al., IEEE TMI 22, 2003.
///
/// Measure::ssd: the negative mean of (moving - fixed)^2.
///
/// Measure::ngf: the mean over voxels of (|g.k| + e)^2 / ((g.g + e)(k.k + e)), g and k the slopes of both
/// images by central differences, one-sided at the border, a voxel's smallest spacing as the unit, e = .01. 1
/// of equal images; edges that cross at right angles have nearly 0, whatever their contrast (and a kink of
/// |g.k| there). Haber & Modersitzki, MICCAI 2006; with e above, too, which Ruehaak et al., ISBI 2013, have.
struct MeasuredImages {
  double value = 0;               ///< the larger, the more alike
  std::vector<float> by_fixed{};  ///< d value / d fixed, [nz, ny, nx]
  std::vector<float> by_moving{};
};
/// @param radius  of Measure::lncc, 1 to 8
/// @throws BadInput (images of different grids or of several channels, a radius out of range)
MeasuredImages measure_images(const imaging::Image& fixed, const imaging::Image& moving,
                              Measure measure = Measure::lncc, int radius = 2);

}  // namespace warploom::registration
