#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// What tells noise from signal among the eigenvalues of a patch: see denoise_series().
enum class NoiseEstimator {
  exp1,  ///< Veraart et al. 2016: gamma = (R - p) / Q
  exp2,  ///< Cordero-Grande et al. 2019: gamma = (R - p) / (Q - p)
};
/// @throws BadInput naming the two
NoiseEstimator parse_noise_estimator(std::string_view text);
std::string_view name(NoiseEstimator estimator);

/// Which voxels of a patch its principal components denoise.
enum class PatchOutput {
  centre,   ///< the one in its middle, as dwidenoise 3.0 does
  average,  ///< all; a voxel becomes the mean over the patches that it lies in
};
/// @throws BadInput naming the two
PatchOutput parse_patch_output(std::string_view text);
std::string_view name(PatchOutput output);

/// Of the arithmetic; images are float in any case.
enum class Precision { float32, float64 };
/// @throws BadInput naming the two
Precision parse_precision(std::string_view text);
std::string_view name(Precision precision);

struct SeriesDenoiseOptions {
  /// Of a patch along x, y and z, odd [voxels]; all 0: patch_extent() chooses.
  std::array<int, 3> extent = {0, 0, 0};
  NoiseEstimator estimator = NoiseEstimator::exp2;
  PatchOutput output = PatchOutput::average;
  Precision precision = Precision::float32;
  bool residual = false;  ///< keep what was taken away
  Run run = {};           ///< one device
};

struct SeriesDenoising {
  /// Standard deviation of the noise, of a complex value the whole one: sqrt(2) times that of a part. With
  /// output average the root of the mean variance over the patches that a voxel lies in. [unit of the series]
  Image noise = {};
  Image rank = {};  ///< principal components kept, of the patch around each voxel
  /// What is left of the variance noise^2 in a denoised value, sigma^2 p (M + N - p) / (M N) with p
  /// components kept of a patch of M volumes and N voxels: the degrees of freedom of such a matrix over the
  /// number of its values. With output average the mean over the patches, without the gain of averaging, an
  /// upper bound. [unit of the series ^2]
  Image remaining_variance = {};
  Image residual =
      {};  ///< the series before minus after, where it was asked for; of complex data real parts first
  std::array<int, 3> extent = {};  ///< of the patches
  Device device = Device::cpu;
  std::int64_t voxels = 0;         ///< denoised
  std::int64_t skipped = 0;        ///< inside the mask, but a value in the voxel's patch is NaN or infinite
  double seconds = 0;              ///< of the work; on a GPU measured there, without transfers
  double transfer_seconds = 0;     ///< between host and device; 0 on a CPU
  std::uint64_t device_bytes = 0;  ///< allocated on the device
};

/// Denoises a diffusion series, before anything else is done to it, by principal components of patches: M
/// volumes of N voxels make a matrix X (M x N), whose singular values that are no larger than noise alone
/// makes them are set to zero. With R = min(M, N), Q = max(M, N) and lambda_1 >= ... >= lambda_R the
/// eigenvalues of X X^T / Q, p components are kept, p the smallest for which
///
///   (lambda_{p+1} - lambda_R) / (4 sqrt(gamma)) < sigma^2(p) = (lambda_{p+1} + ... + lambda_R) / (R - p):
///
/// what is left has at most the width of a Marchenko-Pastur distribution of its own mean. Where none is, all
/// is kept and the noise is 0. X is not centred.
/// Source: Veraart, Novikov, Christiaens, Ades-Aron, Sijbers & Fieremans, "Denoising of diffusion MRI using
/// random matrix theory", NeuroImage 142, 2016; Cordero-Grande, Christiaens, Hutter, Price &
/// Hajnal, NeuroImage 200, 2019, for exp2. We count down from all components as noise; at an edge of the grid
/// a patch is moved inwards until it fits, and denoises the voxels that would else have none.
///
/// The noise has to be independent from voxel to voxel, with about the same variance throughout a patch:
/// noise_correlation() tells. Bias of magnitude images (Rician) stays.
///
/// @param series  [volumes, nz, ny, nx], any unit; replaced inside the mask
/// @param mask    which voxels are denoised; those outside lie in patches all the same
/// @return        maps [nz, ny, nx], 0 outside the mask and where a voxel was skipped; the same bits on each
///                back end, whatever the number of threads
/// @throws BadInput (fewer than 2 volumes, more than 512; a value above 1e18; an extent that is even,
/// negative,
///         larger than the grid's or makes more than 4096 voxels; a mask of another size, nothing inside),
///         NoDevice, OutOfMemory, Interrupted (`series` is then unchanged)
/// @note Work for a patch: M^2 N / (extent along x) + 4/3 M^3 + about 20 M^2 operations; for average M N p
///       more, p the smaller number of components, those kept or those not. Eigenvalues are exact to a few
///       epsilon * lambda_1 in double precision. In single precision the four largest components (of fewer
///       than 32 volumes one) of the whole series are turned into the first rows of X beforehand, and epsilon
///       multiplies what is left of a patch without them; not so of complex images. A component near the
///       threshold may still fall to either side (measured with noise of 1/50 and 1/200 of the signal, up to
///       240 volumes: at most one patch of 1000). Back ends, instruction sets and masks differ by such
///       rounding. Memory: on a CPU once more the series; on a GPU two to three times the series and 1 GB, or
///       four times the series where that is more.
SeriesDenoising denoise_series(Image& series, const Mask& mask, const SeriesDenoiseOptions& options = {});
/// The same, beside the series, which stays as it is: `denoised` becomes what it would be, in its own memory
/// where it has the series' grid and volumes. It is anything after an exception.
/// @note Memory: on a CPU no series but these two.
SeriesDenoising denoise_series(const ImageView& series, Image& denoised, const Mask& mask,
                               const SeriesDenoiseOptions& options = {});

/// The same of complex images, whose noise has no bias: X is complex, and so X X^H.
/// @param values [volumes, nz, ny, nx]
/// @throws as denoise_series; BadInput (values of another number), at most 256 volumes
SeriesDenoising denoise_complex_series(std::span<std::complex<float>> values, const Grid& grid, int volumes,
                                       const Mask& mask, const SeriesDenoiseOptions& options = {});

/// The smallest odd cube that has at least as many voxels as there are volumes; where the grid is thinner,
/// longer along the other axes. Where the grid has too few voxels: as much of it as there is.
/// @throws BadInput (volumes < 1, an extent < 1)
std::array<int, 3> patch_extent(const Grid& grid, int volumes);

/// How the noise of a series correlates between neighbours: see noise_correlation().
struct NoiseCorrelation {
  /// Along x, y and z, beyond what is expected of white noise; 0 along an axis of one voxel.
  std::array<double, 3> neighbours = {};
  std::int64_t patches = 0;  ///< looked at, at most 64; fewer than 8: too few to tell
  bool correlated = false;   ///< one of the three is more than 0.05, and than four standard errors, off 0
};

/// Noise that was interpolated (by motion correction, by resampling, by filling k-space with zeros) is no
/// longer independent from voxel to voxel, and denoise_series() then keeps it or takes signal away.
/// In a patch the smaller half of the principal components is nearly noise alone. Were it white, their
/// courses over the voxels would point anywhere in the space that the other half leaves: so the mean product
/// of neighbours in them, less what follows from that space, is near 0 (measured: below 0.01), whatever the
/// signal. The criterion is ours. Measured on white noise: half a voxel's shift with linear interpolation
/// gives 0.40, a tenth's 0.06, zero-filling by 1.25 gives 0.22.
/// @param mask  patches lie wholly inside it, and where all values are finite
/// @throws BadInput (fewer than 2 volumes, a mask of another size), OutOfMemory, Interrupted
/// @note Patches have at least twice as many voxels as there are volumes; where the grid has none, none is
///       looked at. Work: about 10 volumes^3 operations a patch, double precision.
NoiseCorrelation noise_correlation(const ImageView& series, const Mask& mask, const Run& run = {});

/// Why `auto` should leave denoise_series() out, to be shown to a person: the series is too short (fewer than
/// 12 volumes), its grid holds no patch with as many voxels as there are volumes, too few voxels
/// to tell whether the noise is correlated, or it is.
/// Empty: nothing speaks against it.
/// @throws as noise_correlation
std::string series_denoise_obstacle(const ImageView& series, const Mask& mask, const Run& run = {});

}  // namespace warploom::imaging
