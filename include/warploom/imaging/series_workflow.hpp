#pragma once

#include <complex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/imaging/series_denoise.hpp"
#include "warploom/io/nifti.hpp"

/// The step before the fit: a diffusion series denoised as a whole, by itself or on the way to tensors.
namespace warploom::imaging {

/// Whether a series is denoised.
enum class SeriesStep {
  automatic,  ///< unless series_denoise_obstacle() speaks against it
  on,
  off,
};
/// "auto", "on", "off"; @throws BadInput naming the three
SeriesStep parse_series_step(std::string_view text);
std::string_view name(SeriesStep step);

/// What became of a series.
struct SeriesOutcome {
  std::optional<SeriesDenoising> done = {};  ///< unset: it is as it was
  bool complex = false;                      ///< complex values were denoised, not magnitudes
  std::string why_not = {};                  ///< to be shown to a person; empty where it was not asked for
  double median_noise = 0;                   ///< over the voxels denoised [unit of the series]; as `noise`
  double median_rank = 0;                    ///< components kept, of as many as there are volumes
  double seconds = 0;                        ///< wall time, with the look for what speaks against it
};

/// denoise_series() as `step` says. @throws as denoise_series and series_denoise_obstacle
SeriesOutcome denoise_first(Image& series, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options = {});
/// The same, beside the series, in `denoised`, which stays as it is where nothing is done.
SeriesOutcome denoise_first(const ImageView& series, Image& denoised, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options = {});
/// The same by denoise_complex_series(); whether the noise is correlated is looked up in the real parts.
/// @throws as that
SeriesOutcome denoise_first(std::span<std::complex<float>> series, const Grid& grid, int volumes,
                            const Mask& mask, SeriesStep step, const SeriesDenoiseOptions& options = {});

/// A series that is to be denoised by itself: no gradients are needed.
struct SeriesImage {
  io::Nifti header = {};  ///< where it lies; without data
  Image image = {};       ///< magnitudes of a complex series
  ChosenMask mask = {};
  std::vector<std::complex<float>> complex = {};  ///< as in Series
};
/// @param mask  a file, auto (from the mean of all volumes), nonzero or none; empty: none
/// @throws BadInput (fewer than two volumes), as read_nifti, take_volumes, read_mask and choose_mask
SeriesImage read_series_image(const std::string& file, const std::string& mask = "",
                              std::uint64_t max_memory = std::uint64_t{1} << 38);

/// Volumes, or a map, as a file that lies where `like` does; takes the data away. float32
/// @param what  its description
/// @throws BadInput (data of another length than the grid needs)
io::Nifti take_volumes_file(Image& image, const io::Nifti& like, std::string_view what);
/// The same of complex values, [volumes, nz, ny, nx]. complex64
io::Nifti take_volumes_file(std::vector<std::complex<float>>& values, const Grid& grid, const io::Nifti& like,
                            std::string_view what);
/// From real parts and then imaginary ones, as SeriesDenoising::residual has them.
/// @throws BadInput (an odd number of channels, data of another length than the grid needs)
std::vector<std::complex<float>> complex_volumes(const Image& parts);

}  // namespace warploom::imaging
