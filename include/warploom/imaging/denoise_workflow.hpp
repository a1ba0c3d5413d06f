#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/series.hpp"
#include "warploom/imaging/series_workflow.hpp"
#include "warploom/imaging/tensor_order.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

/// From an image, in a file or in memory, to denoised tensors, their maps and the files to write:
///
///   DenoiseRequest request;
///   request.input = "dwi.nii.gz", request.bval = "dwi.bval", request.bvec = "dwi.bvec";
///   DenoiseInput image = read_denoise_input(request);  // a series denoised, then fitted
///   denoise(image, request);
///   TensorMaps maps = output_maps(image, request);
///   write_nifti("FA.nii.gz", take_map("fa", image, maps, request));
///
/// Errors name members of the request in back quotes: "give `bval` and `bvec`".
namespace warploom::imaging {

/// What an image is.
enum class ImageKind { tensors, series, channels };
/// "tensors", "series", "vector"
std::string_view name(ImageKind kind);

/// fa md ad rd mo l1 l2 l3 v1 v2 v3 s0 rgb
const std::vector<std::string>& all_maps();

/// What becomes of the tensors.
enum class Regulariser {
  automatic,  ///< adaptive for a series that was denoised, none for one that could not be; tv for anything
              ///< else
  adaptive,   ///< fit_tensors_adaptively()
  tv,         ///< denoise_tensors() or denoise_channels()
  tgv,        ///< the same with Variation::generalised
  none,       ///< they stay as they were fitted
};
/// "auto", "adaptive", "tv", "tgv", "none"; @throws BadInput naming the five
Regulariser parse_regulariser(std::string_view text);
std::string_view name(Regulariser regulariser);

/// What is asked for.
struct DenoiseRequest : SeriesFiles, ShellChoice {
  bool vector = false;                                ///< channels that are no tensor
  SeriesStep series_denoise = SeriesStep::automatic;  ///< of a series: the step before the fit
  SeriesDenoiseOptions patches = {};                  ///< of that step; its `run` is that of `solve`
  bool keep_series = false;                           ///< in DenoiseInput::denoised_series, to be written
  std::optional<TensorOrder> order, output_order;
  std::optional<io::Frame> frame, output_frame;
  bool square_micrometres = false;  ///< diffusivities of files are in um^2/ms, not in mm^2/s
  /// Unset and automatic: tv where `fit`, `lambda`, `epsilon` or another solver is set, for these are of it.
  Regulariser regulariser = Regulariser::automatic;
  AdaptiveFitOptions adaptive = {};  ///< its `run` is that of `solve`
  std::optional<FitMethod> fit;
  std::string mask;  ///< a file, auto, nonzero or none; empty: auto of a series, else nonzero
  std::optional<Mask> own_mask = {};  ///< in its place: [nz, ny, nx], 0 outside
  DenoiseOptions solve;               ///< but for `variation`, which `regulariser` says, and for epsilon:
  std::optional<double> epsilon;      ///< else by the solver and the kind of image
  std::vector<std::string> maps = all_maps();

  /// A series where there are gradients' files, else tensors, unless it is a vector image.
  ImageKind kind() const;
  /// `maps`, without those that an image of this kind does not have.
  std::vector<std::string> maps_of(ImageKind kind) const;
};
/// @throws BadInput (settings that contradict each other)
void check(const DenoiseRequest& request);

/// What is known of a series and of its fit.
struct SeriesFacts {
  int volumes = 0;                        ///< before some were chosen
  std::map<std::int64_t, int> used = {};  ///< shells()
  std::string remark = {};                ///< remark_on_lengths()
  FitMethod method = FitMethod::wls;
  std::int64_t fitted = 0, not_fitted = 0, raised = 0, negative = 0;  ///< voxels, as in TensorFit
  double seconds = 0;                                                 ///< that the fit was waited for
  SeriesOutcome denoised = {};                                        ///< the step before the fit
};

/// A series that waits for fit_tensors_adaptively().
struct MeasuredSeries {
  Image measured = {}, denoised = {};  ///< the chosen volumes
  Image noise = {};                    ///< of the complex signal's parts
  io::Gradients gradients = {};
  ImageView view = {};  ///< in place of `measured`: Series::view
};

/// What fit_tensors_adaptively() did.
struct AdaptiveFacts {
  std::int64_t voxels = 0;
  double neighbours = 0;  ///< mean over voxels: how many count, the voxel itself among them
  ResidualStructure residual = {};
  double seconds = 0;
};

/// An image ready to be denoised.
struct DenoiseInput {
  ImageKind kind = ImageKind::tensors;
  io::Nifti header = {};  ///< of the file, without its data
  Image image = {};       ///< channels, or tensors [um^2/ms] in `frame`
  ChosenMask mask = {};
  std::optional<TensorOrder> order = {};    ///< of the tensor image that was read
  io::Frame read_frame = io::Frame::image;  ///< of the same, or of a series' gradients
  /// Of the tensors in `image`: along the image's axes, but for their order and signs. Total variation a
  /// channel depends on nothing else, so that the outcome does not depend on what the file was written in.
  io::Frame frame = io::Frame::image;
  TensorOrder output_order = TensorOrder::fsl;
  io::Frame output_frame = io::Frame::fsl;
  std::optional<Image> s0 = {};  ///< [the series' unit]
  std::optional<SeriesFacts> series = {};
  Image denoised_series = {};                              ///< all volumes, if they were to be kept
  std::vector<std::complex<float>> denoised_complex = {};  ///< the same of a complex series
  Regulariser regulariser = Regulariser::tv;               ///< that is to be used, never automatic
  MeasuredSeries measured = {};                            ///< for Regulariser::adaptive
  std::optional<AdaptiveFacts> adaptive = {};
};

/// The files that `request` names: checked, read, and if they are a series, fitted.
/// While a series is read, the GPU starts, if one is to work.
/// @throws BadInput naming the file and what to do, as check() and the two below; NoDevice (of a series),
///         OutOfMemory
DenoiseInput read_denoise_input(const DenoiseRequest& request);

/// A series in memory. Of a complex one the complex values are denoised, and the magnitudes of what was
/// measured are fitted, whose noise is Rician. Of `request` counts: the choice of shells, the fit, the mask,
/// order and frame of the output; `input` is its name in messages.
/// @throws BadInput (no voxel could be fitted), as select_volumes, choose_mask, automatic_mask, read_mask and
///         fit_tensors
/// @note Memory: the series, once, and the tensors. Time: fit_tensors.
DenoiseInput denoise_input(Series series, const DenoiseRequest& request);

/// A tensor or vector image in memory, as its file has it.
/// @throws BadInput (not six volumes, or not 1 to 100; an order that is not known; a median trace of tensors
///         that cannot be in the file's unit), as choose_mask, automatic_mask and read_mask
DenoiseInput denoise_input(io::Nifti file, const DenoiseRequest& request);

/// As `input.regulariser` says. adaptive replaces the image and s0 by fit_tensors_adaptively(), and fills
/// `input.adaptive`; adaptive and none leave the report as it is but for the voxels that had a negative
/// eigenvalue. tv is denoise_tensors or denoise_channels of the image in its mask, and so is tgv, with the
/// solver and the epsilon that it needs. Epsilon of tv, unless it is given: 0 with Solver::primal_dual, that
/// of `solve` for tensors, for channels a tenth of their median noise over the smallest spacing.
/// @throws BadInput (no noise to take epsilon from), as those two
DenoiseReport denoise(DenoiseInput& input, const DenoiseRequest& request);

/// Brings the tensors into the output's frame, and gives their maps; none where none is asked for, or of
/// channels. @throws BadInput as change_frame() and tensor_maps()
TensorMaps output_maps(DenoiseInput& input, const DenoiseRequest& request);

/// What is to be written, in the file's unit and order. Each takes its data away.
/// @throws BadInput (no data, or not as much as the shape needs: it has been taken)
io::Nifti take_image(DenoiseInput& input, const DenoiseRequest& request);
/// @throws BadInput (a map that there is not, or that has been taken)
io::Nifti take_map(const std::string& map, DenoiseInput& input, TensorMaps& maps,
                   const DenoiseRequest& request);

}  // namespace warploom::imaging
