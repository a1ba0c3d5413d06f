#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::imaging {

/// A diffusion series, from files or made in memory.
struct Series {
  Image image = {};              ///< a channel a volume, any unit
  io::Gradients gradients = {};  ///< one a volume
  io::Nifti header = {};         ///< where the image lies; without data
  /// Of a complex series, [volumes, nz, ny, nx]; `image` has its magnitudes then. Empty: it is real.
  std::vector<std::complex<float>> complex = {};
  /// In place of `image`, of a real series: values that somebody else keeps until they were used, by
  /// denoise() the last time.
  ImageView view = {};

  /// `view`, or where that has no values `image`.
  ImageView values() const { return view.data.empty() ? ImageView(image) : view; }
};

/// The files of a series: its image, and either bval and bvec (FSL) or grad (MRtrix).
struct SeriesFiles {
  std::string input = {}, bval = {}, bvec = {}, grad = {};
  std::optional<io::GradientTable> gradients = {};  ///< in place of bval and bvec
  io::BValueScaling bvalue_scaling = io::BValueScaling::automatic;
  /// Of memory for an image file, at most: as read_nifti(). [bytes]
  std::uint64_t max_memory = std::uint64_t{1} << 38;
};

/// As the files, or the table, have them.
/// @param b0_threshold  up to this a b-value counts as 0 [s/mm^2]
/// @throws BadInput (no b-value above the threshold), as read_fsl_gradients or read_mrtrix_gradients
io::Gradients read_gradients(const SeriesFiles& files, std::int64_t volumes, double b0_threshold = 50);

/// Magnitudes of complex values, [volumes, nz, ny, nx].
/// @throws BadInput (values of another number)
Image magnitudes(std::span<const std::complex<float>> values, const Grid& grid, int volumes);

/// @param b0_threshold  up to this a b-value counts as 0 [s/mm^2]
/// @throws BadInput (fewer than two volumes, no b-value above the threshold), as read_nifti, take_volumes and
///         read_fsl_gradients or read_mrtrix_gradients
Series read_series(const SeriesFiles& files, double b0_threshold = 50);

/// Which volumes of a series to use, besides those without diffusion weighting. [s/mm^2]
struct ShellChoice {
  double b0_threshold = 50;              ///< up to this a b-value counts as 0
  std::vector<double> shells = {};       ///< these b-values, each within 5 % or 50; empty: all
  std::optional<double> largest_b = {};  ///< instead: those up to this one, and 5 % or 50 above
};

/// Leaves the chosen volumes, in place and in their order; those of a view, unless they are all, are copied.
/// @throws BadInput (a shell without a volume, gradients that are not one a volume, data of another length
/// than the grid needs)
void select_volumes(Series& series, const ShellChoice& choice);

/// How many volumes there are of each b-value, rounded to 50; 0: those up to the threshold. [s/mm^2]
/// @throws BadInput (a b-value that is not finite, or above 1e15)
std::map<std::int64_t, int> shells(const io::Gradients& gradients, double b0_threshold = 50);

/// The mean of the volumes without diffusion weighting, or of all where there is none; what is not finite
/// counts as 0. @throws BadInput (gradients that are not one a volume, data of another length than
/// the grid needs)
Image mean_b0(const ImageView& series, const io::Gradients& gradients, double b0_threshold = 50);

}  // namespace warploom::imaging
