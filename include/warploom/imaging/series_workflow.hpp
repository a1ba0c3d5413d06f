#pragma once

#include <optional>
#include <string>
#include <string_view>

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
  std::string why_not = {};                  ///< to be shown to a person; empty where it was not asked for
  double median_noise = 0;                   ///< over the voxels denoised [unit of the series]
  double median_rank = 0;                    ///< components kept, of as many as there are volumes
  double seconds = 0;                        ///< wall time, with the look for what speaks against it
};

/// denoise_series() as `step` says. @throws as denoise_series and series_denoise_obstacle
SeriesOutcome denoise_first(Image& series, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options = {});

/// A series that is to be denoised by itself: no gradients are needed.
struct SeriesImage {
  io::Nifti header = {};  ///< where it lies; without data
  Image image = {};
  ChosenMask mask = {};
};
/// @param mask  a file, auto (from the mean of all volumes), nonzero or none; empty: none
/// @throws BadInput (fewer than two volumes), as read_nifti, take_volumes, read_mask and choose_mask
SeriesImage read_series_image(const std::string& file, const std::string& mask = "");

/// Volumes, or a map, as a file that lies where `like` does; takes the data away. float32
/// @param what  its description
/// @throws BadInput (data of another length than the grid needs)
io::Nifti take_volumes_file(Image& image, const io::Nifti& like, std::string_view what);

}  // namespace warploom::imaging
